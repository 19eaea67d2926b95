#pragma once
// What: extends (or, with negative pads, crops) a tensor at the borders.
// Formula: element o of an axis comes from i = o - pad_begin; outside [0, n): constant: the pad value;
//          edge: 0 or n - 1; reflect: -i or 2 * (n - 1) - i; symmetric: -i - 1 or 2 * n - 1 - i.
// Element types: any but the packed ones of 3 and 6 bits. Source: operation page Pad-12.
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

enum class PadMode { constant, edge, reflect, symmetric };

/// Where element `i` of the result, counted from the first one of src, comes from on an axis of extent `n`; -1: the pad
/// value. Exception where the mode would reach outside of src.
int64_t pad_source(int64_t i, int64_t n, PadMode mode);

/// Extents of dst are those of src plus both pads. `value` is one element of the type of src, null for zero. Where a
/// mode would reach outside src, the result is an Exception.
void pad(const ir::TensorView& src, PadMode mode, const std::vector<int64_t>& pads_begin, const void* value,
         const ir::MutableTensorView& dst);

}  // namespace terroir::ops::reference
