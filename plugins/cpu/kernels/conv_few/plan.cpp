// Packed: [bias, up to a multiple of 16][group of outputs][kd][kh][kw][ic block][output of group][ic in block], padding
//   zero.
#include <algorithm>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_few/few.hpp"
#include "plugins/cpu/kernels/conv_few/few_groups.hpp"

namespace terroir::cpu::conv {
namespace {

constexpr int64_t kMostOutputs = 8;

int64_t taps_of(const ConvProblem& p) { return p.d.kernel * p.h.kernel * p.w.kernel; }

// Columns of an output row with the same taps.
int64_t columns_of(const ConvProblem& p) { return p.transposed ? ceil_div(p.w.out, p.w.stride) : p.w.out; }

// Steps that a kernel takes per output and input channel whose lanes are output channels.
double steps_by_outputs(const ConvProblem& p) {
  const auto taps = static_cast<double>(taps_of(p));
  return p.transposed ? taps / static_cast<double>(p.d.stride) / static_cast<double>(p.h.stride) /
                            static_cast<double>(p.w.stride)
                      : taps;
}

// Vectors of products and of sums across lanes, per output and as many positions as a block has channels.
double steps_per_output(const ConvProblem& problem, const ConvKernel& kernel) {
  constexpr double kSums = 4;
  ConvPlan plan;
  plan_common(problem, kernel, plan);
  merge_axes(plan.exec, plan.src, plan.dst);
  const int64_t columns = columns_of(plan.exec), lanes = machine(kernel.isa).lanes;
  const double computed = static_cast<double>(round_up(columns, lanes)) / static_cast<double>(columns);
  return (static_cast<double>(ceil_div(problem.ic, plan.block)) * steps_by_outputs(problem) + kSums) * computed;
}

// Of problems that are well-formed.
const char* reject_many(const ConvProblem& problem, const ConvKernel& kernel) {
  if (problem.groups != 1) return "grouped";
  if (problem.oc > kMostOutputs) return "more than 8 output channels";
  // Others take one step per input channel, padding of outputs included.
  if (static_cast<double>(problem.oc) * steps_per_output(problem, kernel) >
      static_cast<double>(problem.ic) * steps_by_outputs(problem))
    return "too few input channels for so many outputs";
  return nullptr;
}

}  // namespace

const char* reject_few(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(problem)) return why;
  return problem.transposed ? "transposed" : reject_many(problem, kernel);
}

const char* reject_transposed_few(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(problem)) return why;
  if (!problem.transposed) return "not transposed";
  if (problem.w.stride > kMostColumnClasses) return "a stride of more than 64 columns";
  return reject_many(problem, kernel);
}

void plan_few(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  constexpr int64_t kMostColumns = 256;  // of a unit
  // Each class of transposed columns reads the sources again, which then are in the cache next to the core.
  constexpr int64_t kMostSources = (int64_t{32} << 10) / sizeof(float);
  plan_common(problem, kernel, plan);
  merge_axes(plan.exec, plan.src, plan.dst);
  const ConvProblem& e = plan.exec;
  const int64_t tile = machine(kernel.isa).lanes * (e.transposed ? e.w.stride : 1), rows = e.d.out * e.h.out;
  const int64_t most = e.transposed ? std::min(kMostColumns, kMostSources / e.ic * e.w.stride) : kMostColumns;
  plan.w_tile =
      std::min(round_up(std::max(most, tile), tile), round_up(ceil_div(e.w.out, ceil_div(kWantedUnits, rows)), tile));
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
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t i0 = 0; i0 < e.ic; i0 += plan.block)
        for (int64_t o = few_group_begin(e.oc, group); o < few_group_begin(e.oc, group + 1); ++o)
          for (int64_t i = i0; i < i0 + plan.block; ++i)
            *to++ = i < e.ic ? constants.weights[(e.transposed ? i * e.oc + o : o * e.ic + i) * taps + tap] : 0.0f;
}

double few_slowdown(const ConvProblem& problem, const ConvKernel& kernel) noexcept {
  return steps_per_output(problem, kernel) * static_cast<double>(channel_block(kernel.isa)) /
         (static_cast<double>(problem.ic) * steps_by_outputs(problem));
}

}  // namespace terroir::cpu::conv
