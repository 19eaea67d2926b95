// What: rejection, planning and slicing of the Winograd kernels.
#include "plugins/cpu/kernels/conv/plan.hpp"

#include <algorithm>
#include <cstdlib>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/cost.hpp"

namespace terroir::cpu {

using conv::ceil_div;
using conv::round_up;

const char* wino_reject(const ConvProblem& p, const WinoKernel& kernel) noexcept {
  if (const char* why = conv::reject_malformed(p)) return why;
  if (p.transposed) return "transposed";
  if (p.h.kernel != 3 || p.w.kernel != 3) return "kernel is not 3x3";
  for (const ConvAxis* a : {&p.d, &p.h, &p.w})
    if (a->stride != 1 || a->dilation != 1) return "stride or dilation is not 1";
  const int64_t block = channel_block(kernel.isa);
  if (p.groups > 1 && (p.ic / p.groups % block != 0 || p.oc / p.groups % block != 0))
    return "channels per group are not whole blocks";
  return nullptr;
}

namespace {

WinoAxis wino_axis(const ConvAxis& a, int64_t tile) {
  const int64_t tiles = ceil_div(a.out, tile);
  return {tiles, std::max<int64_t>(0, a.out - tiles * (tile - 1))};
}

}  // namespace

WinoPlan wino_plan(const ConvProblem& p, const WinoKernel& kernel) noexcept {
  WinoPlan plan{};
  const int64_t block = channel_block(kernel.isa);
  plan.problem = p;
  plan.src = conv::dense_strides(p, ConvFormat::blocked, block, false);
  plan.dst = conv::dense_strides(p, ConvFormat::blocked, block, true);
  const conv::Machine machine = conv::machine(kernel.isa);
  plan.block = block;
  plan.lanes = machine.lanes;
  plan.registers = machine.registers;
  plan.fused = machine.fused;
  plan.tile = kernel.tile;
  plan.alpha = kernel.tile + 2;
  plan.rows = wino_axis(p.h, plan.tile);
  plan.cols = wino_axis(p.w, plan.tile);
  plan.ic_blocks = ceil_div(p.ic / p.groups, block);
  plan.oc_blocks = ceil_div(p.oc / p.groups, block);
  wino::choose_blocks(plan);
  const int64_t points = plan.alpha * plan.alpha;
  const int64_t bias = round_up(p.groups * plan.oc_blocks * block, 16);
  const int64_t channels = plan.transforms_weights ? p.ic / p.groups : plan.ic_blocks * block;
  const int64_t weights =
      p.groups * plan.oc_blocks * block * channels * p.d.kernel * (plan.transforms_weights ? 9 : points);
  plan.packed_floats = static_cast<size_t>(bias + weights);
  plan.prefetch = weights * 4 > cache_sizes().l2 / 2;
  const int64_t v = plan.ic_blocks * plan.block_tiles * (plan.block_slices + p.d.kernel - 1);
  const int64_t m =
      std::min(plan.chunk_units * plan.unit_blocks, plan.oc_blocks) * plan.block_tiles * plan.block_slices;
  plan.scratch_floats = static_cast<size_t>(points * (v + m + 2) * block);
  return plan;
}

int64_t wino_units(const WinoPlan& plan) noexcept { return plan.problem.groups * plan.units; }

namespace {

struct Parts {
  int64_t oc = 1, s = 1, d = 1;
};

struct Extents {
  int64_t oc, s, d;
};

Extents extents(const WinoPlan& plan) {
  return {wino_units(plan), plan.problem.batch * plan.rows.tiles * plan.cols.tiles / plan.s_tiles, plan.problem.d.out};
}

// Parts per axis: the fewest cycles in the largest box. Splitting channels transforms the input once per part,
// splitting tiles reads the weights once per part.
Parts choose_parts(const WinoPlan& plan, int64_t threads) {
  if (threads == 1) return {};
  const Extents e = extents(plan);
  Parts best;
  double best_cost = -1;
  for (int64_t oc = 1; oc <= std::min(threads, e.oc); ++oc) {
    for (int64_t d = 1; oc * d <= threads && d <= e.d; ++d) {
      const int64_t s = std::min(threads / (oc * d), e.s);
      const double cost = wino::box_cycles(plan, ceil_div(e.oc, oc), ceil_div(e.s, s) * plan.s_tiles, ceil_div(e.d, d));
      if (best_cost < 0 || cost < best_cost) {
        best_cost = cost;
        best = {oc, s, d};
      }
    }
  }
  return best;
}

}  // namespace

int64_t wino_slices(const WinoPlan& plan, int64_t threads) noexcept {
  if (plan.problem.batch == 0) return 0;
  const Parts p = choose_parts(plan, std::max<int64_t>(threads, 1));
  return p.oc * p.s * p.d;
}

WinoBox wino_slice(const WinoPlan& plan, int64_t threads, int64_t index) noexcept {
  const Parts p = choose_parts(plan, std::max<int64_t>(threads, 1));
  const Extents e = extents(plan);
  const int64_t d = index % p.d, s = index / p.d % p.s, oc = index / p.d / p.s;
  return {oc * e.oc / p.oc,    (oc + 1) * e.oc / p.oc, s * e.s / p.s,
          (s + 1) * e.s / p.s, d * e.d / p.d,          (d + 1) * e.d / p.d};
}

}  // namespace terroir::cpu
