// What: the fused multiply-add rate of this core, measured: the ceiling that kernel benchmarks are compared with.
#pragma once

#include "plugins/cpu/isa.hpp"

namespace terroir::bench {

// GFLOP/s of independent vector FMAs (multiplications and additions where the bucket has no FMA) on one core.
double peak_gflops(cpu::Isa isa);

}  // namespace terroir::bench
