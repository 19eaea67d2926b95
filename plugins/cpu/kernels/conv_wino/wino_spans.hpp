// What: how the tiles of a run lie side by side. Constant functions with internal linkage: seen by every bucket and by
// those who plan.
#pragma once

#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu {

// The first tile of part `s` of all spans, counted through.
static constexpr int64_t first_tile_of(const WinoSpans& spans, int64_t s) {
  return s / spans.parts * spans.tiles + s % spans.parts * spans.tiles / spans.parts;
}

}  // namespace terroir::cpu
