// What: elementwise loops over tiles of every element type a byte and wider; all but the f32 arithmetic of post_ops.
// Formula: see TileOp. Integers wrap modulo 2^N; x / 0 and x mod 0 are 0, MIN / -1 is MIN, for floating point IEEE 754.
// Shapes: all operands and the result have n elements side by side; n is a multiple of kTileUnit, so no loop has a
// tail. Aliasing: the result may be any operand whose elements are as wide as its own. Edge cases: NaN of either
// operand wins a minimum or maximum. Boolean operands are true for any byte but 0, boolean
//   results are 0 or 1.
// Cost: memory bound, but for integer division of 64 bits, powers, and remainders of f64. The loops exist twice, for
// the
//   baseline and for AVX2, which the wider buckets take as well: a tile comes from memory or L2, no wider vector pays.
// Threads: any ranges.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

/// Element types with arithmetic; `none` for all others.
enum class NumberType : int32_t {
  none,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  boolean,
  f16,
  bf16,
  f8e4m3,
  f8e5m2
};

enum class TileOp : int32_t {
  // Two operands of the result's type.
  add,
  sub,
  mul,
  div,  // integers: towards zero
  floor_div,
  mod,        // the sign of a
  floor_mod,  // the sign of b
  min,
  max,
  pow,
  squared_difference,
  prelu,  // a < 0 ? a * b : a
  bit_and,
  bit_or,
  bit_xor,
  shift_left,   // 0 for counts below 0 or not below the width
  shift_right,  // the sign for such counts
  // Two operands, boolean result.
  equal,
  not_equal,
  less,
  less_equal,
  logical_and,  // of boolean operands
  logical_or,
  logical_xor,
  // One operand.
  copy,
  abs,
  neg,
  sign,
  bit_not,
  floor,
  ceil,
  round_even,
  round_away,
  sqrt,
  // One operand, boolean result.
  truth,  // a != 0
  logical_not,
  is_nan,
  is_inf,
  is_positive_inf,
  is_negative_inf,
  is_finite,
  // Boolean condition, two operands of the result's type.
  select,
  // x, its range, the range of the result, levels - 1: FakeQuantize of f32, step by step as its reference computes it.
  fake_quantize
};

/// out[i] = f(in[0][i], in[1][i] ...) for the operands that the loop has.
using TileFn = void (*)(const void* const* in, void* out, int64_t n);

inline constexpr int64_t kTileUnit = 64;

/// The loop of `op` for operands (of a select: results) of `type`; null: there is none.
TileFn typed_loop(TileOp op, NumberType type, Isa isa) noexcept;

}  // namespace terroir::cpu
