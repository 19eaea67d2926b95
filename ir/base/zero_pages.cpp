#include "ir/base/zero_pages.hpp"

#include <sys/mman.h>

#include "ir/base/error.hpp"

namespace terroir {

ZeroPages::ZeroPages(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw_error(ErrorCode::out_of_memory, "no addresses for ", bytes, " bytes");
  data_ = mapping;
}

ZeroPages::~ZeroPages() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace terroir
