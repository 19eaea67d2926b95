// What: registration of the rows of bench_layers, and what a row prints.
#pragma once

#include <benchmark/benchmark.h>

#include "plugins/cpu/isa.hpp"
#include "tests/bench/one_layer.hpp"
#include "tests/bench/onednn.hpp"

namespace terroir::bench {

void register_convolutions(int threads);
void register_matmuls(int threads);
/// Layers that no peer has: beside the time of their reference kernel.
void register_special(int threads);

/// Times `layer` and fills in label and counters. `peer`, the other side's same layer or null, and the machine's peak
/// are timed in turns with it, because the clock of a shared machine changes from one second to the next.
void measure(benchmark::State& state, OneLayer& layer, double flops, cpu::Isa isa, int threads, PeerLayer* peer);

}  // namespace terroir::bench
