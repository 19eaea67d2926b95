#include "ir/base/element_memory.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir {
namespace {

/// Empty ones. In memory of ours, whose error says how much of it there is not.
class Texts {
 public:
  Texts(size_t bytes, int64_t count) : memory_(bytes), count_(count) {
    std::uninitialized_value_construct_n(data(), count_);
  }
  ~Texts() { std::destroy_n(data(), count_); }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  std::string* data() noexcept { return memory_.as<std::string>(); }

 private:
  AlignedBuffer memory_;
  int64_t count_;
};

}  // namespace

std::shared_ptr<void> allocate_elements(element::Type type, int64_t count) {
  const size_t bytes = ir::byte_size(type, count);
  if (type == element::string) {
    const auto texts = std::make_shared<Texts>(bytes, count);
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
