#pragma once
// What: addresses that read as zeros and take no memory until they are read.
#include <cstddef>

namespace terroir {

class ZeroPages {
 public:
  /// Throws Exception (out_of_memory).
  explicit ZeroPages(size_t bytes);
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  ~ZeroPages();

  const char* data() const noexcept { return static_cast<const char*>(data_); }
  size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_;
};

}  // namespace terroir
