// What: the argument block of tile_pass (see tile_pass.hpp) and the arithmetic of taps that kernels and planning share.
// Plain data and functions with internal linkage: seen by every bucket.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu {

// Trip counts and strides of the four outer reduction loops: channel block (a), then the kernel's d, h, w.
struct TapLoops {
  int64_t a, d, h, w;
};

struct TilePass {
  const float* src;           // of the first position, first tap
  int64_t src_step, src_row;  // from one position to the next, from the first row of a two-row tile to the second
  TapLoops src_stride;
  const float* wei;
  TapLoops wei_stride;
  TapLoops n;
  int64_t n_i, n_i_last;  // innermost trips; n_i_last in the last round of loop a
  float* out;
  int64_t out_step, out_row, out_block;
  const float* bias;      // start value, B blocks
  const float* residual;  // added to the start value: an operand, or the sums so far; may be null
  int64_t residual_step, residual_row, residual_block;
  // Edge kernels: the first column tap passes by the tile's first position, the last one by its last position.
  bool first_tap_short, last_tap_short;
  // Weights of the next unit, or sources: prefetch_lines cache lines per innermost loop; from prefetch_end on, what is
  // at `ahead`.
  const float *prefetch, *prefetch_end, *ahead;
  int64_t prefetch_lines;
  bool prefetch_soon;  // the next tile reads it: to L1, by kernels that repeat and have edges
  // Kernels that repeat (repeats_tiles in tile_pass.hpp): further tiles, and how far their sources and outputs are from
  // those of the tile before; of one position: their weights and outputs, and their bias follows.
  int64_t more_tiles, tile_src, tile_wei, tile_out;
  int64_t channels_in_last;  // of the blocks, for kernels that cut it (kCutsBlocks)
  bool fetch_sources;        // loop w runs over blocks of channels
  // Pointwise kernels of every second position: where the sources of the first block go, of the next block so much
  // further, of the next tile behind them; or null.
  float* gathered;
  int64_t gathered_block;
  bool hswish;  // activate; only short_tile.hpp looks at it
  bool clamp;   // limit to [low, high]; NaN passes
  float low, high;
};

// Positions of a register tile of `vectors` vectors each: accumulators + one set of weights + one broadcast source
// (+ one product where multiplication and addition are two instructions) fill the registers.
static constexpr int max_tile_positions(int registers, bool fused, int vectors) {
  const int n = (registers - vectors - (fused ? 1 : 2)) / vectors;
  return n > 28 ? 28 : n;
}

// Longer tiles exist only where they pay: neighbouring positions of a block of channels and, for a single block of
// outputs, of a plain row, or every second one.
static constexpr int kMaxAnyStepPositions = 14;
// And one tile of two rows of so many columns, for every second position of one block of outputs.
static constexpr int kTwoRowColumns = 14;
// Of other steps there are tiles for units of one and two blocks, and of three where there are registers enough.
TERROIR_INLINE constexpr bool has_any_step_units_of_three(int64_t lanes) { return lanes == 16; }
// Whether pointwise tiles of one row with several positions look at TilePass::gathered.
TERROIR_INLINE constexpr bool gathers_sources(int64_t lanes, int64_t stride) { return lanes == 16 && stride == 2; }

// Whether there is a tile of so many positions for a unit whose last block is half a one (half_tile.hpp).
static constexpr int kMaxHalfPositions2 = 14, kMaxHalfPositions3 = 9;
TERROIR_INLINE bool has_half_tile(int64_t blocks, int64_t positions) {
  return blocks == 2 ? positions <= kMaxHalfPositions2 : blocks == 3 && positions <= kMaxHalfPositions3;
}

// Likewise of tiles for short reductions (short_tile.hpp), and whether they take so many input channels.
TERROIR_INLINE constexpr bool has_short_tile(int64_t blocks, int64_t positions) {
  return blocks == 2 ? positions >= 7 && positions <= 9 : blocks > 2 && positions >= 4 && positions <= 5;
}
TERROIR_INLINE bool is_short_reduction(int64_t channels, int64_t block) {
  const int64_t in_last = channels % block;
  return channels <= 12 * block && in_last % 2 == 0 && in_last != 2;
}

// Whether the sources of neighbouring kernel columns are neighbours, as the weights are.
TERROIR_INLINE bool columns_follow(const ConvProblem& p) { return p.w.dilation == 1 && !p.transposed; }

// Source columns that the windows of an output row see.
TERROIR_INLINE int64_t seen_columns(const ConvAxis& a) {
  return (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1;
}

// Source planes that the windows of an output plane see.
TERROIR_INLINE int64_t seen_planes(const ConvAxis& a) {
  const int64_t reach = (a.kernel - 1) * a.dilation + 1;
  return reach < a.in ? reach : a.in;
}

// Whether an image has a single output position, which is no matter of tiles. A part of a larger image with one
// position sums in the order of that image.
TERROIR_INLINE bool has_one_position(const ConvPlan& plan) {
  const ConvProblem& p = plan.problem;
  return p.d.out * p.h.out * p.w.out == 1 && plan.src_format != ConvFormat::plain;
}

// The taps that reach one residue class of output positions along an axis. Position j of the class (output index
// first + j*step) reads source index x0 + j*sj + t*st for t in [0, taps); tap t is kernel index tap0 + t*tap_step.
// A convolution has one class. A transposed one has `stride` classes, each a dense convolution with sj = 1.
struct TapClass {
  int64_t first, step, count;
  int64_t sj, st, x0;
  int64_t taps, tap0, tap_step;
};

TERROIR_INLINE int64_t tap_class_count(const ConvAxis& a, bool transposed) {
  return transposed ? (a.stride < a.out ? a.stride : a.out) : 1;
}

TERROIR_INLINE TapClass tap_class(const ConvAxis& a, bool transposed, int64_t index) {
  if (!transposed) return {0, 1, a.out, a.stride, a.dilation, -a.pad, a.kernel, 0, 1};
  TapClass c{index, a.stride, (a.out - index + a.stride - 1) / a.stride, 1, 1, 0, 0, 0, 1};
  int64_t second = -1;
  // The kernel indices k with (index + pad - k*dilation) divisible by the stride form an arithmetic sequence.
  for (int64_t k = 0; k < a.kernel; ++k) {
    if ((index + a.pad - k * a.dilation) % a.stride != 0) continue;
    if (c.taps == 0) {
      c.tap0 = k;
      c.x0 = (index + a.pad - k * a.dilation) / a.stride;
    } else if (c.taps == 1) {
      second = k;
      break;
    }
    ++c.taps;
  }
  if (second < 0) return c;
  c.tap_step = second - c.tap0;
  c.st = -(c.tap_step * a.dilation / a.stride);
  c.taps = (a.kernel - 1 - c.tap0) / c.tap_step + 1;
  return c;
}

// Input channels per trip of the outermost loop of the dense kernels, and their padding in packed weights. All channels
// of a group where they are few: trips of a remainder would be short, and kernel columns of nhwc follow one another.
TERROIR_INLINE int64_t dense_inner(const ConvProblem& p, ConvFormat source, int64_t block) {
  const int64_t channels = p.ic / p.groups;
  if (source == ConvFormat::plain) return 1;
  return source == ConvFormat::nhwc && channels < 4 * block && channels % block != 0 ? channels : block;
}

TERROIR_INLINE int64_t floor_div(int64_t a, int64_t b) {  // b > 0
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

struct Range {
  int64_t begin, end;
};

// t in [0, n) with 0 <= x + t*step < extent; step may be negative, not zero.
TERROIR_INLINE Range inside(int64_t x, int64_t step, int64_t extent, int64_t n) {
  int64_t lo, hi;
  if (step == 1) {  // the common cases without divisions
    lo = -x;
    hi = extent - x;
  } else if (step == 2) {
    lo = -(x >> 1);
    hi = ((extent - 1 - x) >> 1) + 1;
  } else if (step > 0) {
    lo = -floor_div(x, step);
    hi = floor_div(extent - 1 - x, step) + 1;
  } else {
    lo = -floor_div(extent - 1 - x, -step);
    hi = floor_div(x, -step) + 1;
  }
  if (lo < 0) lo = 0;
  if (hi > n) hi = n;
  if (hi < lo) hi = lo = (lo > n ? n : lo);
  return {lo, hi};
}

}  // namespace terroir::cpu
