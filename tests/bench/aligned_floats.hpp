// What: arrays of floats that begin on a cache line, as kernels are given them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

namespace terroir::bench {

struct AlignedFloats {
  explicit AlignedFloats(int64_t n, float value = 0.5f)
      : data(static_cast<float*>(::operator new(static_cast<size_t>(n) * sizeof(float), std::align_val_t(64)))) {
    std::fill(data, data + n, value);
  }
  ~AlignedFloats() { ::operator delete(data, std::align_val_t(64)); }
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  float* data;
};

}  // namespace terroir::bench
