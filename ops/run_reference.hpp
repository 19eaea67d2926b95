#pragma once
// What: runs the reference kernel of an op for any element type that its inference accepts.
// How: kernels have code for the types of 16 bits and more, i8, u8 and boolean, and those that move or convert elements
//      (Narrow::moved in ops/data_types.hpp) for every type. For the others tensors of narrower types (8-bit and 4-bit
//      floats, packed integers) are copied to f32, or i32, and results converted back: floats rounded to nearest even,
//      integers modulo 2^N, or to the nearest there is (Narrow::clamped).
#include "ir/schema/op_schema.hpp"

namespace terroir::ops {

/// schema.reference(context); Exceptions of it.
void run_reference(const ir::OpSchema& schema, const ir::EvalContext& context);

/// Whether outputs may have room for more than there will be wherever inference gives no more than a bound: the
/// reference finds their sizes. Others rely on inference, which then needs to know all inputs.
bool sizes_itself(const ir::OpSchema& schema);

}  // namespace terroir::ops
