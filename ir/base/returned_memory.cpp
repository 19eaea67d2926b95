#include "ir/base/returned_memory.hpp"

#include "ir/base/aligned_buffer.hpp"

namespace terroir {

std::shared_ptr<void> allocate_returned(size_t bytes) {
  constexpr size_t kLarge = size_t{256} << 10;
  auto buffer = std::make_shared<AlignedBuffer>(bytes, bytes < kLarge ? kCacheLine : kPage);
  void* const data = buffer->data();
  return {std::move(buffer), data};
}

}  // namespace terroir
