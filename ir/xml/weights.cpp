#include "ir/xml/weights.hpp"

#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"

namespace terroir::ir::xml {
namespace {

int64_t year_of(const std::string& version) {
  int64_t year = 0;
  size_t digits = 0;
  while (digits < version.size() && digits < 5 && version[digits] >= '0' && version[digits] <= '9')
    year = year * 10 + (version[digits++] - '0');
  return digits == 4 && digits < version.size() && version[digits] == '.' ? year : 0;
}

/// int32 count; if there are any: int32 0, `count` int32 end offsets; then the bytes of all strings.
Constant strings(const std::byte* data, uint64_t size, const Dims& dims) {
  uint64_t at = 0;
  const auto next = [&]() -> uint64_t {
    if (size - at < sizeof(int32_t))
      throw_error(ErrorCode::parse_error, "the string constant ends after ", size, " bytes, within its table");
    int32_t value = 0;
    std::memcpy(&value, data + at, sizeof value);
    at += sizeof value;
    if (value < 0)
      throw_error(ErrorCode::parse_error, "the table of the string constant has the negative entry ", value);
    return static_cast<uint64_t>(value);
  };
  const auto expected = static_cast<uint64_t>(element_count(dims));
  const uint64_t count = next();
  if (count != expected)
    throw_error(ErrorCode::parse_error, "the constant holds ", count, " strings, its shape ", dims, " asks for ",
                expected);
  auto owner = std::make_shared<std::vector<std::string>>();
  if (count > 0) {
    const uint64_t table = size - at;
    if (table / sizeof(int32_t) < count + 1)
      throw_error(ErrorCode::parse_error, "the string constant of ", size, " bytes is too short for ", count,
                  " strings");
    if (const uint64_t first = next(); first != 0)
      throw_error(ErrorCode::parse_error, "the first string must begin at 0, found ", first);
    const uint64_t text = at + count * sizeof(int32_t);
    uint64_t begin = 0;
    owner->reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t end = next();
      if (end < begin || end > size - text)
        throw_error(ErrorCode::parse_error, "string ", i, " ends at ", end, ", expected from ", begin, " to ",
                    size - text);
      owner->emplace_back(reinterpret_cast<const char*>(data + text + begin), end - begin);
      begin = end;
    }
    at = text + begin;
  }
  if (at != size)
    throw_error(ErrorCode::parse_error, "the string constant has ", size, " bytes, its strings need ", at);
  return {{element::string, dims, owner->data()}, owner};
}

}  // namespace

Weights::Weights(std::shared_ptr<const void> owner, const std::byte* data, size_t size)
    : owner_(std::move(owner)), data_(data), size_(data ? size : 0) {}

Weights Weights::open(const std::filesystem::path& path, bool required, bool mapped) {
  Weights weights;
  weights.name_ = "'" + path.string() + "'";
  try {
    auto file = MappedFile::open(path);
    weights.data_ = static_cast<const std::byte*>(file->data());
    weights.size_ = file->size();
    if (mapped) {
      weights.owner_ = std::move(file);
      return weights;
    }
    const auto copy = std::make_shared<AlignedBuffer>(file->size());
    file->read(0, file->size(), copy->data());
    weights.data_ = copy->as<const std::byte>();
    weights.owner_ = copy;
  } catch (const Exception& error) {
    if (required) throw;
    weights.unavailable_ = error.what();
  }
  return weights;
}

const std::byte* Weights::bytes(uint64_t offset, uint64_t size) const {
  if (!unavailable_.empty() && size > 0)
    throw_error(ErrorCode::file_not_found, "needs ", size, " bytes of weights, but ", unavailable_,
                "; put the .bin file beside the .xml file or name it");
  // Subtractions, because offset + size may overflow.
  if (offset > size_ || size > size_ - offset)
    throw_error(ErrorCode::parse_error, "needs ", size, " bytes at offset ", offset, ", but ", name_, " has ", size_,
                " bytes; is it cut short, or of another model?");
  return data_ + offset;
}

Constant Weights::constant(element::Type type, const Dims& dims, uint64_t offset, uint64_t size,
                           bool high_nibble_first) const {
  if (type.is_dynamic()) throw_error(ErrorCode::parse_error, "a constant cannot be of a dynamic element type");
  if (type == element::string) return strings(bytes(offset, size), size, dims);
  const uint64_t needed = byte_size(type, element_count(dims));
  // Some releases stored one byte for a constant without elements.
  const bool padded_nothing = needed == 0 && size == 1;
  if (size != needed && !padded_nothing)
    throw_error(ErrorCode::parse_error, "attribute 'size' is ", size, " bytes, but ", type, " of shape ", dims,
                " needs ", needed);
  if (needed == 0) {
    // A view without elements still points somewhere.
    static const uint64_t kNothing = 0;
    return {{type, dims, &kNothing}, nullptr};
  }
  const std::byte* data = bytes(offset, size);
  const bool swapped = high_nibble_first && type.bitwidth() == 4;
  const bool aligned = reinterpret_cast<uintptr_t>(data) % type.size() == 0;
  if (aligned && !swapped) return {{type, dims, data}, owner_};
  auto copy = std::make_shared<AlignedBuffer>(size);
  if (swapped)
    swap_nibbles(data, copy->data(), size);
  else
    std::memcpy(copy->data(), data, size);
  return {{type, dims, copy->data()}, copy};
}

bool stores_high_nibble_first(const RtTree& rt_info) {
  for (const char* key : {"Runtime_version", "MO_version"})
    for (const auto& [name, entry] : rt_info.children)
      if (name == key)
        if (const int64_t year = year_of(entry.value)) return year < 2024;
  return false;
}

void swap_nibbles(const void* from, void* to, size_t size) {
  const auto* source = static_cast<const uint8_t*>(from);
  auto* target = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < size; ++i) target[i] = static_cast<uint8_t>(source[i] << 4 | source[i] >> 4);
}

}  // namespace terroir::ir::xml
