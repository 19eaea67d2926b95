#include "ir/base/tensor_view.hpp"

#include <algorithm>

#include "ir/base/overflow.hpp"
#include "ir/base/packed.hpp"

namespace terroir::ir {

int64_t element_count(const Dims& dims) { return element_count(dims, 0, dims.size()); }

int64_t element_count(const Dims& dims, size_t begin, size_t end) {
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (size_t axis = begin; axis < end; ++axis) {
    const int64_t extent = dims[axis];
    if (extent < 0) throw_error(ErrorCode::invalid_argument, "negative extent ", extent, " in shape ", dims);
    empty = empty || extent == 0;
    const auto product = checked_mul(count, extent);
    if (product) {
      count = *product;
    } else {
      overflow = true;
    }
  }
  if (empty) return 0;
  if (overflow)
    throw_error(ErrorCode::out_of_memory, "the number of elements of shape ", dims, " does not fit 64 bits");
  return count;
}

size_t byte_size(element::Type type, int64_t count) {
  if (type.is_dynamic()) throw_error(ErrorCode::invalid_argument, "a tensor of dynamic element type has no size");
  if (count < 0) throw_error(ErrorCode::invalid_argument, "negative number of elements: ", count);
  const size_t bits = type.bitwidth();
  const auto n = static_cast<size_t>(count);
  // Whole bytes first, so that only sizes that truly do not fit are refused.
  std::optional<size_t> bytes;
  if (bits % 8 == 0) {
    bytes = checked_mul(n, bits / 8);
  } else if (is_split_width(bits)) {
    const size_t per_unit = 24 / bits;
    bytes = checked_mul(n / per_unit + (n % per_unit != 0 ? 1 : 0), size_t{3});
  } else {
    bytes = n / 8 * bits + (n % 8 * bits + 7) / 8;
  }
  if (!bytes || *bytes > static_cast<size_t>(PTRDIFF_MAX)) {
    throw_error(ErrorCode::out_of_memory, "the size of ", count, " elements of type ", type, " does not fit 64 bits");
  }
  return *bytes;
}

Dims row_major(const Dims& dims) {
  Dims steps(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    steps[i] = step;
    // Wraps around only for empty tensors, whose steps nobody takes.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) * static_cast<uint64_t>(dims[i]));
  }
  return steps;
}

Dims to_dims(const Shape& shape) { return Dims(shape.begin(), shape.end()); }
Shape to_shape(const Dims& dims) { return Shape(dims.begin(), dims.end()); }

}  // namespace terroir::ir
