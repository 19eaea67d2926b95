#include "ops/defs/normalization/axes_input.hpp"

#include "ops/shape/inputs.hpp"

namespace terroir::ops {

void check_axes_input(ir::InferContext& ctx, int input) {
  require_integer_type(ctx, input, "axes");
  require_rank(ctx, input, "axes", 0, 1);
  const Rank rank = ctx.shape(0).rank();
  const auto axes = ctx.integers(input);
  if (axes && rank.is_static()) require_unique(normalize_axes(*axes, rank.get_length()));
}

std::vector<int64_t> read_axes(const ir::TensorView& axes, size_t rank) {
  const auto result = normalize_axes(ir::to_integers(axes), static_cast<int64_t>(rank));
  require_unique(result);
  return result;
}

}  // namespace terroir::ops
