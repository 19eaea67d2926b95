// What: every distinct convolution and matrix product of the zoo and some awkward ones, each with the kernel that a
// compiled model would use: GFLOP/s of the best run, its share of the machine's multiply-add peak (of all threads)
// measured in the same run, the chosen kernel and, where CMake finds oneDNN, its time for the same layer in the same
// run: vs_onednn is our best time by its best time, so above 1 is slower.
//   bench_layers [--threads N] [--benchmark_filter='resnet50.*avx512']
// Rows special/... are beside their reference kernel instead, on one thread: vs_ref is its time by our best time.
// Rows compressed/... are beside the same product with weights in floats: vs_floats is our best time by that one's,
// with no weights in any cache. Rows int8/... are layers of bytes u8 by weights i8, with scales of each output and a
// bias, that store u8 or f32; of_peak is the share of the products of bytes, and isa variants are what
// TERROIR_FORCE_ISA calls avx2_vnni, avx512_vnni and so on. Rows bf16/... are the same layers but depthwise ones, of
// numbers of bf16 with a bias, that store bf16 or f32; of_peak is the share of the products of such numbers. The first
// layers of a model read planar f32 there, but the peer's bf16. ONEDNN_MAX_CPU_ISA=AVX2 makes a fair peer for the avx2
// rows, AVX2_VNNI and AVX512_CORE_VNNI for those; rows of other buckets compare with what it chooses.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>

#include "tests/bench/layers.hpp"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  CLI::App app("One layer at a time on the CPU device, beside oneDNN");
  int threads = 1;
  app.add_option("--threads", threads, "Threads of each layer, ours and the peer's")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  terroir::bench::register_convolutions(threads);
  terroir::bench::register_matmuls(threads);
  terroir::bench::register_compressed(threads);
  terroir::bench::register_special(threads);
  terroir::bench::register_narrow(threads);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
