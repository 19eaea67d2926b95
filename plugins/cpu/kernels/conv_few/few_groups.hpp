// What: how the output channels of a few-channel kernel are cut into groups that share what is loaded. Plain functions
// with internal linkage: seen by every bucket.
#pragma once

#include <cstdint>

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu {

// So many outputs times half as many positions as a vector has lanes fill the registers with sums.
static constexpr int64_t kMostOutputsAtOnce = 3;

TERROIR_INLINE int64_t few_groups(int64_t outputs) { return (outputs + kMostOutputsAtOnce - 1) / kMostOutputsAtOnce; }

// The first output of a group; of the one behind the last, the number of outputs.
TERROIR_INLINE int64_t few_group_begin(int64_t outputs, int64_t group) { return group * outputs / few_groups(outputs); }

// Strides along rows that transposed ones can have.
static constexpr int64_t kMostColumnClasses = 64;

// Floats in front of the weights.
TERROIR_INLINE int64_t few_bias_floats(int64_t outputs) { return (outputs + 15) / 16 * 16; }

}  // namespace terroir::cpu
