// What: exp, log, tanh, erf and their relatives on float vectors. Include one bucket header (avx2.hpp ...) first.
// Accuracy: exp, log, tanh within 4 ulp of the exact value on normal results, sigmoid within 4 parts in 2^23 of it; erf
// within 1e-7 absolute.
// Edge cases: NaN gives NaN. exp(-inf) = 0, exp(inf) = inf, results in the subnormal range are kept; exp_normal() gives
// 0 for these; log(0) = -inf, log(x < 0) = NaN, log(inf) = inf; tanh(+-inf) = +-1, erf(+-inf) = +-1, both odd, so -0
// gives -0. sigmoid(x) is 0 below -88.7, where the exact value is subnormal.
// Cost: an operation that would have a subnormal result takes 40 times as long as others. exp() does none beyond the
// results that it keeps; exp_normal() does none at all.
// Source: argument reduction after Cody and Waite, "Software Manual for the Elementary Functions" (1980); the
// polynomials are near-minimax fits made for this file (Chebyshev nodes; Lawson-weighted least squares for erf). exp
// with a table after P. T. P. Tang, "Table-driven implementation of the exponential function" (1989).
#pragma once

#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {

// e^r - 1 - r over r^2 for |r| <= ln(2)/2, error below 2e-8.
TERROIR_INLINE V exp_core(V r) {
  V p = V(0.0013926176119875254f);
  p = fma(p, r, V(0.00836317307446542f));
  p = fma(p, r, V(0.041666554662050895f));
  p = fma(p, r, V(0.16666577025598278f));
  return fma(p, r, V(0.5f));
}

// x = n ln(2) + r. The high part of ln(2) has 15 bits, so n * high is exact for |n| < 512 without fma as well.
TERROIR_INLINE V reduce_by_ln2(V x, V n) { return fnma(n, V(-2.12194440e-4f), fnma(n, V(0.693359375f), x)); }

#if defined(__AVX512F__)
// 2^(i/16). One permutation takes the place of three terms of the polynomial, and the scaling instruction rounds its
// exponent down by itself.
alignas(64) constexpr float kExp2Sixteenths[16] = {
    1.0f,        1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,
    1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f, 1.75625217f, 1.8340081f,  1.91520655f};

// e^x, and 0 for x below `least`.
TERROIR_INLINE V exp_from(V least, V x) {
  // Written so that a NaN stays.
  const __mmask16 kept = _mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ);
  x = min(V(89.0f), x);
  // A unit in the last place of `shift` is 1/16, so the low bits of the sum count sixteenths.
  const V log2e(1.44269502f), shift(786432.0f);
  const V sum = fma(x, log2e, shift);
  const V n = sum - shift;
  const V r = fma(x, V(1.92596303e-08f), fms(x, log2e, n));  // |r| <= 1/32
  const V power(_mm512_permutexvar_ps(as_int(sum), _mm512_load_ps(kExp2Sixteenths)));
  V p = fma(V(0.05550411f), r, V(0.24022651f));
  p = fma(p, r, V(0.69314718f)) * r;
  return V(_mm512_maskz_scalef_ps(kept, fma(p, power, power), n));
}
#else
TERROIR_INLINE V exp_from(V least, V x) {
  // Written so that a NaN stays.
  const M dropped = x < least;
  x = min(V(89.0f), select(dropped, zero(), x));
  const V n = round_even(x * V(1.44269504f));
  const V r = reduce_by_ln2(x, n);
  const V mantissa = fma(exp_core(r), r * r, r) + V(1.0f);
  return select(dropped, zero(), scale_exp2(mantissa, n));
}
#endif

// Below, half the smallest subnormal number rounds to zero.
TERROIR_INLINE V exp(V x) { return exp_from(V(-103.972084f), x); }
// For what is added to something, or multiplied by it: below, the result is no normal number, and 0 here.
TERROIR_INLINE V exp_normal(V x) { return exp_from(V(-87.33654f), x); }

// exp(x) - 1 without cancellation near zero, for x <= 80.
TERROIR_INLINE V expm1_bounded(V x) {
  x = max(V(-30.0f), x);
  const V n = round_even(x * V(1.44269504f));
  const V r = reduce_by_ln2(x, n);
  const V q = fma(exp_core(r), r * r, r);
  const V scale = as_float(shift_left<23>(to_int(n) + VI(127)));
  return fma(scale, q, scale - V(1.0f));
}

TERROIR_INLINE V log(V x) {
  const V tiny = V(1.17549435e-38f);
  const M subnormal = x < tiny;
  const V scaled = select(subnormal, x * V(8388608.0f), x);
  // scaled = 2^e * m with m in [sqrt(1/2), sqrt(2)): the exponent field of scaled / sqrt(1/2) is the wanted one.
  const VI bits = as_int(scaled) - VI(0x3f3504f3);
  V e = to_float(shift_right<23>(bits + VI(0x3f800000)) - VI(127));
  const V m = as_float((bits & VI(0x007fffff)) + VI(0x3f3504f3));
  e = e - select(subnormal, V(23.0f), zero());
  const V f = m - V(1.0f);
  V p = V(0.06971611471451172f);
  p = fma(p, f, V(-0.11479733846637633f));
  p = fma(p, f, V(0.1168541992348674f));
  p = fma(p, f, V(-0.12425687331451106f));
  p = fma(p, f, V(0.1424905764569748f));
  p = fma(p, f, V(-0.16667802319501254f));
  p = fma(p, f, V(0.200007157488921f));
  p = fma(p, f, V(-0.24999996957950882f));
  p = fma(p, f, V(0.33333331180030046f));
  const V f2 = f * f;
  V y = p * f2 * f;
  y = fma(e, V(-2.12194440e-4f), y);
  y = fnma(V(0.5f), f2, y);
  y = fma(e, V(0.693359375f), f + y);
  const V infinity = V(__builtin_inff());
  y = select(x == infinity, infinity, y);
  y = select(x == zero(), -infinity, y);
  // Negative or NaN.
  return select(x >= zero(), y, V(__builtin_nanf("")));
}

// x / y for y from 1 to infinity, within 2 ulp; x must be finite where y is infinity.
TERROIR_INLINE V divide_by_large(V x, V y) {
#if defined(__AVX512F__)
  // An estimate of 14 bits and one step of Newton's: a fifth of the time of a division. Of an infinite y the estimate
  // is exact and its error no number, for which the minimum takes its second operand.
  const V estimate(_mm512_rcp14_ps(y));
  const V error(_mm512_min_ps(fnma(estimate, y, V(1.0f)), V(1.0f)));
  return x * fma(estimate, error, estimate);
#else
  return x / y;
#endif
}

// log(1 + u) for u in [0, 1]: the rounding of 1 + u is undone to first order.
TERROIR_INLINE V log1p_unit(V u) {
  const V w = V(1.0f) + u;
  return log(w) + divide_by_large(u - (w - V(1.0f)), w);
}

#if defined(__AVX512F__)
alignas(64) constexpr float kExp2ThirtySeconds[32] = {
    1.0f,        1.0218972f,  1.04427373f, 1.06714046f, 1.09050775f, 1.1143868f,  1.13878858f, 1.1637249f,
    1.18920708f, 1.21524739f, 1.24185777f, 1.26905096f, 1.29683959f, 1.32523668f, 1.35425556f, 1.38390994f,
    1.41421354f, 1.44518077f, 1.47682619f, 1.50916445f, 1.54221082f, 1.5759809f,  1.61049032f, 1.64575553f,
    1.68179286f, 1.71861935f, 1.75625217f, 1.79470909f, 1.8340081f,  1.87416768f, 1.91520655f, 1.95714414f};

// numerator / (1 + e^-x), within 4 units of 2^-23; the numerator must be finite where x is below -88.7. Twice the table
// of exp() for one more term less, the reduction by ln(2), of which a float is five times as exact as of its inverse,
// without a low part, and a division, which keeps other pipes busy than the rest: half the time of exp() and
// divide_by_large().
TERROIR_INLINE V divide_by_one_plus_exp(V numerator, V x) {
  // e^89 is infinity, e^-87 a normal number. Written so that a NaN stays.
  x = min(V(87.0f), max(V(-89.0f), x));
  const V shift(393216.0f);  // whose last place is 1/32
  const V sum = fma(x, V(-1.44269502f), shift);
  const V n = sum - shift;
  const V r(_mm512_fnmsub_ps(n, V(0.693147182f), x));  // -x - n ln(2), at most ln(2)/64
  const V power(
      _mm512_permutex2var_ps(_mm512_load_ps(kExp2ThirtySeconds), as_int(sum), _mm512_load_ps(kExp2ThirtySeconds + 16)));
  const V p = fma(V(0.5000049f), r, V(1.0000147f)) * r;
  const V e(_mm512_scalef_ps(fma(p, power, power), n));
  return numerator / (e + V(1.0f));
}
#else
TERROIR_INLINE V divide_by_one_plus_exp(V numerator, V x) {
  return divide_by_large(numerator, V(1.0f) + exp_normal(-x));
}
#endif

TERROIR_INLINE V sigmoid(V x) { return divide_by_one_plus_exp(V(1.0f), x); }

TERROIR_INLINE V tanh(V x) {
  // (e^2a - 1) / (e^2a + 1) of the magnitude; 1 from 9.1 on.
  const V a = min(V(10.0f), abs(x));
  const V t = expm1_bounded(a + a);
  return copy_sign(t / (t + V(2.0f)), x);
}

TERROIR_INLINE V erf(V x) {
  // A rational function of the square; from 3.92 on erf is 1 in float. All coefficients are positive: no cancellation.
  const V a = min(V(3.92f), abs(x));
  const V t = a * a;
  V p = V(2.050109787478411e-06f);
  p = fma(p, t, V(0.00028487190070775737f));
  p = fma(p, t, V(0.003765269509304198f));
  p = fma(p, t, V(0.05274766088591181f));
  p = fma(p, t, V(0.1903987838817155f));
  p = fma(p, t, V(1.1283791462364907f));
  V q = V(3.80913760731421e-05f);
  q = fma(q, t, V(0.0011624452294241513f));
  q = fma(q, t, V(0.014968530525941921f));
  q = fma(q, t, V(0.11410589210685412f));
  q = fma(q, t, V(0.5020692720500433f));
  q = fma(q, t, V(1.0f));
  return copy_sign(min(V(1.0f), a * p / q), x);
}

}  // namespace terroir::cpu::TERROIR_ISA
