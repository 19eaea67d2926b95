#include "runtime/memory/arena_buffer.hpp"

#include <sys/mman.h>

namespace terroir::memory {

AlignedBuffer allocate_arena(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes < 2 * kHugePage) return AlignedBuffer(bytes);
  AlignedBuffer buffer(bytes, kHugePage);
#if defined(MADV_HUGEPAGE)
  // Advice only: a kernel without huge pages says EINVAL, and nothing changes.
  static_cast<void>(::madvise(buffer.data(), bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  return buffer;
}

}  // namespace terroir::memory
