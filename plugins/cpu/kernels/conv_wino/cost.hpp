// What: the cost model of the Winograd kernels; see cost.cpp.
#pragma once

#include <optional>

#include "plugins/cpu/kernels/conv_wino/wino_types.hpp"

namespace terroir::cpu::wino {

// Fills in the blocking of a plan whose problem, tile and channel blocks are known.
void choose_blocks(WinoPlan& plan, std::optional<WinoWeights> wanted) noexcept;

// Cycles of one thread for `units` oc units, `tiles` tiles and `slices` output slices.
double box_cycles(const WinoPlan& plan, int64_t units, int64_t tiles, int64_t slices) noexcept;

// Multiplications of the direct kernel per pair of channels, for one image: taps that meet padding are left out.
double direct_products(const ConvProblem& problem) noexcept;

}  // namespace terroir::cpu::wino
