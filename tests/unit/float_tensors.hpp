// Tensors of given floats, and the floats of a tensor.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "terroir/tensor.hpp"

namespace terroir {

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(element::f32, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

/// -3, -2, -1, ...
inline Tensor counting(const Shape& shape) {
  Tensor tensor(element::f32, shape);
  std::iota(tensor.data<float>(), tensor.data<float>() + tensor.get_size(), -3.f);
  return tensor;
}

inline std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.get_size()};
}

}  // namespace terroir
