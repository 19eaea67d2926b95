// What: how the tiles of a run lie side by side. Constant functions with internal linkage: seen by every bucket and by
// those who plan.
#pragma once

#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu {

// Whether kernels of this tile take dilated axes. F(2x2,3x3) does not: it would pay for phases of two outputs, of which
// the direct kernel leaves out the taps that meet padding.
static constexpr bool wino_dilates(int64_t tile, int64_t stride) { return tile == 4 && stride == 1; }

// Likewise, kernels of other sizes than 3x3.
static constexpr bool wino_has_segments(int64_t tile, int64_t stride) { return tile == 4 && stride == 1; }

// Likewise, transposed convolutions: output s q + phase reads input q - i by the tap phase + pad + s i. The largest i
// of all phases is how far before q their window begins.
static constexpr bool wino_transposes(int64_t tile, int64_t stride) { return tile == 4 && stride == 1; }
static constexpr int64_t wino_stride(const ConvProblem& p) { return p.transposed ? 1 : p.h.stride; }
static constexpr int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
static constexpr int64_t before_window(const ConvAxis& axis) {
  return floor_quotient(axis.kernel - 1 - axis.pad, axis.stride);
}
static constexpr int64_t inputs_of_window(const ConvAxis& axis) {
  return before_window(axis) + floor_quotient(axis.stride - 1 + axis.pad, axis.stride) + 1;
}
static constexpr int64_t phases_of(const WinoPlan& plan) { return plan.row_phases * plan.col_phases; }

// The three taps of a segment, or of a phase, along an axis: tap i is the kernel's tap first + i * step, if there is
// one.
struct WinoTaps {
  int64_t first, step, kernel;
  constexpr int64_t at(int64_t i) const { return first + i * step; }
  constexpr bool has(int64_t i) const { return at(i) >= 0 && at(i) < kernel; }
};
static constexpr WinoTaps taps_of_segment(const ConvAxis& axis, int64_t segment) {
  return {segment * 3, 1, axis.kernel};
}
static constexpr WinoTaps taps_of_phase(const ConvAxis& axis, int64_t phase) {
  return {phase + axis.pad + axis.stride * before_window(axis), -axis.stride, axis.kernel};
}
struct WinoTaps2d {
  WinoTaps rows, columns;
};
// Of the problem.
static constexpr WinoTaps2d taps_of(const ConvProblem& p, int64_t segment, int64_t phase) {
  if (p.transposed) return {taps_of_phase(p.h, phase / p.w.stride), taps_of_phase(p.w, phase % p.w.stride)};
  const int64_t columns = (p.w.kernel + 2) / 3;
  return {taps_of_segment(p.h, segment / columns), taps_of_segment(p.w, segment % columns)};
}

// Whether the taps of 3x3 are not those of the kernel, as they are.
static constexpr bool cuts_taps(const WinoPlan& plan) {
  return plan.problem.transposed || plan.problem.h.kernel != plan.exec.h.kernel ||
         plan.problem.w.kernel != plan.exec.w.kernel;
}
// Of stage_floats, at its end: those taps.
static constexpr int64_t stage_cut_floats(const WinoPlan& plan) {
  return cuts_taps(plan) ? plan.stage_blocks * plan.block * 9 * plan.unit_blocks * plan.block : 0;
}

static constexpr bool dilated(const WinoPlan& plan) { return plan.rows.dilation != 1 || plan.cols.dilation != 1; }

// Where a tile lies along an axis: its first output, and whether it has a full tile's `size` of them (but for the end
// of the axis).
struct WinoAxisTile {
  int64_t begin;
  bool full;
};

[[gnu::noinline]] static constexpr WinoAxisTile dilated_axis_tile(const WinoAxis& axis, int64_t tile, int64_t size) {
  const int64_t in_longer = axis.longer * axis.phase_tiles[0];
  const bool other = tile >= in_longer;
  const int64_t i = other ? tile - in_longer : tile, tiles = axis.phase_tiles[other], full = axis.phase_full[other];
  const int64_t phase = (other ? axis.longer : 0) + i / tiles, at = i % tiles;
  return {phase + axis.dilation * (at * size - (at > full ? at - full : 0)), at < full};
}

static constexpr WinoAxisTile axis_tile(const WinoAxis& axis, int64_t tile, int64_t size) {
  if (axis.dilation != 1) return dilated_axis_tile(axis, tile, size);
  return {tile * size - (tile > axis.full ? tile - axis.full : 0), tile < axis.full};
}

// The first tile of part `s` of all spans, counted through.
static constexpr int64_t first_tile_of(const WinoSpans& spans, int64_t s) {
  return s / spans.parts * spans.tiles + s % spans.parts * spans.tiles / spans.parts;
}

}  // namespace terroir::cpu
