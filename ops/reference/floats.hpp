#pragma once
// What: tensors of any floating-point type as floats, for references that do little arithmetic on each element.
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// Exception for a type that is neither floating-point nor an integer.
std::vector<float> to_floats(const ir::TensorView& tensor);
/// Writes values.size() elements from the front; Exception (unsupported) for a type that is not floating-point.
void from_floats(const std::vector<float>& values, const ir::MutableTensorView& tensor, const char* op);
/// Writes values.size() elements from the front into an i64 or i32 tensor.
void from_indices(const std::vector<int64_t>& values, const ir::MutableTensorView& tensor);

/// The integer nearest below, kept inside +-2^30 so that index arithmetic on it is safe; 0 for NaN.
int64_t floor_to_index(float x);
int64_t ceil_to_index(float x);
/// As std::round.
int64_t round_to_index(float x);

}  // namespace terroir::ops::reference
