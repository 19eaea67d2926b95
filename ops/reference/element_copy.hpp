#pragma once
// What: moves elements of any type by index: whole bytes, strings, and packed types. The vocabulary of all data
// movement references. Layouts: dense row-major; packed types fill the whole tensor, see ir/base/packed.hpp. Edge
// cases: nothing is touched for a count of 0.
#include "ir/base/tensor_view.hpp"

namespace terroir::ops::reference {

class ElementCopier {
 public:
  /// `op` is named in the error for a type that is not known.
  ElementCopier(element::Type type, const char* op);

  /// dst[dst_index + i] := src[src_index + i]; the ranges do not overlap.
  void copy(void* dst, int64_t dst_index, const void* src, int64_t src_index, int64_t count) const;
  /// dst[dst_index + i * dst_step] := src[src_index + i * src_step]
  void copy_strided(void* dst, int64_t dst_index, int64_t dst_step, const void* src, int64_t src_index,
                    int64_t src_step, int64_t count) const;
  /// Zeros (empty strings); what has none (f8e8m0) becomes its smallest number.
  void clear(void* dst, int64_t dst_index, int64_t count) const;

 private:
  enum class Kind { bytes, packed, strings };
  Kind kind_;
  uint8_t zero_ = 0;  // code of a packed zero
  int64_t size_;      // bytes of an element, or bits of a packed one
};

/// dst[i0, i1 ...] := src[offset + i0 * steps[0] + i1 * steps[1] + ...]; dst is dense of extents `dims`.
void copy_from_strided(element::Type type, const void* src, int64_t offset, const ir::Dims& steps, void* dst,
                       const ir::Dims& dims, const char* op);
/// dst[offset + i0 * steps[0] + i1 * steps[1] + ...] := src[i0, i1 ...]; src is dense of extents `dims`.
void copy_to_strided(element::Type type, const void* src, void* dst, int64_t offset, const ir::Dims& steps,
                     const ir::Dims& dims, const char* op);

/// Visits all positions of `dims` in row-major order: fn(position).
template <class Fn>
void for_each_position(const ir::Dims& dims, Fn&& fn) {
  const int64_t count = ir::element_count(dims);
  ir::Dims position(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    fn(static_cast<const ir::Dims&>(position));
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++position[axis] < dims[axis]) break;
      position[axis] = 0;
    }
  }
}

}  // namespace terroir::ops::reference
