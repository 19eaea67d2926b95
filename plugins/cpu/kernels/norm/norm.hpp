// What: division by the size of the surroundings: NormalizeL2 and GRN, and LRN across one axis.
// Formula: l2: y = x / sqrt(sum of x^2 + eps), or / sqrt(max(sum of x^2, eps));
//          lrn: y = x / (bias + scale * sum of x^2 from reach before to reach behind)^beta.
// Shapes: rows: [rows][n], over n. middle and lrn: [axis][stride], over axis, at the positions [begin, end) of stride.
//         blocks: channels of each position in blocks of `block`, `stride` floats apart, over all of them; zeros behind
//         the last channel stay zeros.
// Edge cases: squares are f32: values above 1.8e19 count as infinite and below 1e-23 as zero. lrn: bias and scale are
// not
//             negative; the region is cut at the borders.
// Aliasing: dst may be src, but for lrn. Threads: rows and positions are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct NormArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  float eps = 0;
  bool eps_is_least = false;  // else it is added
};

struct LrnArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  float bias = 1, scale = 1, beta = 0.75f;
  int64_t reach = 0;
};

struct NormKernels {
  void (*rows)(const NormArgs& args, int64_t rows, int64_t n);
  void (*middle)(const NormArgs& args, int64_t axis, int64_t stride, int64_t begin, int64_t end);
  void (*blocks)(const NormArgs& args, int64_t positions, int64_t blocks, int64_t stride, int64_t block);
  void (*lrn)(const LrnArgs& args, int64_t axis, int64_t stride, int64_t begin, int64_t end);
};

const NormKernels& norm_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
