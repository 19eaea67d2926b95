#pragma once
// What: the direct kernels of a convolution, for implementations that have a better one of some layouts only.
#include <memory>

#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// By layouts of source and result, the best kernel of each.
Proposal propose_convolution(const NodeContext& context);
std::unique_ptr<const Executor> create_convolution(const NodeContext& context, const LayoutChoice& choice);

}  // namespace terroir::cpu
