#pragma once
// What: convolutions and matrix products that multiply numbers of bf16, where inference_precision asks for it:
//   x -> Convolution(weights)             =>  x -> cpu.Bf16Convolution(weights)      (narrow_products)
//   Bf16Convolution -> Bf16Convolution    =>  the same, bf16 between them            (narrow_stores)
// The first for transposed ones, too. The second, behind fuse_post_ops, when chains are known, where all that read a
// value are such layers, as their data or as the tensor that they add, also by way of Concat, Split, MaxPool and
// nearest Interpolate in blocks of channels. All else computes in f32, and what it reads is stored as f32; depthwise
// layers, too, but they read and store numbers of bf16 where others store and read them.
// Edge cases: data that is not finite as bf16 (beyond 3.38e38) may reach other outputs of its layer, always the same.
// Refuses: weights that are no constants; depthwise layers of one or three axes, dilated ones, and those whose chains
// read a tensor; groups of which no number makes
// whole blocks of 16 (of transposed layers each must); dilated windows that are wider than the image, or too tall for
// L2; transposed layers that are dilated; matrices of weights in a batch, or transposed matrices of data.
#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

ir::Pass narrow_products(const CpuOps& ops);
ir::Pass narrow_stores(const CpuOps& ops);

}  // namespace terroir::cpu
