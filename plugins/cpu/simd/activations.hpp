// What: the activations that both the elementwise steps and the epilogues of convolutions compute, so that one formula
// gives the same bits wherever a layer runs. Include one bucket header first.
#pragma once

#include "plugins/cpu/simd/math.hpp"

namespace terroir::cpu::TERROIR_ISA {

TERROIR_INLINE V relu6_of_x_plus_3(V x) { return min(V(6.0f), max(zero(), x + V(3.0f))); }
TERROIR_INLINE V hswish(V x) { return x * relu6_of_x_plus_3(x) * V(1.0f / 6.0f); }
TERROIR_INLINE V hsigmoid(V x) { return relu6_of_x_plus_3(x) * V(1.0f / 6.0f); }
TERROIR_INLINE V swish(V x, V alpha) { return divide_by_one_plus_exp(x, alpha * x); }

}  // namespace terroir::cpu::TERROIR_ISA
