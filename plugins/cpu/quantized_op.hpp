#pragma once
// What: the ops of the set "cpu" that compute in bytes, made by the passes quantize_convolutions and quantize_stores.
//   Quantize              x f32 -> q u8 of the same extents.
//                         q = round_half_even((clamp(x, low, high) - low) / (high - low) * (levels - 1)); NaN is 0
//   QuantizedConvolution, QuantizedMatMul
//                         q u8, weights f32, steps f32, operands of the chain -> f32, or u8 if it has levels to store,
//                         or both, f32 first. The base op's result for the data scale * (q - zero), through the chain;
//                         u8: through Quantize. Weights are whole multiples of their output channel's step, in [-128,
//                         127] steps of it: sums of them are exact in 32 bits.
// Shapes: those of the base op, Convolution or GroupConvolution, or MatMul with a matrix of weights; steps [outputs].
#include "ir/schema/op_schema.hpp"
#include "plugins/cpu/fused_attrs.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kQuantizeType = "Quantize";
inline constexpr std::string_view kQuantizedConvolutionType = "QuantizedConvolution";
inline constexpr std::string_view kQuantizedMatMulType = "QuantizedMatMul";

/// Evenly spaced values of a range.
struct QuantizeAttrs {
  float low = 0, high = 0;
  int64_t levels = 256;

  /// How many levels there are to a unit.
  float steps() const { return static_cast<float>(levels - 1) / (high - low); }

  template <class V>
  void visit(V& v) {
    double low_value = static_cast<double>(low), high_value = static_cast<double>(high);
    v("low", low_value);
    v("high", high_value);
    v("levels", levels);
  }
};

struct QuantizedAttrs {
  FusedAttrs fused;  // base_inputs counts data and weights; steps come next
  bool stores_floats() const { return !store || also_floats; }

  float scale = 1, zero = 0;
  std::optional<QuantizeAttrs> store;
  bool also_floats = false;  // beside what it stores

  template <class V>
  void visit(V& v) {
    fused.visit(v);
    double scale_value = static_cast<double>(scale), zero_value = static_cast<double>(zero);
    v("scale", scale_value);
    v("zero", zero_value);
    if (store) store->visit(v);
    if (store) v("also_floats", also_floats);
  }
};

/// The input with the steps of the weights.
inline constexpr int kQuantizedSteps = 2;

ir::OpSchema quantize_schema();
/// `type`: one of those with QuantizedAttrs.
ir::OpSchema quantized_schema(std::string_view type);

}  // namespace terroir::cpu
