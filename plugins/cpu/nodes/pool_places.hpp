#pragma once
// What: PlaceIndices, the second output of a maximum pooling: kernels find places within a channel as 32-bit numbers,
// wanted are indices of 32 or 64 bits into the tensor or a part of it. The places are written into the output's own
// memory: of 64-bit indices into the upper half of theirs, so that each is read before it is overwritten.
#include <cstdint>
#include <cstring>

namespace terroir::cpu {

struct PlaceIndices {
  bool wide = true;
  /// Indices count modulo `range` where `wraps`, which must be known to be needed: it takes a division for each.
  int64_t range = 0;
  bool wraps = false;

  /// Room for the places of elements first ... first + n - 1 of the output.
  int32_t* room(void* output, int64_t first, int64_t n) const {
    return wide ? static_cast<int32_t*>(output) + 2 * first + n : static_cast<int32_t*>(output) + first;
  }
  /// Makes indices of them; `offset`: that of place 0. A place of -1 has index 0.
  void finish(void* output, int64_t first, int64_t n, int64_t offset) const {
    const int32_t* places = room(output, first, n);
    char* out = static_cast<char*>(output) + first * (wide ? 8 : 4);
    int64_t i = 0;
    // As vectors: what is read at once may be overwritten at once.
    constexpr int64_t kAtOnce = 16;
    for (; wide && !wraps && i + kAtOnce <= n; i += kAtOnce) {
      int32_t at[kAtOnce];
      int64_t indices[kAtOnce];
      std::memcpy(at, places + i, sizeof(at));
      for (int64_t j = 0; j < kAtOnce; ++j) indices[j] = (offset + at[j]) & ~static_cast<int64_t>(at[j] >> 31);
      std::memcpy(out + i * 8, indices, sizeof(indices));
    }
    for (; i < n; ++i) {
      int64_t index = places[i] < 0 ? 0 : offset + places[i];
      if (wraps) index %= range;
      const auto narrow = static_cast<int32_t>(index);
      if (wide)
        std::memcpy(out + i * 8, &index, sizeof(index));
      else
        std::memcpy(out + i * 4, &narrow, sizeof(narrow));
    }
  }
};

}  // namespace terroir::cpu
