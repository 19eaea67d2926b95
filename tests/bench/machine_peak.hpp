// What this machine can do, measured in the same run as the kernels: multiply-add throughput of one core per bucket,
// that of products of bytes and of numbers of bf16, and copy bandwidth. Frequencies differ between runs and neighbours;
// ratios to these figures do not.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "plugins/cpu/isa.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace terroir::bench {

// Of this thread on a processor, not of the clock on the wall: neighbours that take the processor do not count.
inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each loop keeps enough independent chains to hide the latency; returns operations done. The empty asm stops the
// compiler from folding iterations.
#if defined(__x86_64__)
__attribute__((target("avx512f"), noinline)) inline double fma_loop_avx512(int64_t n) {
  __m512 acc[16];
  for (auto& a : acc) a = _mm512_set1_ps(0.0f);
  __m512 x = _mm512_set1_ps(1e-9f);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
    for (auto& a : acc) a = _mm512_fmadd_ps(x, x, a);
    __asm__ volatile("" : "+v"(x));
  }
  for (auto& a : acc) __asm__ volatile("" ::"v"(a));
  return 2.0 * 16 * 16 * static_cast<double>(n);
}
__attribute__((target("avx2,fma"), noinline)) inline double fma_loop_avx2(int64_t n) {
  __m256 acc[12];
  for (auto& a : acc) a = _mm256_set1_ps(0.0f);
  __m256 x = _mm256_set1_ps(1e-9f);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
    for (auto& a : acc) a = _mm256_fmadd_ps(x, x, a);
    __asm__ volatile("" : "+x"(x));
  }
  for (auto& a : acc) __asm__ volatile("" ::"x"(a));
  return 2.0 * 8 * 12 * static_cast<double>(n);
}
#endif
// No fused operation: a multiplication and an addition per element.
__attribute__((noinline)) inline double mul_add_loop(int64_t n) {
  typedef float F4 __attribute__((vector_size(16)));
  F4 acc[10] = {};
  F4 x = {1e-9f, 1e-9f, 1e-9f, 1e-9f};
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 10
    for (auto& a : acc) {
      F4 product = x * x;
#if defined(__x86_64__)
      __asm__ volatile("" : "+x"(product));
#endif
      a += product;
    }
  }
  F4 sum = acc[0];
  for (const auto& a : acc) sum += a;
  volatile float sink = sum[0];
  (void)sink;
  return 2.0 * 4 * 10 * static_cast<double>(n);
}

inline double peak_flops_once(cpu::Isa isa, int64_t iterations = 400000) {
  const double start = seconds_now();
  double flops = 0;
  switch (isa) {
#if defined(__x86_64__)
    case cpu::Isa::avx512:
      flops = fma_loop_avx512(iterations);
      break;
    case cpu::Isa::avx2:
      flops = fma_loop_avx2(iterations);
      break;
#endif
    default:
      flops = mul_add_loop(iterations);
  }
  return flops / (seconds_now() - start);
}

#if defined(__x86_64__)
// Sums of two products of numbers of 16 bits to a lane.
__attribute__((target("avx2"), noinline)) inline double byte_loop_avx2(int64_t n) {
  __m256i acc[12];
  for (auto& a : acc) a = _mm256_setzero_si256();
  __m256i x = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
    for (auto& a : acc) {
      // Of equal products compilers would compute one, and exchange the roles of sums.
      __m256i sum = a, product;
      __asm__("vpmaddwd %2, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(x));
      a = sum;
    }
  }
  for (auto& a : acc) __asm__ volatile("" ::"x"(a));
  return 2.0 * 16 * 12 * static_cast<double>(n);
}
// Sums of four products of bytes to a lane.
__attribute__((target("avx512f,avx512vnni"), noinline)) inline double byte_loop_vnni(int64_t n) {
  __m512i acc[16];
  for (auto& a : acc) a = _mm512_setzero_si512();
  __m512i x = _mm512_set1_epi8(1);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
    for (auto& a : acc) a = _mm512_dpbusd_epi32(a, x, x);
    __asm__ volatile("" : "+v"(x));
  }
  for (auto& a : acc) __asm__ volatile("" ::"v"(a));
  return 2.0 * 64 * 16 * static_cast<double>(n);
}
__attribute__((target("avx2"), noinline)) inline double byte_loop_avx_vnni(int64_t n) {
  __m256i acc[12];
  for (auto& a : acc) a = _mm256_setzero_si256();
  __m256i x = _mm256_set1_epi8(1);
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 12
    for (auto& a : acc) {
      __m256i sum = a;
      __asm__("%{vex%} vpdpbusd %1, %1, %0" : "+x"(sum) : "x"(x));
      a = sum;
    }
  }
  for (auto& a : acc) __asm__ volatile("" ::"x"(a));
  return 2.0 * 32 * 12 * static_cast<double>(n);
}
// Sums of two products of numbers of bf16 to a lane.
__attribute__((target("avx512f,avx512bf16"), noinline)) inline double bf16_loop(int64_t n) {
  __m512 acc[16];
  for (auto& a : acc) a = _mm512_setzero_ps();
  __m512i x = _mm512_set1_epi16(0x3080);  // 2^-30
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 16
    for (auto& a : acc) a = _mm512_dpbf16_ps(a, (__m512bh)x, (__m512bh)x);
    __asm__ volatile("" : "+v"(x));
  }
  for (auto& a : acc) __asm__ volatile("" ::"v"(a));
  return 2.0 * 32 * 16 * static_cast<double>(n);
}
// Of 64 bytes, or 32 numbers of bf16, to each of 16 x 16 sums, in four tiles: more than the latency of one. The process
// may use tiles.
template <bool bf16>
__attribute__((target("amx-tile,amx-int8,amx-bf16"), noinline)) double tile_loop(int64_t n) {
  struct alignas(64) Shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  };
  static const Shapes shapes = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  // To g++ the word for it reads a pointer's worth of bytes: the others, too, must be in memory.
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (bf16) {
      _tile_dpbf16ps(0, 4, 5);
      _tile_dpbf16ps(1, 4, 5);
      _tile_dpbf16ps(2, 4, 5);
      _tile_dpbf16ps(3, 4, 5);
    } else {
      _tile_dpbusd(0, 4, 5);
      _tile_dpbusd(1, 4, 5);
      _tile_dpbusd(2, 4, 5);
      _tile_dpbusd(3, 4, 5);
    }
  }
  _tile_release();
  return 2.0 * 4 * 16 * 16 * (bf16 ? 32 : 64) * static_cast<double>(n);
}
#endif

// `iterations`: about as much time as those of peak_flops_once. Zero where there are none.
inline double peak_narrow_once(cpu::ByteProducts products, bool bf16, int64_t iterations) {
  const double start = seconds_now();
  double operations = 0;
#if defined(__x86_64__)
  constexpr int64_t kSlower = 8;  // an iteration in tiles
  if (products == cpu::ByteProducts::avx2 && !bf16) operations = byte_loop_avx2(iterations);
  if (products == cpu::ByteProducts::avx2_vnni && !bf16) operations = byte_loop_avx_vnni(iterations);
  if (products == cpu::ByteProducts::avx512_vnni && !bf16) operations = byte_loop_vnni(iterations);
  if (products == cpu::ByteProducts::avx512_bf16)
    operations = bf16 ? bf16_loop(iterations) : byte_loop_vnni(iterations);
  if (products == cpu::ByteProducts::avx512_amx)
    operations = bf16 ? tile_loop<true>(iterations / kSlower) : tile_loop<false>(iterations / kSlower);
#else
  (void)products, (void)bf16, (void)iterations;
#endif
  return operations / (seconds_now() - start);
}

// Best of several: interruptions only ever lower a figure.
inline double peak_flops(cpu::Isa isa) {
  double best = 0;
  for (int i = 0; i < 15; ++i) best = std::max(best, peak_flops_once(isa));
  return best;
}

// Divisions of f64 per second, in the widest vectors there are.
#if defined(__x86_64__)
template <class D>
__attribute__((always_inline)) inline double divide_loop(int64_t n) {
  D x[8];
  for (D& value : x) value = D{} + 1.0;
  D divisor = D{} + 1.0000001;
  for (int64_t i = 0; i < n; ++i) {
    for (D& value : x) value /= divisor;
    __asm__ volatile("" : "+x"(divisor));
  }
  for (D& value : x) __asm__ volatile("" ::"x"(value));
  return 8.0 * sizeof(D) / sizeof(double) * static_cast<double>(n);
}
typedef double Doubles8 __attribute__((vector_size(64)));
typedef double Doubles4 __attribute__((vector_size(32)));
typedef double Doubles2 __attribute__((vector_size(16)));
__attribute__((target("avx512f"), noinline)) inline double divide_avx512(int64_t n) { return divide_loop<Doubles8>(n); }
__attribute__((target("avx2"), noinline)) inline double divide_avx2(int64_t n) { return divide_loop<Doubles4>(n); }
__attribute__((noinline)) inline double divide_sse(int64_t n) { return divide_loop<Doubles2>(n); }

inline double divisions_once(cpu::Isa isa, int64_t iterations) {
  const double start = seconds_now();
  const double done = isa == cpu::Isa::avx512 ? divide_avx512(iterations)
                      : isa == cpu::Isa::avx2 ? divide_avx2(iterations)
                                              : divide_sse(iterations);
  return done / (seconds_now() - start);
}
#endif

// Steps per second: two loads and four operations on integers, what a core issues in one cycle. A core whose other
// thread somebody else uses issues less, though its clock is the same.
inline double step_rate_once(int64_t iterations) {
  constexpr int kUnrolled = 8;
  alignas(64) int64_t first[kUnrolled] = {}, second[kUnrolled] = {};
  int64_t a = 0, b = 0, c = 0, d = 0;
  const double start = seconds_now();
  for (int64_t k = 0; k < iterations; ++k) {
#pragma GCC unroll 8
    for (int j = 0; j < kUnrolled; ++j) {
      __asm__ volatile("" ::: "memory");
      a += first[j];
      b ^= second[j];
      c += k;
      d ^= k;
      __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
  }
  const double seconds = seconds_now() - start;
  __asm__ volatile("" ::"r"(first), "r"(second) : "memory");
  return kUnrolled * static_cast<double>(iterations) / seconds;
}

// Bytes read and written per second by memcpy over arrays larger than the last private cache.
inline double copy_bandwidth() {
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(32 << 20, 4 * cpu::cache_sizes().l2));
  std::vector<char> source(bytes, 1), target(bytes, 2);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const double start = seconds_now();
    std::memcpy(target.data(), source.data(), bytes);
    best = std::max(best, 2.0 * static_cast<double>(bytes) / (seconds_now() - start));
  }
  return best;
}

}  // namespace terroir::bench
