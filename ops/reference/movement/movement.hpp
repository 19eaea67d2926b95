#pragma once
// What: the references of the data movement ops: pure functions on tensors and plain parameters. Element types: any.
// Edge cases: everything read from an input at run time is checked before it is used as an index.
#include <span>
#include <vector>

#include "ir/schema/op_schema.hpp"
#include "ops/shape/slice.hpp"

namespace terroir::ops::reference {

/// output[i_order0, i_order1 ...] = data[i0, i1 ...]; an empty order reverses the axes. Input 1: order.
void transpose(const ir::EvalContext& ctx);
void concat(const ir::EvalContext& ctx, int64_t axis);
/// The outputs are consecutive pieces of input 0 along `axis`, their extents are in their dims.
void split(const ir::EvalContext& ctx, int64_t axis, const char* op);

/// output[b.., o.., i.., k..] = data[b.., o.., indices[b.., i..], k..]; a negative index counts from the end, zeros
/// where one is out of range.
void gather(const ir::EvalContext& ctx, int64_t batch_dims);

/// output[i0, i1 ...] = data[first0 + i0 * step0, ...]; the output may have further or fewer axes of extent 1.
void slice(const ir::TensorView& data, const std::vector<SliceRange>& ranges, const ir::MutableTensorView& output,
           const char* op);

/// data axis i is axis mapping[i] of the output; an axis that is not mapped, or has extent 1, is repeated.
void broadcast(const ir::TensorView& data, std::span<const int64_t> mapping, const ir::MutableTensorView& output);
/// Input 1: repeats; both shapes are filled up with 1 in front.
void tile(const ir::EvalContext& ctx);

}  // namespace terroir::ops::reference
