#include "ir/base/element_memory.hpp"

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

}  // namespace terroir
