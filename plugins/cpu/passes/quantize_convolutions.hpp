#pragma once
// What: convolutions and matrix products of quantised data with quantised weights compute in bytes:
//   x -> FakeQuantize -> Convolution(weights)   =>  x -> cpu.Quantize -> cpu.QuantizedConvolution
//   x -> FakeQuantize -> MaxPool -> MatMul      =>  x -> cpu.Quantize -> MaxPool -> cpu.QuantizedMatMul
//   QuantizedConvolution -> Quantize            =>  QuantizedConvolution that stores bytes (quantize_stores)
// The second form also behind other operations that move values or pick them; the third stores floats beside the
// bytes if something else reads them. All where the weights are constants and whole multiples of a step of their
// output channel: of FakeQuantize, or Convert, Subtract and Multiply, on constants, which are folded by now. What else
// reads such a FakeQuantize reads the bytes, dequantised. Chains come later, by fuse_post_ops.
// Edge cases: a NaN in the data is the lowest level of its range; in f32 it stays a NaN.
// Refuses: what byte_values.hpp cannot have as bytes, ranges by channel of other data than that of depthwise layers,
// weights of more than 8 bits, groups of fewer than 8 channels (4 with AMX), or of which no number makes whole blocks
// of 16, unless depthwise, dilated depthwise ones, transposed ones with groups or dilations, dilated windows that are
// wider than the image, sums that may leave 32 bits, matrices of weights in a batch, or matrices of data that are
// transposed.
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/weight_steps.hpp"

namespace terroir::cpu {

ir::Pass quantize_convolutions(const CpuOps& ops, const ir::OpRegistry& registry, WeightSteps& steps,
                               const parallel::Arena* arena = nullptr);
ir::Pass quantize_stores();

}  // namespace terroir::cpu
