#include "ops/reference/movement/pad.hpp"

#include "ir/base/error.hpp"
#include "ops/reference/element_copy.hpp"

namespace terroir::ops::reference {

int64_t pad_source(int64_t i, int64_t n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  int64_t result = -1;
  switch (mode) {
    case PadMode::constant:
      return -1;
    case PadMode::edge:
      result = i < 0 ? 0 : n - 1;
      break;
    case PadMode::reflect:
      result = i < 0 ? -i : 2 * (n - 1) - i;
      break;
    case PadMode::symmetric:
      result = i < 0 ? -i - 1 : 2 * n - 1 - i;
      break;
  }
  if (result < 0 || result >= n)
    throw_error(ErrorCode::invalid_argument, "Pad: position ", i, " of an axis of extent ", n, " has no source");
  return result;
}

void pad(const ir::TensorView& src, PadMode mode, const std::vector<int64_t>& pads_begin, const void* value,
         const ir::MutableTensorView& dst) {
  const ElementCopier copier(src.type, "Pad");
  const size_t rank = src.dims.size();
  if (dst.count() == 0) return;
  if (src.count() == 0 && mode != PadMode::constant)
    throw_error(ErrorCode::invalid_argument, "Pad: nothing to extend in a tensor of shape ", src.dims);
  const ir::Dims steps = src.count() == 0 ? ir::Dims(rank, 0) : ir::row_major(src.dims);
  std::vector<std::vector<int64_t>> sources(rank);  // per axis, for each position of dst
  for (size_t axis = 0; axis < rank; ++axis)
    for (int64_t o = 0; o < dst.dims[axis]; ++o)
      sources[axis].push_back(pad_source(o - pads_begin[axis], src.dims[axis], mode));

  int64_t written = 0;
  for_each_position(dst.dims, [&](const ir::Dims& position) {
    int64_t at = 0;
    for (size_t axis = 0; axis < rank && at >= 0; ++axis) {
      const int64_t i = sources[axis][static_cast<size_t>(position[axis])];
      at = i < 0 ? -1 : at + i * steps[axis];
    }
    if (at >= 0) {
      copier.copy(dst.data, written, src.data, at, 1);
    } else if (value) {
      copier.copy(dst.data, written, value, 0, 1);
    } else {
      copier.clear(dst.data, written, 1);
    }
    ++written;
  });
}

}  // namespace terroir::ops::reference
