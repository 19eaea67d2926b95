// What: softmax of one bucket. Contract: softmax.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "plugins/cpu/simd/math.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr float kZeros[16] = {};
constexpr float kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TERROIR_INLINE V share_of_sink(const float* sink, V peak) {
  return sink != nullptr ? keep(exp_normal(V(*sink) - peak), tail(1)) : zero();
}

// Of less than a vector.
TERROIR_NOINLINE void softmax_part(const float* src, float* dst, int64_t n, V scale, const float* mask,
                                   const float* sink, bool log_form) {
  const Tail t = tail(n);
  const V x = fma(load_tail(src, t), scale, load_tail(mask, t));
  float elements[kLanes];
  storeu(elements, x);
  float top = sink != nullptr ? *sink : elements[0];
  for (int64_t i = 0; i < n; ++i) top = elements[i] > top ? elements[i] : top;
  const V peak(top), e = exp_normal(x - peak), total(reduce_add(share_of_sink(sink, peak) + keep(e, t)));
  store_tail(dst, log_form ? x - peak - log(total) : e / total, t);
}

// All forms in one loop. The last vector of a row ends where the row does and stays in a register: where it overlaps
// the one before it, both have the same values. A load that met a masked store would wait until that is in the cache,
// longer than all of a short row.
TERROIR_NOINLINE void softmax_of(const ScoreArgs& a, const float* src, bool log_form) {
  float* dst = a.scores;
  const V scale(a.scale);
  const float *mask = a.mask != nullptr ? a.mask : kZeros, *sink = a.sink;
  const int64_t mask_step = a.mask != nullptr ? 1 : 0, mask_stride = mask_step * a.mask_stride;
  const int64_t rows = a.rows, n = a.n, stride = a.stride, sink_stride = a.sink_stride;
  const int64_t first_visible = a.first_visible < 0 ? n : a.first_visible, more = a.first_visible < 0 ? 0 : 1;
  float unused[kLanes];  // where exponentials go of which the sum is all that is wanted
  for (int64_t r = 0; r < rows; ++r, src += stride, dst += stride, mask += mask_stride) {
    const int64_t visible = first_visible + more * r > n ? n : first_visible + more * r;
    const int64_t end = visible - kLanes, body = (visible - 1) / kLanes * kLanes;
    if (end < 0) {
      softmax_part(src, dst, visible, scale, mask, sink, log_form);
    } else {
      const auto at = [&](int64_t i)
                          TERROIR_INLINE_LAMBDA { return fma(loadu(src + i), scale, loadu(mask + i * mask_step)); };
      const V last = at(end);
      V top = last;
      for (int64_t i = 0; i < body; i += kLanes) {
        const V x = at(i);
        storeu(dst + i, x);
        top = max(top, x);
      }
      const float largest = reduce_max(top);
      const V peak(sink != nullptr && *sink > largest ? *sink : largest);
      const V e = exp_normal(last - peak);
      // In the lanes that the vector before has as well: 0.
      const V share = select(loadu(kNumbers) >= V(static_cast<float>(body - end)), V(1.0f), zero());
      V sum = fma(e, share, share_of_sink(sink, peak));
      float* const out = log_form ? unused : dst;
      const int64_t out_step = log_form ? 0 : 1;
      for (int64_t i = 0; i < body; i += kLanes) {
        const V y = exp_normal(loadu(dst + i) - peak);
        sum = sum + y;
        storeu(out + i * out_step, y);
      }
      const V total(reduce_add(sum));
      if (log_form) {
        const V less = log(total);
        for (int64_t i = 0; i < body; i += kLanes) storeu(dst + i, loadu(dst + i) - peak - less);
        storeu(dst + end, last - peak - less);
      } else {
        const V factor = V(1.0f) / total;
        for (int64_t i = 0; i < body; i += kLanes) storeu(dst + i, loadu(dst + i) * factor);
        storeu(dst + end, e * factor);
      }
    }
    int64_t i = visible;
    for (; i + kLanes <= n; i += kLanes) storeu(dst + i, zero());
    if (i < n) store_n(dst + i, zero(), n - i);
    if (sink != nullptr) sink += sink_stride;
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
  ScoreArgs all;
  all.scores = dst;
  all.stride = all.n = n;
  all.rows = rows;
  softmax_of(all, src, log_form);
}

void softmax_scores(const ScoreArgs& args) { softmax_of(args, args.scores, false); }

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
