#pragma once
// What: the frame of all unary elementwise ops: the output has the input's type (boolean for tests) and shape.
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

inline void infer_unary(ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); }

struct UnaryTraits {
  bool maps_zero_to_zero = false;
  ir::Accuracy accuracy = ir::Accuracy::rounding;
};

/// Schema of a unary elementwise op without attributes, or with `Attrs`.
template <class Attrs = ir::NoAttrs>
ir::OpSchema unary_schema(ir::ReferenceFn reference, UnaryTraits traits = {}) {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_unary;
  schema.reference = reference;
  schema.accuracy = traits.accuracy;
  schema.flags.elementwise = true;
  schema.flags.maps_zero_to_zero = traits.maps_zero_to_zero;
  return schema;
}

inline constexpr UnaryTraits kZeroToZero{.maps_zero_to_zero = true, .accuracy = ir::Accuracy::rounding};
inline constexpr UnaryTraits kExactZeroToZero{.maps_zero_to_zero = true, .accuracy = ir::Accuracy::exact};

// The reference function of a unary op from an expression in `x`.
#define TERROIR_UNARY(op, loop, expression) \
  [](const ir::EvalContext& ctx) { reference::loop(ctx, op, [](auto x) { return expression; }); }

}  // namespace terroir::ops
