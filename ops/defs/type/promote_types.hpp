#pragma once
// What: the promotion rule of ConvertPromoteTypes.
#include "ir/schema/infer_context.hpp"
#include "ops/defs/type/convert.hpp"

namespace terroir::ops {

/// The common type of inputs 0 and 1; dynamic while it depends on something unknown. Refuses a promotion that is not
/// safe when the attributes want safety.
element::Type promoted_type(const ir::InferContext& ctx, const ConvertPromoteTypesAttrs& attrs);

}  // namespace terroir::ops
