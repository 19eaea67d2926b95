#pragma once
// What: elementwise ops after a convolution, a matrix product, MVN, Interpolate or another elementwise op become its
// chain:
//   Convolution -> Add(bias) -> ReLU            =>  cpu.Convolution {fused: add(per_channel), relu}
//   Convolution -> Add(other) -> Clamp          =>  cpu.Convolution {fused: add(tensor), clamp}, the later of two
//   Multiply(scale) -> Add(shift) -> ReLU       =>  cpu.Multiply {fused: add, relu}
//   MVN -> Multiply(gamma) -> Add(beta)         =>  cpu.MVN {fused: mul(per_channel), add(per_channel)}
//   Interpolate -> Add(other) -> ReLU           =>  cpu.Interpolate {fused: add(tensor), relu}, of enlarged images
//   QuantizedConvolution -> FakeQuantize        =>  cpu.QuantizedConvolution {fused: clamp, linear, round_even, linear}
// Sums that a convolution takes are not for Interpolate. Behind a layer in bytes the other tensor of a sum is read as
// bytes where it is a FakeQuantize, too.
// Refuses: a value that something else reads too, other types than f32, operands that broadcast in another way than
// scalar, per channel or not at all (the op stays a node of its own).
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

/// Which ops chains may begin with: elementwise ones last, when nothing else wants them.
enum class ChainBases { all, with_own_store, elementwise };

ir::Pass fuse_post_ops(const CpuOps& ops, ChainBases which = ChainBases::all);

}  // namespace terroir::cpu
