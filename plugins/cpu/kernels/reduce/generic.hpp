// What: reductions of one bucket. Contract: reduce.hpp. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/reduce/reduce.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct Add {
  static constexpr float kStart = 0.0f;
  TERROIR_INLINE_MEMBER static V take(V x) { return x; }
  TERROIR_INLINE_MEMBER static V join(V a, V b) { return a + b; }
  TERROIR_INLINE_MEMBER static float lanes(V a) { return reduce_add(a); }
};
struct AddAbs : Add {
  TERROIR_INLINE_MEMBER static V take(V x) { return abs(x); }
};
struct AddSquare : Add {
  TERROIR_INLINE_MEMBER static V take(V x) { return x * x; }
};
struct Largest {
  static constexpr float kStart = -__builtin_inff();
  TERROIR_INLINE_MEMBER static V take(V x) { return x; }
  TERROIR_INLINE_MEMBER static V join(V a, V b) { return max_nan(a, b); }
  TERROIR_INLINE_MEMBER static float lanes(V a) { return any(is_nan(a)) ? __builtin_nanf("") : reduce_max(a); }
};
struct Smallest {
  static constexpr float kStart = __builtin_inff();
  TERROIR_INLINE_MEMBER static V take(V x) { return x; }
  TERROIR_INLINE_MEMBER static V join(V a, V b) { return min_nan(a, b); }
  TERROIR_INLINE_MEMBER static float lanes(V a) { return any(is_nan(a)) ? __builtin_nanf("") : reduce_min(a); }
};
struct Product {
  static constexpr float kStart = 1.0f;
  TERROIR_INLINE_MEMBER static V take(V x) { return x; }
  TERROIR_INLINE_MEMBER static V join(V a, V b) { return a * b; }
  TERROIR_INLINE_MEMBER static float lanes(V a) {
    float x[kLanes];
    storeu(x, a);
    float product = x[0];
    for (int64_t i = 1; i < kLanes; ++i) product *= x[i];
    return product;
  }
};

// Lanes past the end of a row hold the neutral element, whatever the kind.
TERROIR_INLINE V tail_or(const float* p, int64_t n, float neutral) {
  float x[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) x[i] = i < n ? p[i] : neutral;
  return loadu(x);
}

template <typename Op>
TERROIR_INLINE float reduce_row(const float* p, int64_t n) {
  constexpr int kChains = 4;
  if (n == 0) return Op::kStart;
  const float neutral = Op::kStart;
  V acc[kChains];
  unroll<kChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = V(neutral); });
  int64_t i = 0;
  for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
    unroll<kChains>([&](auto j)
                        TERROIR_INLINE_LAMBDA { acc[j] = Op::join(acc[j], Op::take(loadu(p + i + j * kLanes))); });
  }
  for (; i + kLanes <= n; i += kLanes) acc[0] = Op::join(acc[0], Op::take(loadu(p + i)));
  if (i < n) acc[1] = Op::join(acc[1], Op::take(tail_or(p + i, n - i, neutral)));
  return Op::lanes(Op::join(Op::join(acc[0], acc[1]), Op::join(acc[2], acc[3])));
}

TERROIR_INLINE float finish(ReduceKind kind, float x, int64_t n) {
  if (kind == ReduceKind::mean) return x / static_cast<float>(n);
  if (kind == ReduceKind::l2) return __builtin_sqrtf(x);
  return x;
}

template <typename Op>
void reduce_rows_with(ReduceKind kind, const float* src, float* dst, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r) dst[r] = finish(kind, reduce_row<Op>(src + r * n, n), n);
}

void reduce_rows(ReduceKind kind, const float* src, float* dst, int64_t rows, int64_t n) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return reduce_rows_with<Add>(kind, src, dst, rows, n);
    case ReduceKind::max:
      return reduce_rows_with<Largest>(kind, src, dst, rows, n);
    case ReduceKind::min:
      return reduce_rows_with<Smallest>(kind, src, dst, rows, n);
    case ReduceKind::prod:
      return reduce_rows_with<Product>(kind, src, dst, rows, n);
    case ReduceKind::l1:
      return reduce_rows_with<AddAbs>(kind, src, dst, rows, n);
    case ReduceKind::l2:
    case ReduceKind::sum_square:
      return reduce_rows_with<AddSquare>(kind, src, dst, rows, n);
  }
}

// One vector of inner indices: chains over axis indices of equal remainder, joined in a fixed order.
template <typename Op, bool Whole>
TERROIR_INLINE V reduce_column(const float* p, int64_t axis, int64_t stride, Tail t) {
  constexpr int kChains = 4;
  const auto fetch = [&](int64_t i) TERROIR_INLINE_LAMBDA {
    if constexpr (kLanes > 4) __builtin_prefetch(p + i * stride + 4 * kLanes);  // other pages than those of neighbours
    return Whole ? loadu(p + i * stride) : load_tail(p + i * stride, t);
  };
  if (axis == 0) return V(Op::kStart);
  const V start(Op::kStart);
  V acc[kChains];
  unroll<kChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = start; });
  int64_t i = 0;
  for (; i + kChains <= axis; i += kChains) {
    unroll<kChains>([&](auto j) TERROIR_INLINE_LAMBDA { acc[j] = Op::join(acc[j], Op::take(fetch(i + j))); });
  }
  for (; i < axis; ++i) acc[0] = Op::join(acc[0], Op::take(fetch(i)));
  return Op::join(Op::join(acc[0], acc[1]), Op::join(acc[2], acc[3]));
}

template <typename Op>
void reduce_middle_with(ReduceKind kind, const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner,
                        int64_t inner_begin, int64_t inner_end) {
  const V n(static_cast<float>(axis));
  const auto finished = [&](V x) TERROIR_INLINE_LAMBDA {
    if (kind == ReduceKind::mean) return x / n;
    if (kind == ReduceKind::l2) return sqrt(x);
    return x;
  };
  for (int64_t o = 0; o < outer; ++o) {
    const float* in = src + o * axis * inner;
    float* out = dst + o * inner;
    int64_t i = inner_begin;
    for (; i + kLanes <= inner_end; i += kLanes) {
      storeu(out + i, finished(reduce_column<Op, true>(in + i, axis, inner, Tail{})));
    }
    if (i < inner_end) {
      const Tail t = tail(inner_end - i);
      store_tail(out + i, finished(reduce_column<Op, false>(in + i, axis, inner, t)), t);
    }
  }
}

void reduce_middle(ReduceKind kind, const float* src, float* dst, int64_t outer, int64_t axis, int64_t inner,
                   int64_t inner_begin, int64_t inner_end) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
      return reduce_middle_with<Add>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
    case ReduceKind::max:
      return reduce_middle_with<Largest>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
    case ReduceKind::min:
      return reduce_middle_with<Smallest>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
    case ReduceKind::prod:
      return reduce_middle_with<Product>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
    case ReduceKind::l1:
      return reduce_middle_with<AddAbs>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
    case ReduceKind::l2:
    case ReduceKind::sum_square:
      return reduce_middle_with<AddSquare>(kind, src, dst, outer, axis, inner, inner_begin, inner_end);
  }
}

}  // namespace

const ReduceKernels& reduce_table() {
  static constexpr ReduceKernels kTable = {&reduce_rows, &reduce_middle};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
