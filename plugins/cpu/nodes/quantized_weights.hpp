#pragma once
// What: weights of floats as the kernels of bytes read them, whole multiples of a step of their output, or as numbers
// of bf16, two bytes each, or as pairs of these.
#include "plugins/cpu/nodes/quantized_problem.hpp"

namespace terroir::cpu {

inline constexpr int64_t kQuad = kByteBlock * kBytesAtOnce;  // weights of a block for one step of its sums

/// Weights of a unit, [depth][blocks][16][4], wide [blocks][depth][16][4], of pairs twice as deep, and the sums of
/// those of each tap, [taps][blocks * 16], which numbers of bf16 do without.
struct UnitPacking {
  UnitPacking(const ByteProblem& problem, bool pairs)
      : depth(problem.depth() * (pairs ? 2 : 1)), taps(problem.taps()) {}
  int64_t weights_at(const ByteUnit& unit) const { return unit.block * depth * kQuad; }
  int64_t sums_at(const ByteProblem& p, const ByteUnit& unit) const {
    return p.blocks() * depth * kQuad + unit.block * taps * kByteBlock * static_cast<int64_t>(sizeof(int32_t));
  }
  size_t bytes(const ByteProblem& p) const {
    const int64_t sums = p.element > 1 ? 0 : taps * kByteBlock * static_cast<int64_t>(sizeof(int32_t));
    return static_cast<size_t>(p.blocks() * (depth * kQuad + sums));
  }
  int64_t depth, taps;
};

/// Distances between the weights of neighbouring outputs, inputs and taps.
struct WeightStrides {
  int64_t output, input, tap;
};

/// `weights`: those of the unit's first output and on; `steps`: likewise.
void pack_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
               const float* steps, int8_t* packed, int32_t* sums);
/// The same as numbers of bf16, or as pairs of these.
void pack_bf16_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                    const ByteConvKernels& kernels, bool pairs, int8_t* packed);

/// Whether none is infinite as a number of bf16, or NaN.
bool round_to_bf16_numbers(const float* weights, int64_t count);

}  // namespace terroir::cpu
