#pragma once
// What: ScatterUpdate whose updates do not have the shape data[:axis] + indices.shape + data[axis+1:]. The
// specification does not allow them, but where the axis is an input nothing tells before the run, and such files exist:
// OpenVINO's reference runs them (its inference checks the shape only for a constant axis), so these are its results.
// Formula: with n = rank(indices), the elements of updates at 0 on its axes [axis, axis + n) are taken in row-major
// order;
//          so are the elements of data's slice at indices[k]. Their i-th elements are paired, as far as both go, and
//          the slice receives the element of updates k steps further along axis `a`: a = axis + (axes i > axis with
//          product(updates[i:]) > product(data[axis+1:]), or n - 1 if there are none)
//                   + (axes i > axis with updates[i] = 1), at most the last.
//          Indices beyond the product of updates[axis : axis + n] change nothing.
// Edge cases: an element behind the end of updates is an Exception.
// Source: OpenVINO, src/core/reference, scatter_update (behaviour of 2022 to 2025).
#include "ops/reference/element_copy.hpp"

namespace terroir::ops::reference {

/// `output` holds a copy of data; `indices` are in range; rank(updates) is rank(data) + rank(indices) - 1.
void scatter_misfit(const ir::MutableTensorView& output, const std::vector<int64_t>& indices, size_t index_rank,
                    const ir::TensorView& updates, size_t axis);

}  // namespace terroir::ops::reference
