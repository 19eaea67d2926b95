#include "ir/base/element_memory.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir {

std::shared_ptr<void> allocate_elements(element::Type type, int64_t count) {
  const size_t bytes = ir::byte_size(type, count);
  if (type == element::string) {
    const auto texts = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
    return {texts, texts->data()};
  }
  const auto buffer = std::make_shared<AlignedBuffer>(bytes);
  return {buffer, buffer->data()};
}

void copy_elements(element::Type type, void* to, const void* from, size_t bytes) {
  if (type == element::string)
    std::copy_n(static_cast<const std::string*>(from), bytes / sizeof(std::string), static_cast<std::string*>(to));
  else if (bytes > 0)
    std::memmove(to, from, bytes);
}

}  // namespace terroir
