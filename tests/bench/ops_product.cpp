// Sums of products: matrices, Einsum, attention, transforms, bags of embeddings.
#include "tests/bench/ops.hpp"

namespace terroir::bench {

OpRows product_rows() {
  constexpr double kAttention = 4.0 * 12 * 512 * 512 * 64;
  const auto signal = tensor({64, 1024, 2});
  return {
      {"MatMul/rank4",
       "MatMul",
       "opset1",
       {{"transpose_b", "true"}},
       {tensor({2, 6, 128, 64}), tensor({2, 6, 128, 64})},
       2.0 * 12 * 128 * 128 * 64},
      {"MatMul/vector", "MatMul", "opset1", {}, {tensor({1024}), tensor({1024, 1024})}, 2.0 * 1024 * 1024},
      {"Einsum/matmul",
       "Einsum",
       "opset7",
       {{"equation", "bij,bjk->bik"}},
       {tensor({8, 128, 128}), tensor({8, 128, 128})},
       2.0 * 8 * 128 * 128 * 128},
      {"Einsum/heads",
       "Einsum",
       "opset7",
       {{"equation", "bqhd,bkhd->bhqk"}},
       {tensor({1, 128, 12, 64}), tensor({1, 128, 12, 64})},
       2.0 * 12 * 128 * 128 * 64},
      {"ScaledDotProductAttention",
       "ScaledDotProductAttention",
       "opset13",
       {{"causal", "false"}},
       {tensor({1, 12, 512, 64}), tensor({1, 12, 512, 64}), tensor({1, 12, 512, 64})},
       kAttention},
      {"DFT/1024", "DFT", "opset7", {}, {signal, integers({1})}, 5.0 * 64 * 1024 * 10},
      {"DFT/rows_of_1000", "DFT", "opset7", {}, {tensor({64, 1000, 2}), integers({1})}, 5.0 * 64 * 1000 * 10},
      {"DFT/two_axes", "DFT", "opset7", {}, {tensor({4, 128, 128, 2}), integers({1, 2})}, 5.0 * 4 * 128 * 128 * 14},
      {"RDFT/1024", "RDFT", "opset9", {}, {tensor({64, 1024}), integers({1})}, 2.5 * 64 * 1024 * 10},
      {"IRDFT/1024", "IRDFT", "opset9", {}, {tensor({64, 513, 2}), integers({1})}, 2.5 * 64 * 1024 * 10},
      {"EmbeddingBagOffsetsSum",
       "EmbeddingBagOffsetsSum",
       "opset3",
       {},
       {tensor({30522, 128}), indices({4096}, 30522), same({1}, 0, element::i32)}},
      {"EmbeddingBagPackedSum",
       "EmbeddingBagPackedSum",
       "opset3",
       {},
       {tensor({30522, 128}), indices({256, 16}, 30522)}},
  };
}

}  // namespace terroir::bench
