// What: matrices with ones on one diagonal and zeros elsewhere.
// Formula: y[..., r, c] = c - r == diagonal.
// Shapes: inputs: rows, columns, diagonal (one element each), optional batch shape (a vector); output: batch shape,
// rows, columns. Types: inputs are integers, the output type is an attribute.
// Source: operation page Eye-9.
#include <algorithm>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

struct EyeAttrs {
  element::Type output_type = element::f32;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type, ir::Presence::required);
  }
};

Dimension side(ir::InferContext& ctx, int input, const char* name) {
  if (const auto known = known_integer(ctx, input, name)) {
    ctx.require(*known >= 0, name, " must not be negative, got ", *known);
    return *known;
  }
  const auto bounds = ctx.dimensions(input);
  return bounds && bounds->size() == 1 ? bounds->front() : Dimension();
}

void infer_eye(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<EyeAttrs>().output_type;
  const Dimension rows = side(ctx, 0, "num_rows");
  const Dimension columns = side(ctx, 1, "num_columns");
  known_integer(ctx, 2, "diagonal_index");
  std::vector<Dimension> dims;
  if (ctx.input_count() > 3) {
    require_integer_type(ctx, 3, "batch_shape");
    require_rank(ctx, 3, "batch_shape", 1, 1);
    if (const auto numbers = ctx.integers(3)) {
      for (int64_t extent : *numbers) {
        ctx.require(extent >= 0, "batch_shape must not be negative, got ", extent);
        dims.emplace_back(extent);
      }
    } else if (const auto bounds = ctx.dimensions(3)) {
      dims = *bounds;
    } else {
      return ctx.set_output(0, type, PartialShape::dynamic());
    }
  }
  dims.push_back(rows);
  dims.push_back(columns);
  ctx.set_output(0, type, dims);
}

void evaluate_eye(const ir::EvalContext& ctx) {
  const ir::MutableTensorView& dst = ctx.outputs[0];
  const int64_t rows = read_integer(ctx.inputs[0], "num_rows");
  const int64_t columns = read_integer(ctx.inputs[1], "num_columns");
  const int64_t diagonal = read_integer(ctx.inputs[2], "diagonal_index");
  ir::Dims dims;
  if (ctx.inputs.size() > 3) dims = ir::to_integers(ctx.inputs[3]);
  dims.push_back(rows);
  dims.push_back(columns);
  require_dims(dst, dims, "Eye");
  const int64_t count = dst.count();
  if (count == 0) return;
  reference::dispatch_type<TERROIR_NUMBERS>(dst.type, "Eye", [&](auto tag) {
    using T = decltype(tag);
    T* out = dst.as<T>();
    // Outside of it no matrix has ones, and the sums below might overflow.
    const bool has_ones = diagonal > -rows && diagonal < columns;
    reference::parallel_ranges(count / columns, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
      std::fill(out + begin * columns, out + end * columns, T(0));
      for (int64_t row = begin; has_ones && row < end; ++row)
        if (const int64_t c = row % rows + diagonal; c >= 0 && c < columns) out[row * columns + c] = T(1);
    });
  });
}

}  // namespace

ir::OpSchema eye_9() {
  ir::OpSchema schema;
  schema.arity = {3, 4, 1};
  schema.make_attributes = &ir::make_attributes<EyeAttrs>;
  schema.infer = &infer_eye;
  schema.reference = &evaluate_eye;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
