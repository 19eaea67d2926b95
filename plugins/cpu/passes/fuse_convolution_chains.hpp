#pragma once
// What: a depthwise convolution, the convolution that feeds it and, where it pays, the 1x1 convolution that it feeds
// become one step, so that the wide tensors between them stay in cache:
//   Convolution -> GroupConvolution [-> Convolution]     =>  cpu.ConvolutionChain   (each with its fused chain)
//   Convolution -> GroupConvolution -> ReduceMean(space) =>  cpu.ConvolutionChain {mean}, two outputs
// Likewise where nothing in front of the depthwise convolution can be one of its step:
//   GroupConvolution -> Convolution                      =>  cpu.ConvolutionChain
// And the gate of squeeze-and-excite goes into the 1x1 convolution behind it, where that has few weights:
//   Multiply(x, gate) -> Convolution                     =>  cpu.ConvolutionChain
// And a large joined tensor, where a U-Net goes up again, is never made:
//   Concat(ConvolutionBackpropData, x ...) -> Convolution => cpu.ConvolutionChain
// And neither is that of a first layer with a pooling behind it:
//   Convolution -> MaxPool                               =>  cpu.ConvolutionChain
// Refuses: a value that something else reads too, weights known at run time, kernels that cannot work strip by strip
// (see nodes/convolution_chain.hpp, nodes/joined_convolution.hpp, nodes/pooled_convolution.hpp), chains with operands
// of a run in front of the last stage, and in it behind a joined tensor.
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

class WeightsCache;

/// Runs after fuse_post_ops. `weights` is asked for nothing, but belongs to the contexts that kernels are chosen by.
/// `accuracy`: as NodeContext.
ir::Pass fuse_convolution_chains(const CpuOps& ops, Isa isa, WeightsCache& weights, bool accuracy = false);

}  // namespace terroir::cpu
