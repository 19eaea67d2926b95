// What: convolution along one axis by F(5,2), F(4,3) and F(3,4): six products instead of ten or twelve. Longer kernels
//   are sums of segments, those with a stride of the inputs a stride apart, added up before the transform back. Some
//   tiles' inputs are transformed, multiplied point by point with the transformed weights, and the products transformed
//   back, with bias, residual and post-ops at the store.
// Axes: plan.exec has the axis as h, what lies before it as d and behind it as w: neighbours along w are neighbours in
//   memory. An sp unit is a tile; plan.cached_rows of them are worked on at once.
// Order of summation: segment, channel block, channel; then the output transform. It depends on the plan alone.
// Transposed: each phase of the outputs is an axis of its own, of the same transformed inputs.
// Packed: [bias][oc unit], and of a unit [phase][point][segment][ic][oc in unit] in the transformed domain, channels to
//   whole blocks with zeros; or, where runs transform the weights, plan.ic_chunk input blocks at a time, [ic][tap][oc
//   in unit].
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/epilogue.hpp"
#include "plugins/cpu/kernels/conv_wino/gemm_pass.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_types.hpp"
#include "plugins/cpu/kernels/conv_wino/pack.hpp"
#include "plugins/cpu/kernels/conv_wino/staging.hpp"

namespace terroir::cpu {

struct ConvKernel;

namespace TERROIR_ISA {
namespace {

constexpr int kAxisPoints = static_cast<int>(one_axis::kPoints);
static_assert(kAxisPoints == Wino<4>::kAlpha);

// Tiles whose outputs go through a copy together.
constexpr int64_t kAxisBuffered = 16;

// Tiles one behind the other, of as many outputs; of neighbours across the axis the same inputs are inside.
struct AxisRun {
  int64_t tiles;
  int64_t outer, row, inner;  // of the first tile's first output
  bool inside;                // as all their inputs are
  int64_t outputs;
  bool along;  // the next tile lies along the axis, not across it
};

// Of distances `step` apart, how many are below `distance`, at most `limit`.
TERROIR_INLINE int64_t steps_below(int64_t distance, int64_t step, int64_t limit) {
  const int64_t n = distance <= 0 ? 0 : (distance - 1) / step + 1;
  return n < limit ? n : limit;
}

// What begins with tile `s` of an image, at most so many tiles.
AxisRun axis_run(const ConvProblem& e, int64_t s, int64_t most) {
  const ConvAxis a = one_axis::axis_of(e);
  const int64_t outputs = one_axis::tile_outputs(a), per_phase = one_axis::phase_tiles(a);
  const int64_t tiles = one_axis::phases(a) * per_phase;
  AxisRun run;
  run.inner = s % e.w.out;
  const int64_t line = s / e.w.out, tile = line % tiles;
  run.outer = line / tiles;
  run.row = tile / per_phase + tile % per_phase * outputs * a.dilation;
  run.outputs = steps_below(a.out - run.row, a.dilation, outputs);
  run.along = e.w.out == 1;
  const int64_t last_input = a.in - 1 + a.pad - one_axis::tile_reach(a);
  run.inside = run.row * a.stride >= a.pad && run.row * a.stride <= last_input;
  run.tiles = 1;
  if (!run.along) {
    run.tiles = e.w.out - run.inner;
  } else if (run.inside && run.outputs == outputs) {
    const int64_t last_output = a.out - 1 - (outputs - 1) * a.dilation;
    const int64_t last = last_input / a.stride < last_output ? last_input / a.stride : last_output;
    run.tiles = (last - run.row) / (outputs * a.dilation) + 1;
  }
  if (run.tiles > most) run.tiles = most;
  return run;
}

// The points of some tiles, of one segment and channel block.
struct AxisInputs {
  const float* from;   // the first tile's first input
  int64_t row, step;   // floats between inputs of a tile, and between tiles
  int64_t first, end;  // inputs inside
  float* v;
  int64_t v_point;
};

template <bool Inside>
void axis_inputs(AxisInputs s, int64_t tiles) {
  for (; tiles > 0; --tiles, s.from += s.step, s.v += kBlock) {
#pragma GCC unroll 2
    for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
      V d[kAxisPoints];
#pragma GCC unroll 6
      for (int i = 0; i < kAxisPoints; ++i)
        d[i] = Inside || (i >= s.first && i < s.end) ? loadu(s.from + i * s.row + lane) : zero();
      V points[2][kAxisPoints / 2];
      Wino<4>::input<0>(d, points[0]);
      Wino<4>::input<1>(d, points[1]);
#pragma GCC unroll 6
      for (int i = 0; i < kAxisPoints; ++i) storeu(s.v + i * s.v_point + lane, points[i / 3][i % 3]);
    }
  }
}

void transform_axis(const ConvPlan& plan, const float* src, int64_t s0, int64_t tiles, float* v, int64_t v_point) {
  const ConvProblem& e = plan.exec;
  const ConvAxis a = one_axis::axis_of(e);
  const int64_t row = one_axis::input_step(a) * plan.src.h, segments = one_axis::segments(a);
  for (int64_t done = 0; done < tiles;) {
    const AxisRun run = axis_run(e, s0 + done, tiles - done);
    const auto inputs = run.inside ? &axis_inputs<true> : &axis_inputs<false>;
    AxisInputs in{};
    in.row = row;
    in.step = run.along ? one_axis::tile_outputs(a) * row : kBlock;
    in.v = v + done * kBlock;
    in.v_point = v_point;
    for (int64_t g = 0; g < segments; ++g) {
      const int64_t first = run.row * a.stride - a.pad + one_axis::first_tap(a, g) * a.dilation;
      in.from = src + run.outer * plan.src.d + first * plan.src.h + run.inner * kBlock;
      in.first = steps_below(-first, one_axis::input_step(a), kAxisPoints);
      in.end = steps_below(a.in - first, one_axis::input_step(a), kAxisPoints);
      for (int64_t c = 0; c < e.ic; c += kBlock, in.from += plan.src.c, in.v += tiles * kBlock) inputs(in, run.tiles);
    }
    done += run.tiles;
  }
}

// Of one channel block: where the products are, and where the outputs go.
struct AxisOutputs {
  const float* m;
  int64_t m_point;
  const float* bias;
  const float* residual;  // or null; strides of dst
  float* dst;
  int64_t row, step;  // floats between outputs of a tile, and between tiles
  int64_t tiles, outputs;
  bool clamp;  // limit to [low, high]; NaN passes
  float low, high;
};

// y[k] is the sum of p^k times the products at all points p, infinity counting for the last one.
template <int Outputs>
void axis_outputs(const AxisOutputs& t) {
  const V low(t.low), high(t.high);
  const float *m = t.m, *residual = t.residual;
  float* dst = t.dst;
  for (int64_t left = t.tiles; left > 0; --left, m += kBlock, dst += t.step, residual += residual ? t.step : 0) {
#pragma GCC unroll 2
    for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
      V p[kAxisPoints];
#pragma GCC unroll 6
      for (int i = 0; i < kAxisPoints; ++i) p[i] = loadu(m + i * t.m_point + lane);
      const V inner[2] = {p[1] + p[2], p[1] - p[2]}, outer[2] = {p[3] + p[4], p[3] - p[4]};
      const V bias = loadu(t.bias + lane);
      float a = 1, b = 1;
#pragma GCC unroll 5
      for (int k = 0; k < Outputs; ++k, a *= kWinoInner, b *= kWinoOuter) {
        V sum = k == 0 ? p[0] + (inner[0] + outer[0]) : fma(V(b), outer[k % 2], V(a) * inner[k % 2]);
        if (k == Outputs - 1) sum = sum + p[kAxisPoints - 1];
        sum = sum + bias;
        if (k >= t.outputs) break;
        if (residual) sum = sum + loadu(residual + k * t.row + lane);
        if (t.clamp) sum = min(high, max(low, sum));
        storeu(dst + k * t.row + lane, sum);
      }
    }
  }
}

using AxisOutputsFn = void (*)(const AxisOutputs& t);

AxisOutputsFn axis_outputs_of(int64_t outputs) {
  switch (outputs) {
    case 3:
      return &axis_outputs<3>;
    case 4:
      return &axis_outputs<4>;
    default:
      return &axis_outputs<5>;
  }
}

// The outputs of a run of tiles, in channel block `block`, whose products begin at `m`; `image`: where the image's
// outputs of the phase begin.
void store_axis_run(const ConvPlan& plan, const ConvArgs& args, const Epilogue& e, const AxisRun& run, int64_t image,
                    int64_t block, const float* m, int64_t m_point) {
  const ConvProblem& p = plan.exec;
  const ConvAxis a = one_axis::axis_of(p);
  const int64_t apart = one_axis::phases_of_outputs(p) * plan.dst.h;
  const int64_t channels = p.oc - block * kBlock < kBlock ? p.oc - block * kBlock : kBlock;
  const int64_t row = a.dilation * apart, outputs = one_axis::tile_outputs(a);
  const int64_t step = run.along ? outputs * row : kBlock;
  int64_t offset = image + block * plan.dst.c + run.outer * plan.dst.d + run.row * apart + run.inner * kBlock;
  const AxisOutputsFn transform = axis_outputs_of(outputs);
  AxisOutputs t{m,
                m_point,
                args.packed + block * kBlock,
                e.residual ? e.residual + offset : nullptr,
                args.dst + offset,
                row,
                step,
                run.tiles,
                run.outputs,
                e.clamp,
                e.low,
                e.high};
  if (e.rest_count == 0) {
    transform(t);
    if (!e.activate) return;
    e.activate({args.dst + offset, 1, 0, run.outputs, row, run.tiles, step}, e.alpha);
    for (int64_t k = 0; k < run.outputs; ++k) clear_tail(args.dst + offset + k * row, step, run.tiles, channels);
    return;
  }
  alignas(64) float buffer[one_axis::kMostOutputs * kAxisBuffered * kBlock];
  t.dst = buffer;
  t.row = kAxisBuffered * kBlock;
  t.step = kBlock;
  t.residual = e.residual ? buffer : nullptr;
  for (int64_t left = run.tiles; left > 0; left -= t.tiles) {
    t.tiles = left < kAxisBuffered ? left : kAxisBuffered;
    for (int64_t k = 0; e.residual && k < run.outputs; ++k)
      for (int64_t i = 0; i < t.tiles; ++i)
        for (int64_t lane = 0; lane < kBlock; lane += kLanes)
          storeu(buffer + k * t.row + i * kBlock + lane, loadu(e.residual + offset + k * row + i * step + lane));
    transform(t);
    for (int64_t k = 0; k < run.outputs; ++k)
      apply_epilogue(e, buffer + k * t.row, args.dst, offset + k * row, step, t.tiles, block * kBlock, channels);
    t.m += t.tiles * kBlock;
    offset += t.tiles * step;
  }
}

// Some tiles: their transformed inputs, [point][segment][ic block][tile][channel], and products of one unit, [point][oc
// block][tile][channel].
struct AxisBlock {
  int64_t tiles;
  float* v;
  int64_t v_point;
  float* m;
  int64_t m_point;
};

// Weights of a unit in the transformed domain: of input blocks [first, first + blocks) of `depth` segments one behind
// the other, blocks being counted through all segments.
struct AxisWeights {
  const float* u;
  int64_t u_point, depth, first, blocks, last;  // last: channels of the last block
  const float* ahead;                           // cache lines that are wanted next, for each point some
  int64_t ahead_step, lines;
  bool dead[2];  // all weights of the first point are zero, or of the last one, for want of a tap
};

// The products of all points, or what they add.
void multiply_axis(const ConvPlan& plan, const AxisBlock& b, int64_t blocks, const AxisWeights& w) {
  const int64_t ic_blocks = (plan.exec.ic + kBlock - 1) / kBlock;
  const int64_t widest = max_tile_positions(kRegisters, kFused, static_cast<int>(blocks) * kVectorsPerBlock);
  const int64_t passes = (b.tiles + widest - 1) / widest, narrow = b.tiles / passes, wider = b.tiles % passes;
  GemmPass g{};
  g.v_block = b.tiles * kBlock;
  g.u_block = blocks * kBlock * kBlock;
  g.depth = w.depth;
  g.v_depth = ic_blocks * g.v_block;
  g.u_depth[0] = g.u_depth[1] = ic_blocks * g.u_block;
  g.blocks = w.blocks;
  g.last = w.last;
  g.m_block = b.tiles * kBlock;
  g.load = w.first > 0;
  const int64_t loops = passes * w.depth * w.blocks;
  g.prefetch_lines = (w.lines + loops - 1) / loops;
  for (int i = 0; i < kAxisPoints; ++i) {
    g.u = w.u + i * w.u_point;
    g.v = b.v + i * b.v_point + w.first * g.v_block;
    g.m = b.m + i * b.m_point;
    g.prefetch = w.ahead + i * w.ahead_step;
    if ((i == 0 && w.dead[0]) || (i == kAxisPoints - 1 && w.dead[1])) {
      for (int64_t l = 0; l < blocks * b.tiles * kBlock; l += kLanes) storeu(g.m + l, zero());
      continue;
    }
    for (int64_t pass = 0; pass < passes; ++pass) {
      const int64_t width = narrow + (pass < wider ? 1 : 0);
      kGemm[blocks - 1].fn[width - 1](g);
      g.v += width * kBlock;
      g.m += width * kBlock;
      g.prefetch += g.prefetch_lines * w.depth * w.blocks * 16;
    }
  }
}

// G times the taps that there are of a segment of so many: vectors of `lanes` floats, to points `u_point` apart.
TERROIR_INLINE void transform_segment(const float* kernel, const one_axis::SegmentTaps& some, int64_t lanes,
                                      int64_t segment, float* u, int64_t u_point) {
  const float* const taps = kernel + some.first * lanes;
  const int64_t step = some.step * lanes;
  using W = Wino<4>;
  constexpr float a = W::a, b = W::b, a2 = W::a2, b2 = W::b2;
  V g[one_axis::kMostSegmentTaps];
#pragma GCC unroll 4
  for (int x = 0; x < one_axis::kMostSegmentTaps; ++x)
    g[x] = x >= some.begin && x < some.end ? loadu(taps + x * step) : zero();
  const V even_a = fma(V(W::at_a * a2), g[2], V(W::at_a) * g[0]);
  const V odd_a = fma(V(W::at_a * a2 * a), g[3], V(W::at_a * a) * g[1]);
  const V even_b = fma(V(W::at_b * b2), g[2], V(W::at_b) * g[0]);
  const V odd_b = fma(V(W::at_b * b2 * b), g[3], V(W::at_b * b) * g[1]);
  storeu(u, V(W::at_zero) * g[0]);
  storeu(u + u_point, even_a + odd_a);
  storeu(u + 2 * u_point, even_a - odd_a);
  storeu(u + 3 * u_point, even_b + odd_b);
  storeu(u + 4 * u_point, even_b - odd_b);
  storeu(u + 5 * u_point, some.end == segment ? loadu(taps + (segment - 1) * step) : zero());
}

// Whether a unit's weights of the first point, and of the last one, are zero in a phase.
void set_dead_points(const ConvProblem& e, int64_t phase, AxisWeights& w) {
  const ConvAxis a = one_axis::axis_of(e);
  if (!e.transposed || one_axis::segments(a) > 1) return;
  const one_axis::SegmentTaps some = one_axis::taps_of_segment(e, 0, phase);
  w.dead[0] = some.begin > 0;
  w.dead[1] = some.end < one_axis::segment_taps(a);
}

// Products of a unit in a phase with its taps `weights`, plan.ic_chunk input blocks of a segment at a time; `more`:
// another unit follows.
void stage_and_multiply_axis(const ConvPlan& plan, const AxisBlock& b, int64_t blocks, int64_t phase,
                             const float* weights, bool more, float* staged) {
  const ConvProblem& p = plan.exec;
  const ConvAxis a = one_axis::axis_of(p);
  const int64_t taps = p.h.kernel, segment = one_axis::segment_taps(a), lanes = blocks * kBlock;
  const int64_t ic_blocks = (p.ic + kBlock - 1) / kBlock, u_point = point_stride(plan.ic_chunk * lanes);
  for (int64_t g = 0; g < one_axis::segments(a); ++g) {
    const one_axis::SegmentTaps some = one_axis::taps_of_segment(p, g, phase);
    for (int64_t first = 0; first < ic_blocks; first += plan.ic_chunk) {
      AxisWeights w{staged, u_point, 1, g * ic_blocks + first, plan.ic_chunk, kBlock, nullptr, 0, 0, {}};
      set_dead_points(p, phase, w);
      if (first + w.blocks >= ic_blocks) {
        w.blocks = ic_blocks - first;
        w.last = p.ic - (ic_blocks - 1) * kBlock;
      }
      const int64_t channels = (w.blocks - 1) * kBlock + w.last;
      const float* from = weights + first * kBlock * taps * lanes;
      for (int64_t i = 0; i < channels; ++i, from += taps * lanes)
        for (int64_t l = 0; l < lanes; l += kLanes)
          transform_segment(from + l, some, lanes, segment, staged + i * lanes + l, u_point);
      // Of the next channels, or the next unit's, all taps: those of the other segments are there then.
      if (g == 0 && (more || first + w.blocks < ic_blocks)) {
        w.ahead = from;
        w.lines = channels * taps * lanes / 16 / kAxisPoints;
        w.ahead_step = w.lines * 16;
      }
      multiply_axis(plan, b, blocks, w);
    }
  }
}

// Products of a unit with weights in the transformed domain, of a phase.
void multiply_packed_axis(const ConvPlan& plan, const AxisBlock& b, int64_t blocks, int64_t phase, const float* u) {
  const int64_t ic_blocks = (plan.exec.ic + kBlock - 1) / kBlock;
  const int64_t depth = one_axis::segments(one_axis::axis_of(plan.exec));
  const int64_t u_point = depth * ic_blocks * blocks * kBlock * kBlock;
  // Those of the next point, and behind the last one of the next unit.
  AxisWeights w{u,           u_point,   depth,
                0,           ic_blocks, plan.exec.ic - (ic_blocks - 1) * kBlock,
                u + u_point, u_point,   plan.prefetch ? u_point / 16 : 0,
                {}};
  set_dead_points(plan.exec, phase, w);
  multiply_axis(plan, b, blocks, w);
}

}  // namespace

void wino_run_one_axis(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  const ConvProblem& p = plan.exec;
  const Epilogue epilogue = make_epilogue(args.post_ops, args.post_op_count, p.oc % kBlock != 0);
  const int64_t oc_blocks = (p.oc + kBlock - 1) / kBlock;
  const int64_t depth = one_axis::segments(one_axis::axis_of(p)) * ((p.ic + kBlock - 1) / kBlock);
  const int64_t phases = one_axis::phases_of_outputs(p), units = (oc_blocks + plan.oc_blocks - 1) / plan.oc_blocks;
  const float* const weights = args.packed + (oc_blocks * kBlock + 15) / 16 * 16;
  const int64_t all = box.sp1 - box.sp0, rounds = (all + plan.cached_rows - 1) / plan.cached_rows;
  for (int64_t i = 0; i < (box.n1 - box.n0) * rounds; ++i) {
    const int64_t n = box.n0 + i / rounds, round = i % rounds;
    const int64_t s0 = box.sp0 + all * round / rounds;
    AxisBlock b;
    b.tiles = box.sp0 + all * (round + 1) / rounds - s0;
    b.v = args.scratch;
    b.v_point = point_stride(depth * b.tiles);
    b.m = b.v + kAxisPoints * b.v_point;
    transform_axis(plan, args.src + n * plan.src.n, s0, b.tiles, b.v, b.v_point);
    for (int64_t of = 0; of < units * phases; ++of) {
      const int64_t first = of / phases * plan.oc_blocks, phase = of % phases;
      const int64_t blocks = oc_blocks - first < plan.oc_blocks ? oc_blocks - first : plan.oc_blocks;
      const float* const u = weights + first * kBlock * one_axis::weights_per_output(plan);
      b.m_point = point_stride(blocks * b.tiles);
      if (plan.ic_chunk > 0) {
        const bool more = phase + 1 < phases || first + blocks < oc_blocks;
        stage_and_multiply_axis(plan, b, blocks, phase, u, more, b.m + kAxisPoints * b.m_point);
      } else {
        const int64_t of_phase = blocks * kBlock * one_axis::weights_per_output(plan) / phases;
        multiply_packed_axis(plan, b, blocks, phase, u + phase * of_phase);
      }
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t done = 0; done < b.tiles;) {
          const AxisRun run = axis_run(p, s0 + done, b.tiles - done);
          store_axis_run(plan, args, epilogue, run, n * plan.dst.n + phase * plan.dst.h, first + block,
                         b.m + (block * b.tiles + done) * kBlock, b.m_point);
          done += run.tiles;
        }
    }
  }
}

void wino_pack_one_axis(const ConvPlan& plan, const ConvKernel&, const ConvConstants& constants, float* packed,
                        int64_t begin, int64_t end) noexcept {
  const ConvProblem& p = plan.exec;
  const ConvAxis a = one_axis::axis_of(p);
  const int64_t phases = one_axis::phases_of_outputs(p), segment = one_axis::segment_taps(a);
  // Transposed: one input channel after the other, the taps of its output channels side by side.
  const int64_t taps = p.h.kernel, at_once = p.transposed ? 1 : kLanes;
  const int64_t row = p.transposed ? taps : p.ic * taps, channel_step = p.transposed ? p.oc * taps : taps;
  const int64_t padded = (p.ic + kBlock - 1) / kBlock * kBlock, oc_blocks = (p.oc + kBlock - 1) / kBlock;
  const bool transforms = plan.ic_chunk == 0;
  float* const bias = packed;
  const int64_t bias_floats = (oc_blocks * kBlock + 15) / 16 * 16;
  for (int64_t l = oc_blocks * kBlock; begin == 0 && l < bias_floats; ++l) bias[l] = 0.0f;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = unit * plan.oc_blocks;
    const int64_t blocks = oc_blocks - first < plan.oc_blocks ? oc_blocks - first : plan.oc_blocks;
    const int64_t lanes = blocks * kBlock, u_segment = padded * lanes, u_point = one_axis::segments(a) * u_segment;
    float* const to = packed + bias_floats + first * kBlock * one_axis::weights_per_output(plan);
    for (int64_t l = first * kBlock; l < first * kBlock + lanes; ++l)
      bias[l] = constants.bias && l < p.oc ? constants.bias[l] : 0.0f;
    for (int64_t i = u_segment; transforms && i <= phases * kAxisPoints * u_point; i += u_segment)
      for (int64_t l = i - (padded - p.ic) * lanes; l < i; ++l) to[l] = 0.0f;
    alignas(64) float transposed[one_axis::kMostTaps * kLanes * kLanes];
    for (int64_t channel = 0; channel < p.ic; channel += at_once) {
      const int64_t channels = p.ic - channel < at_once ? p.ic - channel : at_once;
      for (int64_t l = 0; l < lanes; l += kLanes) {
        const int64_t o = first * kBlock + l;
        const float* const from = constants.weights + (o - constants.first_output) * row + channel * channel_step;
        transpose_rows(from, row, p.oc - o, channels * taps, transposed);
        for (int64_t x = 0; !transforms && x < channels * taps; ++x)
          storeu(to + (channel * taps + x) * lanes + l, loadu(transposed + x * kLanes));
        for (int64_t c = 0; transforms && c < channels * phases; ++c) {
          const int64_t of = c / phases, phase = c % phases;
          float* u = to + phase * kAxisPoints * u_point + (channel + of) * lanes + l;
          for (int64_t g = 0; g < one_axis::segments(a); ++g, u += u_segment)
            transform_segment(transposed + of * taps * kLanes, one_axis::taps_of_segment(p, g, phase), kLanes, segment,
                              u, u_point);
        }
      }
    }
  }
}

}  // namespace TERROIR_ISA
}  // namespace terroir::cpu
