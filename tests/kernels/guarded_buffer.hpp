// An array that ends where an inaccessible page begins: reading or writing one element too far is a crash, not luck.
// Its start is as misaligned as its size makes it; `lead` elements in front, checked for change by intact().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/kernels/guarded_pages.hpp"

namespace terroir::testing {

template <typename T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t size)
      : size_(size),
        pages_(static_cast<size_t>(size) * sizeof(T) + kLead),
        data_(reinterpret_cast<T*>(pages_.end()) - size) {
    // Poison: quiet NaNs with a recognisable payload, so an element read by mistake spoils the result.
    std::fill(pages_.begin(), pages_.end(), uint8_t{0xff});
  }
  GuardedBuffer(const std::vector<T>& values) : GuardedBuffer(static_cast<int64_t>(values.size())) {  // NOLINT
    std::copy(values.begin(), values.end(), data_);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

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
    return std::all_of(lead(), lead() + kLead, [](uint8_t byte) { return byte == 0xff; });
  }

 private:
  static constexpr size_t kLead = 256;
  uint8_t* lead() const { return reinterpret_cast<uint8_t*>(data_) - kLead; }

  int64_t size_;
  GuardedPages pages_;
  T* data_;
};

}  // namespace terroir::testing
