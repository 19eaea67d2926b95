#pragma once
// What: attention written as single ops, or as ScaledDotProductAttention, becomes one step of the set "cpu":
//   q, k -> MatMul -> [Multiply or Divide by a constant] -> [Add mask] -> SoftMax -> MatMul(., v)   =>  cpu.Attention
//   ScaledDotProductAttention(q, k, v, mask, scale, sink)                                           =>  cpu.Attention
//   Select(mask, scores, never) and Select(mask, never, scores), with a constant below -1e30, are masks too. Reshapes
//   between the products that only add or drop ones in front go away, as does the repetition of masks.
//   Transposes in front of q, k and v and behind the result (heads split off and merged) become its orders, constant
//   factors of q and k its scale, and Unsqueeze -> Broadcast -> Reshape, which repeat k or v for heads in a row, its
//   groups.
// Refuses: intermediate results that something else reads too, other types than f32, unknown shapes, operands of
// different rank, a softmax along another axis, factors and scales of more than one element or known at run time only,
// a factor behind the mask, masks that repeat one value along the sources or have a larger batch, Transposes that move
// the last axis away (they stay, or where one would have to be added, attention stays in single ops).
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

ir::Pass fuse_attention(const CpuOps& ops);

}  // namespace terroir::cpu
