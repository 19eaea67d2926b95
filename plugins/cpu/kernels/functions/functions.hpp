// What: trigonometric and hyperbolic functions of f32 and their inverses, as tile loops (kernels/typed/typed.hpp says
// what these have in common).
// Accuracy: computed in f64 to 1e-10 and rounded once: at most 0.51 units in the last place from the exact value, on
//   every bucket the same bits.
// Edge cases: NaN, infinities, values outside of the domain and beyond 2^20 (sine, cosine, tangent) as the C library
// has
//   them, whose functions compute them. Odd functions keep the sign of zero.
// Cost: arithmetic: 15 to 40 operations of f64 per element. The loops exist for the baseline, AVX2 and AVX-512.
// Source: reductions as in W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980); the rest are
//   the functions' own series, on intervals where they converge within a dozen terms.
#pragma once

#include "plugins/cpu/kernels/typed/typed.hpp"

namespace terroir::cpu {

enum class Function : int32_t { sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh };

TileFn function_loop(Function function, Isa isa) noexcept;

}  // namespace terroir::cpu
