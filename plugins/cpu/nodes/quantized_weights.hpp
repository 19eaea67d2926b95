#pragma once
// What: weights of floats as the kernels of bytes read them, whole multiples of a step of their output, or as numbers
// of bf16, two bytes each, or as pairs of these.
#include "plugins/cpu/nodes/quantized_problem.hpp"

namespace terroir::cpu {

/// Weights of a unit, [depth][blocks][16][4], wide [blocks][depth][16][4], of pairs twice as deep, of numbers of 16
/// bits [depth][blocks][8][2], and the sums of those of each tap, [taps][outputs], which numbers of bf16 do without.
struct UnitPacking {
  UnitPacking(const ByteProblem& problem, bool pairs)
      : depth(problem.winograd ? WinogradTiles::kNumbers * problem.number_steps() : problem.depth() * (pairs ? 2 : 1)),
        weights(depth * problem.quad()),
        sums(problem.bf16 ? 0 : problem.taps() * problem.block * static_cast<int64_t>(sizeof(int32_t))) {}
  int64_t weights_at(const ByteUnit& unit) const { return unit.block * weights; }
  int64_t sums_at(const ByteProblem& p, const ByteUnit& unit) const { return p.blocks() * weights + unit.block * sums; }
  size_t bytes(const ByteProblem& p) const { return static_cast<size_t>(p.blocks() * (weights + sums)); }
  int64_t depth;
  int64_t weights, sums;  // bytes of a block
};

/// Distances between the weights of neighbouring outputs, inputs and taps.
struct WeightStrides {
  int64_t output, input, tap;
};

/// `weights`: those of the unit's first output and on; `steps`: likewise.
void pack_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
               const float* steps, int8_t* packed, int32_t* sums);
/// The same for Winograd's algorithm: [16][depth of a number][blocks][8][2].
void pack_winograd_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                        const float* steps, int8_t* packed, int32_t* sums);
/// The same as numbers of bf16, or as pairs of these.
void pack_bf16_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                    const ByteConvKernels& kernels, bool pairs, int8_t* packed);

/// Whether none is infinite as a number of bf16, or NaN.
bool round_to_bf16_numbers(const float* weights, int64_t count);

}  // namespace terroir::cpu
