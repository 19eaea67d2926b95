// What: the extents that planning and the kernels of polyphase.hpp share. No functions with external linkage: this
// header is seen by files compiled for one ISA.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu::polyphase {

constexpr int64_t kStride = 2;
constexpr int64_t kTile = 3, kPhaseTaps = 4, kPoints = kTile + kPhaseTaps - 1;
constexpr int64_t kMaxTaps = kStride * kPhaseTaps - 1;
constexpr int64_t kMaxChannels = 4;

// Points of both phases along one axis: the phase of the odd taps has no tap that meets the point at infinity.
constexpr int64_t kSlots = 2 * kPoints - 1;
// Rows, or columns, of the source that a tile reads.
constexpr int64_t kReach = kSlots;
constexpr int64_t kTileStep = kStride * kTile;

// Floats of one column of points: slots x channels, to whole vectors of every bucket.
constexpr int64_t kColumn = 48;

// Neighbouring tiles of a row that are worked on together, and blocks of output channels.
constexpr int64_t kStripTiles512 = 8, kStripTiles256 = 6;
constexpr int64_t kUnitBlocks = 2;

static constexpr int64_t strip_tiles(int64_t lanes) { return lanes == 16 ? kStripTiles512 : kStripTiles256; }
// Columns of the source that a strip reads, to whole vectors.
static constexpr int64_t strip_columns(int64_t lanes) {
  return (strip_tiles(lanes) * kTileStep + kReach - kTileStep + lanes - 1) / lanes * lanes;
}

// Scratch memory, in floats. Lines: the rows of the source at its borders.
static constexpr int64_t lines_floats(int64_t lanes, int64_t channels) {
  return channels * kReach * strip_columns(lanes);
}
static constexpr int64_t rows_floats(int64_t lanes) { return kColumn * lanes; }
static constexpr int64_t columns_floats(int64_t lanes) { return strip_columns(lanes) * kColumn; }
static constexpr int64_t inputs_floats(int64_t lanes) { return strip_tiles(lanes) * kSlots * kColumn; }
static constexpr int64_t products_floats(int64_t lanes) {
  return 2 * kPoints * kUnitBlocks * strip_tiles(lanes) * lanes;
}
static constexpr int64_t outputs_floats(int64_t lanes) {
  return kTile * kTile * kUnitBlocks * strip_tiles(lanes) * lanes;
}

// Products are added to the outputs in stages, each two rows of points, so that they and the weights that pass by stay
// in L1: +-kWinoInner, +-kWinoOuter, zero and infinity.
constexpr int kStages = 3;
constexpr int64_t kStageRows[kStages][2] = {{1, 2}, {3, 4}, {0, 5}};

// Products are scaled, through the weights, by the point of their row and by that of their column (1 for zero and
// infinity), so that each output transform is four sums, and five additions and multiply-adds.

// Points along an axis of so many taps.
static constexpr int64_t points_of(int64_t taps) { return taps == kMaxTaps ? kPoints : kPoints - 1; }
static constexpr int64_t slots_of(int64_t taps) { return points_of(taps) + kPoints - 1; }

}  // namespace terroir::cpu::polyphase
