#include "ops/defs/image/interpolate.hpp"

#include <algorithm>
#include <cmath>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

constexpr int64_t kMaxPad = INT32_MAX;
constexpr double kMaxExtent = 4611686018427387904.0;  // 2^62

/// Pads for all axes. Exception for one that is negative, too large, or beyond the rank.
std::vector<int64_t> filled_pads(const char* name, std::vector<int64_t> pads, size_t rank) {
  for (size_t i = 0; i < pads.size(); ++i)
    if (pads[i] < 0 || pads[i] > kMaxPad || (i >= rank && pads[i] != 0))
      throw_error(ErrorCode::invalid_argument, name, "[", i, "] must be within [0, ", i < rank ? kMaxPad : 0,
                  "] for rank ", rank, ", got ", pads[i]);
  pads.resize(rank, 0);
  return pads;
}

/// As filled_pads; a single entry of Interpolate-1 is for each of its axes.
std::vector<int64_t> pads_of_axes(const char* name, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes,
                                  size_t rank) {
  if (pads.size() != 1) return filled_pads(name, pads, rank);
  const int64_t pad = filled_pads(name, pads, std::max<size_t>(rank, 1)).front();
  std::vector<int64_t> result(rank, 0);
  for (const int64_t axis : axes) result[static_cast<size_t>(axis)] = pad;
  return result;
}

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

std::vector<int64_t> checked_axes(std::vector<int64_t> axes, size_t rank) {
  axes = normalize_axes(std::move(axes), static_cast<int64_t>(rank));
  require_unique(axes);
  return axes;
}

int64_t scaled_extent(int64_t extent, double scale) {
  const auto length = static_cast<double>(extent);
  // A scale is a rounded quotient: what is short of a whole number by no more than that rounding counts as whole.
  const double result = std::floor(length * scale + std::min(length * 1e-6, 0.01));
  if (!(result <= kMaxExtent))
    throw_error(ErrorCode::invalid_argument, "an extent of ", extent, " scaled by ", scale, " is too large");
  return static_cast<int64_t>(result);
}

Dimension scaled_extent(const Dimension& extent, double scale) {
  return {scaled_extent(extent.get_min_length(), scale),
          extent.has_upper_bound() ? scaled_extent(extent.get_max_length(), scale) : -1};
}

void require_scales(const std::vector<double>& scales) {
  for (size_t i = 0; i < scales.size(); ++i)
    if (!(scales[i] > 0) || !std::isfinite(static_cast<float>(scales[i])))
      throw_error(ErrorCode::invalid_argument, "scales[", i, "] must be positive and finite, got ", scales[i]);
}

void require_sizes(const std::vector<int64_t>& sizes, const char* name) {
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0) throw_error(ErrorCode::invalid_argument, name, "[", i, "] must be non-negative, got ", sizes[i]);
}

bool is_pillow(ResampleMode mode) {
  return mode == ResampleMode::bilinear_pillow || mode == ResampleMode::bicubic_pillow;
}

/// Inputs after data, by version.
struct Ports {
  int sizes;
  int scales;
  int axes;
};
constexpr Ports kPorts4{1, 2, 3};
constexpr Ports kPorts11{1, 1, 2};

/// The extents asked for, as far as they are known, one per axis.
std::optional<std::vector<Dimension>> wanted_sizes(ir::InferContext& ctx, int input, const char* name) {
  if (const auto sizes = ctx.integers(input)) {
    require_sizes(*sizes, name);
    return std::vector<Dimension>(sizes->begin(), sizes->end());
  }
  return ctx.dimensions(input);
}

void require_count(const ir::InferContext& ctx, int input, const char* name, const std::vector<int64_t>& axes) {
  const auto length = known_length(ctx, input);
  ctx.require(!length || *length == static_cast<int64_t>(axes.size()), name, " (input ", input,
              ") must have one entry for each of ", axes.size(), " axes, got ", length.value_or(0));
}

PartialShape padded_shape(const PartialShape& data, const std::vector<int64_t>& begin,
                          const std::vector<int64_t>& end) {
  PartialShape padded = data;
  for (size_t i = 0; i < begin.size(); ++i) padded[static_cast<std::ptrdiff_t>(i)] += begin[i] + end[i];
  return padded;
}

/// From the shortest at the lowest scale to the longest at the highest.
Dimension scaled_extent(const Dimension& extent, const std::optional<ir::RealRange>& scale) {
  if (!scale || !(scale->low > 0)) return {};
  return {scaled_extent(extent.get_min_length(), scale->low),
          extent.has_upper_bound() ? scaled_extent(extent.get_max_length(), scale->high) : -1};
}

template <bool Eleven>
void infer_interpolate(ir::InferContext& ctx) {
  constexpr Ports ports = Eleven ? kPorts11 : kPorts4;
  const auto& attrs = ctx.attrs<InterpolateAttrs>();
  const element::Type type = ctx.type(0);
  const auto& mode_names = ir::EnumSpellings<ResampleMode>::names;
  ctx.require(attrs.mode != ResampleMode::area && (Eleven || !is_pillow(attrs.mode)),
              "mode must be nearest, linear, linear_onnx",
              Eleven ? ", cubic, bilinear_pillow or bicubic_pillow" : " or cubic", ", got ",
              mode_names[static_cast<size_t>(attrs.mode)]);

  const bool by_scales = attrs.shape_calculation_mode == ShapeCalculation::scales;
  const int wanted = by_scales ? ports.scales : ports.sizes;
  const char* wanted_name = by_scales ? "scales" : "sizes";
  require_rank(ctx, wanted, wanted_name, 1, 1);
  if (by_scales) {
    require_real_type(ctx, wanted, wanted_name);
  } else {
    require_integer_type(ctx, wanted, wanted_name);
  }
  const bool has_axes = ctx.input_count() > ports.axes;
  if (has_axes) {
    require_integer_type(ctx, ports.axes, "axes");
    require_rank(ctx, ports.axes, "axes", 1, 1);
  }
  const auto scales = by_scales ? ctx.reals(wanted) : std::nullopt;
  if (scales) require_scales(*scales);
  const auto ranges = by_scales && !scales ? ranges_of(ctx, wanted) : std::nullopt;
  const auto sizes = by_scales ? std::nullopt : wanted_sizes(ctx, wanted, wanted_name);

  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic()) return ctx.set_output(0, type, PartialShape::dynamic());
  const size_t rank = data.size();
  PartialShape output = padded_shape(data, filled_pads("pads_begin", attrs.pads_begin, rank),
                                     filled_pads("pads_end", attrs.pads_end, rank));
  const auto given = has_axes ? ctx.integers(ports.axes) : std::optional(all_axes(rank));
  if (!given) return ctx.set_output(0, type, PartialShape::dynamic(data.rank()));
  const auto axes = checked_axes(*given, rank);
  ctx.require(!is_pillow(attrs.mode) || axes.size() == 2, "the pillow modes need 2 axes, got ", axes);
  require_count(ctx, wanted, wanted_name, axes);
  if (scales)
    ctx.require(scales->size() == axes.size(), "scales must have one entry for each of ", axes.size(), " axes, got ",
                *scales);
  for (size_t i = 0; i < axes.size(); ++i) {
    Dimension& extent = output[axes[i]];
    if (by_scales) {
      extent = scales                                    ? scaled_extent(extent, (*scales)[i])
               : ranges && ranges->size() == axes.size() ? scaled_extent(extent, (*ranges)[i])
                                                         : Dimension();
    } else {
      extent = sizes && sizes->size() == axes.size() ? (*sizes)[i] : Dimension();
    }
  }
  ctx.set_output(0, type, std::move(output));
}

void infer_interpolate_1(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<Interpolate1Attrs>();
  const element::Type type = ctx.type(0);
  ctx.require(!is_pillow(attrs.mode), "mode must be nearest, linear, cubic or area, got ",
              ir::EnumSpellings<ResampleMode>::names[static_cast<size_t>(attrs.mode)]);
  require_integer_type(ctx, 1, "target_spatial_shape");
  require_rank(ctx, 1, "target_spatial_shape", 1, 1);
  const auto sizes = wanted_sizes(ctx, 1, "target_spatial_shape");
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic()) return ctx.set_output(0, type, PartialShape::dynamic());
  const size_t rank = data.size();
  const auto axes = checked_axes(attrs.axes, rank);
  require_count(ctx, 1, "target_spatial_shape", axes);
  PartialShape output = padded_shape(data, pads_of_axes("pads_begin", attrs.pads_begin, axes, rank),
                                     pads_of_axes("pads_end", attrs.pads_end, axes, rank));
  for (size_t i = 0; i < axes.size(); ++i)
    output[axes[i]] = sizes && sizes->size() == axes.size() ? (*sizes)[i] : Dimension();
  ctx.set_output(0, type, std::move(output));
}

/// Every axis that is resized or padded; antialias is kept only where an axis shrinks.
InterpolateGeometry geometry_of(ResampleRule rule, const ir::Dims& data, const ir::Dims& output,
                                const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                                const std::vector<int64_t>& axes, const std::vector<double>& scales) {
  InterpolateGeometry geometry{rule, {}};
  bool shrinks = false;
  std::vector<bool> resized(data.size(), false);
  const auto add = [&](size_t axis, const double* scale) {
    InterpolatedAxis entry{axis, data[axis], begin[axis], end[axis], output[axis], 1.0F};
    if (entry.input > (int64_t{1} << 62))
      throw_error(ErrorCode::invalid_argument, "an axis of ", entry.input, " is too long to interpolate");
    if (scale) {
      entry.scale = static_cast<float>(*scale);
    } else if (entry.padded() > 0 && entry.output > 0) {
      entry.scale = static_cast<float>(entry.output) / static_cast<float>(entry.padded());
    }
    shrinks = shrinks || entry.scale < 1.0F;
    geometry.axes.push_back(entry);
  };
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    resized[axis] = true;
    add(axis, scales.empty() ? nullptr : &scales[i]);
  }
  constexpr double kKeep = 1.0;
  for (size_t axis = 0; axis < data.size(); ++axis)
    if (!resized[axis] && (begin[axis] != 0 || end[axis] != 0)) add(axis, &kKeep);
  geometry.rule.antialias = rule.antialias && shrinks;
  return geometry;
}

void evaluate(const InterpolateGeometry& geometry, const ir::TensorView& src, const ir::MutableTensorView& dst) {
  ir::Dims wanted = src.dims;
  for (const InterpolatedAxis& axis : geometry.axes) wanted[axis.axis] = axis.output;
  require_dims(dst, wanted, "Interpolate");
  // Before the tables are made, for the axes of an empty tensor may be of any length.
  if (dst.count() == 0) return;
  if (src.count() == 0) return reference::ElementCopier(src.type, "Interpolate").clear(dst.data, 0, dst.count());
  std::vector<reference::ResampledAxis> axes;
  for (size_t i = 0; i < geometry.axes.size(); ++i) axes.push_back({geometry.axes[i].axis, geometry.table(i)});
  const ResampleMode mode = geometry.rule.mode;
  if (mode == ResampleMode::nearest) return reference::resize_nearest(src, axes, dst);
  if (is_pillow(mode)) {
    // Pillow resizes rows before columns and rounds in between.
    std::reverse(axes.begin(), axes.begin() + std::min<std::ptrdiff_t>(2, std::ssize(axes)));
    return reference::resize(src, std::move(axes), reference::IntegerResult::round_each_pass, dst);
  }
  const bool rounds = mode == ResampleMode::linear || mode == ResampleMode::area;
  reference::resize(src, std::move(axes), rounds ? reference::IntegerResult::round : reference::IntegerResult::truncate,
                    dst);
}

template <bool Eleven>
void evaluate_interpolate(const ir::EvalContext& ctx) {
  constexpr Ports ports = Eleven ? kPorts11 : kPorts4;
  const auto& attrs = ctx.attrs<InterpolateAttrs>();
  std::optional<std::vector<int64_t>> axes;
  if (std::ssize(ctx.inputs) > ports.axes) axes = ir::to_integers(ctx.inputs[ports.axes]);
  std::vector<double> scales;
  if (attrs.shape_calculation_mode == ShapeCalculation::scales) scales = ir::to_reals(ctx.inputs[ports.scales]);
  evaluate(interpolate_geometry(attrs, ctx.inputs[0].dims, ctx.outputs[0].dims, axes, scales), ctx.inputs[0],
           ctx.outputs[0]);
}

template <bool Eleven>
ir::OpSchema interpolate_schema() {
  ir::OpSchema schema;
  schema.arity = Eleven ? ir::Arity{2, 3, 1} : ir::Arity{3, 4, 1};
  schema.make_attributes = &ir::make_attributes<InterpolateAttrs>;
  schema.infer = &infer_interpolate<Eleven>;
  schema.reference = &evaluate_interpolate<Eleven>;
  return schema;
}

}  // namespace

ResampleTable InterpolateGeometry::table(size_t i) const {
  const InterpolatedAxis& axis = axes[i];
  return without_padding(resample_table(rule, axis.padded(), axis.output, axis.scale), axis.pad_begin, axis.input);
}

InterpolateGeometry interpolate_geometry(const InterpolateAttrs& attrs, const ir::Dims& data, const ir::Dims& output,
                                         const std::optional<std::vector<int64_t>>& axes,
                                         const std::vector<double>& scales) {
  const size_t rank = data.size();
  const auto resized = axes ? checked_axes(*axes, rank) : all_axes(rank);
  const bool by_scales = attrs.shape_calculation_mode == ShapeCalculation::scales;
  if (output.size() != rank || (by_scales && scales.size() != resized.size()) ||
      (is_pillow(attrs.mode) && resized.size() != 2))
    throw_error(ErrorCode::shape_mismatch, "Interpolate: axes ", resized, " and scales ", scales, " do not fit data ",
                data, " and output ", output);
  require_scales(scales);
  return geometry_of(
      {attrs.mode, attrs.coordinate_transformation_mode, attrs.nearest_mode, attrs.antialias, attrs.cube_coeff}, data,
      output, filled_pads("pads_begin", attrs.pads_begin, rank), filled_pads("pads_end", attrs.pads_end, rank), resized,
      by_scales ? scales : std::vector<double>());
}

InterpolateGeometry interpolate_geometry(const Interpolate1Attrs& attrs, const ir::Dims& data, const ir::Dims& output) {
  const size_t rank = data.size();
  const auto axes = checked_axes(attrs.axes, rank);
  if (output.size() != rank)
    throw_error(ErrorCode::shape_mismatch, "Interpolate: data ", data, " and output ", output, " differ in rank");
  const auto begin = pads_of_axes("pads_begin", attrs.pads_begin, axes, rank);
  const auto end = pads_of_axes("pads_end", attrs.pads_end, axes, rank);
  const auto none = [](const std::vector<int64_t>& pads) {
    return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  };
  ResampleRule rule{attrs.mode, CoordinateMode::asymmetric, NearestMode::simple, attrs.antialias, -0.75};
  const bool linear = attrs.mode == ResampleMode::linear || attrs.mode == ResampleMode::linear_onnx;
  if (attrs.mode == ResampleMode::linear && rank < 5) rule.mode = ResampleMode::linear_onnx;
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const bool height_and_width = rank == 4 && sorted == std::vector<int64_t>{2, 3};
  if (attrs.align_corners) {
    rule.coordinates = CoordinateMode::align_corners;
  } else if (linear && none(begin) && none(end) && !height_and_width) {
    rule.coordinates = CoordinateMode::half_pixel;
  }
  return geometry_of(rule, data, output, begin, end, axes, {});
}

ir::OpSchema interpolate_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<Interpolate1Attrs>;
  schema.infer = &infer_interpolate_1;
  schema.reference = [](const ir::EvalContext& ctx) {
    evaluate(interpolate_geometry(ctx.attrs<Interpolate1Attrs>(), ctx.inputs[0].dims, ctx.outputs[0].dims),
             ctx.inputs[0], ctx.outputs[0]);
  };
  return schema;
}

ir::OpSchema interpolate_4() { return interpolate_schema<false>(); }
ir::OpSchema interpolate_11() { return interpolate_schema<true>(); }

}  // namespace terroir::ops
