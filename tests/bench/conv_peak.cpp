#include <algorithm>
#include <ctime>

#include "tests/bench/peak.hpp"

namespace terroir::bench {
namespace {

typedef float F4 __attribute__((vector_size(16)));
typedef float F8 __attribute__((vector_size(32)));
typedef float F16 __attribute__((vector_size(64)));

// Enough chains to hide the latency, few enough to stay in registers.
#define TERROIR_PEAK(name, features, type, chains, contract)                                                 \
  __attribute__((target(features), optimize("fp-contract=" contract), noinline)) double name(int64_t rounds, \
                                                                                             float* sink) {  \
    type acc[chains];                                                                                        \
    for (auto& a : acc) a = type{} + sink[0];                                                                \
    const type b = type{} + sink[1], c = type{} + sink[2];                                                   \
    for (int64_t i = 0; i < rounds; ++i) {                                                                   \
      _Pragma("GCC unroll 24") for (int j = 0; j < chains; ++j) acc[j] = acc[j] * b + c;                     \
    }                                                                                                        \
    type sum{};                                                                                              \
    for (auto& a : acc) sum += a;                                                                            \
    sink[3] = sum[0];                                                                                        \
    return static_cast<double>(rounds) * chains * 2.0 * (sizeof(type) / sizeof(float));                      \
  }

TERROIR_PEAK(flops_sse, "sse4.2", F4, 12, "off")
TERROIR_PEAK(flops_avx2, "avx2,fma", F8, 12, "fast")
TERROIR_PEAK(flops_avx512, "avx512f,fma,prefer-vector-width=512", F16, 24, "fast")

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

double peak_gflops(cpu::Isa isa) {
  auto* run = isa == cpu::Isa::avx512 ? flops_avx512 : isa == cpu::Isa::avx2 ? flops_avx2 : flops_sse;
  float sink[4] = {1.0f, 0.999f, 1e-3f, 0.0f};
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double start = cpu_seconds();
    const double flops = run(2000000, sink);
    best = std::max(best, flops / (cpu_seconds() - start));
  }
  return best * 1e-9;
}

}  // namespace terroir::bench
