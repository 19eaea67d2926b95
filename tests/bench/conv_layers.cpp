// What: every distinct convolution of the zoo on every kernel that accepts it, one thread: what a kernel author looks
// at. The kernel that a model would get, threads and the peer: bench_layers. Counters: gflops; of_peak, the share of
// the FMA rate measured at start-up.
//   bench_conv --benchmark_filter='resnet50.*avx512'
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_conv.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"
#include "tests/bench/peak.hpp"
#include "tests/bench/zoo_convolutions.hpp"

namespace terroir::bench {
namespace {

using namespace terroir::cpu;

struct AlignedFloats {
  explicit AlignedFloats(size_t n)
      : data(static_cast<float*>(std::aligned_alloc(4096, (n * sizeof(float) + 4095) / 4096 * 4096 + 4096))) {
    for (size_t i = 0; i < n; ++i) data[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
  }
  ~AlignedFloats() { std::free(data); }
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  float* data;
};

double peak(Isa isa) {
  static std::map<Isa, double> cache;
  auto [it, fresh] = cache.try_emplace(isa, 0.0);
  if (fresh) it->second = peak_gflops(isa);
  return it->second;
}

void report(benchmark::State& state, const ConvProblem& problem, Isa isa) {
  const double flops = static_cast<double>(conv_flops(problem));
  state.counters["gflops"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
  state.counters["of_peak"] =
      benchmark::Counter(flops * 1e-9 / peak(isa), benchmark::Counter::kIsIterationInvariantRate);
}

void run_kernel(benchmark::State& state, const ConvKernel& kernel, const ConvProblem& problem) {
  ConvPlan plan;
  kernel.plan(problem, kernel, plan);
  AlignedFloats src(static_cast<size_t>(plan.src.n * problem.batch)),
      dst(static_cast<size_t>(plan.dst.n * problem.batch));
  AlignedFloats weights(static_cast<size_t>(problem.ic * (problem.oc / problem.groups) * problem.d.kernel *
                                            problem.h.kernel * problem.w.kernel));
  AlignedFloats bias(static_cast<size_t>(problem.oc)), packed(plan.packed_floats), scratch(plan.scratch_floats);
  kernel.pack(plan, kernel, {weights.data, bias.data}, packed.data, 0, kernel.pack_pieces(plan));
  const ConvArgs args{src.data, packed.data, dst.data, nullptr, 0, scratch.data};
  for (auto _ : state) {
    kernel.run(plan, args, conv_slice(plan, conv_split(plan, 1), 0));
    benchmark::ClobberMemory();
  }
  report(state, problem, kernel.isa);
}

void run_winograd(benchmark::State& state, const WinoKernel& kernel, const ConvProblem& problem) {
  const WinoPlan plan = wino_plan(problem, kernel);
  AlignedFloats src(static_cast<size_t>(plan.src.n * problem.batch)),
      dst(static_cast<size_t>(plan.dst.n * problem.batch));
  AlignedFloats weights(static_cast<size_t>(problem.ic * (problem.oc / problem.groups) * problem.d.kernel * 9));
  AlignedFloats bias(static_cast<size_t>(problem.oc)), packed(plan.packed_floats), scratch(plan.scratch_floats);
  kernel.pack(plan, {weights.data, bias.data}, packed.data, 0, wino_units(plan));
  const ConvArgs args{src.data, packed.data, dst.data, nullptr, 0, scratch.data};
  for (auto _ : state) {
    kernel.run(plan, args, wino_slice(plan, wino_split(plan, 1), 0));
    benchmark::ClobberMemory();
  }
  report(state, problem, kernel.isa);
  state.counters["modelled_speedup"] = wino_speedup(problem, kernel);
}

// Weights into the transformed domain: bytes written per second.
void pack_winograd(benchmark::State& state, const WinoKernel& kernel, const ConvProblem& problem) {
  const WinoPlan plan = wino_plan(problem, kernel);
  AlignedFloats weights(static_cast<size_t>(problem.ic * (problem.oc / problem.groups) * problem.d.kernel * 9));
  AlignedFloats packed(plan.packed_floats);
  for (auto _ : state) {
    kernel.pack(plan, {weights.data, nullptr}, packed.data, 0, wino_units(plan));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(plan.packed_floats * sizeof(float)));
}

void register_all() {
  for (const ConvLayer& l : conv_layers()) {
    for (const Isa isa : available_isas()) {
      for (const ConvKernel& k : conv_kernels(isa)) {
        if (k.reject(l.problem, k)) continue;
        benchmark::RegisterBenchmark((l.name + "/" + k.name).c_str(),
                                     [&k, &l](benchmark::State& state) { run_kernel(state, k, l.problem); });
      }
      for (const ConvKernel* k : {polyphase_kernel(isa), polyphase_2x2_kernel(isa), one_axis_kernel(isa),
                                  paired_kernel(isa, ConvFormat::blocked), paired_kernel(isa, ConvFormat::nhwc)})
        if (k && !k->reject(l.problem, *k))
          benchmark::RegisterBenchmark((l.name + "/" + k->name).c_str(),
                                       [k, &l](benchmark::State& state) { run_kernel(state, *k, l.problem); });
      for (const WinoKernel& k : wino_kernels(isa)) {
        if (wino_reject(l.problem, k)) continue;
        benchmark::RegisterBenchmark((l.name + "/" + k.name).c_str(),
                                     [&k, &l](benchmark::State& state) { run_winograd(state, k, l.problem); });
        benchmark::RegisterBenchmark((l.name + "/pack_" + k.name).c_str(),
                                     [&k, &l](benchmark::State& state) { pack_winograd(state, k, l.problem); });
      }
    }
  }
}

}  // namespace
}  // namespace terroir::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  terroir::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
