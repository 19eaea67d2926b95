#pragma once
// What: the ops of the set "cpu" that multiply numbers of bf16, made by the passes narrow_products and narrow_stores.
//   Bf16Convolution, Bf16MatMul
//     data f32 or bf16, weights f32, operands of the chain f32 or, of a sum with a tensor, bf16 -> f32 or bf16.
//     The base op's result for data and weights that are rounded to bf16 (nearest, ties to even), whose products are
//     summed in f32, through the chain in f32; bf16: rounded once more. A depthwise base multiplies floats.
// Shapes: those of the base op, a convolution, transposed or not, or MatMul with a matrix of weights. A transposed one
// may have its third input, extents of its result.
#include "ir/schema/op_schema.hpp"
#include "plugins/cpu/fused_attrs.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kBf16ConvolutionType = "Bf16Convolution";
inline constexpr std::string_view kBf16MatMulType = "Bf16MatMul";

struct Bf16Attrs {
  FusedAttrs fused;
  bool stores_bf16 = false;

  template <class V>
  void visit(V& v) {
    fused.visit(v);
    if (stores_bf16) v("stores_bf16", stores_bf16);
  }
};

/// `type`: one of the two.
ir::OpSchema bf16_schema(std::string_view type);

}  // namespace terroir::cpu
