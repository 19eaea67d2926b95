// What: the vocabulary that the xsimd buckets share. Included by sse42.hpp, avx2.hpp and avx512.hpp after they renamed
// namespace xsimd and defined TERROIR_ISA and Arch; never included directly. scalar.hpp offers the same words.
//
// clang-format off
//   V, VI, M                float vector, int32 vector, mask of float lanes; kLanes lanes each
//   V(x), zero()            broadcast; operators + - * / and unary -; comparisons == < <= > >= give M; & | ! on M
//                           (write !(a == b): the != of xsimd is false for NaN on avx2 and avx512)
//   load/store              aligned to the vector; loadu/storeu, load_int/store_int: any alignment
//   Tail, tail(n)           the first n lanes, 0 <= n <= kLanes
//   load_tail/store_tail    touch no byte outside the lanes of the tail; loads put zero in the other lanes
//   load_n/store_n          the same, with n given directly
//   keep(v, t)              zero in the lanes outside the tail
//   take(p, index)          p[index[l]] in lane l, for indices inside one block of channels; gather: for any index
//   fma, fms, fnma          a*b+c, a*b-c, c-a*b: one rounding on avx2 and avx512, two on scalar and sse42
//   add_product(sum, a, b)  sum = fma(a, b, sum), a may be an address to broadcast from. On avx512 always the
//                           instruction that adds to its target: of many sums compilers exchange the roles and then
//                           move registers about; with fewer registers they do better when left alone.
//   min, max                min(a,b) = a<b ? a : b and max(a,b) = a>b ? a : b, so a NaN in either gives b
//   min_nan, max_nan        the same, but a NaN in either gives NaN
//   select(m, a, b)         m ? a : b, lane by lane; any(m)
//   abs, sqrt, floor, ceil, trunc, round_even, copy_sign(magnitude, sign)
//   to_int, to_int_trunc    float -> int32, to nearest even and toward zero; out of range gives INT32_MIN
//   to_float, as_int, as_float, shift_left<K>, shift_right<K> (logical)
//   scale_exp2(x, n)        x * 2^n for whole n in [-252, 252]
//   reduce_add/max/min      fixed order, so the result does not depend on anything but the lanes
//   transpose(r)            kLanes x kLanes, in place
// clang-format on
// NaN: relu written max(zero(), x) and clamp written min(hi, max(lo, x)) let a NaN in x through.
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

using V = xsimd::batch<float, Arch>;
using VI = xsimd::batch<int32_t, Arch>;
using M = xsimd::batch_bool<float, Arch>;

inline constexpr int64_t kLanes = static_cast<int64_t>(V::size);

TERROIR_INLINE V zero() { return V(0.0f); }
TERROIR_INLINE V load(const float* p) { return V::load_aligned(p); }
TERROIR_INLINE V loadu(const float* p) { return V::load_unaligned(p); }
TERROIR_INLINE void store(float* p, V v) { v.store_aligned(p); }
TERROIR_INLINE void storeu(float* p, V v) { v.store_unaligned(p); }
TERROIR_INLINE VI load_int(const int32_t* p) { return VI::load_unaligned(p); }
TERROIR_INLINE void store_int(int32_t* p, VI v) { v.store_unaligned(p); }

TERROIR_INLINE V min(V a, V b) { return xsimd::min(a, b); }
TERROIR_INLINE V max(V a, V b) { return xsimd::max(a, b); }
TERROIR_INLINE V select(M m, V a, V b) { return xsimd::select(m, a, b); }
TERROIR_INLINE bool any(M m) { return xsimd::any(m); }
TERROIR_INLINE V sqrt(V x) { return xsimd::sqrt(x); }

}  // namespace terroir::cpu::TERROIR_ISA
