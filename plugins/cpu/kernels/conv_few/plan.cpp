// Packed: [bias, up to a multiple of 16][group of outputs][ic block][kd][kh][kw][output of group][ic in block], padding
//   zero.
#include <algorithm>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_few/few.hpp"
#include "plugins/cpu/kernels/conv_few/few_groups.hpp"

namespace terroir::cpu::conv {
namespace {

constexpr int64_t kMostOutputs = 8;

int64_t taps_of(const ConvProblem& p) { return p.d.kernel * p.h.kernel * p.w.kernel; }

// Vectors of products and of sums across lanes, per output and as many positions as a block has channels.
int64_t steps_per_output(const ConvProblem& p, int64_t block) {
  constexpr int64_t kSums = 4;
  return ceil_div(p.ic, block) * taps_of(p) + kSums;
}

// Columns of a row whose windows lie inside.
int64_t columns_inside(const ConvAxis& a) {
  const int64_t last_tap = (a.kernel - 1) * a.dilation;
  return inside(last_tap - a.pad, a.stride, a.in, a.out).end - inside(-a.pad, a.stride, a.in, a.out).begin;
}

}  // namespace

const char* reject_few(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(problem)) return why;
  if (problem.transposed) return "transposed";
  if (problem.groups != 1) return "grouped";
  if (problem.oc > kMostOutputs) return "more than 8 output channels";
  const int64_t block = channel_block(kernel.isa);
  // Others take one step per input channel, padding of outputs included.
  if (problem.oc * steps_per_output(problem, block) > problem.ic * taps_of(problem))
    return "too few input channels for so many outputs";
  ConvPlan plan;
  plan_common(problem, kernel, plan);
  merge_axes(plan.exec, plan.src, plan.dst);
  if (columns_inside(plan.exec.w) < machine(kernel.isa).lanes) return "rows shorter than a vector";
  return nullptr;
}

void plan_few(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  constexpr int64_t kMostColumns = 256;  // of a unit
  plan_common(problem, kernel, plan);
  merge_axes(plan.exec, plan.src, plan.dst);
  const ConvProblem& e = plan.exec;
  const int64_t lanes = machine(kernel.isa).lanes, rows = e.d.out * e.h.out;
  plan.w_tile = std::min(kMostColumns, round_up(ceil_div(e.w.out, ceil_div(kWantedUnits, rows)), lanes));
  plan.chunks = ceil_div(e.w.out, plan.w_tile);
  plan.grid = {e.batch, 1, rows * plan.chunks};
  plan.packed_floats = static_cast<size_t>(few_bias_floats(e.oc) + e.oc * round_up(e.ic, plan.block) * taps_of(e));
}

int64_t pack_few_pieces(const ConvPlan&) noexcept { return 1; }

void pack_few(const ConvPlan& plan, const ConvKernel&, const ConvConstants& constants, float* packed, int64_t begin,
              int64_t end) noexcept {
  if (begin == end) return;
  const ConvProblem& e = plan.exec;
  const int64_t taps = taps_of(e), bias_floats = few_bias_floats(e.oc);
  pack_bias(constants.bias, 1, e.oc, bias_floats, bias_floats, packed);
  float* to = packed + bias_floats;
  for (int64_t group = 0; group < few_groups(e.oc); ++group)
    for (int64_t i0 = 0; i0 < e.ic; i0 += plan.block)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t o = few_group_begin(e.oc, group); o < few_group_begin(e.oc, group + 1); ++o)
          for (int64_t i = i0; i < i0 + plan.block; ++i)
            *to++ = i < e.ic ? constants.weights[(o * e.ic + i) * taps + tap] : 0.0f;
}

double few_slowdown(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  const int64_t block = channel_block(kernel.isa);
  return static_cast<double>(steps_per_output(problem, block) * block) /
         static_cast<double>(problem.ic * taps_of(problem));
}

}  // namespace terroir::cpu::conv
