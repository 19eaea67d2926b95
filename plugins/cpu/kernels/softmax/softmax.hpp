// What: softmax and log-softmax over the last axis or a middle axis of a dense f32 tensor.
// Formula: e^(x - max) / sum e^(x - max); log form: (x - max) - log(sum e^(x - max)).
// Shapes: rows: [rows][n]. middle: [outer][axis][inner], over axis.
// Aliasing: dst may be src. Edge cases: a row of -inf only, or with a NaN, gives NaN; an empty axis does nothing.
// Threads: rows, outer indices and ranges of inner are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

struct SoftmaxKernels {
  void (*rows)(const float* src, float* dst, int64_t rows, int64_t n, bool log_form);
  void (*middle)(const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner, int64_t inner_begin,
                 int64_t inner_end, bool log_form);
};

const SoftmaxKernels& softmax_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
