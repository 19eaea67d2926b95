// What: running sums along one axis of a dense tensor.
// Formula: y_k = x_0 + ... + x_k; without x_k when exclusive; from the other end when reverse. f32 is summed in f64,
// and
//   every sum rounded once; integers wrap modulo 2^N.
// Shapes: [axis][inner], of which columns first ... first + n - 1; rows of one element (inner 1) are columns of `axis`
//   elements side by side: then `rows` of them.
// Aliasing: dst may be src. Cost: memory bound for inner > 1; one dependent addition per element for rows, four rows at
//   once.
// Threads: columns and rows are independent; the order of a sum is the axis's.
#pragma once

#include "plugins/cpu/kernels/typed/typed.hpp"

namespace terroir::cpu {

struct ScanArgs {
  const void* src = nullptr;
  void* dst = nullptr;
  int64_t axis = 1;
  bool exclusive = false, reverse = false;
};

struct ScanKernels {
  /// n <= kScanColumns columns, `inner` elements apart along the axis.
  void (*columns)(const ScanArgs& args, int64_t inner, int64_t n);
  void (*rows)(const ScanArgs& args, int64_t rows);
};
inline constexpr int64_t kScanColumns = 1024;

/// Null members: no kernel for the type.
ScanKernels scan_kernels(NumberType type, Isa isa) noexcept;

}  // namespace terroir::cpu
