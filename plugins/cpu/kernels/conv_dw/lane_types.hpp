// What: the argument blocks of the register tiles of lane_tile.hpp and lane_rows.hpp. Plain data: seen by every bucket.
#pragma once

#include <cstdint>

namespace terroir::cpu {

constexpr int kMaxReach = 14, kReachesFirst = kMaxReach + 1;

// Trips: n_d x n_h kernel rows, n_i inputs per group, n_w kernel columns. A trip without a source stride re-reads.
struct LanePass {
  const float* src;  // of the first position (window kernels: of the first window element), first tap
  int64_t src_step;  // window kernels: from one window element to the next; else from one position to the next
  int64_t src_d, src_h, src_w;
  const float* wei;
  int64_t wei_d, wei_h, wei_i, wei_w;  // window kernels: kernel columns are adjacent blocks
  int64_t n_d, n_h, n_i, n_w;
  int64_t inside_begin, inside_end;  // window kernels: elements outside count as zero
  const int32_t* index;              // [n_i][block]: source lane of each lane; unused in depthwise kernels
  const float* bias;                 // start value; unused when `load`
  float* out;
  int64_t out_step;
  const float* residual;  // added to the start value, or null
  int64_t residual_step;
  int64_t tail;  // lanes from this vector on that exist; only tail kernels look at it
  bool load, clamp;
  float low, high;
  // Of lanes of their own but windows: so many rows of so many tiles. `src` is of source row 0, and
  // kernel rows outside [0, in) are left out.
  int64_t rows, tiles;
  int64_t tile_src, tile_out;  // from one tile to the next
  int64_t y, step, in;         // source row under kernel row 0; from one output row to the next; source rows
  int64_t reach, row_src;      // source rows from one kernel row to the next; from one source row to the next
  int64_t out_h;
  // Per kernel column the positions that it reaches: those from the n-th on, or kReachesFirst + n: the first n. Tiles
  // of at most kMaxReach positions. Null: all.
  const uint8_t* reaches;
};

// Output rows of one block of channels. Source rows outside [0, in) are left out.
struct LaneRowsPass {
  const float* src;  // source row 0, the first element of the first tile's window: it may lie outside
  int64_t src_h;     // from one source row to the next
  int64_t y, step;   // source row under kernel row 0 of the first output row; from one output row to the next
  int64_t in, n_h;   // source rows, kernel rows
  const float* wei;  // adjacent
  const float* bias;
  float* out;
  int64_t out_h;
  int64_t rows, tiles;  // tiles of a row
  int64_t left,
      right;  // elements of a row's first and last window that lie outside: zeros; at most half of the columns
  bool clamp;
  float low, high;
};

}  // namespace terroir::cpu
