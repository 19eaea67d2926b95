// What: softmax of one bucket. Contract: softmax.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "plugins/cpu/simd/math.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_INLINE float peak_of(const float* src, int64_t n) {
  const int64_t body = n / kLanes * kLanes;
  V top(src[0]);
  for (int64_t i = 0; i < body; i += kLanes) top = max(top, loadu(src + i));
  float peak = reduce_max(top);
  for (int64_t i = body; i < n; ++i) peak = src[i] > peak ? src[i] : peak;
  return peak;
}

// With the largest element known. `sum`: what is there beside the row.
TERROIR_INLINE void softmax_row(const float* src, float* dst, int64_t n, float peak, bool log_form, V sum = zero()) {
  const int64_t body = n / kLanes * kLanes;
  const Tail t = tail(n - body);
  const V shift(peak);
  for (int64_t i = 0; i < body; i += kLanes) {
    const V e = exp_normal(loadu(src + i) - shift);
    sum = sum + e;
    if (!log_form) storeu(dst + i, e);
  }
  if (body < n) {
    const V e = exp_normal(load_tail(src + body, t) - shift);
    sum = sum + keep(e, t);
    if (!log_form) store_tail(dst + body, e, t);
  }
  const V total(reduce_add(sum));
  if (log_form) {
    const V log_total = log(total);
    for (int64_t i = 0; i < body; i += kLanes) storeu(dst + i, loadu(src + i) - shift - log_total);
    if (body < n) store_tail(dst + body, load_tail(src + body, t) - shift - log_total, t);
  } else {
    const V factor = V(1.0f) / total;
    for (int64_t i = 0; i < body; i += kLanes) storeu(dst + i, loadu(dst + i) * factor);
    if (body < n) store_tail(dst + body, load_tail(dst + body, t) * factor, t);
  }
}

#if defined(__AVX2__)
#if defined(__AVX512F__)
TERROIR_INLINE V permuted(V v, VI index) { return V(_mm512_permutexvar_ps(index, v)); }
#else
TERROIR_INLINE V permuted(V v, VI index) { return V(_mm256_permutevar8x32_ps(v, index)); }
#endif

// Rows of less than one vector, as many at once as fit with the lanes of each a power of two. The largest of a row and
// its sum arise by exchange with the lane 1, 2, 4 ... away, in the same order wherever the row lies.
TERROIR_NOINLINE void softmax_short_rows(const float* src, float* dst, int64_t rows, int64_t n, int32_t log_form) {
  static constexpr float kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  int32_t span = 1;
  while (span < n) span *= 2;
  const V lane = loadu(kNumbers), length(static_cast<float>(n)), width(static_cast<float>(span)), one(1.0f);
  const V group = floor(lane / width), at = lane - group * width, row = floor(lane / length);
  // The spare lanes of a row repeat its last element, which changes no maximum.
  const VI place = to_int(group * length + min(at, length - one)), origin = to_int(row * width + lane - row * length);
  const VI number = to_int(lane);
  const V share = select(at < length, one, zero());
  const int64_t step = kLanes / span * n, size = rows * n;
  for (int64_t i = 0; i < size; i += step) {
    const Tail t = tail(size - i < step ? size - i : step);
    V x = permuted(load_tail(src + i, t), place), peak = x;
    for (int32_t away = 1; away < span; away *= 2) peak = max(peak, permuted(peak, number ^ VI(away)));
    x = x - peak;
    const V e = exp_normal(x);
    V sum = e * share;
    for (int32_t away = 1; away < span; away *= 2) sum = sum + permuted(sum, number ^ VI(away));
    __asm__("" : "+r"(log_form));  // else there would be two loops
    const V y = log_form != 0 ? x - log(sum) : e * (one / sum);
    store_tail(dst + i, permuted(y, origin), t);
  }
}
#endif

void softmax_rows(const float* src, float* dst, int64_t rows, int64_t n, bool log_form) {
  if (n == 0) return;
#if defined(__AVX2__)
  if (n < kLanes) return softmax_short_rows(src, dst, rows, n, log_form);
#endif
  for (int64_t r = 0; r < rows; ++r) softmax_row(src + r * n, dst + r * n, n, peak_of(src + r * n, n), log_form);
}

// x * scale + mask over a row, in place; the largest result.
template <bool Masked>
TERROIR_INLINE float scale_row(float* row, int64_t n, V scale, const float* mask) {
  const int64_t body = n / kLanes * kLanes;
  V top(-__builtin_inff());
  for (int64_t i = 0; i < body; i += kLanes) {
    const V y = Masked ? fma(loadu(row + i), scale, loadu(mask + i)) : loadu(row + i) * scale;
    storeu(row + i, y);
    top = max(top, y);
  }
  if (body < n) {
    const Tail t = tail(n - body);
    const V x = load_tail(row + body, t);
    const V y = Masked ? fma(x, scale, load_tail(mask + body, t)) : x * scale;
    store_tail(row + body, y, t);
  }
  float peak = reduce_max(top);
  for (int64_t i = body; i < n; ++i) peak = row[i] > peak ? row[i] : peak;
  return peak;
}

void softmax_scores(const ScoreArgs& args) {
  const V scale(args.scale);
  for (int64_t r = 0; r < args.rows; ++r) {
    float* row = args.scores + r * args.stride;
    const int64_t visible = args.first_visible < 0 || args.first_visible + r > args.n ? args.n : args.first_visible + r;
    float peak = args.mask != nullptr ? scale_row<true>(row, visible, scale, args.mask + r * args.mask_stride)
                                      : scale_row<false>(row, visible, scale, nullptr);
    V sum = zero();
    if (args.sink != nullptr) {
      const float sink = args.sink[r * args.sink_stride];
      peak = sink > peak ? sink : peak;
      sum = keep(exp_normal(V(sink) - V(peak)), tail(1));
    }
    softmax_row(row, row, visible, peak, false, sum);
    int64_t i = visible;
    for (; i + kLanes <= args.n; i += kLanes) storeu(row + i, zero());
    if (i < args.n) store_n(row + i, zero(), args.n - i);
  }
}

// Elements of so long an axis wait next to each other from one reading to the next. Where they lie they would evict
// each other: an axis in front of a power of two has all of its elements in one set of every cache.
constexpr int64_t kNearAxis = 256;

template <bool Whole>
TERROIR_INLINE void softmax_column(const float* src, float* dst, int64_t axis, int64_t stride, Tail t, bool log_form) {
  const auto fetch = [&](const float* p) TERROIR_INLINE_LAMBDA { return Whole ? loadu(p) : load_tail(p, t); };
  const auto put = [&](float* p, V v) TERROIR_INLINE_LAMBDA {
    if (Whole) {
      storeu(p, v);
    } else {
      store_tail(p, v, t);
    }
  };
  alignas(64) float near[kNearAxis * kLanes];
  float* const work = axis <= kNearAxis ? near : dst;
  const int64_t step = axis <= kNearAxis ? kLanes : stride;
  V peak = fetch(src);
  for (int64_t i = 0; i < axis; ++i) {
    const V x = fetch(src + i * stride);
    __builtin_prefetch(src + i * stride + kLanes);
    __builtin_prefetch(dst + i * stride, 1);
    put(work + i * step, x);
    peak = max(peak, x);
  }
  V sum = zero();
  for (int64_t i = 0; i < axis; ++i) {
    const V x = fetch(work + i * step) - peak, e = exp_normal(x);
    sum = sum + e;
    put(work + i * step, log_form ? x : e);
  }
  const V last = log_form ? log(sum) : V(1.0f) / sum;
  for (int64_t i = 0; i < axis; ++i) {
    const V x = fetch(work + i * step);
    put(dst + i * stride, log_form ? x - last : x * last);
  }
}

void softmax_middle(const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner, int64_t inner_begin,
                    int64_t inner_end, bool log_form) {
  if (axis == 0) return;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t base = o * axis * inner;
    int64_t i = inner_begin;
    for (; i + kLanes <= inner_end; i += kLanes) {
      softmax_column<true>(src + base + i, dst + base + i, axis, inner, Tail{}, log_form);
    }
    if (i < inner_end) {
      softmax_column<false>(src + base + i, dst + base + i, axis, inner, tail(inner_end - i), log_form);
    }
  }
}

}  // namespace

const SoftmaxKernels& softmax_table() {
  static constexpr SoftmaxKernels kTable = {&softmax_rows, &softmax_middle, &softmax_scores};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
