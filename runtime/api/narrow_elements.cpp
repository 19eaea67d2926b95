#include <cmath>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "ir/base/small_float.hpp"
#include "terroir/op/constant.hpp"

namespace terroir::detail {
namespace {

struct Range {
  int lowest, highest;
};

Range range_of(const element::Type& type) {
  const int width = static_cast<int>(type.bitwidth());
  if (type.is_real()) return {0, (1 << width) - 1};  // codes
  return type.is_signed() ? Range{-(1 << (width - 1)), (1 << (width - 1)) - 1} : Range{0, (1 << width) - 1};
}

uint8_t bits_of(const element::Type& type, double value, bool is_code) {
  if (type.is_real() && !is_code) return ir::encode_small_float(type, value);
  if (type == element::u1) return value != 0 ? 1 : 0;
  const Range range = range_of(type);
  const double whole = std::trunc(value);
  if (!(whole >= range.lowest && whole <= range.highest))
    throw_error(ErrorCode::invalid_argument, "a constant of type ", type, " cannot hold ", value, ": its ",
                is_code ? "codes" : "values", " are ", range.lowest, " to ", range.highest);
  return static_cast<uint8_t>(static_cast<int>(whole));
}

}  // namespace

double narrow_element(const element::Type& type, const void* elements, size_t index, bool is_code) {
  const auto* const bytes = static_cast<const uint8_t*>(elements);
  const int width = static_cast<int>(type.bitwidth());
  const int bits = width == 8 ? bytes[index] : ir::read_bits(bytes, static_cast<int64_t>(index), width);
  if (type.is_real() && !is_code) return static_cast<double>(ir::small_float_values(type)[bits]);
  const bool negative = type.is_signed() && !is_code && (bits >> (width - 1) & 1) != 0;
  return bits - (negative ? 1 << width : 0);
}

void set_narrow_element(const element::Type& type, void* elements, size_t index, double value, bool is_code) {
  auto* const bytes = static_cast<uint8_t*>(elements);
  const uint8_t bits = bits_of(type, value, is_code);
  const int width = static_cast<int>(type.bitwidth());
  if (width == 8) {
    bytes[index] = bits;
  } else {
    ir::write_bits(bytes, static_cast<int64_t>(index), width, bits);
  }
}

}  // namespace terroir::detail
