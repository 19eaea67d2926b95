// What: conversions between element types, as tile loops (kernels/typed/typed.hpp says what these have in common).
// Formula: integer to integer: modulo 2^N. To f32 and f64: exact where representable, else to nearest even. f32 to
//   narrower floating point: to nearest even, subnormals kept, NaN stays a NaN; overflow to infinity, f8e4m3 to its
//   largest value. f32 and f64 to integers: toward zero.
// Edge cases: outside the range of an integer the nearer end of the range, NaN gives 0.
// Not among them: boolean (TileOp::truth), integers of equal width (TileOp::copy), and pairs of narrow types, which are
//   exact through f32.
// Cost: memory bound. Buckets: as in typed.hpp, and AVX-512 for halves and 64-bit integers.
#pragma once

#include "plugins/cpu/kernels/typed/typed.hpp"

namespace terroir::cpu {

/// Null: there is no loop from one to the other.
TileFn conversion_loop(NumberType from, NumberType to, Isa isa) noexcept;

/// FakeConvert of f32: x, scale, shift; (q + shift) / scale with q the number of `to` nearest to x * scale -
/// shift, the largest one where that overflows.
TileFn fake_conversion_loop(NumberType to, Isa isa) noexcept;

}  // namespace terroir::cpu
