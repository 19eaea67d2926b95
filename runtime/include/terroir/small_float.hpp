// Floating-point numbers of a byte and less, one in a byte: float8_e4m3, float8_e5m2, float8_e8m0, float4_e2m1.
//
// Conversion from float takes the nearest value, ties to the even code; above the largest value float8_e5m2 becomes
// infinite and float8_e4m3, which has no infinity, NaN; the others saturate. NaN stays NaN where there is one, else it
// becomes 0. float8_e8m0 has neither zero nor sign: what is not positive becomes its smallest value 2^-127. Tensors of
// f4e2m1 hold two numbers in a byte: Constant::cast_vector<float4_e2m1>() takes them apart.
#pragma once

#include <cstdint>
#include <ostream>

#include "terroir/export.hpp"

namespace terroir {

namespace detail {

enum class SmallFormat { e2m1, e4m3, e5m2, e8m0 };
TERROIR_API float small_float_value(SmallFormat format, uint8_t bits);
TERROIR_API uint8_t small_float_bits(SmallFormat format, float value);

template <SmallFormat Format>
class SmallFloat {
 public:
  constexpr SmallFloat() = default;
  SmallFloat(float value) : bits_(small_float_bits(Format, value)) {}  // NOLINT: implicit, as in OpenVINO
  template <typename I>
  explicit SmallFloat(I value) : SmallFloat(static_cast<float>(value)) {}
  operator float() const { return small_float_value(Format, bits_); }  // NOLINT: implicit, as in OpenVINO

  static constexpr SmallFloat from_bits(uint8_t bits) {
    SmallFloat made;
    made.bits_ = bits;
    return made;
  }
  constexpr uint8_t to_bits() const { return bits_; }

  template <typename T>
  SmallFloat& operator+=(const T& v) {
    return *this = SmallFloat(float(*this) + float(v));
  }
  template <typename T>
  SmallFloat& operator-=(const T& v) {
    return *this = SmallFloat(float(*this) - float(v));
  }
  template <typename T>
  SmallFloat& operator*=(const T& v) {
    return *this = SmallFloat(float(*this) * float(v));
  }
  template <typename T>
  SmallFloat& operator/=(const T& v) {
    return *this = SmallFloat(float(*this) / float(v));
  }
  friend std::ostream& operator<<(std::ostream& out, const SmallFloat& value) {
    return out << static_cast<float>(value);
  }

 private:
  uint8_t bits_ = 0;
};

}  // namespace detail

using float4_e2m1 = detail::SmallFloat<detail::SmallFormat::e2m1>;
using float8_e4m3 = detail::SmallFloat<detail::SmallFormat::e4m3>;
using float8_e5m2 = detail::SmallFloat<detail::SmallFormat::e5m2>;
using float8_e8m0 = detail::SmallFloat<detail::SmallFormat::e8m0>;

}  // namespace terroir
