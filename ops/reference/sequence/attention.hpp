#pragma once
// What: scaled dot-product attention. Types: any floating-point type, computed in f32.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// Inputs: query [.., L, E], key [.., S, E], value [.., S, V], and optionally mask (boolean: what may be looked at;
/// else added), scale and sink [.., L, 1]. The leading axes broadcast.
void scaled_dot_product_attention(const ir::EvalContext& ctx, bool causal);

}  // namespace terroir::ops::reference
