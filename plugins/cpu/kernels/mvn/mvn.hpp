// What: mean-variance normalisation, the core of MVN, layer, instance and group normalisation.
// Formula: y = (x - mean) / sqrt(var + eps), or / (sqrt(var) + eps), or x - mean alone; then y * scale + shift.
//   The variance is the mean of squared distances from the mean, in a second pass. Not centered (rows only), the mean
//   counts as zero: division by the root of the mean square.
// Shapes: rows: [rows][n], over n. middle: [outer][axis][inner], over axis: spatial axes of a blocked tensor with
//   outer = N * blocks, inner = B. moments: [positions][lanes], over the positions. blocks: channel blocks, over
//   the channels of each position.
// Edge cases: n = 0 does nothing; a constant row gives shift (0 without), for eps > 0, but for the rounding of its
// mean,
//   which 1 / sqrt(eps) makes larger.
// Padding: blocks expects zeros behind the last channel, and leaves zeros there.
// Aliasing: dst may be src. Threads: rows, and outer indices, are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct MvnArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  float eps = 1e-6f;
  bool normalize_variance = true;
  bool centered = true;  // rows only
  bool eps_outside_sqrt = false;
  // One value per element of a row (layer normalisation) or channel; null for none. rows and blocks only.
  const float* scale = nullptr;
  const float* shift = nullptr;
};

struct MvnKernels {
  void (*rows)(const MvnArgs& args, int64_t rows, int64_t n);
  // inner_begin and inner_end cut the inner extent, for threads when outer is small.
  void (*middle)(const MvnArgs& args, int64_t outer, int64_t axis, int64_t inner, int64_t inner_begin,
                 int64_t inner_end);
  // Of each lane the mean, and the sum of squared distances from it: of some positions at a time, merged in double.
  void (*moments)(const float* src, int64_t positions, int64_t lanes, double* mean, double* squares);
  // Of `positions` positions from src on, `block` floats each; a block of channels follows `step` floats behind
  // another.
  void (*blocks)(const MvnArgs& args, int64_t positions, int64_t channels, int64_t block, int64_t step);
};

const MvnKernels& mvn_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
