#pragma once
// What: what a layer of bytes, or of numbers of bf16, does with its sums, as its kernel takes it.
#include <limits>
#include <optional>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"

namespace terroir::cpu {

/// The parts of a chain: a bias, some steps, a rounding, a tensor, a clamp, and what is behind them.
struct StoreSteps {
  /// `block`: outputs of a block of the kernel.
  StoreSteps(const NodeContext& context, int64_t block);
  std::optional<ByteRounding> rounding;
  std::optional<FusedOp> residual;
  bool is_late = false;  // it comes behind the steps
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  PostOpChain first, rest;
};

}  // namespace terroir::cpu
