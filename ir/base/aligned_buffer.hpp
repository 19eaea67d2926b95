// Memory that starts at a multiple of 64 bytes (or more) and is owned by one object.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir {

inline constexpr size_t kCacheLine = 64;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// Uninitialised bytes. `alignment` is a power of two, at least sizeof(void*). No bytes: data() is null.
  /// Throws Exception (out_of_memory).
  explicit AlignedBuffer(size_t bytes, size_t alignment = kCacheLine) : size_(bytes) {
    if (bytes == 0) return;
    // No process has more address space. Allocators differ in how they refuse such sizes; sanitizers abort.
    constexpr size_t kAddressSpace = size_t{1} << 47;
    // Rounding up keeps whole vectors readable behind the last element.
    const size_t rounded = bytes + (alignment - 1 - (bytes - 1) % alignment);
    if (bytes <= kAddressSpace) memory_ = allocate(rounded, alignment);
    if (memory_ == nullptr) throw_error(ErrorCode::out_of_memory, "cannot allocate ", bytes, " bytes");
    size_t room = rounded + alignment;
    data_ = memory_;
    std::align(alignment, rounded, data_, room);
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~AlignedBuffer() { std::free(memory_); }

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  template <typename T>
  T* as() noexcept {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const noexcept {
    return static_cast<const T*>(data_);
  }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  void swap(AlignedBuffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  /// Room for so many aligned bytes. The C library asks its heap for more than an aligned block takes, so that the hole
  /// one leaves is too small for the next of its size: tensors of changing extents took half as much memory again.
  static void* allocate(size_t bytes, size_t alignment) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    constexpr bool kExact = true;  // so that a byte behind the end is one too many
#else
    constexpr bool kExact = false;
#endif
    return kExact || alignment > kCacheLine ? std::aligned_alloc(alignment, bytes) : std::malloc(bytes + alignment);
  }

  void* memory_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace terroir
