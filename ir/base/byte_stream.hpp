#pragma once
// What: values one after the other as bytes, for files that the same library reads again.
// Layouts: as in memory, without gaps; texts and lists have their length in front.
// Edge cases: a reader never looks behind its end: what is cut short or damaged is an Exception (parse_error).
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/base/error.hpp"

namespace terroir {

class ByteWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void text(std::string_view value) {
    count(value.size());
    bytes_.append(value);
  }
  void count(size_t n) { put(static_cast<uint32_t>(n)); }
  /// `each` writes one element.
  template <typename List, typename Each>
  void list(const List& values, Each each) {
    count(values.size());
    for (const auto& value : values) each(value);
  }
  template <typename T>
  void numbers(const std::vector<T>& values) {
    list(values, [this](T value) { put(value); });
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  ByteReader(const void* data, size_t bytes) : at_(static_cast<const char*>(data)), left_(bytes) {}

  template <typename T>
  T take() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value{};
    std::memcpy(&value, skip(sizeof value), sizeof value);
    return value;
  }
  /// A byte other than 0 and 1 is no bool.
  bool flag() {
    const auto value = take<uint8_t>();
    require(value <= 1);
    return value == 1;
  }
  std::string text() {
    const size_t size = take<uint32_t>();
    return {skip(size), size};
  }
  /// A number of elements that take a byte each at least, so that no length claims more memory than there are bytes.
  size_t count() {
    const size_t n = take<uint32_t>();
    require(n <= left_);
    return n;
  }
  /// `each` reads one element.
  template <typename Each>
  auto list(Each each) {
    std::vector<decltype(each())> values;
    const size_t n = count();
    values.reserve(n);
    for (size_t i = 0; i < n; ++i) values.push_back(each());
    return values;
  }
  template <typename T>
  std::vector<T> numbers() {
    return list([this] { return take<T>(); });
  }
  /// A number below `bound`.
  size_t index(size_t bound) {
    const auto value = static_cast<size_t>(take<uint32_t>());
    require(value < bound);
    return value;
  }
  bool done() const { return left_ == 0; }

  static void require(bool condition) {
    if (!condition)
      throw_error(ErrorCode::parse_error, "the compiled model is damaged: its parts contradict each other");
  }

 private:
  const char* skip(size_t bytes) {
    if (bytes > left_) throw_error(ErrorCode::parse_error, "the compiled model is cut short or damaged");
    const char* from = at_;
    at_ += bytes;
    left_ -= bytes;
    return from;
  }

  const char* at_;
  size_t left_;
};

}  // namespace terroir
