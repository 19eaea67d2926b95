// Packed: [bias, padded to whole blocks, to a multiple of 16 in all][oc block][kd][kh][input of group][kw][oc in
// block].
#include "plugins/cpu/kernels/conv/lanes.hpp"

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv_dw/lane_reaches.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"

namespace terroir::cpu::conv {
namespace {

// Positions of the tiles of conv_dw/lane_tile.hpp. `adjacent`: of neighbouring blocks.
int64_t lane_positions(Isa isa, bool adjacent) {
  const Machine m = machine(isa);
  return m.registers == 32 ? 14 : m.registers < 16 ? 4 : adjacent && m.fused ? 12 : 8;
}

// Unlike the others; conv_dw/scalar.cpp.
bool has_windows(Isa isa) { return isa != Isa::scalar; }

// Null if the inputs that a block of output channels sees lie in one block.
const char* outside_block(const ConvProblem& p, int64_t block) {
  const int64_t inputs = p.ic / p.groups, outputs = p.oc / p.groups;
  if (block % outputs != 0 && outputs % block != 0) return "a group straddles blocks of output channels";
  const int64_t seen = std::max<int64_t>(1, block / outputs) * inputs;
  if (block % seen != 0) return "a block of output channels needs several blocks of input channels";
  return nullptr;
}

const char* reject_multiplier(const ConvProblem& p) {
  return p.ic != p.groups || p.oc != p.groups ? "more than one channel per group" : nullptr;
}

const char* reject_grouped(const ConvProblem& p, int64_t block) {
  if (p.groups == 1) return "one group";
  if (!reject_multiplier(p)) return "depthwise";
  if (p.ic / p.groups % block == 0 && p.oc / p.groups % block == 0) return "groups of whole blocks";
  if (round_up(p.ic, block) * p.d.in * p.h.in * p.w.in > INT32_MAX) return "source offsets exceed 31 bits";
  return nullptr;
}

// Source rows to spread over the lanes of a block at once (conv_dw/spread_rows.hpp), so that each has its own; 0: there
// is no room for those of one output row, or they are not spread.
int64_t spread_rows(const ConvProblem& p, const ConvKernel& kernel) {
  constexpr int64_t kMostFloats = 1 << 15;
  if (p.transposed || p.d.kernel > 1 || p.ic != p.groups) return 0;
  const int64_t block = channel_block(kernel.isa);
  // Taps of an output beside which a copy of its sources is nothing.
  const auto has_taps = [&](double least) {
    return static_cast<double>(p.h.kernel * p.w.kernel) >= least * static_cast<double>(p.h.stride) * p.w.stride;
  };
  if (p.oc == p.groups) {
    // Sources that are as far apart as channels last are miss L1 for every kernel row, and parts of blocks take longer.
    if (kernel.src != ConvFormat::nhwc || !has_taps(p.oc % block == 0 ? 64 : 40)) return 0;
  } else if (!outside_block(p, block)) {
    // Permuting sources for every tap takes less than copies for few, or by windows of 16 lanes.
    const bool window = p.w.kernel == 3 && p.w.dilation == 1 && p.w.stride <= 2;
    if ((window && block == 16) || !has_taps(4)) return 0;
  }
  const int64_t rows = std::min(p.h.in, kMostFloats / (p.w.in * block));
  return rows >= std::min((p.h.kernel - 1) * p.h.dilation + 1, p.h.in) ? rows : 0;
}

}  // namespace

const char* reject_depthwise(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  return p.transposed ? "transposed" : reject_multiplier(p);
}

const char* reject_transposed_depthwise(const ConvProblem& p, const ConvKernel&) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  return p.transposed ? reject_multiplier(p) : "not transposed";
}

const char* reject_any_groups(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  return p.transposed ? "transposed" : reject_grouped(p, channel_block(kernel.isa));
}

const char* reject_transposed_any_groups(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_malformed(p)) return why;
  return p.transposed ? reject_grouped(p, channel_block(kernel.isa)) : "not transposed";
}

const char* reject_small_groups(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  if (const char* why = reject_any_groups(p, kernel)) return why;
  if (spread_rows(p, kernel) > 0) return nullptr;
  return outside_block(p, channel_block(kernel.isa));
}

void plan_lanes(const ConvProblem& problem, const ConvKernel& kernel, ConvPlan& plan) noexcept {
  plan_common(problem, kernel, plan);
  const ConvProblem& e = plan.exec;
  const bool depthwise = e.ic == e.groups && e.oc == e.groups;
  plan.padded_rows = spread_rows(e, kernel);
  const int64_t columns = e.transposed ? ceil_div(e.w.out, e.w.stride) : e.w.out;
  const bool own = depthwise || plan.padded_rows > 0;
  const bool window =
      !e.transposed && e.w.dilation == 1 && e.w.stride <= 2 && (e.w.kernel == 3 || (own && e.w.kernel == 5));
  const bool blocks_of_sources = plan.padded_rows > 0 || plan.src.w == plan.block;
  const bool adjacent = own && !window && blocks_of_sources && (e.transposed || e.w.stride == 1);
  plan.w_tile = std::min(columns, lane_positions(kernel.isa, adjacent));
  // Taps that miss positions at one end of a tile must reach those at the other end.
  if (own) plan.w_tile = std::min(plan.w_tile, e.w.in / (e.transposed ? 1 : e.w.stride) + 1);
  const int64_t rows = e.d.out * e.h.out, tiles = ceil_div(columns, plan.w_tile);
  plan.chunks = std::clamp<int64_t>(ceil_div(kWantedUnits, rows), 1, tiles);
  const int64_t blocks = ceil_div(e.oc, plan.block);
  plan.grid = {e.batch, blocks, rows * plan.chunks};
  plan.cached_rows = plan.grid.sp;  // of a block of channels
  const int64_t taps = e.d.kernel * e.h.kernel * e.w.kernel;
  plan.lanes_in_block = !depthwise && !outside_block(e, plan.block);
  // The index table, or copies and a byte per kernel column and tile.
  if (!depthwise) plan.scratch_floats = static_cast<size_t>(e.ic / e.groups * plan.block);
  if (own) {
    const int64_t reaches = window && has_windows(kernel.isa) ? 0 : lane_reach_bytes(e.w, e.transposed, plan.w_tile);
    plan.scratch_floats = static_cast<size_t>(plan.padded_rows * e.w.in * plan.block + ceil_div(reaches, 4));
  }
  plan.packed_floats =
      static_cast<size_t>(round_up(blocks * plan.block, 16) + blocks * plan.block * taps * (e.ic / e.groups));
}

int64_t pack_lanes_pieces(const ConvPlan& plan) noexcept { return ceil_div(plan.exec.oc, plan.block); }

// A piece is one block of output channels; the first one brings the bias.
void pack_lanes(const ConvPlan& plan, const ConvKernel& kernel, const ConvConstants& constants, float* packed,
                int64_t begin, int64_t end) noexcept {
  const ConvProblem& e = plan.exec;
  const int64_t block = plan.block, inputs = e.ic / e.groups, outputs = e.oc / e.groups;
  const int64_t rows = e.d.kernel * e.h.kernel, columns = e.w.kernel, taps = rows * columns;
  const auto transpose = reorder_kernels(kernel.isa).transpose_2d;
  const int64_t bias_floats = round_up(round_up(e.oc, block), 16);
  if (begin == 0) pack_bias(constants.bias, 1, e.oc, bias_floats, bias_floats, packed);
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t o = piece * block, valid = std::min(block, e.oc - o);
    float* const to = packed + bias_floats + o * inputs * taps;
    if (e.transposed && inputs * outputs > 1) {
      std::fill_n(to, block * inputs * taps, 0.0f);
      for (int64_t l = 0; l < valid; ++l)
        for (int64_t i = 0; i < inputs; ++i) {
          const int64_t filter = ((o + l) / outputs * inputs + i) * outputs + (o + l) % outputs;
          const float* const from = constants.weights + filter * taps;
          for (int64_t t = 0; t < taps; ++t)
            to[((t / columns * inputs + i) * columns + t % columns) * block + l] = from[t];
        }
      continue;
    }
    const float* const from = constants.weights + (o - constants.first_output) * inputs * taps;
    // Where the order of inputs and rows stays, one transposition does.
    const bool once = inputs == 1 || rows == 1;
    const int64_t width = once ? inputs * taps : columns;
    for (int64_t i = 0; i < (once ? 1 : inputs); ++i)
      for (int64_t r = 0; r < (once ? 1 : rows); ++r)
        transpose(from + (i * rows + r) * columns, inputs * taps, to + (r * inputs + i) * columns * block, block, valid,
                  width, block);
  }
}

}  // namespace terroir::cpu::conv
