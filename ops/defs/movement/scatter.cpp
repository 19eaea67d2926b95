#include "ops/defs/movement/scatter.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::ScatterReduction;

void require_updates(const ir::InferContext& ctx, const PartialShape& wanted) {
  ctx.require(ctx.shape(2).compatible(wanted), "updates (input 2) must have shape ", wanted, ", got ", ctx.shape(2));
}

/// What all three have in common; returns the element type.
element::Type infer_common(ir::InferContext& ctx) {
  require_integer_type(ctx, 1, "indices");
  return merged_type(ctx, 0, 2, "data", "updates");
}

void infer_slices(ir::InferContext& ctx) {
  const element::Type type = infer_common(ctx);
  const PartialShape& data = ctx.shape(0);
  const PartialShape& indices = ctx.shape(1);
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  const auto given = known_integer(ctx, 3, "axis");
  if (data.rank().is_static() && indices.rank().is_static()) {
    std::vector<Dimension> wanted(data.size() + indices.size() - 1);
    const int64_t axis = given ? normalize_axis(*given, static_cast<int64_t>(data.size())) : 0;
    // Files whose axis only the run knows, as it does all inputs, may have others: see scatter_misfit.hpp.
    const bool running = ctx.value(0) && ctx.value(1) && ctx.value(2);
    if (given && !running) {
      wanted.assign(data.begin(), data.begin() + axis);
      wanted.insert(wanted.end(), indices.begin(), indices.end());
      wanted.insert(wanted.end(), data.begin() + axis + 1, data.end());
    }
    require_updates(ctx, PartialShape(wanted));
  }
  ctx.set_output(0, type, data);
}

void infer_elements(ir::InferContext& ctx) {
  const element::Type type = infer_common(ctx);
  const PartialShape& data = ctx.shape(0);
  const PartialShape& indices = ctx.shape(1);
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  require_updates(ctx, indices);
  const auto given = known_integer(ctx, 3, "axis");
  if (data.rank().is_static()) {
    const auto rank = static_cast<int64_t>(data.size());
    require_rank(ctx, 1, "indices", rank, rank);
    if (given) {
      const int64_t axis = normalize_axis(*given, rank);
      for (int64_t i = 0; indices.rank().is_static() && i < rank; ++i)
        ctx.require(i == axis || !data[i].has_upper_bound() || indices[i].get_min_length() <= data[i].get_max_length(),
                    "indices ", indices, " reach beyond data ", data, " on axis ", i);
    }
  }
  ctx.set_output(0, type, data);
}

void infer_nd(ir::InferContext& ctx) {
  const element::Type type = infer_common(ctx);
  const PartialShape& data = ctx.shape(0);
  const PartialShape& indices = ctx.shape(1);
  require_rank(ctx, 0, "data", 1, INT64_MAX);
  require_rank(ctx, 1, "indices", 1, INT64_MAX);
  if (data.rank().is_static() && indices.rank().is_static() && indices[-1].is_static()) {
    const int64_t depth = indices[-1].get_length();
    ctx.require(depth <= static_cast<int64_t>(data.size()), "the last extent of indices ", indices,
                " must not exceed the rank of data ", data);
    std::vector<Dimension> wanted(indices.begin(), indices.end() - 1);
    wanted.insert(wanted.end(), data.begin() + depth, data.end());
    // A single update need not be a scalar.
    if (!wanted.empty() || !ctx.shape(2).compatible(PartialShape{1})) require_updates(ctx, PartialShape(wanted));
  }
  ctx.set_output(0, type, data);
}

/// Of a list of numbers some of which are replaced.
std::optional<std::vector<Dimension>> dimensions_of_scatter(ir::InferContext& ctx) {
  auto numbers = ctx.dimensions(0);
  const auto indices = ctx.integers(1);
  const auto updates = ctx.dimensions(2);
  if (!numbers || !indices || !updates || indices->size() != updates->size()) return std::nullopt;
  const auto extent = static_cast<int64_t>(numbers->size());
  for (size_t i = 0; i < indices->size(); ++i) {
    const int64_t index = (*indices)[i];
    if (index < -extent || index >= extent) return std::nullopt;
    (*numbers)[static_cast<size_t>(index < 0 ? index + extent : index)] = (*updates)[i];
  }
  return numbers;
}

void require_numbers(const ir::InferContext& ctx, ScatterReduction reduction) {
  ctx.require(reduction == ScatterReduction::none || ctx.type(0) != element::string,
              "texts can only be replaced: reduction must be none");
}

ir::OpSchema scatter_schema(int inputs, ir::InferFn infer, ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {inputs, inputs, 1};
  schema.infer = infer;
  schema.reference = reference;
  return schema;
}

}  // namespace

ir::OpSchema scatter_update_3() {
  auto schema = scatter_schema(4, &infer_slices, &reference::scatter_update);
  schema.dimensions = &dimensions_of_scatter;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema scatter_elements_update_3() {
  auto schema = scatter_schema(4, &infer_elements, [](const ir::EvalContext& ctx) {
    reference::scatter_elements_update(ctx, ScatterReduction::none, true);
  });
  schema.dimensions = &dimensions_of_scatter;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema scatter_elements_update_12() {
  auto schema = scatter_schema(
      4,
      [](ir::InferContext& ctx) {
        const auto reduction = ctx.attrs<ScatterElementsAttrs>().reduction;
        ctx.require(reduction != ScatterReduction::sub, "reduction must be none, sum, prod, min, max or mean, got sub");
        require_numbers(ctx, reduction);
        ctx.require(reduction != ScatterReduction::mean || ctx.type(0) != element::boolean,
                    "there is no mean of boolean elements");
        infer_elements(ctx);
      },
      [](const ir::EvalContext& ctx) {
        const auto& attrs = ctx.attrs<ScatterElementsAttrs>();
        reference::scatter_elements_update(ctx, attrs.reduction, attrs.use_init_val);
      });
  schema.make_attributes = &ir::make_attributes<ScatterElementsAttrs>;
  schema.dimensions = [](ir::InferContext& ctx) {
    const bool replaces = ctx.attrs<ScatterElementsAttrs>().reduction == ScatterReduction::none;
    return replaces ? dimensions_of_scatter(ctx) : std::nullopt;
  };
  return schema;
}

ir::OpSchema scatter_nd_update_4() {
  auto schema = scatter_schema(
      3, &infer_nd, [](const ir::EvalContext& ctx) { reference::scatter_nd_update(ctx, ScatterReduction::none); });
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema scatter_nd_update_15() {
  auto schema = scatter_schema(
      3,
      [](ir::InferContext& ctx) {
        require_numbers(ctx, ctx.attrs<ScatterNdAttrs>().reduction);
        ctx.require(ctx.attrs<ScatterNdAttrs>().reduction != ScatterReduction::mean,
                    "reduction must be none, sum, sub, prod, min or max, got mean");
        infer_nd(ctx);
      },
      [](const ir::EvalContext& ctx) { reference::scatter_nd_update(ctx, ctx.attrs<ScatterNdAttrs>().reduction); });
  schema.make_attributes = &ir::make_attributes<ScatterNdAttrs>;
  return schema;
}

}  // namespace terroir::ops
