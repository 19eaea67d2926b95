#include "plugins/cpu/constant_reader.hpp"

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "runtime/memory/arena_buffer.hpp"

namespace terroir::cpu {
namespace {

/// A piece may begin anywhere in a cache line.
constexpr size_t kPartBytes = ConstantReader::kMostBytes + kCacheLine;

}  // namespace

const void* ConstantReader::read(const void* piece, size_t bytes, int64_t slot) noexcept {
  if (bytes == 0 || bytes > kMostBytes) return piece;
  std::byte* const part = part_of(slot);
  if (part == nullptr) return piece;
  return MappedFile::fetch(piece, bytes, part + reinterpret_cast<uintptr_t>(piece) % kCacheLine);
}

std::byte* ConstantReader::part_of(int64_t slot) noexcept {
  std::call_once(allocated_, [this]() noexcept {
    try {
      parts_ = memory::allocate_large(static_cast<size_t>(arena_.threads()) * kPartBytes);
    } catch (const Exception&) {
      // Then every piece is taken as it lies.
    }
  });
  return parts_.empty() ? nullptr : parts_.as<std::byte>() + static_cast<size_t>(slot) * kPartBytes;
}

}  // namespace terroir::cpu
