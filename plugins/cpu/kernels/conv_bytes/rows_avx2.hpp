// What: rows of numbers of 16 bits, and what Winograd's algorithm makes of them. Include the bucket's header first.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"

namespace terroir::cpu::avx2 {

inline constexpr int64_t kPairBytes = kLanes * kBytesAtOnce;  // of a vector of pairs
inline constexpr int64_t kMostBlocks = 3;                     // of outputs, at once

// Sums [blocks][stride][8] of the positions from `first` to `end`. Of what is to be fetched meanwhile, the lines that
// have been before; returned, those that have been behind.
int64_t add_up_row(const ByteConvRow& row, int64_t first, int64_t end, int64_t lines, int32_t* sums, int64_t stride);

void winograd_tiles(const uint8_t* src, int64_t block_step, int64_t row_step, const WinogradTiles& tiles, uint8_t* dst);
void winograd_rows(const ByteConvRow& row, const ByteConvRows& rows, const WinogradTiles& tiles, int8_t* room);

}  // namespace terroir::cpu::avx2
