#pragma once
// What: arithmetic that is defined for every pair of operands, for the reference kernels.
// Edge cases: integers wrap modulo 2^N; x / 0 and x mod 0 are 0; MIN / -1 is MIN; floating-point to integer truncates,
// saturates at the ends of the type, and NaN becomes 0.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace terroir::ops::reference {

template <class T>
T wrap(uint64_t bits) {
  return static_cast<T>(bits);
}

template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return wrap<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return static_cast<T>(a + b);
}
template <class T>
T subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) return wrap<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  return static_cast<T>(a - b);
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) return wrap<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  return static_cast<T>(a * b);
}

/// Integer quotient rounded towards zero.
template <class T>
T divide_truncated(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return subtract<T>(0, a);
    return static_cast<T>(a / b);
  }
}

/// Integer quotient rounded down, as Python does.
template <class T>
T divide_floored(T a, T b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    const T quotient = divide_truncated(a, b);
    const bool inexact = b != 0 && b != -1 && a % b != 0;
    return inexact && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  } else {
    return divide_truncated(a, b);
  }
}

/// Remainder with the sign of the dividend.
template <class T>
T mod_truncated(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
}

/// Remainder with the sign of the divisor.
template <class T>
T mod_floored(T a, T b) {
  const T rest = mod_truncated(a, b);
  if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>)
    if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
  return rest;
}

/// Integers: modulo 2^N; a negative exponent gives the reciprocal rounded towards zero (0 for base 0).
template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, exponent);
  } else {
    if constexpr (std::is_signed_v<T>)
      if (exponent < 0) {
        if (base == 1) return 1;
        if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
        return 0;
      }
    auto rest = static_cast<uint64_t>(exponent);
    auto square = static_cast<uint64_t>(base);
    uint64_t result = 1;
    for (; rest != 0; rest >>= 1, square *= square)
      if (rest & 1) result *= square;
    return wrap<T>(result);
  }
}

/// NaN of either operand is kept.
template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a)) return a;
  return a < b || b != b ? b : a;
}
template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a)) return a;
  return b < a || b != b ? b : a;
}

/// Truncated towards zero, saturated, NaN to 0.
template <class T>
T saturate(double value) {
  if (!(value == value)) return 0;
  // 2^(digits) is the first value above the range and exact as double; so is the lower end.
  constexpr double above = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1));
  if (value >= above) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

}  // namespace terroir::ops::reference
