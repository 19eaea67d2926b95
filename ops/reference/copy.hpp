#pragma once
// What: output 0 := the bytes of input 0, whatever the type (packed and string types too). For Result, Reshape, Squeeze
// ...
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

void copy(const ir::EvalContext& ctx);

}  // namespace terroir::ops::reference
