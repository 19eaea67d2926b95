#include "ir/xml/weights_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/xml/weights.hpp"

namespace terroir::ir::xml {
namespace {

constexpr size_t kAlignment = 64;

/// A hash of both ends; what matches is compared byte by byte.
uint64_t sample_hash(const std::byte* data, size_t size) {
  constexpr size_t kSample = 2048;
  uint64_t hash = 0xcbf29ce484222325U ^ size;
  const auto add = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) hash = (hash ^ static_cast<uint64_t>(data[i])) * 0x100000001b3U;
  };
  add(0, std::min(size, kSample));
  if (size > kSample) add(std::max(kSample, size - kSample), size);
  return hash;
}

std::vector<std::byte> string_bytes(const TensorView& tensor) {
  const int64_t count = tensor.count();
  const auto* strings = tensor.as<std::string>();
  std::vector<std::byte> bytes;
  uint64_t text = 0;
  const auto put = [&](uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
      throw_error(ErrorCode::unsupported, "a string constant of more than 2 GiB cannot be written");
    const auto word = static_cast<int32_t>(value);
    std::array<std::byte, sizeof word> raw{};
    std::memcpy(raw.data(), &word, sizeof word);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  put(static_cast<uint64_t>(count));
  if (count > 0) put(0);
  for (int64_t i = 0; i < count; ++i) put(text += strings[i].size());
  for (int64_t i = 0; i < count; ++i) {
    const auto* data = reinterpret_cast<const std::byte*>(strings[i].data());
    bytes.insert(bytes.end(), data, data + strings[i].size());
  }
  return bytes;
}

}  // namespace

WeightsWriter::Extent WeightsWriter::add(const Constant& constant) {
  const element::Type type = constant.view.type;
  std::shared_ptr<const void> owner = constant.owner;
  const auto* data = static_cast<const std::byte*>(constant.view.data);
  size_t size = 0;
  if (type == element::string || (high_nibble_first_ && type.bitwidth() == 4)) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    if (type == element::string) {
      *bytes = string_bytes(constant.view);
    } else {
      bytes->resize(constant.view.bytes());
      swap_nibbles(data, bytes->data(), bytes->size());
    }
    data = bytes->data();
    size = bytes->size();
    owner = std::move(bytes);
  } else {
    size = constant.view.bytes();
  }
  if (size == 0) return {size_, 0};
  const size_t alignment = size >= kAlignment ? kAlignment : type == element::string ? sizeof(int32_t) : type.size();
  const uint64_t hash = sample_hash(data, size);
  const auto [first, last] = stored_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Extent& extent = it->second.extent;
    if (extent.size == size && extent.offset % alignment == 0 && std::memcmp(it->second.data, data, size) == 0)
      return extent;
  }
  static constexpr std::array<std::byte, kAlignment> kZeros{};
  const size_t padding = static_cast<size_t>(alignment - size_ % alignment) % alignment;
  if (padding > 0) sink_(kZeros.data(), padding);
  sink_(data, size);
  const Extent extent{size_ + padding, size};
  size_ = extent.offset + size;
  stored_.emplace(hash, Stored{std::move(owner), data, extent});
  return extent;
}

}  // namespace terroir::ir::xml
