// What: the stages of a transform. Numbers lie in two arrays of rows, `b` lines side by side; see fft.hpp.
#pragma once

#include "plugins/cpu/kernels/fft/fft.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// The greatest radix of a stage; lengths with greater prime factors are convolutions.
constexpr int kMostRadix = 47;

struct Planes {
  float *re, *im;
};

struct C {
  V re, im;
};
TERROIR_INLINE C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }
TERROIR_INLINE C operator-(C a, C b) { return {a.re - b.re, a.im - b.im}; }
TERROIR_INLINE C times(C x, V re, V im) { return {fms(x.re, re, x.im * im), fma(x.re, im, x.im * re)}; }
// a - i b, and a + i b.
TERROIR_INLINE C minus_i(C a, C b) { return {a.re + b.im, a.im - b.re}; }
TERROIR_INLINE C plus_i(C a, C b) { return {a.re - b.im, a.im + b.re}; }

// One vector of the rows of a butterfly.
template <bool Whole>
struct Butterfly {
  const float *re, *im;       // row 0
  float *out_re, *out_im;     // row 0
  int64_t in_step, out_step;  // between rows
  const float* twiddles;
  Tail t;

  TERROIR_INLINE_MEMBER C in(int64_t j) const {
    const float *r = re + j * in_step, *i = im + j * in_step;
    return Whole ? C{loadu(r), loadu(i)} : C{load_tail(r, t), load_tail(i, t)};
  }
  TERROIR_INLINE_MEMBER void out(int64_t k, C x) const {
    if (k > 0) x = times(x, V(twiddles[2 * k - 2]), V(twiddles[2 * k - 1]));
    float *r = out_re + k * out_step, *i = out_im + k * out_step;
    if (Whole) {
      storeu(r, x.re);
      storeu(i, x.im);
    } else {
      store_tail(r, x.re, t);
      store_tail(i, x.im, t);
    }
  }
};

template <typename B>
TERROIR_INLINE void butterfly_2(const B& b) {
  const C x = b.in(0), y = b.in(1);
  b.out(0, x + y);
  b.out(1, x - y);
}

// Results k of the transform of four numbers, to out(First + Step k).
template <int First, int Step, typename B>
TERROIR_INLINE void four(const B& b, C x0, C x1, C x2, C x3) {
  const C even = x0 + x2, odd = x1 + x3, even_less = x0 - x2, odd_less = x1 - x3;
  b.out(First, even + odd);
  b.out(First + Step, minus_i(even_less, odd_less));
  b.out(First + 2 * Step, even - odd);
  b.out(First + 3 * Step, plus_i(even_less, odd_less));
}

template <typename B>
TERROIR_INLINE void butterfly_4(const B& b) {
  four<0, 1>(b, b.in(0), b.in(1), b.in(2), b.in(3));
}

// Sums of numbers j and j + 4 make the even results, their differences turned by j eighths the odd ones.
template <typename B>
TERROIR_INLINE void butterfly_8(const B& b) {
  const V root(0.70710678f);
  C sum[4], less[4];
  unroll<4>([&](auto j) TERROIR_INLINE_LAMBDA {
    const C low = b.in(j), high = b.in(j + 4);
    sum[j] = low + high;
    less[j] = low - high;
  });
  four<0, 2>(b, sum[0], sum[1], sum[2], sum[3]);
  const C one = {root * (less[1].re + less[1].im), root * (less[1].im - less[1].re)};
  const C two = {less[2].im, zero() - less[2].re};
  const C three = {root * (less[3].im - less[3].re), zero() - root * (less[3].re + less[3].im)};
  four<1, 2>(b, less[0], one, two, three);
}

// Numbers j and r - j meet in their sum, with cosines, and in their difference, with sines. R = 0: any odd radix.
template <int R, typename B>
TERROIR_INLINE void butterfly_odd(const B& b, const float* roots, int64_t radix) {
  constexpr int kHalf = (R == 0 ? kMostRadix : R) / 2;
  const int64_t r = R == 0 ? radix : R, half = r / 2;
  C sum[kHalf], less[kHalf];
  const C first = b.in(0);
  C total = first;
  for (int64_t j = 0; j < half; ++j) {
    const C low = b.in(j + 1), high = b.in(r - 1 - j);
    sum[j] = low + high;
    less[j] = low - high;
    total = total + sum[j];
  }
  b.out(0, total);
  for (int64_t k = 1; k <= half; ++k) {
    C even = first, odd = {zero(), zero()};
    for (int64_t j = 0; j < half; ++j) {
      const int64_t at = (j + 1) * k % r;
      const V cosine(roots[2 * at]), sine(roots[2 * at + 1]);
      even = {fma(cosine, sum[j].re, even.re), fma(cosine, sum[j].im, even.im)};
      odd = {fma(sine, less[j].re, odd.re), fma(sine, less[j].im, odd.im)};
    }
    b.out(k, minus_i(even, odd));
    b.out(r - k, plus_i(even, odd));
  }
}

template <int R, bool Whole>
TERROIR_INLINE void butterfly(const FftStage& s, const Butterfly<Whole>& b) {
  if constexpr (R == 2) {
    butterfly_2(b);
  } else if constexpr (R == 4) {
    butterfly_4(b);
  } else if constexpr (R == 8) {
    butterfly_8(b);
  } else {
    butterfly_odd<R>(b, s.roots, s.radix);
  }
}

template <int R>
void run_stage(const FftStage& s, Planes from, Planes to, int64_t b) {
  const int64_t groups = s.length / s.radix, row = s.side * b;
  for (int64_t p = 0; p < groups; ++p) {
    const float *re = from.re + p * row, *im = from.im + p * row;
    float *out_re = to.re + p * s.radix * row, *out_im = to.im + p * s.radix * row;
    const float* twiddles = s.twiddles + p * (s.radix - 1) * 2;
    int64_t q = 0;
    for (; q + kLanes <= row; q += kLanes)
      butterfly<R>(s, Butterfly<true>{re + q, im + q, out_re + q, out_im + q, groups * row, row, twiddles, Tail{}});
    if (q < row)
      butterfly<R>(
          s, Butterfly<false>{re + q, im + q, out_re + q, out_im + q, groups * row, row, twiddles, tail(row - q)});
  }
}

// Leaves the result in one of the two; returns it, and the other in `spare`.
TERROIR_NOINLINE Planes run_stages(const FftPlan& plan, Planes data, Planes& spare, int64_t b) {
  for (int64_t i = 0; i < plan.n_stages; ++i) {
    const FftStage& s = plan.stages[i];
    switch (s.radix) {
      case 2:
        run_stage<2>(s, data, spare, b);
        break;
      case 4:
        run_stage<4>(s, data, spare, b);
        break;
      case 8:
        run_stage<8>(s, data, spare, b);
        break;
#if defined(__AVX2__)  // the buckets below have one for all odd radices
      case 3:
        run_stage<3>(s, data, spare, b);
        break;
      case 5:
        run_stage<5>(s, data, spare, b);
        break;
#endif
      default:
        run_stage<0>(s, data, spare, b);
    }
    const Planes done = spare;
    spare = data;
    data = done;
  }
  return data;
}

// Row i of n is multiplied by factor i, a pair.
TERROIR_NOINLINE void multiply_rows(Planes data, const float* factors, int64_t n, int64_t b) {
  for (int64_t i = 0; i < n; ++i) {
    const V re(factors[2 * i]), im(factors[2 * i + 1]);
    for (int64_t at = i * b; at < (i + 1) * b; at += kLanes) {
      const Tail t = tail((i + 1) * b - at < kLanes ? (i + 1) * b - at : kLanes);
      const C x = times({load_tail(data.re + at, t), load_tail(data.im + at, t)}, re, im);
      store_tail(data.re + at, x.re, t);
      store_tail(data.im + at, x.im, t);
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
