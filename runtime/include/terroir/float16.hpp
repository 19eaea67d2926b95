// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits.
//
// Conversion from float rounds to nearest, ties to even; overflow gives infinity; NaN stays NaN (quiet).
#pragma once

#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>

#include "terroir/export.hpp"

namespace terroir {

class float16 {
 public:
  constexpr float16() = default;
  float16(float value) : bits_(round(value)) {}  // NOLINT: implicit, as in OpenVINO
  template <typename I>
  explicit float16(I value) : bits_(round(static_cast<float>(value))) {}

  operator float() const { return widen(bits_); }  // NOLINT: implicit, as in OpenVINO

  static constexpr float16 from_bits(uint16_t bits) { return float16(bits, FromBits()); }
  constexpr uint16_t to_bits() const { return bits_; }

  template <typename T>
  float16& operator+=(const T& v) {
    return *this = float16(float(*this) + float(v));
  }
  template <typename T>
  float16& operator-=(const T& v) {
    return *this = float16(float(*this) - float(v));
  }
  template <typename T>
  float16& operator*=(const T& v) {
    return *this = float16(float(*this) * float(v));
  }
  template <typename T>
  float16& operator/=(const T& v) {
    return *this = float16(float(*this) / float(v));
  }

 private:
  struct FromBits {};
  constexpr float16(uint16_t bits, FromBits) : bits_(bits) {}

  static uint16_t round(float value) {
    uint32_t x;
    std::memcpy(&x, &value, sizeof x);
    const uint32_t sign = (x >> 16) & 0x8000u;
    x &= 0x7fffffffu;
    if (x >= 0x7f800000u) {  // infinity or NaN; a NaN keeps its upper payload bits and becomes quiet
      return static_cast<uint16_t>(sign | 0x7c00u | (x > 0x7f800000u ? 0x200u | ((x >> 13) & 0x3ffu) : 0u));
    }
    if (x >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
    if (x < 0x38800000u) {                                               // below 2^-14: subnormal or zero
      if (x <= 0x33000000u) return static_cast<uint16_t>(sign);          // at most 2^-25, which ties to zero
      const uint32_t exponent = x >> 23;
      const uint32_t mantissa = (x & 0x7fffffu) | 0x800000u;
      const uint32_t shift = 126u - exponent;  // 14 (2^-15 <= v < 2^-14) .. 24
      const uint32_t half = 1u << (shift - 1);
      uint32_t result = mantissa >> shift;
      const uint32_t rest = mantissa & ((1u << shift) - 1u);
      if (rest > half || (rest == half && (result & 1u))) ++result;
      return static_cast<uint16_t>(sign | result);
    }
    // Rebias the exponent from 127 to 15, then round; a carry out of the mantissa raises the exponent, as it must.
    const uint32_t rebased = x - 0x38000000u;
    return static_cast<uint16_t>(sign | ((rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13));
  }

  static float widen(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t mantissa = bits & 0x3ffu;
    uint32_t x;
    if (exponent == 0x1f) {
      x = sign | 0x7f800000u | (mantissa << 13);
    } else if (exponent != 0) {
      x = sign | ((exponent + 112u) << 23) | (mantissa << 13);
    } else if (mantissa == 0) {
      x = sign;
    } else {  // subnormal: normalise
      exponent = 113u;
      while ((mantissa & 0x400u) == 0) {
        mantissa <<= 1;
        --exponent;
      }
      x = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
    }
    float value;
    std::memcpy(&value, &x, sizeof value);
    return value;
  }

  uint16_t bits_ = 0;
};

static_assert(sizeof(float16) == 2, "float16 must be two bytes");

TERROIR_API std::ostream& operator<<(std::ostream& out, const float16& value);

}  // namespace terroir

template <>
class std::numeric_limits<terroir::float16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int max_exponent = 16;
  static constexpr terroir::float16 min() noexcept { return terroir::float16::from_bits(0x0400); }
  static constexpr terroir::float16 max() noexcept { return terroir::float16::from_bits(0x7bff); }
  static constexpr terroir::float16 lowest() noexcept { return terroir::float16::from_bits(0xfbff); }
  static constexpr terroir::float16 epsilon() noexcept { return terroir::float16::from_bits(0x1400); }
  static constexpr terroir::float16 round_error() noexcept { return terroir::float16::from_bits(0x3800); }
  static constexpr terroir::float16 infinity() noexcept { return terroir::float16::from_bits(0x7c00); }
  static constexpr terroir::float16 quiet_NaN() noexcept { return terroir::float16::from_bits(0x7e00); }
  static constexpr terroir::float16 signaling_NaN() noexcept { return terroir::float16::from_bits(0x7d00); }
  static constexpr terroir::float16 denorm_min() noexcept { return terroir::float16::from_bits(0x0001); }
};
