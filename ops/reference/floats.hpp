#pragma once
// What: tensors of any floating-point type as floats, for references that do little arithmetic on each element.
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

/// Exception for a type that is neither floating-point nor an integer.
std::vector<float> to_floats(const ir::TensorView& tensor);

/// The elements of a tensor as floats: those of an f32 tensor in their place, else converted ones.
class FloatElements {
 public:
  explicit FloatElements(const ir::TensorView& tensor);
  FloatElements(const FloatElements&) = delete;
  FloatElements& operator=(const FloatElements&) = delete;

  const float* data() const { return data_; }
  size_t size() const { return size_; }
  float operator[](size_t i) const { return data_[i]; }

 private:
  std::vector<float> converted_;
  const float* data_;
  size_t size_;
};

/// FloatElements to be written to a tensor of any floating-point type: into an f32 tensor at once, else by store().
class FloatResult {
 public:
  FloatResult(const ir::MutableTensorView& tensor, const char* op);
  FloatResult(const FloatResult&) = delete;
  FloatResult& operator=(const FloatResult&) = delete;

  float* data() { return data_; }
  void store() const;

 private:
  const ir::MutableTensorView& tensor_;
  const char* op_;
  std::vector<float> buffer_;
  float* data_;
};

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
