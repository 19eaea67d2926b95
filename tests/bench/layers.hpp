// What: registration of the rows of bench_layers, and what a row prints.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "tests/bench/one_layer.hpp"
#include "tests/bench/onednn.hpp"

namespace terroir::bench {

void register_convolutions(int threads);
void register_matmuls(int threads);
/// Beside the same products with weights in floats, both from main memory.
void register_compressed(int threads);
/// Layers that no peer has: beside the time of their reference kernel.
void register_special(int threads);
/// Convolutions and matrix products in bytes and in numbers of bf16, for each kind of such products that this machine
/// has; without any, prints that there are none.
void register_narrow(int threads);

/// What TERROIR_FORCE_ISA takes of this machine, where it makes a difference to layers of f32: avx512_amx is avx512
/// with bf16x3.
std::vector<std::string> float_isa_names();

/// A convolution as IR files write it.
struct ConvolutionOp {
  std::string type;
  std::vector<std::pair<std::string, std::string>> attributes;
  ir::Dims data, weights;
};
ConvolutionOp convolution_op(const cpu::ConvProblem& problem);

/// Times `layer` and fills in label and counters. `peer`, the other side's same layer or null, and the machine's peak
/// are timed in turns with it, because the clock of a shared machine changes from one second to the next. `peak`:
/// operations per second of one thread.
void measure(benchmark::State& state, LayerStep& layer, double flops, const std::function<double()>& peak, int threads,
             PeerLayer* peer);
/// Beside the peak of multiply-add.
void measure(benchmark::State& state, LayerStep& layer, double flops, cpu::Isa isa, int threads, PeerLayer* peer);

}  // namespace terroir::bench
