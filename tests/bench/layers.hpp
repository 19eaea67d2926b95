// What: registration of the rows of bench_layers, and what a row prints.
#pragma once

#include <benchmark/benchmark.h>

#include <optional>

#include "plugins/cpu/isa.hpp"
#include "tests/bench/one_layer.hpp"
#include "tests/bench/onednn.hpp"

namespace terroir::bench {

void register_convolutions(int threads);
void register_matmuls(int threads);
/// Layers that no peer has: beside the time of their reference kernel.
void register_special(int threads);

/// Times `layer` and fills in label and counters; `peer` is the other side's time for the same layer.
void measure(benchmark::State& state, OneLayer& layer, double flops, cpu::Isa isa, int threads,
             const std::optional<PeerTime>& peer);

}  // namespace terroir::bench
