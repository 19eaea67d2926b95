// Borrowed tensors: type, extents and a pointer, nothing owned.
//
// Layouts: dense row-major. Types narrower than a byte are packed over the whole tensor, not per row.
// Aliasing: views never own; whoever makes one keeps the memory alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/base/error.hpp"
#include "terroir/element_type.hpp"
#include "terroir/shape.hpp"

namespace terroir::ir {

/// Concrete extents inside the library, outermost first; empty for a scalar.
using Dims = std::vector<int64_t>;

/// Number of elements; 1 for a scalar, 0 if any extent is 0. Throws Exception: invalid_argument for a negative extent,
/// out_of_memory if the product does not fit int64_t.
int64_t element_count(const Dims& dims);
/// Of the axes from `begin` to before `end`.
int64_t element_count(const Dims& dims, size_t begin, size_t end);

/// Bytes of `count` elements; packed types round up to a whole byte. Throws Exception: out_of_memory if it does not
/// fit, invalid_argument for a dynamic type or a negative count.
size_t byte_size(element::Type type, int64_t count);

/// Steps in elements of a dense row-major tensor.
Dims row_major(const Dims& dims);

Dims to_dims(const Shape& shape);
Shape to_shape(const Dims& dims);

struct TensorView {
  element::Type type;
  Dims dims;
  const void* data = nullptr;

  /// The elements as T, which must be the C++ type of `type` (asserted).
  template <typename T>
  const T* as() const {
    TERROIR_ASSERT(element::from<T>() == type || sizeof(T) == 1, type, element::from<T>());
    return static_cast<const T*>(data);
  }
  int64_t count() const { return element_count(dims); }
  size_t bytes() const { return byte_size(type, count()); }
};

struct MutableTensorView {
  element::Type type;
  Dims dims;
  void* data = nullptr;

  template <typename T>
  T* as() const {
    TERROIR_ASSERT(element::from<T>() == type || sizeof(T) == 1, type, element::from<T>());
    return static_cast<T*>(data);
  }
  int64_t count() const { return element_count(dims); }
  size_t bytes() const { return byte_size(type, count()); }
  operator TensorView() const { return {type, dims, data}; }  // NOLINT: every writable tensor can be read
};

}  // namespace terroir::ir
