#pragma once
// What: elementwise ops that feed each other become one node, which goes over memory once:
//   Greater(x, y) -> Select(., Sin(x), z)             =>  cpu.Elementwise {Greater(#0 #1) Sin(#0) Select(m0 m1 #2)}
//   Sigmoid(a), Tanh(b) -> Multiply                   =>  cpu.Elementwise {Sigmoid(#0) Tanh(#1) Multiply(m0 m1)}
//   Multiply(x, gate[C,1,1]) -> Add(residual)         =>  cpu.Elementwise {Multiply(#0 #1) Add(m0 #2)}
// Members have the shape of the last one; operands from outside may broadcast; types may change between members.
// Refuses: values that something else reads too; chains that fuse_post_ops makes of one value with scalars, channel
// vectors and tensors, which any layout suits; convolutional neighbours with channels that are no whole blocks.
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

ir::Pass fuse_elementwise(const CpuOps& ops);

}  // namespace terroir::cpu
