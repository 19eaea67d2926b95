// Memory that starts at a multiple of 64 bytes (or more) and is owned by one object.
//
// How: from the C library; or, where it is to start with a page, from the system, which has it back as soon as it is
//      let go. The C library's heap keeps what is freed for the next request, and grows more willing to with every
//      large block: a buffer of 2 MiB that lived for a moment cost a process as much for good.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <utility>

#include "ir/base/error.hpp"

namespace terroir {

inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kPage = 4096;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// Uninitialised bytes. `alignment` is a power of two, at least sizeof(void*); from kPage on the memory is the
  /// system's. No bytes: data() is null. Throws Exception (out_of_memory).
  explicit AlignedBuffer(size_t bytes, size_t alignment = kCacheLine) : size_(bytes) {
    if (bytes == 0) return;
    // No process has more address space. Allocators differ in how they refuse such sizes; sanitizers abort.
    constexpr size_t kAddressSpace = size_t{1} << 47;
    // Rounding up keeps whole vectors readable behind the last element.
    const size_t rounded = bytes + (alignment - 1 - (bytes - 1) % alignment);
    size_t room = rounded + alignment;
    if (kFromSystem && alignment >= kPage) mapped_ = room;
    if (bytes <= kAddressSpace) memory_ = mapped_ != 0 ? map(room) : allocate(rounded, alignment);
    if (memory_ == nullptr) throw_error(ErrorCode::out_of_memory, "cannot allocate ", bytes, " bytes");
    data_ = memory_;
    std::align(alignment, rounded, data_, room);
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~AlignedBuffer() {
    if (mapped_ != 0)
      unmap(memory_, mapped_);
    else
      std::free(memory_);
  }

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
    std::swap(mapped_, other.mapped_);
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kFromSystem = false;  // so that a byte behind the end is one too many
#else
  static constexpr bool kFromSystem = true;
#endif

  /// So many bytes, or null.
  static void* map(size_t bytes) noexcept;
  static void unmap(void* memory, size_t bytes) noexcept;

  /// Room for so many aligned bytes. The C library asks its heap for more than an aligned block takes, so that the hole
  /// one leaves is too small for the next of its size: tensors of changing extents took half as much memory again.
  static void* allocate(size_t bytes, size_t alignment) noexcept {
    return !kFromSystem || alignment > kCacheLine ? std::aligned_alloc(alignment, bytes)
                                                  : std::malloc(bytes + alignment);
  }

  void* memory_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;  // bytes that the system gave; 0: the memory is the C library's
};

}  // namespace terroir
