#include "ops/shape/inputs.hpp"

#include <algorithm>

#include "ir/base/overflow.hpp"

namespace terroir::ops {

int64_t normalize_axis(int64_t axis, int64_t rank, const char* what) {
  if (rank == 0) throw_error(ErrorCode::invalid_argument, what, " must name an axis, a scalar has none; got ", axis);
  if (axis < -rank || axis >= rank)
    throw_error(ErrorCode::invalid_argument, what, " must be in [", -rank, ", ", rank - 1, "] for rank ", rank,
                ", got ", axis);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalize_axes(std::vector<int64_t> axes, int64_t rank, const char* what) {
  for (int64_t& axis : axes) axis = normalize_axis(axis, rank, what);
  return axes;
}

void require_order(const std::vector<int64_t>& order, int64_t rank, const char* what) {
  for (const int64_t axis : order)
    if (axis < 0 || axis >= rank)
      throw_error(ErrorCode::invalid_argument, what, " must name each axis once, by a number from 0 to ", rank - 1,
                  ", got ", axis);
  require_unique(order, what);
}

void require_unique(const std::vector<int64_t>& axes, const char* what) {
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw_error(ErrorCode::invalid_argument, what, " must be unique, got ", *twice, " twice in ", axes);
}

void require_integer_type(const ir::InferContext& ctx, int input, const char* name) {
  const element::Type type = ctx.type(input);
  ctx.require(type.is_dynamic() || type.is_integral_number(), name, " (input ", input,
              ") must have an integer type, got ", type.get_type_name());
}

void require_real_type(const ir::InferContext& ctx, int input, const char* name) {
  const element::Type type = ctx.type(input);
  ctx.require(type.is_dynamic() || type.is_real(), name, " (input ", input, ") must have a floating-point type, got ",
              type.get_type_name());
}

void require_rank(const ir::InferContext& ctx, int input, const char* name, int64_t min_rank, int64_t max_rank) {
  const Rank rank = ctx.shape(input).rank();
  if (rank.is_dynamic()) return;
  const int64_t found = rank.get_length();
  if (found >= min_rank && found <= max_rank) return;
  if (min_rank == max_rank)
    ctx.fail(name, " (input ", input, ") must have rank ", min_rank, ", got ", ctx.shape(input));
  if (max_rank == INT64_MAX)
    ctx.fail(name, " (input ", input, ") must have rank ", min_rank, " or more, got ", ctx.shape(input));
  ctx.fail(name, " (input ", input, ") must have rank ", min_rank, " to ", max_rank, ", got ", ctx.shape(input));
}

element::Type merged_type(const ir::InferContext& ctx, int a, int b, const char* name_a, const char* name_b) {
  element::Type type;
  ctx.require(element::Type::merge(type, ctx.type(a), ctx.type(b)), name_a, " and ", name_b,
              " must have one element type, got ", ctx.type(a).get_type_name(), " and ", ctx.type(b).get_type_name());
  return type;
}

std::optional<int64_t> known_integer(ir::InferContext& ctx, int input, const char* name) {
  require_integer_type(ctx, input, name);
  const PartialShape& shape = ctx.shape(input);
  if (shape.is_static()) {
    const auto count = ir::element_count(ir::to_dims(shape.to_shape()));
    ctx.require(count == 1, name, " (input ", input, ") must have one element, got shape ", shape);
  }
  const auto known = ctx.integers(input);
  if (!known) return std::nullopt;
  ctx.require(known->size() == 1, name, " (input ", input, ") must have one element, got ", known->size());
  return known->front();
}

int64_t read_integer(const ir::TensorView& tensor, const char* name) {
  if (tensor.count() != 1)
    throw_error(ErrorCode::invalid_argument, name, " must have one element, got ", tensor.count());
  return ir::to_integers(tensor).front();
}

std::optional<int64_t> known_length(const ir::InferContext& ctx, int input) {
  const PartialShape& shape = ctx.shape(input);
  if (shape.rank().is_dynamic()) return std::nullopt;
  if (shape.size() == 0) return 1;
  if (shape.size() != 1 || shape[0].is_dynamic()) return std::nullopt;
  return shape[0].get_length();
}

Dimension times(const Dimension& a, const Dimension& b) {
  if (a.is_dynamic() || b.is_dynamic()) return a * b;
  const auto result = checked_mul(a.get_length(), b.get_length());
  if (!result) throw_error(ErrorCode::out_of_memory, "the number of elements ", a, " * ", b, " does not fit 64 bits");
  return *result;
}

void require_positions_fit(const ir::InferContext& ctx, element::Type type, const Dimension& count) {
  ctx.require(type != element::i32 || count.get_min_length() <= INT32_MAX, "i32 cannot number ", count,
              " positions; i64 can");
}

Dimension product(const std::vector<Dimension>& dims) {
  // Zero first: the product is 0 then, whatever the other extents are.
  for (const Dimension& dim : dims)
    if (dim == Dimension(0)) return 0;
  Dimension result = 1;
  for (const Dimension& dim : dims) result = times(result, dim);
  return result;
}

Dimension divided(const Dimension& extent, int64_t divisor, int64_t axis) {
  const int64_t low = divide_up(extent.get_min_length(), divisor);
  const int64_t high = extent.has_upper_bound() ? extent.get_max_length() / divisor : -1;
  if (high != -1 && low > high)
    throw_error(ErrorCode::invalid_argument, "extent ", extent, " of axis ", axis, " must divide by ", divisor);
  return {low, high};
}

std::optional<std::vector<Dimension>> same_dimensions(ir::InferContext& ctx) { return ctx.dimensions(0); }

void require_dims(const ir::MutableTensorView& output, const ir::Dims& wanted, const char* op) {
  if (output.dims != wanted)
    throw_error(ErrorCode::shape_mismatch, op, ": the output was planned as ", output.dims, ", but the inputs ask for ",
                wanted);
}

}  // namespace terroir::ops
