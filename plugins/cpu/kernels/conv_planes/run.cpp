// What: convolution whose lanes are output positions: copies the sources of some output rows to planes with zeros
// around them (planes_types.hpp), computes one channel of results after the other as one long row, and brings the
// results to the layout of the destination. No product is made of padding of channels, whatever the groups are.
// Layouts: source and destination each blocked or plain.
// Order of summation: bias, then input channel of the group, d, h, w; it depends on nothing else.
// Cost: beside the tiles (generic.hpp), for a block of channels and as many positions a transposition of sources, a
//   second one of results, and what both wait for memory. Lines of both fetched meanwhile gained nothing.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_planes/entry_points.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"

namespace terroir::cpu {
namespace {

// What one run shares, and the place at hand.
struct PlanesContext {
  const ConvPlan& plan;
  const ConvArgs& args;
  const PlanesTileFns* tiles;
  void (*every_second)(const float* src, int64_t count, float* dst) noexcept;
  const ReorderKernels& reorder;
  const PostOpKernels& post_ops;
  PlanesShape shape;
  float *sources, *results;
  int32_t* offsets;
  int64_t first_group = 0, groups = 0;
  int64_t n = 0, d = 0, row = 0, rows = 0, column = 0, columns = 0;  // of outputs
  Range slices{};                                                    // of the kernel that meet the source
};

// Columns of copied rows: q holds source column first + q * step; those outside of `inside` are zeros.
struct PlanesColumns {
  int64_t first, step;
  Range inside;
};

// Nearly always a float or two.
void clear(float* at, int64_t floats) {
  constexpr int64_t kFew = 8;
  if (floats > kFew) {
    std::memset(at, 0, static_cast<size_t>(floats) * sizeof(float));
    return;
  }
  for (; floats > 0; --floats, ++at) {
    __asm__("" : "+r"(at));  // else compilers make a call of it
    *at = 0.0f;
  }
}

// Row (z, y) of channels [begin, end), of one block or one plain, to `to`; behind the end of the source zeros.
void copy_row(const PlanesContext& ctx, const PlanesColumns& c, int64_t z, int64_t y, int64_t begin, int64_t end,
              float* to) {
  const ConvPlan& plan = ctx.plan;
  const bool exists = y >= 0 && y < plan.exec.h.in && c.inside.begin < c.inside.end;
  const int64_t first = exists ? c.inside.begin : ctx.shape.pitch, last = exists ? c.inside.end : ctx.shape.pitch;
  for (int64_t i = 0; i < end - begin; ++i) {
    float* const row = to + i * ctx.shape.channel;
    clear(row, first);
    clear(row + last, ctx.shape.pitch - last);
  }
  if (!exists) return;
  const bool plain = plan.src_format == ConvFormat::plain;
  const int64_t block = plain ? 1 : plan.block, step = c.step * plan.src.w;
  const float* const from = ctx.args.src + ctx.n * plan.src.n + begin / block * plan.src.c + begin % block +
                            z * plan.src.d + y * plan.src.h + (c.first + first * c.step) * plan.src.w;
  to += first;
  if (!plain) {
    ctx.reorder.transpose_2d(from, step, to, ctx.shape.channel, last - first, end - begin, last - first);
  } else if (step == 1) {
    std::copy_n(from, last - first, to);
  } else if (step == 2) {
    ctx.every_second(from, last - first, to);
  } else {
    for (int64_t i = 0; i < last - first; ++i) to[i] = from[i * step];
  }
}

TERROIR_NOINLINE void set_offsets(const PlanesContext& ctx) {
  const ConvProblem& e = ctx.plan.exec;
  const PlanesShape& s = ctx.shape;
  int32_t* offset = ctx.offsets;
  for (int64_t z = 0; z < ctx.slices.end - ctx.slices.begin; ++z)
    for (int64_t y = 0; y < e.h.kernel; ++y)
      for (int64_t x = 0; x < e.w.kernel; ++x) {
        const int64_t reach_h = y * e.h.dilation, reach_w = x * e.w.dilation;
        const int64_t phase = reach_h % e.h.stride * s.phases_w + reach_w % e.w.stride;
        *offset++ = static_cast<int32_t>(z * s.slice + phase * s.plane + reach_h / e.h.stride * s.pitch +
                                         reach_w / e.w.stride - (s.shared ? e.w.pad : 0));
      }
}

// The sources of the groups, and zeros wherever else tiles read: what is left in scratch memory would be slow to
// compute with, if it looks like denormal numbers, and behind the last row of a plane the next one reads its pads.
TERROIR_NOINLINE void copy_sources(const PlanesContext& ctx) {
  const ConvPlan& plan = ctx.plan;
  const ConvProblem& e = plan.exec;
  const PlanesShape& s = ctx.shape;
  const int64_t inputs = e.ic / e.groups, block = plan.src_format == ConvFormat::plain ? 1 : plan.block;
  const int64_t first = ctx.first_group * inputs, last = first + ctx.groups * inputs;
  const int64_t copied_rows = ctx.rows + (e.h.kernel - 1) * e.h.dilation / e.h.stride;
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = std::min(last, begin / block * block + block);
    float* const to = ctx.sources + (begin - first) * s.channel;
    const auto clear_of_each = [&](float* at, int64_t floats) {
      for (int64_t i = 0; i < end - begin; ++i) clear(at + i * s.channel, floats);
    };
    clear_of_each(to, s.lead);
    float* slice = to + s.lead;
    for (int64_t tap = ctx.slices.begin; tap < ctx.slices.end; ++tap, slice += s.slice) {
      const int64_t z = ctx.d * e.d.stride - e.d.pad + tap * e.d.dilation;
      for (int64_t phase = 0; phase < s.phases_h * s.phases_w; ++phase) {
        const int64_t column = s.shared ? 0 : ctx.column * e.w.stride - e.w.pad + phase % s.phases_w;
        const PlanesColumns columns{column, e.w.stride, inside(column, e.w.stride, e.w.in, s.pitch)};
        const int64_t y = ctx.row * e.h.stride - e.h.pad + phase / s.phases_w;
        for (int64_t q = 0; q < copied_rows; ++q)
          copy_row(ctx, columns, z, y + q * e.h.stride, begin, end, slice + phase * s.plane + q * s.pitch);
        clear_of_each(slice + phase * s.plane + copied_rows * s.pitch, (s.rows - copied_rows) * s.pitch);
      }
    }
    clear_of_each(slice, to + s.channel - slice);
  }
  clear(ctx.sources + ctx.groups * inputs * s.channel, kPlanesSlack);
}

// The results of the groups.
TERROIR_NOINLINE void compute_planes(const PlanesContext& ctx) {
  const ConvProblem& e = ctx.plan.exec;
  const PlanesShape& s = ctx.shape;
  const int64_t inputs = e.ic / e.groups, outputs = e.oc / e.groups, lanes = ctx.plan.block;
  const int64_t slice_taps = e.h.kernel * e.w.kernel, all_taps = planes_taps(e);
  const int64_t positions = (ctx.rows - 1) * s.pitch + ctx.columns;
  PlanesTile t;
  t.channel = s.channel;
  t.inputs = inputs;
  t.taps = (ctx.slices.end - ctx.slices.begin) * slice_taps;
  t.offsets = ctx.offsets;
  t.result = s.result;
  for (int64_t g = 0; g < ctx.groups; ++g) {
    const int64_t first = (ctx.first_group + g) * outputs;
    const float* const src = ctx.sources + g * inputs * s.channel + s.lead;
    for (int64_t o = 0, count; o < outputs; o += count) {
      count = planes_outputs(outputs - o);
      t.bias = ctx.args.packed + first + o;
      t.wei_input = all_taps * count;
      t.wei = ctx.args.packed + planes_bias_floats(e) + (first + o) * inputs * all_taps +
              ctx.slices.begin * slice_taps * count;
      float* const out = ctx.results + (g * outputs + o) * s.result;
      const PlanesTileFns& tiles = ctx.tiles[count - 1];
      const int64_t usual = planes_vectors(lanes, count) * lanes, shorter = planes_short_vectors(lanes, count) * lanes;
      for (int64_t at = 0; at < positions; at += usual) {
        // The last one ends with the plane: results do not depend on their tile.
        const bool is_short = positions - at <= shorter;
        const int64_t begin = std::min(at, std::max<int64_t>(0, positions - (is_short ? shorter : usual)));
        t.src = src + begin;
        t.out = out + begin;
        (is_short ? tiles.shorter : tiles.usual)(t);
      }
    }
  }
}

// Some columns of a row of a block: turned, then the post-ops.
void store_block(const PlanesContext& ctx, const float* from, int64_t channel, int64_t channels, int64_t offset,
                 int64_t columns) {
  constexpr int64_t kColumns = 64, kWidestBlock = 16;
  const ConvPlan& plan = ctx.plan;
  const int64_t block = plan.block;
  float* const dst = ctx.args.dst + offset;
  if (ctx.args.post_op_count == 0)
    return ctx.reorder.transpose_2d(from, ctx.shape.result, dst, plan.dst.w, channels, columns, block);
  alignas(64) float buffer[kColumns * kWidestBlock];
  for (int64_t x = 0; x < columns; x += kColumns) {
    const int64_t width = std::min(kColumns, columns - x), at = offset + x * plan.dst.w;
    ctx.reorder.transpose_2d(from + x, ctx.shape.result, buffer, block, channels, width, block);
    float* const out = ctx.args.dst + at;
    ctx.post_ops.run({buffer, out, width, channels, block, plan.dst.w, at, plan.dst.w, channel, ChannelAxis::lanes},
                     ctx.args.post_ops, ctx.args.post_op_count);
    if (channels == block) continue;
    for (int64_t i = 0; i < width; ++i) clear(out + i * plan.dst.w + channels, block - channels);
  }
}

TERROIR_NOINLINE void store_results(const PlanesContext& ctx) {
  const ConvPlan& plan = ctx.plan;
  const bool plain = plan.dst_format == ConvFormat::plain;
  const int64_t outputs = plan.exec.oc / plan.exec.groups, first = ctx.first_group * outputs;
  const int64_t count = ctx.groups * outputs, block = plain ? 1 : plan.block;
  for (int64_t c = 0; c < count; c += block)
    for (int64_t y = 0; y < ctx.rows; ++y) {
      const float* const from = ctx.results + c * ctx.shape.result + y * ctx.shape.pitch;
      const int64_t offset = ctx.n * plan.dst.n + (first + c) / block * plan.dst.c + ctx.d * plan.dst.d +
                             (ctx.row + y) * plan.dst.h + ctx.column * plan.dst.w;
      if (!plain) {
        store_block(ctx, from, first + c, std::min(block, count - c), offset, ctx.columns);
      } else if (ctx.args.post_op_count == 0) {
        std::copy_n(from, ctx.columns, ctx.args.dst + offset);
      } else {
        ctx.post_ops.run({from, ctx.args.dst + offset, 1, ctx.columns, 0, 0, offset, 0, first + c, ChannelAxis::rows},
                         ctx.args.post_ops, ctx.args.post_op_count);
      }
    }
}

void run_planes(const PlanesTileFns* tiles, void (*every_second)(const float* src, int64_t count, float* dst) noexcept,
                Isa isa, const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) {
  const ConvProblem& e = plan.exec;
  const int64_t together = planes_groups(plan), bands = (e.h.out + plan.rows - 1) / plan.rows;
  PlanesContext ctx{.plan = plan,
                    .args = args,
                    .tiles = tiles,
                    .every_second = every_second,
                    .reorder = reorder_kernels(isa),
                    .post_ops = post_op_kernels(isa),
                    .shape = planes_shape(e, plan.rows, plan.w_tile),
                    .sources = args.scratch + planes_offset_floats(e),
                    .results = nullptr,
                    .offsets = reinterpret_cast<int32_t*>(args.scratch)};
  ctx.results = ctx.sources + together * (e.ic / e.groups) * ctx.shape.channel + kPlanesSlack;
  for (ctx.n = box.n0; ctx.n < box.n1; ++ctx.n)
    for (int64_t unit = box.oc0; unit < box.oc1; ++unit) {
      ctx.first_group = unit * together;
      ctx.groups = std::min(together, e.groups - ctx.first_group);
      for (int64_t sp = box.sp0; sp < box.sp1; ++sp) {
        const int64_t band = sp / plan.chunks;
        ctx.d = band / bands;
        ctx.row = band % bands * plan.rows;
        ctx.rows = std::min(plan.rows, e.h.out - ctx.row);
        ctx.column = sp % plan.chunks * plan.w_tile;
        ctx.columns = std::min(plan.w_tile, e.w.out - ctx.column);
        ctx.slices = inside(ctx.d * e.d.stride - e.d.pad, e.d.dilation, e.d.in, e.d.kernel);
        set_offsets(ctx);
        copy_sources(ctx);
        compute_planes(ctx);
        store_results(ctx);
      }
    }
}

}  // namespace

#if TERROIR_HAVE_AVX2
void avx2::conv_planes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  run_planes(planes_tiles(), &planes_every_second, Isa::avx2, plan, args, box);
}
#endif
#if TERROIR_HAVE_AVX512
void avx512::conv_planes(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept {
  run_planes(planes_tiles(), &planes_every_second, Isa::avx512, plan, args, box);
}
#endif

}  // namespace terroir::cpu
