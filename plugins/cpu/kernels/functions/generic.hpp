// What: the functions of one bucket. Contract: functions.hpp. Include one bucket header first.
// Plain loops on f64, which the compiler turns into vector code of the bucket. A function F says which arguments it
// computes (`easy`), its value for them, and the C library's function for all others; of() may see any argument.
#pragma once

#include "plugins/cpu/kernels/functions/functions.hpp"
#include "plugins/cpu/simd/macros.hpp"

// Nobody reads the exception flags or errno: with them the compiler would keep the branches around divisions and roots.
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math", "no-math-errno")

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// In place. Not a root per element in the loops below: the compiler keeps a call for negative arguments around each.
TERROIR_INLINE void roots_of(double* x) {
#if defined(__SSE4_2__)
  using D = xsimd::batch<double, Arch>;
  for (int64_t i = 0; i < kTileUnit; i += static_cast<int64_t>(D::size))
    xsimd::sqrt(D::load_unaligned(x + i)).store_unaligned(x + i);
#else
  for (int64_t i = 0; i < kTileUnit; ++i) x[i] = __builtin_sqrt(x[i]);
#endif
}

/// A function F of one root as well names its argument, not negative, under_root(x), and takes it as of(x, root).
template <class F>
concept kOfRoot = requires(double x) {
  F::under_root(x);
};

template <class F>
TERROIR_INLINE void values_of(const float* a, float* value) {
  if constexpr (kOfRoot<F>) {
    double root[kTileUnit];
    for (int64_t i = 0; i < kTileUnit; ++i) root[i] = F::under_root(static_cast<double>(a[i]));
    roots_of(root);
    for (int64_t i = 0; i < kTileUnit; ++i) value[i] = static_cast<float>(F::of(static_cast<double>(a[i]), root[i]));
  } else {
    for (int64_t i = 0; i < kTileUnit; ++i) value[i] = static_cast<float>(F::of(static_cast<double>(a[i])));
  }
}

template <class F>
void function_loop_of(const void* const* in, void* out, int64_t n) {
  const float* a = static_cast<const float*>(in[0]);
  float* r = static_cast<float*>(out);
  for (int64_t first = 0; first < n; first += kTileUnit, a += kTileUnit, r += kTileUnit) {
    float value[kTileUnit];
    int32_t hard[kTileUnit], any = 0;
    for (int64_t i = 0; i < kTileUnit; ++i) {
      hard[i] = !F::easy(a[i]);
      any |= hard[i];
    }
    values_of<F>(a, value);
    if (any != 0)
      for (int64_t i = 0; i < kTileUnit; ++i)
        if (hard[i] != 0) value[i] = F::exact(a[i]);
    __builtin_memcpy(r, value, sizeof(value));
  }
}

TERROIR_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
TERROIR_INLINE double from_bits(uint64_t x) { return __builtin_bit_cast(double, x); }

/// x * (c[0] + c[1] x^2 + ... ) and c[0] + c[1] x + ... by Horner's rule.
template <int kTerms>
struct Series {
  double c[kTerms];
  TERROIR_INLINE_MEMBER double at(double x) const {
    double sum = c[kTerms - 1];
#pragma GCC unroll 16
    for (int k = kTerms - 2; k >= 0; --k) sum = sum * x + c[k];
    return sum;
  }
};
constexpr double factorial(int n) { return n < 2 ? 1.0 : n * factorial(n - 1); }

/// Terms of sine and cosine (`kSign` -1) and of their hyperbolic relatives (1), in powers of x^2, from x^kFirst on.
template <int kTerms, int kFirst, int kSign>
constexpr Series<kTerms> exponential_series() {
  Series<kTerms> s{};
  double sign = 1;
  for (int k = 0; k < kTerms; ++k, sign *= kSign) s.c[k] = sign / factorial(2 * k + kFirst);
  return s;
}

// ---- sine, cosine, tangent

constexpr auto kSine = exponential_series<6, 1, -1>();
constexpr auto kCosine = exponential_series<7, 0, -1>();

/// x = quarters * pi / 2 + rest; the low bits of `quarters` count modulo 4.
struct Reduced {
  double rest;
  uint64_t quarters;
  TERROIR_INLINE_MEMBER double sine() const { return rest * kSine.at(rest * rest); }
  TERROIR_INLINE_MEMBER double cosine() const { return kCosine.at(rest * rest); }
  /// The sine of x + `quarter` * pi / 2.
  TERROIR_INLINE_MEMBER double turned(uint64_t quarter) const {
    const uint64_t q = quarters + quarter;
    const double value = (q & 1) != 0 ? cosine() : sine();
    return from_bits(bits_of(value) ^ ((q & 2) << 62));
  }
};
TERROIR_INLINE Reduced reduced(double x) {
  // A unit in the last place of `shift` is 1. The first part of pi / 2 has 33 bits, so its product with n < 2^20 is
  // exact.
  constexpr double kShift = 0x1.8p52, kHigh = 0x1.921fb544p0, kLow = 0x1.0b4611a626331p-34;
  const double sum = x * 0.63661977236758134308 + kShift, n = sum - kShift;
  return {(x - n * kHigh) - n * kLow, bits_of(sum)};
}

struct Periodic {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) < 0x1p20f; }
};
struct Sin : Periodic {
  TERROIR_INLINE_MEMBER static double of(double x) {
    const double y = reduced(x).turned(0);
    return x == 0 ? x : y;
  }
  static float exact(float x) { return __builtin_sinf(x); }
};
struct Cos : Periodic {
  TERROIR_INLINE_MEMBER static double of(double x) { return reduced(x).turned(1); }
  static float exact(float x) { return __builtin_cosf(x); }
};
struct Tan : Periodic {
  TERROIR_INLINE_MEMBER static double of(double x) {
    const Reduced r = reduced(x);
    const double s = r.sine(), c = r.cosine();
    const bool odd = (r.quarters & 1) != 0;
    const double y = (odd ? -c : s) / (odd ? s : c);
    return x == 0 ? x : y;
  }
  static float exact(float x) { return __builtin_tanf(x); }
};

// ---- their inverses

constexpr double kPi = 3.14159265358979323846;

constexpr Series<14> arc_sine_series() {
  Series<14> s{};
  double central = 1;  // (2k)! / (2^k k!)^2
  for (int k = 0; k < 14; ++k, central *= (2.0 * k - 1) / (2.0 * k)) s.c[k] = central / (2 * k + 1);
  return s;
}
constexpr auto kArcSine = arc_sine_series();
constexpr Series<13> arc_tangent_series() {
  Series<13> s{};
  for (int k = 0; k < 13; ++k) s.c[k] = (k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1);
  return s;
}
constexpr auto kArcTangent = arc_tangent_series();

/// For |x| <= 1. Beyond 1/2 by half the complement: sin^2(c / 2) = (1 - cos(c)) / 2.
struct OfSine {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) <= 1.0f; }
  TERROIR_INLINE_MEMBER static bool beyond(double x) { return __builtin_fabs(x) > 0.5; }
  TERROIR_INLINE_MEMBER static double under_root(double x) {
    const double a = __builtin_fabs(x), half = (1 - a) * 0.5, square = a * a;
    return a <= 1 ? (beyond(x) ? half : square) : 0.0;
  }
  /// asin(|x|), or half of acos(|x|) beyond.
  TERROIR_INLINE_MEMBER static double angle(double root) { return root * kArcSine.at(root * root); }
};
struct Asin : OfSine {
  TERROIR_INLINE_MEMBER static double of(double x, double root) {
    const double near = angle(root), far = kPi / 2 - 2 * near;
    return __builtin_copysign(beyond(x) ? far : near, x);
  }
  static float exact(float x) { return __builtin_asinf(x); }
};
struct Acos : OfSine {
  TERROIR_INLINE_MEMBER static double of(double x, double root) {
    const double a = angle(root), near = kPi / 2 - __builtin_copysign(a, x), right = 2 * a, left = kPi - right;
    const double far = x < 0 ? left : right;
    return beyond(x) ? far : near;
  }
  static float exact(float x) { return __builtin_acosf(x); }
};
struct Atan {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) < 0x1p60f; }
  TERROIR_INLINE_MEMBER static double of(double x) {
    const double magnitude = __builtin_fabs(x);
    // Above 1 the complement of the reciprocal; what is above tan(pi / 8) then is turned back by pi / 4.
    const bool inverted = magnitude > 1;
    const double ratio = inverted ? 1 / magnitude : magnitude;
    const bool turned = ratio > 0.41421356237309503;
    const double t = turned ? (ratio - 1) / (ratio + 1) : ratio;
    const double angle = t * kArcTangent.at(t * t) + (turned ? kPi / 4 : 0.0);
    return __builtin_copysign(inverted ? kPi / 2 - angle : angle, x);
  }
  static float exact(float x) { return __builtin_atanf(x); }
};

// ---- hyperbolic functions

constexpr Series<10> power_series() {
  Series<10> s{};
  for (int k = 0; k < 10; ++k) s.c[k] = 1 / factorial(k);
  return s;
}
constexpr auto kPower = power_series();
constexpr auto kHyperbolicSine = exponential_series<7, 1, 1>();

/// For |x| < 700.
TERROIR_INLINE double exponential(double x) {
  constexpr double kShift = 0x1.8p52, kLogHigh = 0x1.62e42fefp-1, kLogLow = 0x1.473de6af278edp-34;
  const double sum = x * 1.44269504088896340736 + kShift, n = sum - kShift;
  const double r = (x - n * kLogHigh) - n * kLogLow;
  return from_bits(bits_of(kPower.at(r)) + (bits_of(sum) << 52));
}

struct Hyperbolic {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) < 100.0f; }
};
struct Sinh : Hyperbolic {
  TERROIR_INLINE_MEMBER static double of(double x) {
    const double e = exponential(x), far = (e - 1 / e) * 0.5, near = x * kHyperbolicSine.at(x * x);
    return __builtin_fabs(x) < 1 ? near : far;
  }
  static float exact(float x) { return __builtin_sinhf(x); }
};
struct Cosh : Hyperbolic {
  TERROIR_INLINE_MEMBER static double of(double x) {
    const double e = exponential(x);
    return (e + 1 / e) * 0.5;
  }
  static float exact(float x) { return __builtin_coshf(x); }
};

// ---- their inverses

constexpr Series<7> logarithm_series() {
  Series<7> s{};
  for (int k = 0; k < 7; ++k) s.c[k] = 2.0 / (2 * k + 1);
  return s;
}
constexpr auto kLogarithm = logarithm_series();

/// log(1 + u) for finite u > -1: the rounding of 1 + u is undone to first order.
TERROIR_INLINE double log_of_one_plus(double u) {
  const double w = 1 + u;
  // w = 2^e * m with m in [sqrt(1/2), sqrt(2)). 2^52 with e in its low bits is 2^52 + e.
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcdu, kMantissa = 0x000fffffffffffffu;
  const uint64_t shifted = bits_of(w) - kRootOfHalf + (uint64_t{1023} << 52);
  const double e = from_bits((shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  const double m = from_bits((shifted & kMantissa) + kRootOfHalf);
  const double s = (m - 1) / (m + 1);
  return e * 0.69314718055994530942 + s * kLogarithm.at(s * s) + (u - (w - 1)) / w;
}
struct Asinh {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) < 0x1p60f; }
  TERROIR_INLINE_MEMBER static double under_root(double x) { return x * x + 1; }
  TERROIR_INLINE_MEMBER static double of(double x, double root) {
    return __builtin_copysign(log_of_one_plus(__builtin_fabs(x) + x * x / (1 + root)), x);
  }
  static float exact(float x) { return __builtin_asinhf(x); }
};
struct Acosh {
  // Below 1 there is no value.
  TERROIR_INLINE_MEMBER static bool easy(float x) { return x < 0x1p60f; }
  TERROIR_INLINE_MEMBER static double under_root(double x) {
    const double t = x - 1;
    return x > 1 ? t * (t + 2) : 0.0;
  }
  TERROIR_INLINE_MEMBER static double of(double x, double root) {
    const double y = log_of_one_plus((x > 1 ? x - 1 : 0.0) + root);
    return x < 1 ? __builtin_nan("") : y;
  }
  static float exact(float x) { return __builtin_acoshf(x); }
};
struct Atanh {
  TERROIR_INLINE_MEMBER static bool easy(float x) { return __builtin_fabsf(x) < 1.0f; }
  TERROIR_INLINE_MEMBER static double of(double x) {
    const double a = __builtin_fabs(x);
    return __builtin_copysign(0.5 * log_of_one_plus(2 * a / (1 - a)), x);
  }
  static float exact(float x) { return __builtin_atanhf(x); }
};

}  // namespace

TileFn function_loop(Function function) {
  switch (function) {
    case Function::sin:
      return &function_loop_of<Sin>;
    case Function::cos:
      return &function_loop_of<Cos>;
    case Function::tan:
      return &function_loop_of<Tan>;
    case Function::asin:
      return &function_loop_of<Asin>;
    case Function::acos:
      return &function_loop_of<Acos>;
    case Function::atan:
      return &function_loop_of<Atan>;
    case Function::sinh:
      return &function_loop_of<Sinh>;
    case Function::cosh:
      return &function_loop_of<Cosh>;
    case Function::asinh:
      return &function_loop_of<Asinh>;
    case Function::acosh:
      return &function_loop_of<Acosh>;
    case Function::atanh:
      return &function_loop_of<Atanh>;
  }
  return nullptr;
}

}  // namespace terroir::cpu::TERROIR_ISA

#pragma GCC pop_options
