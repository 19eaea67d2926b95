// What: the extents that planning and the kernels of polyphase_2x2.hpp share. No functions with external linkage: this
// header is seen by files compiled for one ISA.
#pragma once

#include <cstdint>

namespace terroir::cpu::polyphase_2x2 {

constexpr int64_t kTaps = 3, kStride = 2;
constexpr int64_t kTile = 2;
// Products of a row of taps for a row of a tile; sources of a tile, from one to the next.
constexpr int64_t kSlots = 5;
constexpr int64_t kTileStep = kTile * kStride;
constexpr int64_t kMaxChannels = 4;

// The slots whose products both outputs take, the first one takes, the last one takes.
constexpr int kGroups = 3;
constexpr int64_t kFirstSlot[kGroups] = {2, 0, 3}, kGroupSlots[kGroups] = {1, 2, 2};

// Blocks of output channels and tiles of a row that share a register tile.
static constexpr int64_t unit_blocks(int64_t blocks) { return blocks % 2 == 0 ? 2 : 1; }
static constexpr int64_t strip_tiles(int64_t unit_blocks) { return unit_blocks == 2 ? 7 : 14; }

}  // namespace terroir::cpu::polyphase_2x2
