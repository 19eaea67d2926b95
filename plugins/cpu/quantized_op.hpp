#pragma once
// What: the ops of the set "cpu" that compute in bytes, made by the passes quantize_convolutions and quantize_stores.
//   Quantize              x f32 -> q u8 of the same extents.
//                         q = round_half_even((clamp(x, low, high) - low) / (high - low) * (levels - 1)); NaN is 0
//   Dequantize            q u8 -> f32 of the same extents: scale * (q - zero)
//   QuantizedConvolution, QuantizedMatMul
//                         q u8, weights f32, steps f32, operands of the chain -> f32, or u8 if it has levels to store,
//                         or both, f32 first. The base op's result for the data scale * (q - zero), through the chain;
//                         u8: through Quantize. Weights are whole multiples of their output channel's step, in [-128,
//                         127] steps of it: sums of them are exact in 32 bits. A sum with a tensor of u8 has it
//                         dequantised: alpha * q + beta of the step.
// Shapes: those of the base op, Convolution or GroupConvolution, or MatMul with a matrix of weights; steps [outputs].
// Ranges, scales and zeros: one for all, or one for each channel (axis 1); of data of depthwise layers only.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ir/schema/op_schema.hpp"
#include "plugins/cpu/fused_attrs.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kQuantizeType = "Quantize";
inline constexpr std::string_view kDequantizeType = "Dequantize";
inline constexpr std::string_view kQuantizedConvolutionType = "QuantizedConvolution";
inline constexpr std::string_view kQuantizedMatMulType = "QuantizedMatMul";

/// One value for all channels, or one for each.
struct ByChannel {
  ByChannel(float value = 0) : values{value} {}  // NOLINT(google-explicit-constructor): a value for all
  explicit ByChannel(std::vector<float> each) : values(std::move(each)) {
    if (std::all_of(values.begin(), values.end(), [this](float value) { return value == values.front(); }))
      values.resize(1);
  }
  float operator[](int64_t channel) const { return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
  bool operator==(const ByChannel&) const = default;
  auto operator<=>(const ByChannel&) const = default;

  template <class V>
  void visit(V& v, const char* name) {
    std::vector<double> wide(values.begin(), values.end());
    v(name, wide);
  }

  std::vector<float> values;
};

/// Evenly spaced values of a range.
struct QuantizeAttrs {
  ByChannel low, high;
  int64_t levels = 256;

  bool by_channel() const { return low.values.size() + high.values.size() > 2; }
  float most() const { return static_cast<float>(levels - 1); }
  /// How many levels there are to a unit.
  float steps(int64_t channel) const { return most() / (high[channel] - low[channel]); }
  bool operator==(const QuantizeAttrs&) const = default;
  auto operator<=>(const QuantizeAttrs&) const = default;

  template <class V>
  void visit(V& v) {
    low.visit(v, "low");
    high.visit(v, "high");
    v("levels", levels);
  }
};

struct DequantizeAttrs {
  float scale = 1, zero = 0;

  template <class V>
  void visit(V& v) {
    double scale_value = static_cast<double>(scale), zero_value = static_cast<double>(zero);
    v("scale", scale_value);
    v("zero", zero_value);
  }
};

struct QuantizedAttrs {
  FusedAttrs fused;  // base_inputs counts data and weights; steps come next
  bool stores_floats() const { return !store || also_floats; }

  ByChannel scale = 1, zero = 0;
  std::optional<QuantizeAttrs> store;
  bool also_floats = false;  // beside what it stores

  template <class V>
  void visit(V& v) {
    fused.visit(v);
    scale.visit(v, "scale");
    zero.visit(v, "zero");
    if (store) store->visit(v);
    if (store) v("also_floats", also_floats);
  }
};

/// Where in a chain the store of bytes finds what it does itself: a bias, some steps, a rounding (a clamp, a linear
/// step, to the nearest even one, and a linear one again), and a sum with a tensor; what is behind it begins at `last`.
struct ByteStore {
  size_t first = 0, first_count = 0;  // steps in front of the rounding; none without one
  std::optional<size_t> rounding, residual;
  size_t last = 0;
  bool is_late = false;  // the residual is the last step of the chain
};
/// `rounds`: whether the store rounds itself, as that of bytes does; else a rounding is steps as others are, and a
/// residual may be late.
ByteStore byte_store_of(const std::vector<FusedOp>& chain, bool rounds = true);
/// To the same levels for all channels, which stand for scale * (q - zero).
inline constexpr size_t kRoundingSteps = 4;
std::array<FusedOp, kRoundingSteps> rounding_steps(const QuantizeAttrs& levels, float scale, float zero);

/// The input with the steps of the weights.
inline constexpr int kQuantizedSteps = 2;

ir::OpSchema quantize_schema();
ir::OpSchema dequantize_schema();
/// `type`: one of those with QuantizedAttrs.
ir::OpSchema quantized_schema(std::string_view type);

}  // namespace terroir::cpu
