// What: the k largest or smallest elements along an axis.
// Shapes: outputs 0 (values) and 1 (indices) have the input's shape with k at the axis; k is the scalar in input 1,
// from 0 to the extent. When k is not known the axis is between 0 and its extent.
// Types: numeric; k of any integer type; indices of i32 or i64.
// Edge cases: sort=none gives the order of sort=value; equal elements keep their order in every version.
// Source: operation pages TopK-1, TopK-3, TopK-11.
#include "ops/defs/sort/topk.hpp"

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/sort/topk.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

Dimension selected(ir::InferContext& ctx, const Dimension& extent) {
  const auto values = ctx.integers(1);
  Dimension k(0, extent.has_upper_bound() ? extent.get_max_length() : -1);
  if (values) {
    ctx.require(values->size() == 1, "k must be one number, got ", values->size());
    const int64_t number = values->front();
    ctx.require(number >= 0, "k must not be negative, got ", number);
    k = Dimension(number);
  } else if (const auto dims = ctx.dimensions(1); dims && dims->size() == 1) {
    const Dimension& bounds = dims->front();
    if (!Dimension::merge(k, k, bounds)) k = bounds;
  }
  ctx.require(!extent.has_upper_bound() || k.get_min_length() <= extent.get_max_length(), "k must not exceed the ",
              extent, " elements along the axis, got ", k);
  return k;
}

template <class Attrs>
void infer_topk(ir::InferContext& ctx) {
  const TopKAttrs& attrs = ctx.attrs<Attrs>();
  require_integer_type(ctx, 1, "k");
  const element::Type index_type = attrs.index_element_type;
  ctx.require(index_type == element::i32 || index_type == element::i64, "index_element_type must be i32 or i64, got ",
              index_type.get_type_name());
  const PartialShape& k_shape = ctx.shape(1);
  ctx.require(k_shape.rank().is_dynamic() || k_shape.size() == 0 || (k_shape.size() == 1 && k_shape[0].compatible(1)),
              "k must be a scalar, its shape is ", k_shape);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_static()) {
    const int64_t axis = normalize_axis(attrs.axis, static_cast<int64_t>(shape.size()));
    require_positions_fit(ctx, index_type, shape[axis]);
    shape[axis] = selected(ctx, shape[axis]);
  }
  ctx.set_output(0, ctx.type(0), shape);
  ctx.set_output(1, index_type, shape);
}

template <class Attrs>
void evaluate(const ir::EvalContext& ctx) {
  const TopKAttrs& attrs = ctx.attrs<Attrs>();
  const ir::TensorView& src = ctx.inputs[0];
  reference::TopKRequest request;
  request.axis = normalize_axis(attrs.axis, static_cast<int64_t>(src.dims.size()));
  const auto axis = static_cast<size_t>(request.axis);
  const auto k = ir::to_integers(ctx.inputs[1]);
  if (k.size() != 1 || k[0] < 0 || k[0] > src.dims[axis] || k[0] > ctx.outputs[0].dims[axis])
    throw_error(ErrorCode::invalid_argument, "k must be one number in 0..", src.dims[axis], ", got ", k);
  request.k = k[0];
  request.largest = attrs.mode == TopKMode::max;
  request.by_index = attrs.sort == TopKSort::index;
  ctx.outputs[0].dims[axis] = ctx.outputs[1].dims[axis] = request.k;
  reference::topk(src, request, ctx.outputs[0], ctx.outputs[1]);
}

template <class Attrs>
ir::OpSchema topk_schema() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 2};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_topk<Attrs>;
  schema.reference = &evaluate<Attrs>;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema topk_1() { return topk_schema<TopKAttrs>(); }
ir::OpSchema topk_3() { return topk_schema<TopKAttrs>(); }
ir::OpSchema topk_11() { return topk_schema<TopK11Attrs>(); }

}  // namespace terroir::ops
