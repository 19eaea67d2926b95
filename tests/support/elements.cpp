#include "tests/support/elements.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <terroir/bfloat16.hpp>
#include <terroir/float16.hpp>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "ops/reference/type/convert.hpp"

namespace terroir::test {
namespace {

using element::Type_t;

/// Calls fn with a value of the C++ type that stores one element; false for packed and unknown types.
template <class Fn>
bool with_type(element::Type type, Fn&& fn) {
  switch (type) {
    case Type_t::boolean:
    case Type_t::u8:
      return fn(uint8_t{}), true;
    case Type_t::i8:
      return fn(int8_t{}), true;
    case Type_t::i16:
      return fn(int16_t{}), true;
    case Type_t::u16:
      return fn(uint16_t{}), true;
    case Type_t::i32:
      return fn(int32_t{}), true;
    case Type_t::u32:
      return fn(uint32_t{}), true;
    case Type_t::i64:
      return fn(int64_t{}), true;
    case Type_t::u64:
      return fn(uint64_t{}), true;
    case Type_t::f16:
      return fn(float16{}), true;
    case Type_t::bf16:
      return fn(bfloat16{}), true;
    case Type_t::f32:
      return fn(float{}), true;
    case Type_t::f64:
      return fn(double{}), true;
    default:
      return false;
  }
}

struct Bits {
  int64_t byte;
  int shift;
  unsigned mask;
};

Bits bits_of(element::Type type, int64_t index) {
  if (type == element::u1) return {index / 8, static_cast<int>(7 - index % 8), 1u};
  if (type == element::i4 || type == element::u4) return {index / 2, static_cast<int>(index % 2) * 4, 0xfu};
  throw_error(ErrorCode::unsupported, "tests do not look into tensors of ", type.get_type_name());
}

/// Types that the library alone knows how to read: floats of 8 and 4 bits, integers of 2, 3 and 6.
bool is_exotic(element::Type type) {
  const bool integer = type == element::u2 || type == element::u3 || type == element::u6;
  return integer || (type.is_real() && type.bitwidth() <= 8);
}

double exotic_at(const ir::TensorView& tensor, int64_t index) {
  const int width = static_cast<int>(tensor.type.bitwidth());
  const auto* data = static_cast<const uint8_t*>(tensor.data);
  uint8_t alone[3] = {};  // one unit of three bytes at most
  double number = 0;
  if (width == 8)
    alone[0] = data[index];
  else
    ir::write_bits(alone, 0, width, ir::read_bits(data, index, width));
  ops::reference::convert({tensor.type, {1}, alone}, {element::f64, {1}, &number});
  return number;
}

void set_exotic(const ir::MutableTensorView& tensor, int64_t index, double number) {
  const int width = static_cast<int>(tensor.type.bitwidth());
  auto* data = static_cast<uint8_t*>(tensor.data);
  uint8_t alone[3] = {};
  ops::reference::convert({element::f64, {1}, &number}, {tensor.type, {1}, alone});
  if (width == 8)
    data[index] = alone[0];
  else
    ir::write_bits(data, index, width, ir::read_bits(alone, 0, width));
}

double parse_real(std::string_view text) {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    throw_error(ErrorCode::parse_error, "'", text, "' is not a number");
  if (error == std::errc::result_out_of_range) throw_error(ErrorCode::parse_error, "'", text, "' is out of range");
  return value;
}

template <class T>
T parse_integer(std::string_view text, T lowest, T highest) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < lowest || value > highest)
    throw_error(ErrorCode::parse_error, "'", text, "' is not an integer of this type");
  return value;
}

template <class T>
T parse_as(std::string_view text) {
  if constexpr (std::is_integral_v<T>)
    return parse_integer<T>(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  else if constexpr (std::is_same_v<T, double>)
    return parse_real(text);
  else
    return static_cast<T>(static_cast<float>(parse_real(text)));
}

}  // namespace

long double element_at(const ir::TensorView& tensor, int64_t index) {
  long double number = 0;
  if (with_type(tensor.type, [&](auto tag) {
        using T = decltype(tag);
        T value;
        std::memcpy(&value, static_cast<const T*>(tensor.data) + index, sizeof value);
        if constexpr (std::is_arithmetic_v<T>)
          number = static_cast<long double>(value);
        else
          number = static_cast<long double>(static_cast<float>(value));
      }))
    return number;
  if (is_exotic(tensor.type)) return exotic_at(tensor, index);
  const Bits bits = bits_of(tensor.type, index);
  const unsigned raw = (static_cast<const uint8_t*>(tensor.data)[bits.byte] >> bits.shift) & bits.mask;
  if (tensor.type == element::i4 && raw > 7) return static_cast<long double>(static_cast<int>(raw) - 16);
  return raw;
}

void set_element(const ir::MutableTensorView& tensor, int64_t index, std::string_view text) {
  if (tensor.type == element::string) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    static_cast<std::string*>(tensor.data)[index] = text;
    return;
  }
  if (tensor.type == element::boolean) {
    if (text == "true") text = "1";
    if (text == "false") text = "0";
    static_cast<uint8_t*>(tensor.data)[index] = parse_integer<uint8_t>(text, 0, 1);
    return;
  }
  if (with_type(tensor.type, [&](auto tag) {
        using T = decltype(tag);
        static_cast<T*>(tensor.data)[index] = parse_as<T>(text);
      }))
    return;
  if (is_exotic(tensor.type)) return set_exotic(tensor, index, parse_real(text));
  const Bits bits = bits_of(tensor.type, index);
  const int lowest = tensor.type == element::i4 ? -8 : 0;
  const int highest = tensor.type == element::i4 ? 7 : static_cast<int>(bits.mask);
  const auto value = static_cast<unsigned>(parse_integer<int>(text, lowest, highest)) & bits.mask;
  auto& byte = static_cast<uint8_t*>(tensor.data)[bits.byte];
  byte = static_cast<uint8_t>((byte & ~(bits.mask << bits.shift)) | (value << bits.shift));
}

void set_number(const ir::MutableTensorView& tensor, int64_t index, double value) {
  const bool stored = with_type(tensor.type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_arithmetic_v<T>)
      static_cast<T*>(tensor.data)[index] = static_cast<T>(value);
    else
      static_cast<T*>(tensor.data)[index] = static_cast<T>(static_cast<float>(value));
  });
  if (!stored) throw_error(ErrorCode::unsupported, "no single elements of ", tensor.type.get_type_name());
}

std::string element_text(const ir::TensorView& tensor, int64_t index) {
  if (tensor.type == element::string) return '"' + static_cast<const std::string*>(tensor.data)[index] + '"';
  char buffer[64];
  const long double number = element_at(tensor, index);
  std::to_chars_result end{};
  if (!tensor.type.is_real())
    end = number < 0 ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<int64_t>(number))
                     : std::to_chars(buffer, buffer + sizeof buffer, static_cast<uint64_t>(number));
  else if (tensor.type == element::f64)
    end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(number));
  else
    end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(number));
  return std::string(buffer, end.ptr);
}

}  // namespace terroir::test
