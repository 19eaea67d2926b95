#pragma once
// What: the frame of all unary elementwise ops: output type and shape are the input's.
#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// Which element types a unary op takes.
enum class TypeClass { real, number, any };

template <TypeClass C>
void infer_unary(ir::InferContext& ctx) {
  const element::Type type = ctx.type(0);
  if (type.is_static()) {
    if (C == TypeClass::real)
      ctx.require(type.is_real(), "the input must be floating-point, got ", type.get_type_name());
    if (C == TypeClass::number)
      ctx.require(type.is_real() || type.is_integral_number(), "the input must be numeric, got ", type.get_type_name());
  }
  ctx.set_output(0, type, ctx.shape(0));
}

/// Schema of a unary elementwise op without attributes, or with `Attrs`.
template <class Attrs = ir::NoAttrs, TypeClass C = TypeClass::number>
ir::OpSchema unary_schema(ir::ReferenceFn reference, bool maps_zero_to_zero) {
  ir::OpSchema schema;
  schema.arity = {1, 1, 1};
  schema.make_attributes = &ir::make_attributes<Attrs>;
  schema.infer = &infer_unary<C>;
  schema.reference = reference;
  schema.flags.elementwise = true;
  schema.flags.maps_zero_to_zero = maps_zero_to_zero;
  return schema;
}

}  // namespace terroir::ops
