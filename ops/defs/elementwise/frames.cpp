#include "ops/defs/elementwise/binary.hpp"
#include "ops/defs/elementwise/unary.hpp"

namespace terroir::ops {

element::Type merged_type(const ir::InferContext& ctx, int a, int b) {
  element::Type type;
  ctx.require(element::Type::merge(type, ctx.type(a), ctx.type(b)), "the types of inputs ", a, " and ", b,
              " must be equal, got ", ctx.type(a).get_type_name(), " and ", ctx.type(b).get_type_name());
  return type;
}

}  // namespace terroir::ops
