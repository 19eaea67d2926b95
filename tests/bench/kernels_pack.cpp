// Packing of constant weights on one thread: GB of packed bytes per second, per family and bucket, beside a plain copy
// of as many bytes in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "tests/bench/aligned_floats.hpp"
#include "tests/bench/machine_peak.hpp"

namespace {

using terroir::bench::AlignedFloats;
using terroir::cpu::ConvKernel;
using terroir::cpu::ConvPlan;
using terroir::cpu::ConvProblem;
using terroir::cpu::Isa;

/// The best repetition: on a shared machine the mean measures the neighbours.
template <class Body>
double best_rate(benchmark::State& state, double bytes, Body body) {
  double best = 0;
  for (auto _ : state) {
    const double start = terroir::bench::seconds_now();
    body();
    best = std::max(best, bytes / (terroir::bench::seconds_now() - start));
    benchmark::ClobberMemory();
  }
  return best * 1e-9;
}

void copy(benchmark::State& state) {
  const int64_t floats = int64_t{9} << 18;
  const AlignedFloats from(floats), to(floats);
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  state.counters["GBs"] = best_rate(state, static_cast<double>(bytes), [&] { std::memcpy(to.data, from.data, bytes); });
}

struct Family {
  const char* name;
  ConvProblem problem;
};

ConvProblem problem(int64_t ic, int64_t oc, int64_t kernel, int64_t groups = 1, bool transposed = false) {
  ConvProblem p;
  p.groups = groups;
  p.ic = ic;
  p.oc = oc;
  p.h = p.w = {14, transposed ? 14 * kernel : 14, kernel, transposed ? kernel : 1, 1, transposed ? 0 : kernel / 2};
  p.transposed = transposed;
  return p;
}

void pack_convolution(benchmark::State& state, const ConvKernel& kernel, const ConvProblem& p) {
  ConvPlan plan;
  kernel.plan(p, kernel, plan);
  const AlignedFloats weights(p.ic / p.groups * p.oc * p.h.kernel * p.w.kernel), bias(p.oc),
      packed(static_cast<int64_t>(plan.packed_floats));
  const int64_t pieces = kernel.pack_pieces(plan);
  state.counters["GBs"] = best_rate(state, static_cast<double>(plan.packed_floats * sizeof(float)), [&] {
    kernel.pack(plan, kernel, {weights.data, bias.data}, packed.data, 0, pieces);
  });
}

void pack_matrix(benchmark::State& state, Isa isa, bool transposed) {
  const int64_t k = 768, n = 3072;
  const auto& kernels = terroir::cpu::matmul_kernels(isa);
  const int64_t panels = (n + kernels.panel - 1) / kernels.panel;
  const int64_t floats = panels * kernels.panel * k;
  const AlignedFloats b(k * n), packed(floats);
  state.counters["GBs"] = best_rate(state, static_cast<double>(floats) * sizeof(float), [&] {
    kernels.pack_b(b.data, transposed ? k : n, transposed, k, n, packed.data, 0, panels);
  });
}

const int packing_registered = [] {
  static const Family kFamilies[] = {{"first_7x7", problem(3, 64, 7)},
                                     {"1x1", problem(512, 2048, 1)},
                                     {"3x3", problem(512, 512, 3)},
                                     {"transposed_2x2", problem(1024, 512, 2, 1, true)},
                                     {"group_3x3", problem(1024, 1024, 3, 32)},
                                     {"depthwise_3x3", problem(960, 960, 3, 960)}};
  benchmark::RegisterBenchmark("pack/copy", copy);
  for (const Isa isa : terroir::cpu::available_isas()) {
    for (const Family& family : kFamilies) {
      const auto kernels = terroir::cpu::conv_kernels(isa);
      const auto fits = [&](const ConvKernel& k) { return !k.reject(family.problem, k); };
      const auto kernel = std::find_if(kernels.begin(), kernels.end(), fits);
      if (kernel == kernels.end()) continue;
      benchmark::RegisterBenchmark(
          (std::string("pack/conv_") + family.name + "/" + isa_name(isa)).c_str(),
          [&kernel = *kernel, &family](benchmark::State& state) { pack_convolution(state, kernel, family.problem); });
    }
    for (const bool transposed : {false, true})
      benchmark::RegisterBenchmark(
          (std::string("pack/matmul_") + (transposed ? "transposed/" : "plain/") + isa_name(isa)).c_str(),
          [isa, transposed](benchmark::State& state) { pack_matrix(state, isa, transposed); });
  }
  return 0;
}();

}  // namespace
