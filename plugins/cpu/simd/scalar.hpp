// What: the baseline bucket, for any processor: the words of batch.hpp on arrays of 4 floats, which the compiler puts
// in whatever registers the baseline has. No intrinsics, no xsimd, no fused multiply-add.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "plugins/cpu/simd/macros.hpp"

#define TERROIR_ISA scalar
#if TERROIR_HAVE_SSE42
// Processors that lack the next bucket are older than 2009: theirs take longer, and everybody saves a hundred kilobytes.
#define TERROIR_FEW_TILES 1
#endif

namespace terroir::cpu::scalar {

inline constexpr int64_t kLanes = 4;

typedef float F4 __attribute__((vector_size(16)));
typedef int32_t I4 __attribute__((vector_size(16)));
typedef uint32_t U4 __attribute__((vector_size(16)));

struct M {
  I4 v;
  TERROIR_INLINE_MEMBER friend M operator&(M a, M b) { return {a.v & b.v}; }
  TERROIR_INLINE_MEMBER friend M operator|(M a, M b) { return {a.v | b.v}; }
  TERROIR_INLINE_MEMBER M operator!() const { return {~v}; }
};

struct V {
  F4 v;
  V() = default;
  TERROIR_INLINE_MEMBER explicit V(F4 x) : v(x) {}
  TERROIR_INLINE_MEMBER explicit V(float x) : v(F4{x, x, x, x}) {}
  TERROIR_INLINE_MEMBER V operator-() const { return V(-v); }
  TERROIR_INLINE_MEMBER friend V operator+(V a, V b) { return V(a.v + b.v); }
  TERROIR_INLINE_MEMBER friend V operator-(V a, V b) { return V(a.v - b.v); }
  TERROIR_INLINE_MEMBER friend V operator*(V a, V b) { return V(a.v * b.v); }
  TERROIR_INLINE_MEMBER friend V operator/(V a, V b) { return V(a.v / b.v); }
  TERROIR_INLINE_MEMBER V& operator+=(V b) { return *this = *this + b; }
  TERROIR_INLINE_MEMBER V& operator-=(V b) { return *this = *this - b; }
  TERROIR_INLINE_MEMBER V& operator*=(V b) { return *this = *this * b; }
  TERROIR_INLINE_MEMBER V& operator/=(V b) { return *this = *this / b; }
  TERROIR_INLINE_MEMBER friend M operator==(V a, V b) { return {a.v == b.v}; }
  TERROIR_INLINE_MEMBER friend M operator!=(V a, V b) { return {a.v != b.v}; }
  TERROIR_INLINE_MEMBER friend M operator<(V a, V b) { return {a.v < b.v}; }
  TERROIR_INLINE_MEMBER friend M operator<=(V a, V b) { return {a.v <= b.v}; }
  TERROIR_INLINE_MEMBER friend M operator>(V a, V b) { return {a.v > b.v}; }
  TERROIR_INLINE_MEMBER friend M operator>=(V a, V b) { return {a.v >= b.v}; }
};

struct VI {
  I4 v;
  VI() = default;
  TERROIR_INLINE_MEMBER explicit VI(I4 x) : v(x) {}
  TERROIR_INLINE_MEMBER explicit VI(int32_t x) : v(I4{x, x, x, x}) {}
  // Wraps around, as vector instructions do.
  TERROIR_INLINE_MEMBER friend VI operator+(VI a, VI b) { return VI((I4)((U4)a.v + (U4)b.v)); }
  TERROIR_INLINE_MEMBER friend VI operator-(VI a, VI b) { return VI((I4)((U4)a.v - (U4)b.v)); }
  TERROIR_INLINE_MEMBER friend VI operator*(VI a, VI b) { return VI((I4)((U4)a.v * (U4)b.v)); }
  TERROIR_INLINE_MEMBER friend VI operator&(VI a, VI b) { return VI(a.v & b.v); }
  TERROIR_INLINE_MEMBER friend VI operator|(VI a, VI b) { return VI(a.v | b.v); }
  TERROIR_INLINE_MEMBER friend VI operator^(VI a, VI b) { return VI(a.v ^ b.v); }
};

struct Tail {
  int64_t n;
};
TERROIR_INLINE Tail tail(int64_t n) { return {n}; }

TERROIR_INLINE V zero() { return V(0.0f); }
TERROIR_INLINE V loadu(const float* p) {
  V r;
  __builtin_memcpy(&r.v, p, sizeof(r.v));
  return r;
}
TERROIR_INLINE V load(const float* p) { return loadu(p); }
TERROIR_INLINE void storeu(float* p, V v) { __builtin_memcpy(p, &v.v, sizeof(v.v)); }
TERROIR_INLINE void store(float* p, V v) { storeu(p, v); }
TERROIR_INLINE VI load_int(const int32_t* p) {
  VI r;
  __builtin_memcpy(&r.v, p, sizeof(r.v));
  return r;
}
TERROIR_INLINE void store_int(int32_t* p, VI v) { __builtin_memcpy(p, &v.v, sizeof(v.v)); }
TERROIR_INLINE V load_tail(const float* p, Tail t) {
  V r = zero();
  for (int64_t i = 0; i < t.n; ++i) r.v[i] = p[i];
  return r;
}
TERROIR_INLINE void store_tail(float* p, V v, Tail t) {
  for (int64_t i = 0; i < t.n; ++i) p[i] = v.v[i];
}

TERROIR_INLINE V keep(V v, Tail t) {
  const int32_t n = static_cast<int32_t>(t.n);
  return V((F4)((I4)v.v & (I4{n, n, n, n} > I4{0, 1, 2, 3})));
}

TERROIR_INLINE V fma(V a, V b, V c) { return a * b + c; }
TERROIR_INLINE V fms(V a, V b, V c) { return a * b - c; }
TERROIR_INLINE V fnma(V a, V b, V c) { return c - a * b; }

TERROIR_INLINE VI as_int(V x) { return VI((I4)x.v); }
TERROIR_INLINE V as_float(VI x) { return V((F4)x.v); }
TERROIR_INLINE V select(M m, V a, V b) { return V((F4)(((I4)a.v & m.v) | ((I4)b.v & ~m.v))); }
TERROIR_INLINE V min(V a, V b) { return select(a < b, a, b); }
TERROIR_INLINE V max(V a, V b) { return select(a > b, a, b); }
TERROIR_INLINE bool any(M m) { return (m.v[0] | m.v[1] | m.v[2] | m.v[3]) != 0; }
TERROIR_INLINE V abs(V x) { return as_float(VI((I4)x.v & 0x7fffffff)); }
TERROIR_INLINE V copy_sign(V magnitude, V sign) {
  return as_float(VI(((I4)magnitude.v & 0x7fffffff) | ((I4)sign.v & INT32_MIN)));
}
TERROIR_INLINE V sqrt(V x) {
  for (int i = 0; i < 4; ++i) x.v[i] = __builtin_sqrtf(x.v[i]);
  return x;
}

// Adding and subtracting 2^23 leaves the nearest whole number, ties to even; from there on every float is whole.
TERROIR_INLINE V round_even(V x) {
  const V magic = copy_sign(V(8388608.0f), x);
  V whole = x + magic;
  // The compiler may not cancel the two additions: no -ffast-math here.
  whole = whole - magic;
  return select(abs(x) < V(8388608.0f), copy_sign(whole, x), x);
}
TERROIR_INLINE V floor(V x) {
  const V r = round_even(x);
  return select(r > x, r - V(1.0f), r);
}
TERROIR_INLINE V ceil(V x) {
  const V r = round_even(x);
  return select(r < x, copy_sign(r + V(1.0f), x), r);
}
TERROIR_INLINE V trunc(V x) { return copy_sign(floor(abs(x)), x); }

TERROIR_INLINE VI to_int_trunc(V x) {
  VI r;
  for (int i = 0; i < 4; ++i) {
    r.v[i] = x.v[i] >= -2147483648.0f && x.v[i] < 2147483648.0f ? static_cast<int32_t>(x.v[i]) : INT32_MIN;
  }
  return r;
}
TERROIR_INLINE VI to_int(V x) { return to_int_trunc(round_even(x)); }
TERROIR_INLINE V to_float(VI x) { return V(__builtin_convertvector(x.v, F4)); }
template <int K>
TERROIR_INLINE VI shift_left(VI x) {
  return VI((I4)((U4)x.v << K));
}
template <int K>
TERROIR_INLINE VI shift_right(VI x) {
  return VI((I4)((U4)x.v >> K));
}

// Lane l is p[index[l]].
TERROIR_INLINE V take(const float* p, VI index) {
  return V(F4{p[index.v[0]], p[index.v[1]], p[index.v[2]], p[index.v[3]]});
}
TERROIR_INLINE V gather(const float* p, VI index) { return take(p, index); }

TERROIR_INLINE float reduce_add(V v) { return (v.v[0] + v.v[2]) + (v.v[1] + v.v[3]); }
TERROIR_INLINE float reduce_max(V v) {
  const float a = v.v[0] > v.v[2] ? v.v[0] : v.v[2], b = v.v[1] > v.v[3] ? v.v[1] : v.v[3];
  return a > b ? a : b;
}
TERROIR_INLINE float reduce_min(V v) {
  const float a = v.v[0] < v.v[2] ? v.v[0] : v.v[2], b = v.v[1] < v.v[3] ? v.v[1] : v.v[3];
  return a < b ? a : b;
}

TERROIR_INLINE void transpose(V (&r)[4]) {
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      const float held = r[i].v[j];
      r[i].v[j] = r[j].v[i];
      r[j].v[i] = held;
    }
  }
}

}  // namespace terroir::cpu::scalar

#include "plugins/cpu/simd/common.hpp"
