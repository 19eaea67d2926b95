// What: from the sums of some positions to what a row stores: bias, residual, clamp, post-ops, and f32 or bytes.
// Compiled once for the kernels of both buckets beside avx512 that multiply bytes, and once for those of avx2.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

// Whose sums are finished at once.
inline constexpr int64_t kMostPositions = 64;

// Sums [blocks][stride][lanes], of 32-bit integers or of floats, of `count` positions from `first` on; those before
// `done` have been stored by another tile.
struct Sums {
  const int32_t* at;
  int64_t stride, count, first, done;
};

namespace avx512_vnni {
void finish(const ByteConvRow& row, const Sums& sums);
// What of the sums is a stretch of one of the rows.
void finish_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums);
}  // namespace avx512_vnni

namespace avx2 {
void finish(const ByteConvRow& row, const Sums& sums);
void finish_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums);
}  // namespace avx2

}  // namespace terroir::cpu
