#pragma once
// What: the frame of all binary elementwise ops with broadcasting.
// Shapes: ops/shape/broadcast.hpp. Types: both inputs have the same one; the output has it too, or boolean.
#include "ir/schema/infer_context.hpp"
#include "ops/defs/elementwise/unary.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops {

/// Attributes of every binary elementwise op but Divide and PReLU.
struct BinaryAttrs {
  BroadcastRule broadcast;

  template <class V>
  void visit(V& v) {
    broadcast.visit(v);
  }
};

/// Source: operation page Divide-1. `m_pythondiv`: integer quotients round down, else towards zero.
struct DivideAttrs {
  BroadcastRule broadcast;
  bool m_pythondiv = true;

  template <class V>
  void visit(V& v) {
    broadcast.visit(v);
    v("m_pythondiv", m_pythondiv);
  }
};

/// The common type of two inputs; refuses types that differ.
element::Type merged_type(const ir::InferContext& ctx, int a, int b);

template <class Attrs, bool kToBoolean>
void infer_binary(ir::InferContext& ctx) {
  const element::Type type = merged_type(ctx, 0, 1);
  ctx.set_output(0, kToBoolean ? element::boolean : type,
                 broadcast_shape(ctx.shape(0), ctx.shape(1), ctx.attrs<Attrs>().broadcast));
}

template <class Attrs = BinaryAttrs, bool kToBoolean = false>
ir::OpSchema binary_schema(ir::ReferenceFn reference, UnaryTraits traits = {}) {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_binary<Attrs, kToBoolean>;
  schema.reference = reference;
  schema.accuracy = traits.accuracy;
  schema.flags.elementwise = true;
  schema.flags.maps_zero_to_zero = traits.maps_zero_to_zero;
  return schema;
}

// The reference function of a binary op over a list of types, from an expression in `a` and `b`.
#define TERROIR_BINARY(op, types, expression)                                  \
  [](const ir::EvalContext& ctx) {                                             \
    reference::binary_loop<types>(ctx, op, ctx.attrs<BinaryAttrs>().broadcast, \
                                  [](auto a, auto b) { return expression; });  \
  }

}  // namespace terroir::ops
