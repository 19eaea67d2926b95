#pragma once
// What: chains of post-ops that end a convolution's tile in different ways, against the reference applied to the bare
// sums. For the `Bench` of a kernel: run_sliced(destination, parts[, chain]).
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {

inline PostOp post_op(PostOpKind kind, OperandMode mode = OperandMode::scalar, float alpha = 0, float beta = 0,
                      const float* operand = nullptr, const float* operand2 = nullptr) {
  return {kind, mode, alpha, beta, operand, operand2};
}

/// `offset`: of channel c at (h, w) in the result of one image, whose other elements are padding of channels.
template <typename Bench>
void check_post_op_chains(Bench& bench, const ConvProblem& p, const std::string& kernel,
                          const std::function<int64_t(int64_t c, int64_t h, int64_t w)>& offset) {
  const float nan = std::nanf("");
  std::vector<float> bare(bench.dst_floats(), nan), tensor(bare.size()), channels(64);
  bench.run_sliced(bare.data(), 1);
  std::vector<int64_t> channel_of(bare.size(), p.oc);
  for (int64_t c = 0; c < p.oc; ++c) {
    channels[static_cast<size_t>(c)] = static_cast<float>(c % 7) - 2.5f;
    for (int64_t h = 0; h < p.h.out; ++h)
      for (int64_t w = 0; w < p.w.out; ++w) {
        const auto i = static_cast<size_t>(offset(c, h, w));
        channel_of[i] = c;
        tensor[i] = static_cast<float>((c + 3 * h + 5 * w) % 11) * 0.5f - 2.0f;
      }
  }
  const auto add = post_op(PostOpKind::add, OperandMode::tensor, 0, 0, tensor.data());
  const std::pair<const char*, std::vector<PostOp>> chains[] = {
      {"relu", {post_op(PostOpKind::relu)}},
      {"clamp", {post_op(PostOpKind::clamp, OperandMode::scalar, -0.5f, 0.75f)}},
      {"clamp away from zero", {post_op(PostOpKind::clamp, OperandMode::scalar, 0.25f, 0.75f)}},
      {"sigmoid", {post_op(PostOpKind::sigmoid)}},
      {"leaky relu", {post_op(PostOpKind::prelu, OperandMode::scalar, 0.1f)}},
      {"add tensor", {add}},
      {"add tensor, relu", {add, post_op(PostOpKind::relu)}},
      {"add tensor, swish", {add, post_op(PostOpKind::swish, OperandMode::scalar, 1.0f)}},
      {"hswish, add tensor", {post_op(PostOpKind::hswish), add}},
      {"scale and shift per channel, relu",
       {post_op(PostOpKind::scale_shift, OperandMode::per_channel, 0, 0, channels.data(), channels.data()),
        post_op(PostOpKind::relu)}},
  };
  for (const auto& [name, ops] : chains) {
    SCOPED_TRACE(kernel + ": " + name);
    GuardedFloats got(bare.size(), nan);
    bench.run_sliced(got.data(), 3, ops);
    for (size_t i = 0; i < bare.size(); ++i) {
      float expected = bare[i];
      const int64_t c = channel_of[i], place = static_cast<int64_t>(i);
      if (c == p.oc) {
        expected = 0.0f;
      } else {
        PostOpRows region{&expected, &expected, 1, 1, 1, 1, place, 1, c, ChannelAxis::lanes};
        post_op_kernels(Isa::scalar).run(region, ops.data(), static_cast<int64_t>(ops.size()));
      }
      ASSERT_NEAR(got.data()[i], expected, 1e-5f * (1.0f + std::abs(expected))) << "element " << i;
    }
    if (ops[0].operand != tensor.data()) continue;
    // In place: the operand of the addition is where the result goes.
    std::vector<float> in_place = tensor;
    std::vector<PostOp> same = ops;
    same[0].operand = in_place.data();
    bench.run_sliced(in_place.data(), 3, same);
    EXPECT_EQ(std::memcmp(in_place.data(), got.data(), in_place.size() * sizeof(float)), 0) << "in place";
  }
}

}  // namespace terroir::cpu::conv_test
