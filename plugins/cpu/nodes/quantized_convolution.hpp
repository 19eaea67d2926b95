#pragma once
// What: the executor of layers whose kernels multiply bytes or numbers of bf16, for those that propose it.
#include <memory>

#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// Where it reads and stores tensors; without a cost.
LayoutChoice byte_layouts(const NodeContext& context);
std::unique_ptr<const Executor> create_on_bytes(const NodeContext& context, const LayoutChoice& choice);

}  // namespace terroir::cpu
