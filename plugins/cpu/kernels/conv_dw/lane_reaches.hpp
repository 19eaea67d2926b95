// What: how much memory tells which positions of the tiles of a row each kernel column reaches. Plain functions with
// internal linkage.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu {

// A byte per kernel column and tile; 0 where they are so many that to find them takes longer than they save: each run
// does, and tiles at the ends of a row go tap by tap then.
TERROIR_INLINE int64_t lane_reach_bytes(const ConvAxis& axis, bool transposed, int64_t w_tile) {
  constexpr int64_t kMost = 4 << 10;
  int64_t bytes = 0;
  for (int64_t k = 0; k < tap_class_count(axis, transposed) && bytes <= kMost; ++k) {
    const TapClass c = tap_class(axis, transposed, k);
    const int64_t tiles = (c.count + w_tile - 1) / w_tile;
    if (c.taps > 0 && tiles > kMost / c.taps) return 0;
    bytes += tiles * c.taps;
  }
  return bytes <= kMost ? bytes : 0;
}

}  // namespace terroir::cpu
