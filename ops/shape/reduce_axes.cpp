#include "ops/shape/reduce_axes.hpp"

#include <algorithm>

#include "ops/shape/inputs.hpp"

namespace terroir::ops {

std::vector<int64_t> axis_set(std::vector<int64_t> axes, int64_t rank) {
  axes = normalize_axes(std::move(axes), rank);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

ir::Dims with_ones(const ir::Dims& dims, const std::vector<int64_t>& axes) {
  ir::Dims result = dims;
  for (int64_t axis : axes) result.at(static_cast<size_t>(axis)) = 1;
  return result;
}

PartialShape reduced_shape(ir::InferContext& ctx, int data, int axes, bool keep_dims) {
  const element::Type type = ctx.type(axes);
  ctx.require(type.is_dynamic() || type.is_integral_number(), "the axes must be integers, got ", type.get_type_name());
  const PartialShape& axes_shape = ctx.shape(axes);
  ctx.require(axes_shape.rank().is_dynamic() || axes_shape.size() <= 1,
              "the axes must be a scalar or a vector, their shape is ", axes_shape);
  const PartialShape& shape = ctx.shape(data);
  if (shape.rank().is_dynamic()) return PartialShape::dynamic();
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<Dimension> result;
  if (const auto known = ctx.integers(axes)) {
    const auto reduced = axis_set(*known, rank);
    for (int64_t i = 0; i < rank; ++i) {
      if (!std::binary_search(reduced.begin(), reduced.end(), i)) {
        result.push_back(shape[i]);
      } else if (keep_dims) {
        result.emplace_back(1);
      }
    }
    return result;
  }
  if (rank == 0) return PartialShape{};
  if (!keep_dims) return PartialShape::dynamic();
  // Each axis is kept or becomes 1.
  for (const Dimension& dim : shape)
    result.emplace_back(std::min<int64_t>(dim.get_min_length(), 1),
                        dim.has_upper_bound() ? std::max<int64_t>(dim.get_max_length(), 1) : -1);
  return result;
}

}  // namespace terroir::ops
