#pragma once
// What: which convolutions can read a gated source without a pass of its own for the gate.
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {

/// A 1x1 convolution of stride 1 whose weights are far fewer than the values of its source: scaling them by the gate is
/// less work than scaling the source, even if every thread does it.
bool can_take_gate(const NodeContext& convolution);

}  // namespace terroir::cpu
