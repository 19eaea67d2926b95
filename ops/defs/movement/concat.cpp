#include "ops/defs/movement/concat.hpp"

#include "ir/base/overflow.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/movement.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

Dimension plus(const ir::InferContext& ctx, const Dimension& a, const Dimension& b) {
  if (a.is_static() && b.is_static())
    ctx.require(checked_add(a.get_length(), b.get_length()).has_value(), "the extent ", a, " + ", b,
                " does not fit 64 bits");
  return a + b;
}

void infer_concat(ir::InferContext& ctx) {
  element::Type type;
  std::optional<size_t> rank;
  for (int i = 0; i < ctx.input_count(); ++i) {
    ctx.require(element::Type::merge(type, type, ctx.type(i)), "all inputs must have one element type, input ", i,
                " has ", ctx.type(i).get_type_name(), " after ", type.get_type_name());
    if (ctx.shape(i).rank().is_dynamic()) continue;
    ctx.require(!rank || *rank == ctx.shape(i).size(), "all inputs must have one rank, input ", i, " has shape ",
                ctx.shape(i), " after rank ", rank.value_or(0));
    rank = ctx.shape(i).size();
  }
  if (!rank) {
    ctx.set_output(0, type, PartialShape::dynamic());
    return;
  }
  const int64_t axis = normalize_axis(ctx.attrs<ConcatAttrs>().axis, static_cast<int64_t>(*rank));
  PartialShape output = PartialShape::dynamic(static_cast<int64_t>(*rank));
  Dimension extent = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    PartialShape shape = ctx.shape(i);
    if (shape.rank().is_dynamic()) shape = PartialShape::dynamic(static_cast<int64_t>(*rank));
    extent = plus(ctx, extent, shape[axis]);
    shape[axis] = Dimension::dynamic();
    ctx.require(PartialShape::merge_into(output, shape), "the inputs must agree on all axes but ", axis, ", input ", i,
                " has shape ", ctx.shape(i), " after ", output);
  }
  output[axis] = extent;
  ctx.set_output(0, type, std::move(output));
}

/// part(0), part(1) ... one behind the other.
template <class Part>
auto joined(ir::InferContext& ctx, Part part) {
  auto all = part(0);
  for (int i = 1; i < ctx.input_count() && all; ++i) {
    if (const auto next = part(i))
      all->insert(all->end(), next->begin(), next->end());
    else
      all.reset();
  }
  return all;
}

}  // namespace

ir::OpSchema concat_1() {
  ir::OpSchema schema;
  schema.arity = {1, ir::kVariadic, 1};
  schema.make_attributes = &ir::make_attributes<ConcatAttrs>;
  schema.infer = &infer_concat;
  schema.reference = [](const ir::EvalContext& ctx) { reference::concat(ctx, ctx.attrs<ConcatAttrs>().axis); };
  schema.dimensions = [](ir::InferContext& ctx) {
    return ctx.type(0).is_real() ? answer_ranges(ctx, joined(ctx, [&](int i) { return ranges_of(ctx, i); }))
                                 : joined(ctx, [&](int i) { return ctx.dimensions(i); });
  };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
