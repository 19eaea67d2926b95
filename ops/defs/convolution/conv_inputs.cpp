#include "ops/defs/convolution/conv_inputs.hpp"

namespace terroir::ops {

element::Type conv_type(const ir::InferContext& ctx) {
  element::Type type;
  if (!element::Type::merge(type, ctx.type(0), ctx.type(1)))
    throw_error(ErrorCode::type_mismatch, "data and weights must have one element type, got ", ctx.type(0), " and ",
                ctx.type(1));
  return type;
}

std::optional<size_t> conv_spatial_rank(const ir::InferContext& ctx, const WeightsLayout& layout,
                                        const std::vector<int64_t>& strides) {
  const PartialShape &data = ctx.shape(0), &weights = ctx.shape(1);
  const auto check = [&](const char* name, const PartialShape& shape, int64_t outer_rank) -> std::optional<size_t> {
    if (shape.rank().is_dynamic()) return {};
    const int64_t rank = shape.rank().get_length();
    ctx.require(rank > outer_rank && rank <= outer_rank + 3, name, " must have rank ", outer_rank + 1, " to ",
                outer_rank + 3, ", got the shape ", shape);
    return static_cast<size_t>(rank - outer_rank);
  };
  const auto of_data = check("data", data, 2);
  const auto of_weights = check("weights", weights, layout.outer_rank());
  if (of_data && of_weights && *of_data != *of_weights)
    throw_error(ErrorCode::shape_mismatch, "data ", data, " needs weights of rank ",
                static_cast<int64_t>(*of_data) + layout.outer_rank(), ", got ", weights);
  if (of_data) return of_data;
  if (of_weights) return of_weights;
  if (strides.empty()) return {};
  ctx.require(strides.size() <= 3, "strides must have 1 to 3 entries, got ", strides);
  return strides.size();
}

Dimension conv_out_channels(const ir::InferContext& ctx, const WeightsLayout& layout) {
  const PartialShape &data = ctx.shape(0), &weights = ctx.shape(1);
  if (weights.rank().is_dynamic()) return {};
  const Dimension channels = data.rank().is_static() ? data[1] : Dimension();
  const Dimension in = weights[layout.in_axis()], out = weights[layout.out_axis()];
  if (!layout.grouped) {
    if (!channels.compatible(in))
      throw_error(ErrorCode::shape_mismatch, "data has ", channels, " channels, but weights ", weights, " are for ",
                  in);
    return out;
  }
  Dimension groups = weights[0];
  ctx.require(groups.is_dynamic() || groups.get_length() > 0, "weights must have at least one group, got ", weights);
  if (!channels.compatible(groups * in))
    throw_error(ErrorCode::shape_mismatch, "data has ", channels, " channels, but weights ", weights, " are for ",
                groups, " groups of ", in);
  if (groups.is_dynamic() && channels.is_static() && in.is_static() && in.get_length() > 0) {
    if (channels.get_length() % in.get_length() != 0)
      throw_error(ErrorCode::shape_mismatch, "data has ", channels, " channels, not a multiple of the ", in,
                  " of one group of weights ", weights);
    groups = channels.get_length() / in.get_length();
  }
  return groups * out;
}

Dimension spatial_extent(const PartialShape& shape, int64_t outer_rank, size_t i) {
  return shape.rank().is_static() ? shape[outer_rank + static_cast<int64_t>(i)] : Dimension();
}

}  // namespace terroir::ops
