#pragma once
// What: the weights of a layer of bytes, or of numbers of bf16, in the memory that all plans share.
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

/// Of bytes with the sums of each tap, and with the steps of the outputs; see nodes/quantized_weights.hpp.
PackedWeights pack_weights(const NodeContext& context, const ByteProblem& problem);

}  // namespace terroir::cpu
