#pragma once
// What: the sum of products over all axes the output does not name.
// Cost: the product of all extents, of the output's and the summed axes.
#include "ir/schema/op_schema.hpp"
#include "ops/shape/einsum.hpp"

namespace terroir::ops::reference {

void einsum(const EinsumEquation& equation, std::span<const ir::TensorView> inputs, const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
