#pragma once
// What: the k largest or smallest elements along an axis, and where they were.
// Edge cases: of equal elements the first ones win and stay in order; NaN counts as the largest value.
// Cost: a sort of indices per slice.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

struct TopKRequest {
  int64_t axis = 0;  // from 0 on
  int64_t k = 0;     // at most the extent of the axis
  bool largest = true;
  bool by_index = false;  // selected elements in the order of the input, else best first
};

/// `indices` is i32 or i64.
void topk(const ir::TensorView& src, const TopKRequest& request, const ir::MutableTensorView& values,
          const ir::MutableTensorView& indices);

}  // namespace terroir::ops::reference
