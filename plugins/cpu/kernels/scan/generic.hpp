// What: running sums of one bucket. Contract: scan.hpp. Include one bucket header first.
#pragma once

#include <type_traits>

#include "plugins/cpu/kernels/scan/scan.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// f64 for floating point; integers wrap in their own, unsigned type.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class T, bool kExclusive>
void scan_columns(const ScanArgs& a, int64_t inner, int64_t n) {
  Sum<T> sum[kScanColumns] = {};
  const int64_t first = a.reverse ? (a.axis - 1) * inner : 0, step = a.reverse ? -inner : inner;
  const T* src = static_cast<const T*>(a.src) + first;
  T* dst = static_cast<T*>(a.dst) + first;
  for (int64_t k = 0; k < a.axis; ++k, src += step, dst += step) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const Sum<T> before = sum[i], after = static_cast<Sum<T>>(before + static_cast<Sum<T>>(src[i]));
      sum[i] = after;
      dst[i] = static_cast<T>(kExclusive ? before : after);
    }
  }
}

/// Four rows side by side, so that their additions overlap.
template <class T, int kRows>
void scan_some_rows(const ScanArgs& a, const T* src, T* dst) {
  Sum<T> sum[kRows] = {};
  const int64_t first = a.reverse ? a.axis - 1 : 0, step = a.reverse ? -1 : 1;
  for (int64_t k = 0, at = first; k < a.axis; ++k, at += step)
    for (int64_t r = 0; r < kRows; ++r) {
      const Sum<T> before = sum[r];
      sum[r] = static_cast<Sum<T>>(before + static_cast<Sum<T>>(src[r * a.axis + at]));
      dst[r * a.axis + at] = static_cast<T>(a.exclusive ? before : sum[r]);
    }
}

template <class T>
void scan_rows(const ScanArgs& a, int64_t rows) {
  const T* src = static_cast<const T*>(a.src);
  T* dst = static_cast<T*>(a.dst);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) scan_some_rows<T, 4>(a, src + r * a.axis, dst + r * a.axis);
  for (; r < rows; ++r) scan_some_rows<T, 1>(a, src + r * a.axis, dst + r * a.axis);
}

template <class T>
void scan_any_columns(const ScanArgs& a, int64_t inner, int64_t n) {
  return a.exclusive ? scan_columns<T, true>(a, inner, n) : scan_columns<T, false>(a, inner, n);
}

template <class T>
ScanKernels kernels_of() {
  return {&scan_any_columns<T>, &scan_rows<T>};
}

}  // namespace

ScanKernels scan_kernels(NumberType type) {
  switch (type) {
    case NumberType::i8:
    case NumberType::u8:
      return kernels_of<uint8_t>();
    case NumberType::i16:
    case NumberType::u16:
      return kernels_of<uint16_t>();
    case NumberType::i32:
    case NumberType::u32:
      return kernels_of<uint32_t>();
    case NumberType::i64:
    case NumberType::u64:
      return kernels_of<uint64_t>();
    case NumberType::f32:
      return kernels_of<float>();
    case NumberType::f64:
      return kernels_of<double>();
    default:
      return {};
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
