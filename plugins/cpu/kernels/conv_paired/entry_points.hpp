// What: what each bucket's files define; plan.cpp puts them into rows.
#pragma once

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu::avx512 {
void conv_paired(const ConvPlan& plan, const ConvArgs& args, const ConvTile& box) noexcept;
}
