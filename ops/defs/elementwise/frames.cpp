#include "ops/defs/elementwise/binary.hpp"
#include "ops/defs/elementwise/unary.hpp"

namespace terroir::ops {

void check_type_class(const ir::InferContext& ctx, int input, TypeClass wanted) {
  const element::Type type = ctx.type(input);
  if (type.is_dynamic()) return;
  const char* words = "any";
  bool fits = true;
  switch (wanted) {
    case TypeClass::any:
      break;
    case TypeClass::real:
      words = "floating-point";
      fits = type.is_real();
      break;
    case TypeClass::number:
      words = "numeric";
      fits = type.is_real() || type.is_integral_number();
      break;
    case TypeClass::integer:
      words = "an integer";
      fits = type.is_integral_number();
      break;
    case TypeClass::integer_or_boolean:
      words = "an integer or boolean";
      fits = type.is_integral();
      break;
    case TypeClass::boolean:
      words = "boolean";
      fits = type == element::boolean;
      break;
  }
  ctx.require(fits, "the type of input ", input, " must be ", words, ", got ", type.get_type_name());
}

element::Type merged_type(const ir::InferContext& ctx, int a, int b) {
  element::Type type;
  ctx.require(element::Type::merge(type, ctx.type(a), ctx.type(b)), "the types of inputs ", a, " and ", b,
              " must be equal, got ", ctx.type(a).get_type_name(), " and ", ctx.type(b).get_type_name());
  return type;
}

}  // namespace terroir::ops
