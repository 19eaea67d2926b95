#pragma once
// What: a gate per image and channel, as squeeze-and-excite has it.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// Of an elementwise op of two operands: which input is [N or 1, C, 1 ...] against the other's [N, C, spatial]; -1:
/// neither.
int gate_input(const NodeContext& context);

}  // namespace terroir::cpu
