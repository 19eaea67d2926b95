#pragma once
// What: the references of the data movement ops that move elements to computed places: gathers by coordinates,
// reversals, rolls, blocks and patches. Element types: any. Edge cases: everything read from an input at run time is
// checked before it is used as an index.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

/// output[.. i ..] = data[.. indices[.. i ..] ..] along `axis`.
void gather_elements(const ir::EvalContext& ctx, int64_t axis);
/// Slices of data at the coordinates in the last axis of indices, separately for each of the first batch_dims axes.
void gather_nd(const ir::EvalContext& ctx, int64_t batch_dims);

/// The axes marked are read backwards.
void reverse(const ir::EvalContext& ctx, const std::vector<bool>& axes);
/// The first seq_lengths[b] elements along seq_axis are read backwards.
void reverse_sequence(const ir::EvalContext& ctx, int64_t batch_axis, int64_t seq_axis);
/// Elements move forward by shifts[axis], which is within the extent, and come in again at the front.
void roll(const ir::EvalContext& ctx, const std::vector<int64_t>& shifts);

/// data seen with the extents `split`, with its axes in another order.
void permute(const ir::EvalContext& ctx, const ir::Dims& split, const std::vector<int64_t>& order, const char* op);

/// Inputs: data, block_shape, crops_begin, crops_end.
void batch_to_space(const ir::EvalContext& ctx);
/// Inputs: data, block_shape, pads_begin, pads_end.
void space_to_batch(const ir::EvalContext& ctx);

struct PatchParams {
  int64_t sizes[2], strides[2], rates[2], pads_begin[2];
};
/// output[n, (i * KW + j) * C + c, y, x] = data[n, c, y * stride - pad + i * rate, ...], 0 outside.
void extract_image_patches(const ir::EvalContext& ctx, const PatchParams& params);

/// Inputs: step_ids, parent_ids, max_seq_len, end_token. Follows each beam from its end to its beginning.
void gather_tree(const ir::EvalContext& ctx);

}  // namespace terroir::ops::reference
