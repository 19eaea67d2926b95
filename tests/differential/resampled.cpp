#include "tests/differential/resampled.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ops/defs/image/interpolate.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using interpreter::HostTensor;

/// Every element lies between `low` and `high`.
struct Bounds {
  ir::Dims dims;
  std::vector<double> low, high;
};

ops::InterpolateGeometry geometry_of(const ir::Node& node, const std::vector<HostTensor>& inputs,
                                     const ir::Dims& output) {
  const ir::Dims& data = inputs[0].dims();
  if (node.schema->opset == "opset1")
    return ops::interpolate_geometry(node.attrs<ops::Interpolate1Attrs>(), data, output);
  const auto& attrs = node.attrs<ops::InterpolateAttrs>();
  const size_t scales_input = node.schema->opset == "opset4" ? 2 : 1, axes_input = scales_input + 1;
  std::optional<std::vector<int64_t>> axes;
  if (inputs.size() > axes_input) axes = ir::to_integers(inputs[axes_input].view());
  std::vector<double> scales;
  if (attrs.shape_calculation_mode == ops::ShapeCalculation::scales) scales = ir::to_reals(inputs[scales_input].view());
  return ops::interpolate_geometry(attrs, data, output, axes, scales);
}

Bounds resized(const Bounds& src, size_t axis, const ops::ResampleTable& table) {
  constexpr double kUnit = 0x1p-23;  // of f32
  Bounds dst{src.dims, {}, {}};
  dst.dims[axis] = table.outputs();
  int64_t inner = 1;
  for (size_t i = axis + 1; i < src.dims.size(); ++i) inner *= src.dims[i];
  const int64_t count = ir::element_count(dst.dims);
  for (int64_t at = 0; at < count; ++at) {
    const int64_t outer = at / inner / table.outputs(), i = at % inner;
    const auto o = static_cast<size_t>(at / inner % table.outputs());
    double low = 0, high = 0, largest = 0;
    for (int64_t t = table.first[o]; t < table.first[o + 1]; ++t) {
      const auto& [index, weight] = table.taps[static_cast<size_t>(t)];
      const auto from = static_cast<size_t>((outer * src.dims[axis] + index) * inner + i);
      low += weight * (weight < 0 ? src.high[from] : src.low[from]);
      high += weight * (weight < 0 ? src.low[from] : src.high[from]);
      largest += std::fabs(weight) * std::max(std::fabs(src.low[from]), std::fabs(src.high[from]));
    }
    // One rounding per tap, one of its weight, and one of the sum of all weights, which kernels may take for 1.
    const double off = kUnit * static_cast<double>(table.first[o + 1] - table.first[o] + 2) * largest;
    dst.low.push_back(low - off);
    dst.high.push_back(high + off);
  }
  return dst;
}

/// Limits of an integer type as f64.
std::pair<double, double> limits_of(element::Type type) {
  const auto bits = static_cast<int>(type.bitwidth());
  return type.is_signed() ? std::pair{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1}
                          : std::pair{0.0, std::ldexp(1.0, bits) - 1};
}

template <class Fn>
void each(Bounds& bounds, Fn fn) {
  for (size_t i = 0; i < bounds.low.size(); ++i) fn(bounds.low[i], bounds.high[i]);
}

}  // namespace

bool is_resampling(const ir::Node& node) {
  // Both devices run the reference kernel for elements narrower than a byte.
  const element::Type type = node.outputs[0].type;
  if (!node.is("Interpolate") || !type.is_integral_number() || type.bitwidth() < 8) return false;
  const ops::ResampleMode mode = node.schema->opset == "opset1" ? node.attrs<ops::Interpolate1Attrs>().mode
                                                                : node.attrs<ops::InterpolateAttrs>().mode;
  return mode != ops::ResampleMode::nearest;
}

std::string beyond_resampling(const ir::Node& node, const std::vector<HostTensor>& operands, const HostTensor& actual) {
  const PartialShape& inferred = node.outputs[0].shape;
  const ir::Dims dims = inferred.is_static() ? ir::to_dims(inferred.to_shape()) : actual.dims();
  const ops::InterpolateGeometry geometry = geometry_of(node, operands, dims);
  const element::Type type = actual.type();
  const ops::ResampleMode mode = geometry.rule.mode;
  const bool by_axis = mode == ops::ResampleMode::bilinear_pillow || mode == ops::ResampleMode::bicubic_pillow;
  const bool rounds = by_axis || mode == ops::ResampleMode::linear || mode == ops::ResampleMode::area;
  const auto [least, most] = limits_of(type);
  const auto round = [&, least = least, most = most](double& low, double& high) {
    // What is short of an integer by a sum of weights that is short of 1: references allow for less than kernels do.
    constexpr double kShort = 1e-6, kShortOfKernels = 0x1p-11;
    low = rounds ? std::round(low) : std::trunc(low + std::copysign(kShort, low));
    high = rounds ? std::round(high) : std::trunc(high + (high < 0 ? -kShort : kShortOfKernels));
    low = std::clamp(low, least, most);
    high = std::clamp(high, least, most);
  };
  Bounds bounds{operands[0].dims(), {}, {}};
  for (int64_t i = 0; i < operands[0].view().count(); ++i)
    bounds.low.push_back(static_cast<double>(element_at(operands[0].view(), i)));
  bounds.high = bounds.low;
  // Pillow's columns come before its rows; without rounding in between the order does not matter.
  for (size_t i = geometry.axes.size(); i-- > 0;) {
    bounds = resized(bounds, geometry.axes[i].axis, geometry.table(i));
    if (by_axis) each(bounds, round);
  }
  if (!by_axis || geometry.axes.empty()) each(bounds, round);
  if (bounds.dims != dims || ir::element_count(dims) != actual.view().count())
    return concat("shape ", dims, " of ", actual.view().count(), " elements instead of ", bounds.dims);
  for (int64_t i = 0; i < actual.view().count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto got = static_cast<double>(element_at(actual.view(), i));
    if (got < bounds.low[at] || got > bounds.high[at])
      return concat("element ", i, " is ", got, ", resampling and rounding give ", bounds.low[at], " to ",
                    bounds.high[at]);
  }
  return {};
}

}  // namespace terroir::test
