// Matrix product on one thread: GFLOP/s, and the share of the multiply-add peak measured in the same run. Rows named
// matmul use the same B again and again; those named matmul_cold a new one each time, which comes from main memory as
// weights do in a network.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "tests/bench/aligned_floats.hpp"
#include "tests/bench/machine_peak.hpp"

namespace {

using terroir::bench::AlignedFloats;
using terroir::cpu::GemmArgs;
using terroir::cpu::Isa;

// Copies of B that together exceed any cache.
int64_t cold_copies(int64_t floats) { return std::max<int64_t>(2, (192 << 20) / (floats * 4)); }

void report(benchmark::State& state, Isa isa, double flops, double best, int64_t b_floats) {
  state.counters["GFLOPs_best"] = best * 1e-9;
  // The share of peak is told for the best repetition: on a shared machine the mean measures the neighbours.
  state.counters["of_peak"] = best / terroir::bench::peak_flops(isa);
  state.counters["GBs_of_B"] = best / flops * static_cast<double>(b_floats * 4) * 1e-9;
}

void matmul(benchmark::State& state, Isa isa, bool cold) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const auto& kernels = terroir::cpu::matmul_kernels(isa);
  const int64_t panels = (n + kernels.panel - 1) / kernels.panel;
  const int64_t b_floats = panels * kernels.panel * k, copies = cold ? cold_copies(b_floats) : 1;
  const AlignedFloats a(m * k), b(k * n), c(m * n), packed(copies * b_floats), scratch(kernels.scratch_floats(m, k));
  for (int64_t i = 0; i < copies; ++i) kernels.pack_b(b.data, n, false, k, n, packed.data + i * b_floats, 0, panels);
  GemmArgs args;
  args.a = a.data;
  args.lda = k;
  args.c = c.data;
  args.ldc = n;
  args.n = n;
  args.k = k;
  args.scratch = scratch.data;
  const double flops = 2.0 * static_cast<double>(m * n * k);
  double best = 0;
  int64_t turn = 0;
  for (auto _ : state) {
    args.b = packed.data + turn++ % copies * b_floats;
    const double start = terroir::bench::seconds_now();
    kernels.gemm(args, 0, m, 0, panels);
    best = std::max(best, flops / (terroir::bench::seconds_now() - start));
    benchmark::ClobberMemory();
  }
  report(state, isa, flops, best, k * n);
}

template <typename Bench>
void layers_of_networks(Bench* bench) {
  bench->Args({128, 768, 768})->Args({128, 3072, 768})->Args({128, 768, 3072})->Args({16, 3072, 768});
  bench->Args({1, 3072, 768})->Args({1, 1000, 2048})->Args({4, 4096, 4096})->Args({197, 768, 768});
}

const int products_registered = [] {
  for (const Isa isa : terroir::cpu::available_isas()) {
    auto* bench = benchmark::RegisterBenchmark((std::string("matmul/") + isa_name(isa)).c_str(),
                                               [isa](benchmark::State& state) { matmul(state, isa, false); });
    bench->Args({512, 512, 512})->Args({1024, 1024, 1024})->Args({197, 768, 768})->Args({128, 3072, 768});
    bench->Args({64, 64, 64})->Args({1, 1000, 2048})->Args({1, 4096, 4096})->Args({4, 4096, 4096});
    layers_of_networks(benchmark::RegisterBenchmark((std::string("matmul_cold/") + isa_name(isa)).c_str(),
                                                    [isa](benchmark::State& state) { matmul(state, isa, true); }));
  }
  return 0;
}();

}  // namespace
