// What: integer arithmetic of one bucket: plain loops that the compiler vectorises. Contract: integer.hpp. Include one
// bucket header first.
#pragma once

#include "plugins/cpu/kernels/integer/integer.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <typename T, typename F>
TERROIR_INLINE void for_pairs(const T* a, int64_t a_step, const T* b, int64_t b_step, T* dst, int64_t n, F f) {
  if (a_step == 1 && b_step == 1) {
    for (int64_t i = 0; i < n; ++i) dst[i] = f(a[i], b[i]);
  } else if (a_step == 1 && b_step == 0) {
    const T right = n > 0 ? *b : T{};
    for (int64_t i = 0; i < n; ++i) dst[i] = f(a[i], right);
  } else if (a_step == 0 && b_step == 1) {
    const T left = n > 0 ? *a : T{};
    for (int64_t i = 0; i < n; ++i) dst[i] = f(left, b[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = f(a[i * a_step], b[i * b_step]);
  }
}

template <typename T>
TERROIR_INLINE T truncated_div(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));
  return a / b;
}

template <typename T>
TERROIR_INLINE T truncated_mod(T a, T b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

template <typename T>
TERROIR_INLINE T floor_div(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<T>(0 - static_cast<uint64_t>(a));
  const T q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

template <typename T>
TERROIR_INLINE T floor_mod(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <typename T>
void integers(IntegerKind kind, const T* a, int64_t a_step, const T* b, int64_t b_step, T* dst, int64_t n) {
  // Unsigned arithmetic wraps around by definition.
  switch (kind) {
    case IntegerKind::add:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA {
        return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
      });
    case IntegerKind::sub:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA {
        return static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
      });
    case IntegerKind::mul:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA {
        return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
      });
    case IntegerKind::max:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA { return x > y ? x : y; });
    case IntegerKind::min:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA { return x < y ? x : y; });
    case IntegerKind::floor_div:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA { return floor_div(x, y); });
    case IntegerKind::div:
      return for_pairs(a, a_step, b, b_step, dst, n,
                       [](T x, T y) TERROIR_INLINE_LAMBDA { return truncated_div(x, y); });
    case IntegerKind::mod:
      return for_pairs(a, a_step, b, b_step, dst, n,
                       [](T x, T y) TERROIR_INLINE_LAMBDA { return truncated_mod(x, y); });
    case IntegerKind::floor_mod:
      return for_pairs(a, a_step, b, b_step, dst, n, [](T x, T y) TERROIR_INLINE_LAMBDA { return floor_mod(x, y); });
  }
}

}  // namespace

const IntegerKernels& integer_table() {
  static constexpr IntegerKernels kTable = {&integers, &integers};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
