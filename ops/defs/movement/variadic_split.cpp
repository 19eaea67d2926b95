// What: VariadicSplit: pieces of data along an axis with given extents. Inputs: data, axis (one integer), split_lengths
// (1-D; one -1 takes what is left). Edge cases: pieces may be empty. Source: operation page VariadicSplit-1.
#include "ir/base/overflow.hpp"
#include "ir/schema/number_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// The extents of the pieces.
std::vector<Dimension> pieces_of(const ir::InferContext& ctx, const std::vector<int64_t>& lengths,
                                 const Dimension& extent) {
  std::optional<size_t> rest;
  int64_t sum = 0;
  std::vector<Dimension> pieces;
  for (size_t i = 0; i < lengths.size(); ++i) {
    ctx.require(lengths[i] >= -1, "split_lengths[", i, "] must be -1 or an extent, got ", lengths[i]);
    if (lengths[i] == -1) {
      ctx.require(!rest, "split_lengths can have one -1, got ", lengths);
      rest = i;
      pieces.push_back(Dimension::dynamic());
      continue;
    }
    const auto total = checked_add(sum, lengths[i]);
    ctx.require(total.has_value(), "the sum of split_lengths does not fit 64 bits");
    sum = *total;
    pieces.push_back(lengths[i]);
  }
  const bool fits = rest ? !extent.has_upper_bound() || sum <= extent.get_max_length() : extent.compatible(sum);
  ctx.require(fits, "split_lengths ", lengths, " add up to ", sum, ", but the extent of the axis is ", extent);
  if (rest)
    pieces[*rest] = Dimension(std::max<int64_t>(0, extent.get_min_length() - sum),
                              extent.has_upper_bound() ? extent.get_max_length() - sum : -1);
  return pieces;
}

void infer_variadic_split(ir::InferContext& ctx) {
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  require_integer_type(ctx, 2, "split_lengths");
  require_rank(ctx, 2, "split_lengths", 1, 1);
  PartialShape shape = ctx.shape(0);
  const auto given = known_integer(ctx, 1, "axis");
  const auto lengths = ctx.integers(2);
  const auto count = lengths ? std::optional(static_cast<int64_t>(lengths->size())) : known_length(ctx, 2);
  constexpr int64_t kMaxPieces = 1 << 16;
  ctx.require(count && *count <= kMaxPieces, "split_lengths must have a known length of at most ", kMaxPieces,
              ", got shape ", ctx.shape(2));
  std::vector<PartialShape> outputs(static_cast<size_t>(*count),
                                    shape.rank().is_static() ? PartialShape::dynamic(shape.rank()) : shape);
  if (shape.rank().is_static() && given) {
    const int64_t axis = normalize_axis(*given, static_cast<int64_t>(shape.size()));
    // Pieces of nothing are unknown, too, while the lengths are: those that do not add up to 0 are to be refused.
    std::vector<Dimension> pieces(outputs.size(), shape[axis] == 0 ? Dimension() : up_to(shape[axis]));
    if (lengths) pieces = pieces_of(ctx, *lengths, shape[axis]);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = shape;
      outputs[i][axis] = pieces[i];
    }
  } else if (lengths) {
    pieces_of(ctx, *lengths, Dimension::dynamic());
  }
  for (size_t i = 0; i < outputs.size(); ++i) ctx.set_output(static_cast<int>(i), ctx.type(0), outputs[i]);
}

/// A list of known numbers in parts of known lengths.
std::optional<std::vector<Dimension>> dimensions_of_variadic_split(ir::InferContext& ctx) {
  const auto all = ctx.dimensions(0);
  const auto lengths = ctx.integers(2);
  if (!all || !lengths || ctx.shape(0).rank() != Rank(1)) return std::nullopt;
  const auto piece = static_cast<size_t>(static_cast<ir::NumberContext&>(ctx).asked_output());
  const auto pieces = pieces_of(ctx, *lengths, static_cast<int64_t>(all->size()));
  std::ptrdiff_t first = 0;
  for (size_t i = 0; i < piece; ++i) first += pieces.at(i).get_length();
  return std::vector<Dimension>(all->begin() + first, all->begin() + first + pieces.at(piece).get_length());
}

}  // namespace

ir::OpSchema variadic_split_1() {
  ir::OpSchema schema;
  schema.arity = {3, 3, ir::kVariadic};
  schema.infer = &infer_variadic_split;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::split(ctx, read_integer(ctx.inputs[1], "axis"), "VariadicSplit");
  };
  schema.dimensions = &dimensions_of_variadic_split;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
