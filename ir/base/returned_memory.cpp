#include "ir/base/returned_memory.hpp"

#include <sys/mman.h>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"

namespace terroir {

std::shared_ptr<void> allocate_returned(size_t bytes) {
  constexpr size_t kLarge = size_t{256} << 10;
  if (bytes < kLarge) {
    auto buffer = std::make_shared<AlignedBuffer>(bytes);
    void* const data = buffer->data();
    return {std::move(buffer), data};
  }
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw_error(ErrorCode::out_of_memory, "cannot allocate ", bytes, " bytes");
  return {data, [bytes](void* memory) { ::munmap(memory, bytes); }};
}

}  // namespace terroir
