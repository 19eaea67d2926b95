// What: activations whose parameters are inputs: PReLU, Swish, HardSigmoid, Selu.
// Shapes: the output has the data's. The slope of PReLU broadcasts to the data (align_prelu_slope); the parameters of
// the others have one element, of the data's type.
// Source: operation pages PReLU-1, Swish-4, HardSigmoid-1, Selu-1.
#include "ir/base/error.hpp"
#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/elementwise/binary.hpp"
#include "ops/reference/elementwise/functions.hpp"
#include "ops/reference/elementwise/unary.hpp"

namespace terroir::ops {
namespace {

void infer_with_scalars(ir::InferContext& ctx) {
  element::Type type = ctx.type(0);
  for (int i = 1; i < ctx.input_count(); ++i) {
    type = merged_type(ctx, 0, i);
    const PartialShape& shape = ctx.shape(i);
    bool one = true;
    if (shape.rank().is_static())
      for (const Dimension& dim : shape) one = one && dim.compatible(1);
    ctx.require(one, "input ", i, " must have one element, its shape is ", shape);
  }
  ctx.set_output(0, type, ctx.shape(0));
}

double scalar_input(const ir::EvalContext& ctx, size_t input) {
  const ir::TensorView& view = ctx.inputs[input];
  if (view.count() != 1)
    throw_error(ErrorCode::shape_mismatch, "input ", input, " must have one element, its shape is ", view.dims);
  return ir::to_reals(view).front();
}

ir::OpSchema with_scalars(int min_inputs, int max_inputs, ir::ReferenceFn reference, UnaryTraits traits) {
  ir::OpSchema schema = unary_schema<>(reference, traits);
  schema.arity = {min_inputs, max_inputs, 1};
  schema.infer = &infer_with_scalars;
  return schema;
}

}  // namespace

// Formula: x < 0 ? slope * x : x.
ir::OpSchema prelu_1() {
  auto schema = unary_schema<>(
      [](const ir::EvalContext& ctx) {
        const ir::Dims slope = align_prelu_slope(ctx.inputs[0].dims, ctx.inputs[1].dims);
        reference::binary_loop<TERROIR_NUMBERS>(
            ctx, "PReLU", slope, [](auto x, auto factor) { return x < 0 ? reference::multiply(x, factor) : x; });
      },
      kZeroToZero);
  schema.arity = {2, 2, 1};
  schema.infer = [](ir::InferContext& ctx) {
    const PartialShape& data = ctx.shape(0);
    const PartialShape& slope = ctx.shape(1);
    if (data.is_static() && slope.is_static()) {
      const Shape extents = data.to_shape();
      const ir::Dims aligned = align_prelu_slope(ir::to_dims(extents), ir::to_dims(slope.to_shape()));
      PartialShape stretched = data;
      const bool fits =
          PartialShape::broadcast_merge_into(stretched, PartialShape(aligned), op::AutoBroadcastType::NUMPY) &&
          stretched == data;
      ctx.require(fits, "the slope of shape ", slope, " does not broadcast to the data of shape ", data);
    }
    ctx.set_output(0, merged_type(ctx, 0, 1), data);
  };
  return schema;
}

// Formula: x * sigmoid(beta * x); beta is the optional second input, 1 without it.
ir::OpSchema swish_4() {
  return with_scalars(
      1, 2,
      [](const ir::EvalContext& ctx) {
        const double beta = ctx.inputs.size() > 1 ? scalar_input(ctx, 1) : 1;
        reference::unary_loop<TERROIR_FLOATS>(
            ctx, "Swish", [beta](auto x) { return x * reference::sigmoid(static_cast<decltype(x)>(beta) * x); });
      },
      kZeroToZero);
}

// Formula: max(0, min(1, alpha * x + beta)).
ir::OpSchema hard_sigmoid_1() {
  return with_scalars(3, 3,
                      [](const ir::EvalContext& ctx) {
                        const double alpha = scalar_input(ctx, 1);
                        const double beta = scalar_input(ctx, 2);
                        reference::unary_loop<TERROIR_FLOATS>(ctx, "HardSigmoid", [alpha, beta](auto x) {
                          using C = decltype(x);
                          const C y = static_cast<C>(alpha) * x + static_cast<C>(beta);
                          return y < 0 ? C{0} : y > 1 ? C{1} : y;
                        });
                      },
                      {});
}

// Formula: lambda * (x > 0 ? x : alpha * (e^x - 1)).
ir::OpSchema selu_1() {
  return with_scalars(
      3, 3,
      [](const ir::EvalContext& ctx) {
        const double alpha = scalar_input(ctx, 1);
        const double lambda = scalar_input(ctx, 2);
        reference::unary_loop<TERROIR_FLOATS>(ctx, "Selu", [alpha, lambda](auto x) {
          using C = decltype(x);
          return static_cast<C>(lambda) * reference::elu(x, static_cast<C>(alpha));
        });
      },
      kZeroToZero);
}

}  // namespace terroir::ops
