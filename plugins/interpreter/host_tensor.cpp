#include "plugins/interpreter/host_tensor.hpp"

#include <string>
#include <vector>

#include "ir/base/aligned_buffer.hpp"

namespace terroir::interpreter {

HostTensor::HostTensor(element::Type type, ir::Dims dims) : view_{type, std::move(dims), nullptr} {
  if (type == element::string) {
    auto strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(view_.count()));
    view_.data = strings->data();
    owner_ = std::move(strings);
    return;
  }
  auto buffer = std::make_shared<AlignedBuffer>(view_.bytes());
  view_.data = buffer->data();
  owner_ = std::move(buffer);
}

}  // namespace terroir::interpreter
