// An array that ends where an inaccessible page begins: reading or writing one element too far is a crash, not luck.
// Its start is as misaligned as its size makes it; `lead` elements in front, checked for change by intact().
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

namespace terroir::testing {

template <typename T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t size) : size_(size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = static_cast<size_t>(size) * sizeof(T) + kLead;
    const size_t used = (bytes + page - 1) / page * page;
    mapped_ = used + page;
    void* base = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<uint8_t*>(base);
    mprotect(base_ + used, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + used) - size;
    // Poison: quiet NaNs with a recognisable payload, so an element read by mistake spoils the result.
    std::memset(base_, 0xff, used);
  }
  GuardedBuffer(const std::vector<T>& values) : GuardedBuffer(static_cast<int64_t>(values.size())) {  // NOLINT
    std::copy(values.begin(), values.end(), data_);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(base_, mapped_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  // Nothing was written in the bytes before the array.
  bool intact() const {
    const uint8_t* first = reinterpret_cast<const uint8_t*>(data_) - kLead;
    return std::all_of(first, first + kLead, [](uint8_t byte) { return byte == 0xff; });
  }

 private:
  static constexpr size_t kLead = 256;
  int64_t size_;
  size_t mapped_ = 0;
  uint8_t* base_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace terroir::testing
