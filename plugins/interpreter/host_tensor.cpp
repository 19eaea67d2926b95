#include "plugins/interpreter/host_tensor.hpp"

#include "ir/base/element_memory.hpp"

namespace terroir::interpreter {

HostTensor::HostTensor(element::Type type, ir::Dims dims) : view_{type, std::move(dims), nullptr} {
  owner_ = allocate_elements(type, view_.count());
  view_.data = owner_.get();
}

}  // namespace terroir::interpreter
