#include "plugins/cpu/kernels/conv/plan.hpp"

#include <algorithm>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/lanes.hpp"
#include "plugins/cpu/kernels/conv/planes.hpp"
#include "plugins/cpu/kernels/conv_few/few.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace conv {
namespace {

#if TERROIR_HAVE_SSE42
constexpr int kScalarRegisters = 10;  // TERROIR_FEW_TILES
#else
constexpr int kScalarRegisters = 16;
#endif

bool is_unit(const ConvAxis& a) { return has_one_tap(a) && a.stride == 1 && a.in == a.out; }

}  // namespace

Machine machine(Isa isa) noexcept {
  switch (isa) {
    case Isa::avx512:
      return {16, 32, true};
    case Isa::avx2:
      return {8, 16, true};
    case Isa::sse42:
      return {4, 16, false};
    default:
      return {4, kScalarRegisters, false};
  }
}

ConvStrides dense_strides(const ConvProblem& p, ConvFormat format, int64_t block, bool output) noexcept {
  const int64_t c = output ? p.oc : p.ic;
  const int64_t d = output ? p.d.out : p.d.in, h = output ? p.h.out : p.h.in, w = output ? p.w.out : p.w.in;
  switch (format) {
    case ConvFormat::plain:
      return {c * d * h * w, d * h * w, h * w, w, 1};
    case ConvFormat::nhwc:
      return {c * d * h * w, block, h * w * c, w * c, c};
    case ConvFormat::blocked:
      break;
  }
  return {round_up(c, block) * d * h * w, d * h * w * block, h * w * block, w * block, block};
}

const char* reject_malformed(const ConvProblem& p) noexcept {
  if (p.batch < 0 || p.groups < 1 || p.ic < 1 || p.oc < 1) return "extents must be positive";
  if (p.ic % p.groups != 0 || p.oc % p.groups != 0) return "channels are not a multiple of groups";
  for (const ConvAxis* a : {&p.d, &p.h, &p.w}) {
    if (a->in < 1 || a->out < 1 || a->kernel < 1) return "extents must be positive";
    if (a->stride < 1 || a->dilation < 1) return "strides and dilations must be positive";
  }
  return nullptr;
}

void plan_common(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  plan = ConvPlan{};
  plan.problem = plan.exec = problem;
  plan.src_format = kernel.src;
  plan.dst_format = kernel.dst;
  plan.block = channel_block(kernel.isa);
  plan.src = dense_strides(problem, kernel.src, channel_block(kernel.isa), false);
  plan.dst = dense_strides(problem, kernel.dst, channel_block(kernel.isa), true);
  plan.oc_blocks = plan.rows = plan.chunks = plan.w_tile = plan.w_tile_last = plan.cached_rows = 1;
}

void merge_axes(ConvProblem& p, ConvStrides& src, ConvStrides& dst) noexcept {
  if (p.transposed || !is_unit(p.d) || !is_unit(p.h) || !is_unit(p.w)) return;
  p.w.in = p.w.out = p.d.in * p.h.in * p.w.in;
  p.d = p.h = ConvAxis{};
  src.h = src.d = src.w * p.w.in;
  dst.h = dst.d = dst.w * p.w.in;
}

int64_t rows_in_cache(int64_t row_bytes) noexcept {
  return std::max<int64_t>(1, cache_sizes().l2 / 2 / std::max<int64_t>(row_bytes, 1));
}

void pack_bias(const float* bias, int64_t groups, int64_t own, int64_t padded, int64_t total, float* packed) noexcept {
  std::fill_n(packed, total, 0.0f);
  for (int64_t g = 0; bias && g < groups; ++g) std::copy_n(bias + g * own, own, packed + g * padded);
}

}  // namespace conv

ConvPacking packing_of(const ConvPlan& plan) noexcept {
  const ConvProblem& e = conv::weights_of(plan);
  return {plan.block, plan.oc_blocks, e.groups,
          e.ic,       e.oc,           e.d.kernel,
          e.h.kernel, e.w.kernel,     dense_inner(e, plan.src_format, plan.block),
          e.h.stride, e.transposed};
}

int64_t conv_flops(const ConvProblem& p) noexcept {
  const int64_t taps = p.d.kernel * p.h.kernel * p.w.kernel;
  const int64_t positions = p.transposed ? p.d.in * p.h.in * p.w.in : p.d.out * p.h.out * p.w.out;
  return 2 * p.batch * positions * taps * (p.ic / p.groups) * p.oc;
}

double conv_slowdown(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  const double outputs = static_cast<double>(p.oc / p.groups), inputs = static_cast<double>(p.ic / p.groups);
  const double block = static_cast<double>(channel_block(kernel.isa));
  const double padding = static_cast<double>(round_up(p.oc / p.groups, channel_block(kernel.isa))) / outputs;
  double slowdown = 1;
  if (kernel.plan == conv::plan_few) return conv::few_slowdown(p, kernel);
  if (kernel.plan == conv::plan_planes) return conv::planes_slowdown(p, kernel);
  if (kernel.plan == conv::plan_lanes) {
    // A lane of its own for every output; sources that do not lie in the same lanes are permuted, or gathered, which
    // was measured beside full tiles of the dense kernels.
    constexpr double kPermuted = 1.5, kGathered = 35;
    const bool own = p.ic == p.groups && p.oc == p.groups;
    if (!own) slowdown = conv::reject_small_groups(p, kernel) == nullptr ? kPermuted : kGathered;
    slowdown *= static_cast<double>(round_up(p.oc, channel_block(kernel.isa))) / static_cast<double>(p.oc);
  } else {
    slowdown = padding;
    // Short trips over kernel columns, one channel after the other.
    if (kernel.src == ConvFormat::plain && p.ic > 4) slowdown *= 1 + 0.5 / static_cast<double>(p.w.kernel);
    // Short trips over the channels of a group, in tiles of any step.
    const int64_t width = channel_block(kernel.isa);
    const bool cut = p.groups > 1 && (p.ic / p.groups % width != 0 || p.oc / p.groups % width != 0);
    if (cut && kernel.isa >= Isa::avx2 && kernel.src == ConvFormat::nhwc && !p.transposed)
      slowdown = std::max(slowdown, conv::dense_groups_slowdown(p, width));
    // Blocked ones have tiles of several sums for one position.
    if (kernel.src == ConvFormat::plain && p.d.out * p.h.out * p.w.out == 1) slowdown *= 1.5;
  }
  if (kernel.src == ConvFormat::nhwc) slowdown *= 1.02;
  const double reduction = inputs * static_cast<double>(p.d.kernel * p.h.kernel * p.w.kernel);
  const bool copied =
      kernel.dst == ConvFormat::plain || (kernel.dst == ConvFormat::nhwc && p.oc % channel_block(kernel.isa) != 0);
  if (kernel.dst != ConvFormat::blocked) slowdown *= 1.01;
  // Of a block's rows those of channels that exist.
  if (copied) slowdown *= 1 + 2 * block / (reduction + block) / padding;
  return slowdown;
}

namespace {

// Channel blocks in oc units [0, unit): the last unit of a group may have fewer than the others.
int64_t blocks_before(const ConvPlan& plan, int64_t unit) {
  const int64_t per_group = ceil_div(plan.exec.oc / plan.exec.groups, plan.block);
  if (plan.oc_blocks == 1) return unit;  // also where a block holds many groups
  const int64_t units = ceil_div(per_group, plan.oc_blocks);
  return unit / units * per_group + std::min(unit % units * plan.oc_blocks, per_group);
}

// The largest share of the channel blocks that one of `parts` parts gets.
double largest_oc_share(const ConvPlan& plan, int64_t parts) {
  if (parts == 1) return 1;
  int64_t most = 0, before = 0;
  for (int64_t i = 1; i <= parts; ++i) {
    const int64_t end = blocks_before(plan, i * plan.grid.oc / parts);
    most = std::max(most, end - before);
    before = end;
  }
  return static_cast<double>(most) / static_cast<double>(before);
}

// The largest share of the work that one of the parts gets.
double largest_share(const ConvPlan& plan, const ConvGrid& parts) {
  const ConvGrid& g = plan.grid;
  const double units = static_cast<double>(ceil_div(g.n, parts.n) * ceil_div(g.sp, parts.sp));
  return largest_oc_share(plan, parts.oc) * units / static_cast<double>(g.n * g.sp);
}

struct Parts {
  ConvGrid per_axis;
  double cost;  // of the largest one, in cycles, roughly
};

// The least work in the largest part; among equals the split that reads least (oc parts share the source, the others
// share the weights).
Parts choose_parts(const ConvPlan& plan, int64_t threads) {
  const ConvGrid& g = plan.grid;
  const double weights = static_cast<double>(plan.packed_floats);
  const double source =
      static_cast<double>(plan.problem.ic) * plan.problem.d.in * plan.problem.h.in * plan.problem.w.in;
  const auto cost_of = [&](int64_t n, int64_t oc, int64_t sp) {
    const double compute = largest_share(plan, {n, oc, sp}) * static_cast<double>(conv_flops(plan.problem)) / 32.0;
    // Parts that share the source fetch most of it from another core's cache, on demand; shared weights are fetched
    // ahead. Measured on layers and networks: a float of the source costs as much as this many of the weights.
    constexpr double kSourceByWeight = 4;
    // Parts of whole groups share none of it.
    const int64_t source_parts = sp * std::min(oc, plan.exec.groups);
    const double memory = weights / static_cast<double>(oc) + kSourceByWeight * source *
                                                                  static_cast<double>(ceil_div(g.n, n)) /
                                                                  static_cast<double>(source_parts);
    // Until another thread has begun and is waited for.
    constexpr double kSharing = 2000;
    return compute + memory / 4.0 + (n * oc * sp > 1 ? kSharing : 0);
  };
  Parts best{{1, 1, 1}, cost_of(1, 1, 1)};
  for (int64_t n = 1; n <= std::min(threads, g.n); ++n) {
    for (int64_t oc = 1; n * oc <= threads && oc <= g.oc; ++oc) {
      const int64_t sp = std::min(threads / (n * oc), g.sp);
      const double cost = cost_of(n, oc, sp);
      if (cost < best.cost) best = {{n, oc, sp}, cost};
    }
  }
  return best;
}

ConvGrid choose_slices(const ConvPlan& plan, const Parts& parts, int64_t threads) {
  constexpr int64_t kLeastTiles = 4;
  const ConvGrid& g = plan.grid;
  int64_t wanted = slices_for(threads, parts.cost);
  const auto take = [&](int64_t units) {
    const int64_t cuts = std::clamp<int64_t>(units, 1, wanted);
    wanted = ceil_div(wanted, cuts);
    return cuts;
  };
  ConvGrid slices{take(g.n / parts.per_axis.n), 1, 1};
  const int64_t sp = g.sp / parts.per_axis.sp;
  // Rows that do not stay in cache together are the outer loop.
  if (sp > plan.cached_rows) {
    slices.sp = take(ceil_div(sp, plan.cached_rows));
  } else {
    slices.oc = take(g.oc / parts.per_axis.oc);
    // Rounds over input channels read sums again: they need all rows.
    if (plan.ic_chunk == 0) slices.sp = take(plan.column_units ? sp / plan.w_tile / kLeastTiles : sp / kLeastTiles);
  }
  return slices;
}

}  // namespace

ConvSplit conv_split(const ConvPlan& plan, int64_t threads) noexcept {
  const ConvGrid& g = plan.grid;
  if (g.n * g.oc * g.sp == 0) return {{0, 0, 0}, {1, 1, 1}};
  const Parts parts = choose_parts(plan, std::max<int64_t>(threads, 1));
  return {parts.per_axis, choose_slices(plan, parts, threads)};
}

double conv::imbalance_of_two_threads(const ConvPlan& plan) noexcept {
  const ConvGrid parts = choose_parts(plan, 2).per_axis;
  return largest_share(plan, parts) * static_cast<double>(parts.n * parts.oc * parts.sp);
}

ConvTile conv_part(const ConvPlan& plan, const ConvSplit& split, int64_t part) noexcept {
  const ConvGrid &g = plan.grid, &p = split.parts;
  const Stretch n = part_of({0, g.n}, part / p.sp / p.oc, p.n), oc = part_of({0, g.oc}, part / p.sp % p.oc, p.oc),
                sp = part_of({0, g.sp}, part % p.sp, p.sp);
  return {n.begin, n.end, oc.begin, oc.end, sp.begin, sp.end};
}

ConvTile conv_slice(const ConvPlan& plan, const ConvSplit& split, int64_t slice) noexcept {
  const ConvTile part = conv_part(plan, split, slice / split.per_part());
  const ConvGrid& s = split.slices;
  const int64_t i = slice % split.per_part();
  const Stretch n = part_of({part.n0, part.n1}, i / s.sp / s.oc, s.n),
                oc = part_of({part.oc0, part.oc1}, i / s.sp % s.oc, s.oc),
                sp = part_of({part.sp0, part.sp1}, i % s.sp, s.sp, plan.column_units && s.sp > 1 ? plan.w_tile : 1);
  return {n.begin, n.end, oc.begin, oc.end, sp.begin, sp.end};
}

int64_t conv_oc_ahead(const ConvPlan& plan, const ConvSplit& split, int64_t slice) noexcept {
  const bool last_of_rows = slice % split.slices.sp == split.slices.sp - 1;
  return last_of_rows ? conv_part(plan, split, slice / split.per_part()).oc1 : 0;
}

ConvWeightsRange conv_weights_of(const ConvPlan& plan, int64_t begin, int64_t end) noexcept {
  const ConvProblem& e = plan.exec;
  const int64_t blocks = e.groups * ceil_div(e.oc / e.groups, plan.block);
  const int64_t bias = round_up(blocks * plan.block, 16);
  const int64_t floats = (static_cast<int64_t>(plan.packed_floats) - bias) / blocks;  // of one block
  const int64_t first = blocks_before(plan, begin);
  return {bias + first * floats, (blocks_before(plan, end) - first) * floats};
}

}  // namespace terroir::cpu
