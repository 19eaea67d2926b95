// What: powers of floats. Include one bucket header first.
// Formula: 2^(y log2 |x|) in f64, rounded once; the sign of x where y is odd.
// Accuracy: the logarithm is within 1e-13 of itself, the power within 1e-10: at most 0.51 units in the last place.
// Edge cases: all those of the C library's powf: 1 for y = 0 and x = 1 whatever the other is, NaN for finite x < 0 with
//   a y that is no integer, zeros and infinities with the sign of an odd y, subnormal results.
#pragma once

#include "plugins/cpu/simd/macros.hpp"

// Nobody reads the exception flags: with them the compiler would keep branches around comparisons.
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math", "no-math-errno")

namespace terroir::cpu::TERROIR_ISA {

TERROIR_INLINE double multiply_add(double a, double b, double c) {
#if defined(__FMA__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Of a finite number above 0.
TERROIR_INLINE double log2_of(double x) {
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2)); 2^52 with e in its low bits is 2^52 + e. With s = (m - 1) / (m + 1)
  // the logarithm is that of (1 + s) / (1 - s): 2 / ln(2) * (s + s^3 / 3 + ...).
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcdu, kMantissa = 0x000fffffffffffffu;
  constexpr double kFactor = 2.88539008177792681472;
  const uint64_t shifted = __builtin_bit_cast(uint64_t, x) - kRootOfHalf + (uint64_t{1023} << 52);
  const double e = __builtin_bit_cast(double, (shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const double m = __builtin_bit_cast(double, (shifted & kMantissa) + kRootOfHalf);
  const double s = (m - 1) / (m + 1), q = s * s;
  double sum = kFactor / 15;
  sum = multiply_add(sum, q, kFactor / 13);
  sum = multiply_add(sum, q, kFactor / 11);
  sum = multiply_add(sum, q, kFactor / 9);
  sum = multiply_add(sum, q, kFactor / 7);
  sum = multiply_add(sum, q, kFactor / 5);
  sum = multiply_add(sum, q, kFactor / 3);
  sum = multiply_add(sum, q, kFactor);
  return multiply_add(sum, s, e);
}

/// Of |t| <= 1000.
TERROIR_INLINE double exp2_of(double t) {
  // A unit in the last place of `shift` is 1, so the low bits of the sum count powers of two.
  constexpr double kShift = 0x1.8p52, kLn2 = 0.69314718055994530942;
  const double sum = t + kShift, r = (t - (sum - kShift)) * kLn2;
  double p = 1.0 / 362880;
  p = multiply_add(p, r, 1.0 / 40320);
  p = multiply_add(p, r, 1.0 / 5040);
  p = multiply_add(p, r, 1.0 / 720);
  p = multiply_add(p, r, 1.0 / 120);
  p = multiply_add(p, r, 1.0 / 24);
  p = multiply_add(p, r, 1.0 / 6);
  p = multiply_add(p, r, 0.5);
  p = multiply_add(p, r, 1.0);
  p = multiply_add(p, r, 1.0);
  return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, p) + (__builtin_bit_cast(uint64_t, sum) << 52));
}

/// The magnitudes of x[i]^y[i] for one vector, numbers. A plain loop, since buckets have no words for doubles; each
/// choice is between numbers of the width that is compared, for which the compiler has vectors.
TERROIR_INLINE void magnitudes_of_powers(const float* x, const float* y, float* power) {
  constexpr double kInf = __builtin_inf();
  for (int64_t i = 0; i < kLanes; ++i) {
    const double base = __builtin_fabs(static_cast<double>(x[i])), exponent = static_cast<double>(y[i]);
    double log = log2_of(base);
    log = base == 0 ? -kInf : log;
    log = base == kInf ? kInf : log;
    double product = log * exponent;
    product = log == 0 ? 0.0 : product;
    product = exponent == 0 ? 0.0 : product;
    product = product > -1000 ? product : -1000.0;
    product = product < 1000 ? product : 1000.0;
    power[i] = static_cast<float>(exp2_of(product));
  }
}

/// x[i] := x[i]^y[i] for one vector. Out of line: it is as long as all other steps together, and has many callers.
TERROIR_NOINLINE static void powers(float* TERROIR_RESTRICT x, const float* TERROIR_RESTRICT y) {
  float magnitudes[kLanes];
  magnitudes_of_powers(x, y, magnitudes);
  const V base = loadu(x), exponent = loadu(y), nan(__builtin_nanf("")), one(1.0f);
  // From 2^24 on every float is even.
  const V number = min(V(0x1p24f), max(V(-0x1p24f), select(exponent == exponent, exponent, zero())));
  const VI whole = to_int_trunc(number);
  const M is_whole = to_float(whole) == number;
  const V magnitude = loadu(magnitudes);
  const V value = as_float(as_int(magnitude) | (as_int(base) & shift_left<31>(whole) & VI(INT32_MIN)));
  const V of_fraction = select((base < zero()) & (base > V(-__builtin_inff())), nan, magnitude);
  V result = select(is_whole, value, of_fraction);
  result = select((base == base) & (exponent == exponent), result, nan);
  storeu(x, select((exponent == zero()) | (base == one), one, result));
}

TERROIR_INLINE V pow(V x, V y) {
  float a[kLanes], b[kLanes];
  storeu(a, x);
  storeu(b, y);
  powers(a, b);
  return loadu(a);
}

}  // namespace terroir::cpu::TERROIR_ISA

#pragma GCC pop_options
