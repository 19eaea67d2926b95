#include "ir/base/aligned_buffer.hpp"

#include <sys/mman.h>

namespace terroir {

void* AlignedBuffer::map(size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void AlignedBuffer::unmap(void* memory, size_t bytes) noexcept { ::munmap(memory, bytes); }

}  // namespace terroir
