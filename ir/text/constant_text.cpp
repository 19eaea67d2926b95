#include "ir/text/constant_text.hpp"

#include <array>
#include <charconv>
#include <cstring>

#include "ir/schema/infer_context.hpp"
#include "ir/text/names.hpp"

namespace terroir::ir {
namespace {

template <class T>
std::string number(T value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

template <class T>
std::vector<std::string> floats(const TensorView& tensor) {
  std::vector<std::string> items;
  // float holds every f16 and bf16, so its shortest text names the element uniquely.
  using Printed = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (int64_t i = 0; i < tensor.count(); ++i) items.push_back(number(static_cast<Printed>(tensor.as<T>()[i])));
  return items;
}

/// Elements as text, or nothing for a type without printable elements.
std::vector<std::string> elements(const TensorView& tensor) {
  std::vector<std::string> items;
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  switch (tensor.type) {
    case element::Type_t::f64:
      return floats<double>(tensor);
    case element::Type_t::f32:
      return floats<float>(tensor);
    case element::Type_t::f16:
      return floats<float16>(tensor);
    case element::Type_t::bf16:
      return floats<bfloat16>(tensor);
    case element::Type_t::u64:
      for (int64_t i = 0; i < tensor.count(); ++i) items.push_back(number(tensor.as<uint64_t>()[i]));
      return items;
    case element::Type_t::string:
      for (int64_t i = 0; i < tensor.count(); ++i) items.push_back(quoted(tensor.as<std::string>()[i]));
      return items;
    case element::Type_t::u4:
    case element::Type_t::i4:
      for (int64_t i = 0; i < tensor.count(); ++i) {
        const int nibble = bytes[i / 2] >> (i % 2 * 4) & 15;
        items.push_back(std::to_string(tensor.type == element::i4 && nibble > 7 ? nibble - 16 : nibble));
      }
      return items;
    case element::Type_t::u1:
      for (int64_t i = 0; i < tensor.count(); ++i) items.push_back(std::to_string(bytes[i / 8] >> (7 - i % 8) & 1));
      return items;
    default:
      break;
  }
  if (tensor.type.is_integral() && tensor.type.bitwidth() % 8 == 0)
    for (const int64_t value : to_integers(tensor)) items.push_back(std::to_string(value));
  return items;
}

}  // namespace

std::string constant_text(const TensorView& tensor, int64_t max_values) {
  const int64_t count = tensor.count();
  if (count <= max_values) {
    const auto items = elements(tensor);
    if (static_cast<int64_t>(items.size()) == count) {
      std::string text = "[";
      for (const std::string& item : items) text += (text.size() > 1 ? ", " : "") + item;
      return text + "]";
    }
  }
  constexpr char kHex[] = "0123456789abcdef";
  const uint64_t hash = content_hash(tensor);
  std::string text = "#";
  for (int shift = 60; shift >= 0; shift -= 4) text += kHex[hash >> shift & 15];
  return text;
}

uint64_t content_hash(const TensorView& tensor) {
  uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  };
  if (tensor.type == element::string) {
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const std::string& text = tensor.as<std::string>()[i];
      add(text.data(), text.size());
      add("", 1);  // so that {"ab", "c"} and {"a", "bc"} differ
    }
  } else {
    add(tensor.data, tensor.bytes());
  }
  return hash;
}

bool same_bits(const TensorView& a, const TensorView& b) {
  if (a.type != b.type || a.dims != b.dims) return false;
  if (a.type == element::string) {
    for (int64_t i = 0; i < a.count(); ++i)
      if (a.as<std::string>()[i] != b.as<std::string>()[i]) return false;
    return true;
  }
  const size_t size = a.bytes();
  return size == 0 || a.data == b.data || std::memcmp(a.data, b.data, size) == 0;
}

}  // namespace terroir::ir
