// What: convolution with kernels of 5 to 7 taps a side and stride 2 over few input channels by Winograd's algorithm.
// Formula: the taps of even and of odd index meet rows of different phase of the source, so the convolution is the sum
//   of four of stride 1, one per pair of phases, with at most four taps a side. Each is F(3x3,4x4), at the points of
//   F(4x4,3x3); their products are added up before one output transform. A phase of three taps has nothing at
//   infinity: with 7x7 kernels 121 products per channel serve 9 outputs, which take 441 directly.
// Work: strips of neighbouring tiles. The source's rows are transformed down, in vectors of columns; then, transposed,
//   along the columns, in vectors of points and channels. Per unit of output channels, two rows of points at a time:
//   products point by point, in register tiles of a strip, and from L1 what they add to the outputs.
// Order of summation: phase of the column, phase of the row, channel; it depends on nothing but the problem.
// Why not F(4x4,4x4), of 169 products for 16 outputs: its error bound is seven times as large, above what is allowed.
// Include one bucket header first; after conv/epilogue.hpp.
#pragma once

#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_types.hpp"
#include "plugins/cpu/kernels/conv_wino/transforms.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

namespace pp = polyphase;

constexpr int kStripTiles = static_cast<int>(pp::strip_tiles(kLanes));
constexpr int64_t kStripColumns = pp::strip_columns(kLanes);
// Input channels that have loops of their own: photos.
constexpr int kRgb = 3;

// Products of a strip at one point.
constexpr int64_t kPointFloats = pp::kUnitBlocks * kStripTiles * kBlock;
static_assert(kVectorsPerBlock == 1);

// Where a strip lies: tiles [tile, tile + kStripTiles) of a row of tiles of one image.
struct Strip {
  int64_t n, row, tile;
};

struct StripMemory {
  float *zeros, *rows, *columns, *products, *inputs, *outputs, *lines;
};

// The values of both phases, one after the other, at all points of both.
TERROIR_INLINE void transform_slots(const V (&d)[pp::kReach], V (&v)[pp::kSlots]) {
  const V even[6] = {d[0], d[2], d[4], d[6], d[8], d[10]}, odd[6] = {d[1], d[3], d[5], d[7], d[9], zero()};
  V even_points[6], odd_points[6];
  transform_row<Wino<4>>(even, even_points);
  transform_row<Wino<4>>(odd, odd_points);
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    v[2 * i] = even_points[i];
    if (i < 5) v[2 * i + 1] = odd_points[i];
  }
}

// Where the rows of channel `c` begin that a strip reads; of what lies outside the source, zeros.
void find_lines(const ConvPlan& plan, const ConvArgs& args, const Strip& s, int64_t c, const StripMemory& memory,
                const float* (&line)[pp::kReach]) {
  const ConvProblem& p = plan.exec;
  const int64_t x = s.tile * pp::kTileStep - p.w.pad, y = s.row * pp::kTileStep - p.h.pad;
  const int64_t begin = x < 0 ? -x : 0, end = p.w.in - x < kStripColumns ? p.w.in - x : kStripColumns;
  const float* const src = args.src + s.n * plan.src.n + c * plan.src.c;
  for (int64_t r = 0; r < pp::kReach; ++r) {
    const float* const from = src + (y + r) * plan.src.h + x;
    line[r] = memory.zeros;
    if (y + r < 0 || y + r >= p.h.in || begin >= end) continue;
    // Of the next strip: runs as short as these are over before the machine follows them.
    for (int64_t l = 0; l < kStripTiles * pp::kTileStep; l += 16) __builtin_prefetch(from + kStripColumns + l, 0, 2);
    line[r] = from;
    if (begin == 0 && end == kStripColumns) continue;
    float* const to = memory.lines + (c * pp::kReach + r) * kStripColumns;
    __builtin_memset(to, 0, kStripColumns * sizeof(float));
    __builtin_memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(float));
    line[r] = to;
  }
}

// Of a strip: [column][slot of the row][channel].
void transform_down(const ConvPlan& plan, const ConvArgs& args, const Strip& s, const StripMemory& memory) {
  const int64_t channels = plan.exec.ic, used = pp::slots_of(plan.exec.h.kernel) * channels;
  const float* line[pp::kMaxChannels][pp::kReach];
  for (int64_t c = 0; c < channels; ++c) find_lines(plan, args, s, c, memory, line[c]);
  float* const rows = memory.rows;
  float* columns = memory.columns;
  for (int64_t column = 0; column < kStripColumns; column += kLanes, columns += kLanes * pp::kColumn) {
    for (int64_t c = 0; c < channels; ++c) {
      V d[pp::kReach], v[pp::kSlots];
#pragma GCC unroll 16
      for (int r = 0; r < pp::kReach; ++r) d[r] = loadu(line[c][r] + column);
      transform_slots(d, v);
      float* to = rows + c * kLanes;
#pragma GCC unroll 16
      for (int i = 0; i < pp::kSlots; ++i, to += channels * kLanes) storeu(to, v[i]);
    }
    for (int64_t first = 0; first < used; first += kLanes) {
      const float* const from = rows + first * kLanes;
      float* const to = columns + first;
      if (first + 1 == used) {  // a single one
#pragma GCC unroll 16
        for (int64_t l = 0; l < kLanes; ++l) to[l * pp::kColumn] = from[l];
        break;
      }
      V r[kLanes];
#pragma GCC unroll 16
      for (int64_t l = 0; l < kLanes; ++l) r[l] = loadu(from + l * kLanes);
      transpose(r);
#pragma GCC unroll 16
      for (int64_t l = 0; l < kLanes; ++l) storeu(to + l * pp::kColumn, r[l]);
    }
  }
}

// Of a strip: [tile][slot of the column][slot of the row][channel].
void transform_along(const ConvProblem& p, const StripMemory& memory) {
  const int64_t used = pp::slots_of(p.h.kernel) * p.ic;
  const float* from = memory.columns;
  float* to = memory.inputs;
  for (int64_t tile = 0; tile < kStripTiles; ++tile) {
    for (int64_t l = 0; l < used; l += kLanes) {
      V d[pp::kReach], v[pp::kSlots];
#pragma GCC unroll 16
      for (int i = 0; i < pp::kReach; ++i) d[i] = loadu(from + i * pp::kColumn + l);
      transform_slots(d, v);
#pragma GCC unroll 16
      for (int i = 0; i < pp::kSlots; ++i) storeu(to + i * pp::kColumn + l, v[i]);
    }
    from += pp::kTileStep * pp::kColumn;
    to += pp::kSlots * pp::kColumn;
  }
}

// Products of a strip at one point: `phases` of the columns, `count` phases of the rows and channels each, a multiple
// of Step.
template <int Step>
TERROIR_INLINE const float* multiply_strip(const float* inputs, int64_t phases, int64_t count, const float* weights,
                                           float* products) {
  constexpr int B = pp::kUnitBlocks;
  V sum[kStripTiles][B];
  for (int t = 0; t < kStripTiles; ++t)
    for (int b = 0; b < B; ++b) sum[t][b] = zero();
  for (; phases > 0; --phases, inputs += pp::kColumn) {
    const float* x = inputs;
    for (int64_t i = count; i > 0; i -= Step, x += Step, weights += Step * B * kBlock) {
#pragma GCC unroll 4
      for (int k = 0; k < Step; ++k) {
        V weight[B];
#pragma GCC unroll 4
        for (int b = 0; b < B; ++b) weight[b] = loadu(weights + (k * B + b) * kBlock);
#pragma GCC unroll 16
        for (int t = 0; t < kStripTiles; ++t) {
          const V value = broadcast(x + k + t * pp::kSlots * pp::kColumn);
#pragma GCC unroll 4
          for (int b = 0; b < B; ++b) add_product(sum[t][b], value, weight[b]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b)
#pragma GCC unroll 16
    for (int t = 0; t < kStripTiles; ++t) storeu(products + (b * kStripTiles + t) * kBlock, sum[t][b]);
  return weights;
}

// Where the results of the next unit will lie: nothing else brings these lines to the core in time.
struct OutputsAhead {
  const float* at;
  int64_t block, row;
};

// The products of a unit of output channels at the points of the two rows of a stage: [row][point][block][tile]
// [channel].
template <int Step>
TERROIR_NOINLINE const float* multiply_rows(const ConvProblem& p, const StripMemory& memory, const float* weights,
                                            int stage, const OutputsAhead& next) {
  const int64_t rows = pp::points_of(p.h.kernel), columns = pp::points_of(p.w.kernel);
  for (int64_t r = 0; r < 2; ++r) {
    const int64_t i = pp::kStageRows[stage][r];
    float* products = memory.products + r * pp::kPoints * kPointFloats;
    if (i >= rows) {
      for (int64_t l = 0; l < pp::kPoints * kPointFloats; l += kLanes) storeu(products + l, zero());
      break;
    }
    const int64_t count = (i < pp::kPoints - 1 ? 2 : 1) * p.ic;
    const float* inputs = memory.inputs + 2 * i * p.ic;
    // One row of one block, with each point a sixth of it.
    constexpr int64_t kLinesAhead = (kStripTiles * pp::kTile * kBlock / 16 + pp::kPoints - 1) / pp::kPoints;
    const int64_t k = 2 * stage + r;
    const float* ahead = next.at + k / pp::kTile * next.block + k % pp::kTile * next.row;
    for (int64_t j = 0; j < columns; ++j, inputs += 2 * pp::kColumn, products += kPointFloats) {
      for (int64_t l = 0; l < kLinesAhead; ++l, ahead += 16) __builtin_prefetch(ahead, 0, 2);
      weights = multiply_strip<Step>(inputs, j < pp::kPoints - 1 ? 2 : 1, count, weights, products);
    }
  }
  return weights;
}

// Outputs of a strip: what has been added up of them, until the last stage is done.
struct StripOutputs {
  float* at;
  int64_t block, row;
  bool clamp;  // in the end, to [low, high]; NaN passes
  float low, high;
};

// Products of the six points of a row.
TERROIR_INLINE void transform_back(const float* products, V (&z)[pp::kTile]) {
  constexpr float a = kWinoInner, b = kWinoOuter;
  V m[pp::kPoints];
#pragma GCC unroll 8
  for (int j = 0; j < pp::kPoints; ++j) {
    m[j] = loadu(products + j * kPointFloats);
#if defined(__AVX512F__)
    // Else compilers load what is used twice twice, and loads are what this waits for.
    __asm__("" : "+v"(m[j].data));
#endif
  }
  const V even_a = m[1] + m[2], even_b = m[3] + m[4];
  z[0] = fma(V(1 / a), even_a, fma(V(1 / b), even_b, m[0]));
  z[1] = (m[1] - m[2]) + (m[3] - m[4]);
  z[2] = fma(V(a), even_a, fma(V(b), even_b, m[5]));
}

// What the two rows of a stage add to 3x3 outputs: of a pair +-p of points the even and odd parts, of zero and infinity
// the first and the last row.
template <int Stage>
TERROIR_INLINE void add_rows(int64_t row, bool clamp, V low, V high, const float* products, V start, float* to) {
  constexpr float p = Stage == 0 ? kWinoInner : kWinoOuter;
  V first[pp::kTile], second[pp::kTile];
  transform_back(products, first);
  transform_back(products + pp::kPoints * kPointFloats, second);
#pragma GCC unroll 4
  for (int q = 0; q < pp::kTile; ++q) {
    V y[pp::kTile];
#pragma GCC unroll 4
    for (int k = 0; k < pp::kTile; ++k) y[k] = Stage == 0 ? start : loadu(to + k * row + q * kBlock);
    if constexpr (Stage < 2) {
      const V even = first[q] + second[q], odd = first[q] - second[q];
      y[0] = fma(V(1 / p), even, y[0]);
      y[1] = y[1] + odd;
      y[2] = fma(V(p), even, y[2]);
    } else {
      y[0] = y[0] + first[q];
      y[2] = y[2] + second[q];
    }
#pragma GCC unroll 4
    for (int k = 0; k < pp::kTile; ++k) {
      if (Stage == 2 && clamp) y[k] = min(high, max(low, y[k]));
      if (Stage < 2 || k != 1 || clamp) storeu(to + k * row + q * kBlock, y[k]);
    }
  }
}

template <int Stage>
TERROIR_NOINLINE void add_stage(const StripOutputs& out, const float* products, int64_t blocks, const float* bias) {
  const V low(out.low), high(out.high);
  const int64_t row = out.row, block = out.block;
  const bool clamp = out.clamp;
  for (float* at = out.at; blocks > 0; --blocks, at += block, bias += kBlock) {
    const V start = loadu(bias);
    float* to = at;
    for (int64_t t = 0; t < kStripTiles; ++t, products += kBlock, to += pp::kTile * kBlock)
      add_rows<Stage>(row, clamp, low, high, products, start, to);
  }
}

// Blocks [first, first + count) of output channels of a strip.
const float* run_unit(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const Strip& s,
                      const StripMemory& memory, int64_t first, int64_t count, const float* weights) {
  const int64_t next_first = first + count < (plan.exec.oc + kBlock - 1) / kBlock ? first + count : 0;
  const int64_t next_w = (next_first == 0 ? s.tile + kStripTiles : s.tile) * pp::kTile;
  const OutputsAhead next{
      args.dst + s.n * plan.dst.n + next_first * plan.dst.c + s.row * pp::kTile * plan.dst.h + next_w * kBlock,
      plan.dst.c, plan.dst.h};
  constexpr int64_t kWidth = kStripTiles * pp::kTile;
  const ConvProblem& p = plan.exec;
  const int64_t h = s.row * pp::kTile, w = s.tile * pp::kTile;
  const int64_t rows = p.h.out - h < pp::kTile ? p.h.out - h : pp::kTile;
  const int64_t width = p.w.out - w < kWidth ? p.w.out - w : kWidth;
  const int64_t offset = s.n * plan.dst.n + first * plan.dst.c + h * plan.dst.h + w * kBlock;
  const bool buffered = e.rest_count > 0 || rows < pp::kTile || width < kWidth;
  StripOutputs out{args.dst + offset, plan.dst.c, plan.dst.h, e.clamp, e.low, e.high};
  if (buffered) {
    out.at = memory.outputs;
    out.row = kWidth * kBlock;
    out.block = pp::kTile * out.row;
  }
  const float* const bias = args.packed + first * kBlock;
  for (int stage = 0; stage < pp::kStages; ++stage) {
    const bool rgb = kLanes == 16 && p.ic == kRgb;
    weights =
        rgb ? multiply_rows<kRgb>(p, memory, weights, stage, next) : multiply_rows<1>(p, memory, weights, stage, next);
    const auto add = stage == 0 ? &add_stage<0> : stage == 1 ? &add_stage<1> : &add_stage<2>;
    add(out, memory.products, count, bias);
  }
  for (int64_t b = 0; b < count; ++b) {
    const int64_t block = first + b, at = offset + b * plan.dst.c;
    const int64_t channels = p.oc - block * kBlock < kBlock ? p.oc - block * kBlock : kBlock;
    for (int64_t r = 0; buffered && r < rows; ++r)
      apply_epilogue(e, out.at + b * out.block + r * out.row, args.dst, at + r * plan.dst.h, kBlock, width,
                     block * kBlock, channels);
    if (!e.activate) continue;
    e.activate({args.dst + at, 1, 0, rows, plan.dst.h, width, kBlock}, e.alpha);
    for (int64_t r = 0; r < rows; ++r) clear_tail(args.dst + at + r * plan.dst.h, kBlock, width, channels);
  }
  return weights;
}

void run_strip(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const Strip& s,
               const StripMemory& memory) {
  transform_down(plan, args, s, memory);
  transform_along(plan.exec, memory);
  const int64_t blocks = (plan.exec.oc + kBlock - 1) / kBlock;
  const float* weights = args.packed + (blocks + pp::kUnitBlocks - 1) / pp::kUnitBlocks * pp::kUnitBlocks * kBlock;
  for (int64_t first = 0; first < blocks; first += pp::kUnitBlocks) {
    const int64_t count = blocks - first < pp::kUnitBlocks ? blocks - first : pp::kUnitBlocks;
    weights = run_unit(plan, args, e, s, memory, first, count, weights);
  }
}

}  // namespace

void wino_run_polyphase(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& p = plan.exec;
  // An addition to the start value goes the long way: it is rare behind a first layer.
  const bool adds = args.post_op_count > 0 && args.post_ops[0].kind == PostOpKind::add;
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, p.oc % kBlock != 0, adds);
  StripMemory memory;
  memory.zeros = args.scratch;
  memory.rows = memory.zeros + kStripColumns;
  memory.columns = memory.rows + pp::rows_floats(kLanes);
  memory.products = memory.columns + pp::columns_floats(kLanes);
  memory.inputs = memory.products + pp::products_floats(kLanes);
  memory.outputs = memory.inputs + pp::inputs_floats(kLanes);
  memory.lines = memory.outputs + pp::outputs_floats(kLanes);
  // Beyond the borders; in lanes of no channel, which are computed with, but used nowhere; and at infinity, where
  // kernels have fewer than 7 taps.
  const float* const end = p.w.kernel < pp::kMaxTaps ? memory.inputs : memory.products;
  __builtin_memset(memory.zeros, 0, static_cast<size_t>(end - memory.zeros) * sizeof(float));
  for (int64_t n = box.n0; n < box.n1; ++n)
    for (int64_t unit = box.sp0; unit < box.sp1; ++unit)
      run_strip(plan, args, epilogue, {n, unit / plan.chunks, unit % plan.chunks * kStripTiles}, memory);
}

}  // namespace terroir::cpu::TERROIR_ISA
