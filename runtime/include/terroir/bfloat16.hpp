// bfloat16: the upper half of an IEEE 754 binary32; 1 sign, 8 exponent, 7 mantissa bits.
//
// Conversion from float rounds to nearest, ties to even; NaN stays NaN (quiet).
#pragma once

#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>

#include "terroir/export.hpp"

namespace terroir {

class bfloat16 {
 public:
  constexpr bfloat16() = default;
  bfloat16(float value) : bits_(round(value)) {}  // NOLINT: implicit, as in OpenVINO
  template <typename I>
  explicit bfloat16(I value) : bits_(round(static_cast<float>(value))) {}

  operator float() const {  // NOLINT: implicit, as in OpenVINO
    const uint32_t x = static_cast<uint32_t>(bits_) << 16;
    float value;
    std::memcpy(&value, &x, sizeof value);
    return value;
  }

  static constexpr bfloat16 from_bits(uint16_t bits) { return bfloat16(bits, FromBits()); }
  constexpr uint16_t to_bits() const { return bits_; }

  template <typename T>
  bfloat16& operator+=(const T& v) {
    return *this = bfloat16(float(*this) + float(v));
  }
  template <typename T>
  bfloat16& operator-=(const T& v) {
    return *this = bfloat16(float(*this) - float(v));
  }
  template <typename T>
  bfloat16& operator*=(const T& v) {
    return *this = bfloat16(float(*this) * float(v));
  }
  template <typename T>
  bfloat16& operator/=(const T& v) {
    return *this = bfloat16(float(*this) / float(v));
  }

 private:
  struct FromBits {};
  constexpr bfloat16(uint16_t bits, FromBits) : bits_(bits) {}

  static uint16_t round(float value) {
    uint32_t x;
    std::memcpy(&x, &value, sizeof x);
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
    return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }

  uint16_t bits_ = 0;
};

static_assert(sizeof(bfloat16) == 2, "bfloat16 must be two bytes");

TERROIR_API std::ostream& operator<<(std::ostream& out, const bfloat16& value);

}  // namespace terroir

template <>
class std::numeric_limits<terroir::bfloat16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int radix = 2;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = -125;
  static constexpr int max_exponent = 128;
  static constexpr terroir::bfloat16 min() noexcept { return terroir::bfloat16::from_bits(0x0080); }
  static constexpr terroir::bfloat16 max() noexcept { return terroir::bfloat16::from_bits(0x7f7f); }
  static constexpr terroir::bfloat16 lowest() noexcept { return terroir::bfloat16::from_bits(0xff7f); }
  static constexpr terroir::bfloat16 epsilon() noexcept { return terroir::bfloat16::from_bits(0x3c00); }
  static constexpr terroir::bfloat16 round_error() noexcept { return terroir::bfloat16::from_bits(0x3f00); }
  static constexpr terroir::bfloat16 infinity() noexcept { return terroir::bfloat16::from_bits(0x7f80); }
  static constexpr terroir::bfloat16 quiet_NaN() noexcept { return terroir::bfloat16::from_bits(0x7fc0); }
  static constexpr terroir::bfloat16 signaling_NaN() noexcept { return terroir::bfloat16::from_bits(0x7fa0); }
  static constexpr terroir::bfloat16 denorm_min() noexcept { return terroir::bfloat16::from_bits(0x0001); }
};
