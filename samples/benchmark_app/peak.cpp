// The multiply-add rate of the machine.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "benchmark_app/machine.hpp"

namespace benchmark_app {
namespace {

constexpr int kSlices = 25;
constexpr double kSliceSeconds = 1e-3;

/// Of this thread on a processor.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The value of a vector may be anything from here on, for the compiler.
#if defined(__x86_64__)
#define BENCHMARK_APP_HIDE(value) __asm__ volatile("" : "+v"(value))
#else
#define BENCHMARK_APP_HIDE(value) __asm__ volatile("" : "+m"(value))
#endif

/// Independent chains of c * a + a, more than latency times throughput of any processor; the compiler contracts product
/// and sum where the target has one instruction for them. Returns operations done.
template <size_t lanes, size_t chains>
[[gnu::always_inline]] inline double run_chains(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(4 * lanes)));
  Vector sums[chains] = {};
#pragma GCC unroll 16
  for (size_t c = 0; c < chains; ++c) BENCHMARK_APP_HIDE(sums[c]);
  Vector factor = Vector{} + 1e-9f;
  for (int64_t i = 0; i < rounds; ++i) {
    BENCHMARK_APP_HIDE(factor);
#pragma GCC unroll 16
    for (size_t c = 0; c < chains; ++c) sums[c] = sums[c] * factor + factor;
  }
#pragma GCC unroll 16
  for (size_t c = 0; c < chains; ++c) BENCHMARK_APP_HIDE(sums[c]);
  return 2.0 * lanes * chains * static_cast<double>(rounds);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) double rounds_avx512(int64_t rounds) { return run_chains<16, 16>(rounds); }
__attribute__((target("avx2,fma"), noinline)) double rounds_avx2(int64_t rounds) { return run_chains<8, 12>(rounds); }
#endif
__attribute__((noinline)) double rounds_baseline(int64_t rounds) { return run_chains<4, 12>(rounds); }

using Rounds = double (*)(int64_t);

Rounds widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return rounds_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return rounds_avx2;
#endif
  return rounds_baseline;
}

/// Of one thread: the best of some slices, since interruptions only ever lower a figure.
double best_rate(Rounds rounds) {
  int64_t count = 1000;
  double best = 0;
  for (int slice = 0; slice < kSlices;) {
    const double start = processor_seconds();
    const double operations = rounds(count);
    const double seconds = processor_seconds() - start;
    if (seconds < kSliceSeconds / 2) {
      count *= 2;
      continue;
    }
    best = std::max(best, operations / seconds);
    ++slice;
  }
  return best;
}

}  // namespace

double measure_peak_flops(unsigned threads) {
  const Rounds rounds = widest();
  std::vector<double> rates(std::max(1u, threads));
  std::vector<std::thread> others;
  for (size_t i = 1; i < rates.size(); ++i) others.emplace_back([&, i] { rates[i] = best_rate(rounds); });
  rates[0] = best_rate(rounds);
  for (std::thread& thread : others) thread.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace benchmark_app
