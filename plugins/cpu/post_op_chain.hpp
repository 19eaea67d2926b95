#pragma once
// What: the fused chain of a node as kernels want it: constants in executors' own memory, tensor operands filled in per
// run.
#include <array>
#include <vector>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

/// The longest chain a kernel gets; longer ones are split by fuse_post_ops.
inline constexpr size_t kMaxPostOps = 16;

class PostOpChain {
 public:
  PostOpChain() = default;
  /// `first` of the node's chain are left out (a bias that the kernel takes itself). Channel vectors are padded with
  /// zeros to a multiple of `channel_unit`.
  PostOpChain(const NodeContext& context, size_t first, int64_t channel_unit);
  /// From steps whose operands are inputs of the node.
  PostOpChain(const NodeContext& context, std::vector<FusedOp> steps, int64_t channel_unit);

  size_t size() const { return steps_.size(); }
  bool empty() const { return steps_.empty(); }
  bool has_channel_operand() const;
  bool maps_zero_to_zero() const;
  /// Channel vectors stand `times` times side by side: for rows of several pixels.
  void repeat_channels(int64_t times);

  /// The chain with the tensor operands of this run.
  using Bound = std::array<PostOp, kMaxPostOps>;
  void bind(const RunArgs& args, Bound& bound) const noexcept {
    for (size_t i = 0; i < steps_.size(); ++i) {
      bound[i] = steps_[i];
      if (runtime_input_[i] >= 0) bound[i].operand = static_cast<const float*>(args.inputs[runtime_input_[i]]);
    }
  }

 private:
  std::vector<PostOp> steps_;
  std::vector<int> runtime_input_;  // -1: constant or none
  std::vector<std::vector<float>> channels_;
};

/// Layouts for the operands of a node's chain in LayoutChoice::inputs (from the first operand on): tensors in
/// `result`'s layout, channel vectors not read at run time.
void add_chain_inputs(const NodeContext& context, const Layout& result, LayoutChoice& choice);

/// The node's chain; empty for a node that is not fused.
const std::vector<FusedOp>& chain_of(const ir::Node& node);

}  // namespace terroir::cpu
