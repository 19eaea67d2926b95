#pragma once
// What: the product of matrices as every processor runs it, for implementations that are better in some cases.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

Proposal propose_matmul(const NodeContext& context);

}  // namespace terroir::cpu
