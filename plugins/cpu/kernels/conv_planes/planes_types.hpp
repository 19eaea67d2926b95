// What: what planning and the kernels of every bucket share of convolutions by planes: the places of sources, results
// and weights. Plain functions with internal linkage.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu {

// Outputs of the next register tile of a group that has so many left: none alone that has company, whose sources would
// serve one product each.
TERROIR_INLINE int64_t planes_outputs(int64_t left) {
  switch (left) {
    case 5:
      return 3;
    case 7:
    case 8:
      return 4;
    default:
      return left < 6 ? left : 6;
  }
}

// Vectors of positions of such a tile: sums, as many sources and a weight fill the registers.
static constexpr int planes_vectors(int64_t lanes, int64_t outputs) {
  if (lanes == 16) return outputs == 6 ? 4 : outputs == 4 ? 6 : outputs == 3 ? 7 : outputs == 2 ? 10 : 14;
  return outputs == 6 ? 2 : outputs == 4 ? 3 : outputs == 3 ? 3 : outputs == 2 ? 5 : 7;
}

// Of shorter tiles, for what is left of a plane: those of many channels, which are most of the work; 0: none.
static constexpr int planes_short_vectors(int64_t lanes, int64_t outputs) {
  return outputs >= 4 ? (planes_vectors(lanes, outputs) + 1) / 2 : 0;
}

// A register tile: outputs that follow each other, neighbouring positions of each.
struct PlanesTile {
  const float* src;  // of the first input, at the first position
  int64_t channel;   // from input to input
  int64_t inputs, taps;
  const int32_t* offsets;  // of the taps
  const float* wei;        // [input][tap][output]
  int64_t wei_input;       // from input to input
  const float* bias;
  float* out;
  int64_t result;  // from output to output
};

using PlanesTileFn = void (*)(const PlanesTile&) noexcept;
struct PlanesTileFns {
  PlanesTileFn usual, shorter;
};

// Floats that the last tile of a plane may read or write behind it.
static constexpr int64_t kPlanesSlack = 256;

// Groups that are computed together: whole blocks of results.
TERROIR_INLINE int64_t planes_groups(const ConvPlan& plan) {
  const int64_t groups = plan.exec.groups, outputs = plan.exec.oc / groups;
  int64_t together = 1;
  if (plan.dst_format == ConvFormat::blocked)
    while (together < groups && together * outputs % plan.block != 0) ++together;
  return together;
}

// Floats between neighbouring channels: no multiple of what a cache set repeats after.
TERROIR_INLINE int64_t planes_distance(int64_t floats) { return ((floats + 15) / 16 | 1) * 16; }

// Copies of sources: for each channel, kernel slice and phase of rows and columns (those that windows of one step see
// at the same tap) a plane of `rows` rows, `pitch` apart. Then output y*pitch + x reads tap t at y*pitch + x + the
// offset of t: an image is one long row, of which the few positions between rows are computed in vain.
struct PlanesShape {
  int64_t phases_h, phases_w, rows, pitch;
  int64_t plane, slice;     // floats
  int64_t lead;             // zeros in front of a channel
  int64_t channel, result;  // from channel to channel, of sources and results
  // Steps of 1: the zeros behind a row are those in front of the next one, and offsets of taps count from column 0.
  bool shared;
};

TERROIR_INLINE int64_t planes_phases(const ConvAxis& a) {
  const int64_t reach = (a.kernel - 1) * a.dilation + 1;
  return reach < a.stride ? reach : a.stride;
}

// Of `rows` output rows of `columns` columns.
TERROIR_INLINE PlanesShape planes_shape(const ConvProblem& e, int64_t rows, int64_t columns) {
  const auto largest = [](int64_t a, int64_t b) { return a > b ? a : b; };
  const ConvAxis &h = e.h, &w = e.w;
  PlanesShape s;
  s.phases_h = planes_phases(h);
  s.phases_w = planes_phases(w);
  s.rows = rows + (h.kernel - 1) * h.dilation / h.stride;
  const int64_t reach = (w.kernel - 1) * w.dilation, pad = largest(w.pad, 0);
  s.shared = w.stride == 1 && columns == w.out && rows > 1;
  s.pitch = s.shared ? largest(largest(w.in + pad, columns + reach - w.pad), columns) : columns + reach / w.stride;
  s.lead = s.shared ? (pad + 15) / 16 * 16 : 0;
  s.plane = s.rows * s.pitch;
  s.slice = s.phases_h * s.phases_w * s.plane;
  s.channel = planes_distance(s.lead + e.d.kernel * s.slice);
  s.result = planes_distance(largest(rows * s.pitch, kPlanesSlack));
  return s;
}

TERROIR_INLINE int64_t planes_taps(const ConvProblem& e) { return e.d.kernel * e.h.kernel * e.w.kernel; }

// Floats in front of the weights, and of the table of offsets in scratch memory.
TERROIR_INLINE int64_t planes_bias_floats(const ConvProblem& e) { return (e.oc + 15) / 16 * 16; }
TERROIR_INLINE int64_t planes_offset_floats(const ConvProblem& e) { return (planes_taps(e) + 15) / 16 * 16; }

}  // namespace terroir::cpu
