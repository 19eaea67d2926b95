#include "ops/defs/movement/unique.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/unique.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

/// How many different ones there can be among `total`.
Dimension some_of(const Dimension& total) {
  return {std::min<int64_t>(1, total.get_min_length()), total.get_max_length()};
}

void infer_unique(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<UniqueAttrs>();
  const std::pair<const char*, element::Type> types[] = {{"index_element_type", attrs.index_element_type},
                                                         {"count_element_type", attrs.count_element_type}};
  for (const auto& [name, type] : types)
    ctx.require(type == element::i64 || type == element::i32, name, " must be i64 or i32, got ", type.get_type_name());
  const PartialShape& data = ctx.shape(0);
  Dimension total;
  PartialShape values = PartialShape::dynamic(1);
  if (ctx.input_count() > 1) {
    values = data.rank().is_static() ? PartialShape::dynamic(data.rank()) : PartialShape::dynamic();
    const auto given = known_integer(ctx, 1, "axis");
    require_rank(ctx, 0, "data", 1, INT64_MAX);
    if (given && data.rank().is_static()) {
      const int64_t axis = normalize_axis(*given, static_cast<int64_t>(data.size()));
      total = data[axis];
      values = data;
      values[axis] = some_of(total);
    }
  } else if (data.rank().is_static()) {
    total = product({data.begin(), data.end()});
    values = PartialShape{some_of(total)};
  }
  require_positions_fit(ctx, attrs.index_element_type, total);
  require_positions_fit(ctx, attrs.count_element_type, total);
  ctx.set_output(0, ctx.type(0), std::move(values));
  ctx.set_output(1, attrs.index_element_type, PartialShape{some_of(total)});
  ctx.set_output(2, attrs.index_element_type, PartialShape{total});
  ctx.set_output(3, attrs.count_element_type, PartialShape{some_of(total)});
}

}  // namespace

ir::OpSchema unique_10() {
  ir::OpSchema schema;
  schema.arity = {1, 2, 4};
  schema.make_attributes = &ir::make_attributes<UniqueAttrs>;
  schema.infer = &infer_unique;
  schema.reference = [](const ir::EvalContext& ctx) { reference::unique(ctx, ctx.attrs<UniqueAttrs>().sorted); };
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
