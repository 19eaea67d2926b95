// What: softmax and log-softmax over the last axis or a middle axis of a dense f32 tensor.
// Formula: e^(x - max) / sum e^(x - max); log form: (x - max) - log(sum e^(x - max)).
//   scores: the softmax of x * scale + mask over the columns that a row may look at, and over its sink, if there is
//   one; zero in the other columns.
// Shapes: rows: [rows][n]. middle: [outer][axis][inner], over axis. scores: in place, rows apart by a stride.
// Aliasing: dst may be src. Edge cases: a row of -inf only, or with a NaN, gives NaN; an empty axis does nothing; what
// is
//   more than 87.33 below the largest gives 0, its exponential being no normal number.
// Threads: rows, outer indices and ranges of inner are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct ScoreArgs {
  float* scores = nullptr;
  int64_t stride = 0;  // between rows of scores
  int64_t rows = 0, n = 0;
  float scale = 1.0f;
  const float* mask = nullptr;  // added after scaling; null: none
  int64_t mask_stride = 0;      // between rows of mask; 0: one row for all
  const float* sink = nullptr;  // one more element of the row's softmax, whose share is not stored; null: none
  int64_t sink_stride = 0;      // between the sinks of two rows; 0: one for all
  // Columns that row 0 looks at, at least 1; every further row looks at one more. -1: all rows at all columns.
  int64_t first_visible = -1;
};

struct SoftmaxKernels {
  void (*rows)(const float* src, float* dst, int64_t rows, int64_t n, bool log_form);
  void (*middle)(const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner, int64_t inner_begin,
                 int64_t inner_end, bool log_form);
  void (*scores)(const ScoreArgs& args);
};

const SoftmaxKernels& softmax_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
