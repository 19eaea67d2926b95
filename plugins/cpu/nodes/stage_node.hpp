#pragma once
// What: the stages of a ConvolutionChain as the nodes that they were, and what their executors share.
#include <memory>
#include <vector>

#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/nodes/prepared_convolution.hpp"

namespace terroir::cpu {

struct StageNode {
  ir::Node node;
  NodeContext context;  // refers to `node`; layouts are plain

  StageNode(const NodeContext& chain, const ConvolutionChainAttrs::Stage& stage, const TensorDesc* previous,
            ir::Dims result);
  StageNode(const StageNode&) = delete;
  StageNode& operator=(const StageNode&) = delete;
};

/// `chain`: of a ConvolutionChain.
std::vector<std::unique_ptr<StageNode>> stage_nodes(const NodeContext& chain);

/// Layouts for the operands that a stage's chain reads at run time. `inputs`: the stage's.
void add_stage_operands(const StageNode& stage, const std::vector<int>& inputs, const Layout& result,
                        LayoutChoice& choice);

/// The chain of a stage with the operands of this run. `inputs`: the stage's.
void bind_stage(const PostOpChain& chain, const std::vector<int>& inputs, const RunArgs& args,
                PostOpChain::Bound& bound) noexcept;

/// Moves the tensor operands of a chain on, to where a part of the result begins.
void shift_operands(const PostOpChain& chain, int64_t floats, PostOpChain::Bound& bound) noexcept;

}  // namespace terroir::cpu
