#include "tests/passes/attention_graphs.hpp"

#include <cmath>

namespace terroir::test {

ir::Value self_attention(GraphMaker& m, ir::Value x, ir::Value y, const Attention& form) {
  const auto split = [&](ir::Value value, bool transposed) {
    const ir::Dims dims = m.dims(value);
    auto parts = m.op("Reshape", {value, m.integers({dims[0], dims[1], form.heads, dims[2] / form.heads})},
                      {{"special_zero", "false"}});
    parts = m.op("Transpose", {parts, m.integers({0, 2, 1, 3})});
    return transposed ? m.op("Transpose", {parts, m.integers({0, 1, 3, 2})}) : parts;
  };
  const auto note = [&](const char* what, ir::Value value) {
    if (form.also_result == what) m.result(value);
    return value;
  };
  const float root = std::sqrt(static_cast<float>(m.dims(x)[2] / form.heads));
  auto q = split(x, false);
  auto k = split(y, form.keys_transposed);
  auto s = note("scores", m.op("MatMul", {q, k}, {{"transpose_b", form.keys_transposed ? "false" : "true"}}));
  s = note("scaled", form.divide ? m.op("Divide", {s, m.scalar(root)})
                                 : m.op("Multiply", {m.constant({1, 1, 1, 1}, {1 / root}), s}));
  if (form.mask) s = note("masked", m.op("Add", {s, *form.mask}));
  s = note("weights", m.op("SoftMax", {s}, {{"axis", "3"}}));
  return m.op("Transpose", {m.op("MatMul", {s, split(y, false)}), m.integers({0, 2, 1, 3})});
}

ir::Value repeated_heads(GraphMaker& m, ir::Value x, int64_t times) {
  const ir::Dims dims = m.dims(x);
  auto parts = m.op("Unsqueeze", {x, m.integers({2})});
  parts =
      m.op("Broadcast", {parts, m.integers({dims[0], dims[1], times, dims[2], dims[3]})}, {{"mode", "bidirectional"}});
  return m.op("Reshape", {parts, m.integers({dims[0], dims[1] * times, dims[2], dims[3]})},
              {{"special_zero", "false"}});
}

}  // namespace terroir::test
