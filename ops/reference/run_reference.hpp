#pragma once
// What: runs the reference kernel of an op for any element type that its inference accepts.
// How: kernels compute in the types of 16 bits and more, in i8, u8 and boolean; those that move or convert elements
// take
//      every type. Where a kernel refuses a narrower type (8-bit and 4-bit floats, packed integers) it runs on f32, or
//      i32, copies of such tensors, and results are converted back: floats rounded to nearest even, integers modulo
//      2^N.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// reference(context); Exceptions of it.
void run_reference(ir::ReferenceFn reference, const ir::EvalContext& context);

}  // namespace terroir::ops::reference
