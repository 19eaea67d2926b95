#include "ir/base/small_float.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ir {
namespace {

using Table = std::array<float, 256>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// Sign, exponent and mantissa fields of `bits` bits in all; specials are put in afterwards.
Table ieee_like(int exponent_bits, int mantissa_bits) {
  Table table{};
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int magnitudes = 1 << (exponent_bits + mantissa_bits);
  for (int code = 0; code < 256; ++code) {
    const int magnitude = code % magnitudes;
    const int exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
    const int significand = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const float value =
        std::ldexp(static_cast<float>(significand), (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
    table[static_cast<size_t>(code)] = code / magnitudes % 2 == 1 ? -value : value;
  }
  return table;
}

Table nf4() {
  constexpr float values[16] = {-1.0f,
                                -0.6961928009986877f,
                                -0.5250730514526367f,
                                -0.39491748809814453f,
                                -0.28444138169288635f,
                                -0.18477343022823334f,
                                -0.09105003625154495f,
                                0.0f,
                                0.07958029955625534f,
                                0.16093020141124725f,
                                0.24611230194568634f,
                                0.33791524171829224f,
                                0.44070982933044434f,
                                0.5626170039176941f,
                                0.7229568362236023f,
                                1.0f};
  Table table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = values[i % 16];
  return table;
}
Table f8e4m3() {
  Table table = ieee_like(4, 3);
  table[0x7f] = table[0xff] = kNan;
  return table;
}
Table f8e5m2() {
  Table table = ieee_like(5, 2);
  table[0x7c] = kInf;
  table[0xfc] = -kInf;
  for (size_t i = 1; i < 4; ++i) table[0x7c + i] = table[0xfc + i] = kNan;
  return table;
}
Table f8e8m0() {
  Table table{};
  for (int code = 0; code < 255; ++code) table[static_cast<size_t>(code)] = std::ldexp(1.0f, code - 127);
  table[255] = kNan;
  return table;
}

/// The code of the value nearest to `value` among the ascending codes first..last.
uint8_t nearest(const float* table, int first, int last, double value) {
  int low = first;
  int high = last;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (static_cast<double>(table[middle]) < value)
      low = middle + 1;
    else
      high = middle;
  }
  // table[low] is the first value not below, or the largest one.
  if (low == first || !(static_cast<double>(table[low]) > value)) return static_cast<uint8_t>(low);
  const double above = static_cast<double>(table[low]) - value;
  const double below = value - static_cast<double>(table[low - 1]);
  const bool takes_lower = below < above || (below == above && low % 2 == 1);
  return static_cast<uint8_t>(takes_lower ? low - 1 : low);
}

}  // namespace

bool is_small_float(element::Type type) {
  return type == element::nf4 || type == element::f4e2m1 || type == element::f8e4m3 || type == element::f8e5m2 ||
         type == element::f8e8m0;
}

const float* small_float_values(element::Type type) {
  switch (type) {
    case element::Type_t::nf4: {
      static const Table table = nf4();
      return table.data();
    }
    case element::Type_t::f4e2m1: {
      static const Table table = ieee_like(2, 1);
      return table.data();
    }
    case element::Type_t::f8e4m3: {
      static const Table table = f8e4m3();
      return table.data();
    }
    case element::Type_t::f8e5m2: {
      static const Table table = f8e5m2();
      return table.data();
    }
    case element::Type_t::f8e8m0: {
      static const Table table = f8e8m0();
      return table.data();
    }
    default:
      throw_error(ErrorCode::unsupported, type.get_type_name(), " is no small floating-point type");
  }
}

uint8_t encode_small_float(element::Type type, double value) {
  const float* table = small_float_values(type);
  const bool nan = value != value;
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? 1 : 0);
  const double magnitude = std::abs(value);
  switch (type) {
    case element::Type_t::nf4:
      return nan ? uint8_t{7} : nearest(table, 0, 15, value);
    case element::Type_t::f4e2m1:
      return nan ? uint8_t{0} : static_cast<uint8_t>(nearest(table, 0, 7, magnitude) | sign << 3);
    case element::Type_t::f8e4m3:
      if (nan) return 0x7f;
      // Halfway between the largest value 448 and the 480 that would follow: beyond it there is only NaN.
      if (magnitude > 464) return static_cast<uint8_t>(0x7f | sign << 7);
      return static_cast<uint8_t>(nearest(table, 0, 0x7e, magnitude) | sign << 7);
    case element::Type_t::f8e5m2:
      // Halfway between the largest value 57344 and the 65536 that would follow: from there on it is infinite.
      if (nan) return 0x7e;
      if (magnitude >= 61440) return static_cast<uint8_t>(0x7c | sign << 7);
      return static_cast<uint8_t>(nearest(table, 0, 0x7b, magnitude) | sign << 7);
    default:  // f8e8m0
      return nan ? uint8_t{0xff} : nearest(table, 0, 254, value);
  }
}

}  // namespace terroir::ir

namespace terroir::detail {
namespace {

element::Type type_of(SmallFormat format) {
  switch (format) {
    case SmallFormat::e2m1:
      return element::f4e2m1;
    case SmallFormat::e4m3:
      return element::f8e4m3;
    case SmallFormat::e5m2:
      return element::f8e5m2;
    default:
      return element::f8e8m0;
  }
}

}  // namespace

float small_float_value(SmallFormat format, uint8_t bits) { return ir::small_float_values(type_of(format))[bits]; }
uint8_t small_float_bits(SmallFormat format, float value) {
  return ir::encode_small_float(type_of(format), static_cast<double>(value));
}

}  // namespace terroir::detail
