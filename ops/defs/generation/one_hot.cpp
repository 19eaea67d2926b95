#include "ops/defs/generation/one_hot.hpp"

#include <string_view>

#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

template <class Attrs>
void infer_one_hot(ir::InferContext& ctx) {
  require_integer_type(ctx, 0, "indices");
  const element::Type type = merged_type(ctx, 2, 3);
  for (int i = 2; i < 4; ++i) {
    const PartialShape& shape = ctx.shape(i);
    ctx.require(shape.rank().is_dynamic() || shape.size() == 0 || (shape.size() == 1 && shape[0].compatible(1)),
                i == 2 ? "on_value" : "off_value", " must be a scalar, its shape is ", shape);
  }
  Dimension depth;
  if (const auto known = known_integer(ctx, 1, "depth")) {
    ctx.require(*known >= 0, "depth must not be negative, got ", *known);
    depth = *known;
  } else if (const auto bounds = ctx.dimensions(1); bounds && bounds->size() == 1) {
    depth = bounds->front();
  }
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_static()) {
    const int64_t axis = normalize_axis(ctx.attrs<Attrs>().axis, static_cast<int64_t>(shape.size()) + 1);
    shape.insert(shape.begin() + axis, depth);
  }
  ctx.set_output(0, type, shape);
}

void one_hot(const ir::EvalContext& ctx, int64_t axis, bool normalize) {
  const ir::TensorView& indices = ctx.inputs[0];
  const ir::MutableTensorView& dst = ctx.outputs[0];
  const int64_t depth = read_integer(ctx.inputs[1], "depth");
  const auto at = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(indices.dims.size()) + 1));
  ir::Dims dims = indices.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), depth);
  require_dims(dst, dims, "OneHot");
  for (size_t i = 2; i < 4; ++i)
    if (ctx.inputs[i].count() != 1)
      throw_error(ErrorCode::shape_mismatch, "input ", i, " must have one element, its shape is ", ctx.inputs[i].dims);
  const reference::ElementCopier copier(dst.type, "OneHot");
  const int64_t count = dst.count();
  copier.copy_strided(dst.data, 0, 1, ctx.inputs[3].data, 0, 0, count);
  if (count == 0) return;
  int64_t inner = 1;
  for (size_t i = at + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto numbers = ir::to_integers(indices);
  for (size_t i = 0; i < numbers.size(); ++i) {
    int64_t index = numbers[i];
    if (normalize && index < 0 && index >= -depth) index += depth;
    if (index < 0 || index >= depth) continue;
    const auto position = static_cast<int64_t>(i);
    const int64_t place = (position / inner * depth + index) * inner + position % inner;
    copier.copy(dst.data, place, ctx.inputs[2].data, 0, 1);
  }
}

template <class Attrs>
ir::OpSchema one_hot_schema(ir::ReferenceFn reference) {
  ir::OpSchema schema;
  schema.arity = {4, 4, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_one_hot<Attrs>;
  schema.reference = reference;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace

ir::OpSchema one_hot_1() {
  return one_hot_schema<OneHotAttrs>(
      [](const ir::EvalContext& ctx) { one_hot(ctx, ctx.attrs<OneHotAttrs>().axis, false); });
}

ir::OpSchema one_hot_16() {
  return one_hot_schema<OneHot16Attrs>([](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<OneHot16Attrs>();
    one_hot(ctx, attrs.axis, attrs.negative_indices_mode == NegativeIndices::normalize);
  });
}

}  // namespace terroir::ops
