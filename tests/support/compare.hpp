#pragma once
// What: compares two tensors and says where they differ most.
// Formula: |a - e| <= max(absolute, relative * max(|a|, |e|)); NaN equals NaN, an infinity only itself.
#include <string>

#include "ir/base/tensor_view.hpp"

namespace terroir::test {

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What rounding of one operation may change: nothing for integers, a few units in the last place for floats.
Tolerance default_tolerance(element::Type type);

/// Empty when the first `count` elements agree (all when negative), else how many differ, the first one and the worst
/// one. Types must be equal; shapes are the caller's business, but both tensors must hold enough elements.
std::string difference(const ir::TensorView& expected, const ir::TensorView& actual, Tolerance tolerance,
                       int64_t count = -1);

}  // namespace terroir::test
