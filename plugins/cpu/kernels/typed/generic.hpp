// What: the tile loops of one bucket. Contract: typed.hpp. Include one bucket header first.
// Plain loops without branches, which the compiler turns into vector code of the bucket; n & -64 tells it that no tail
// is left, which keeps a loop near a hundred bytes.
#pragma once

#include <limits>
#include <type_traits>

#include "plugins/cpu/kernels/typed/numbers.hpp"

// Nobody reads the exception flags: with them the compiler would keep branches around conversions and comparisons.
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math")

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <class T>
inline constexpr bool kWhole = std::is_integral_v<T>;

/// Unsigned and at least 32 bits wide: its arithmetic wraps and is never promoted to a signed type.
template <class T>
using Wide = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <class F, class T, class R>
void binary_loop(const void* const* in, void* out, int64_t n) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* r = static_cast<R*>(out);
  n &= -kTileUnit;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::of(a[i], b[i]));
}

template <class T>
void select_loop(const void* const* in, void* out, int64_t n) {
  const uint8_t* condition = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  n &= -kTileUnit;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T yes = a[i], no = b[i];
    r[i] = condition[i] != 0 ? yes : no;
  }
}

// ---- arithmetic

struct Add {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    if constexpr (kWhole<T>)
      return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
    else
      return a + b;
  }
};
struct Sub {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    if constexpr (kWhole<T>)
      return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
    else
      return a - b;
  }
};
struct Mul {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    if constexpr (kWhole<T>)
      return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
    else
      return a * b;
  }
};
struct SquaredDifference {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    return Mul::of(Sub::of(a, b), Sub::of(a, b));
  }
};

struct Min {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    const T smaller = b < a ? b : a;
    if constexpr (kWhole<T>) return smaller;
    return a != a ? a : b != b ? b : smaller;
  }
};
struct Max {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    const T larger = a < b ? b : a;
    if constexpr (kWhole<T>) return larger;
    return a != a ? a : b != b ? b : larger;
  }
};
struct Prelu {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    const T scaled = Mul::of(a, b);
    return a < 0 ? scaled : a;
  }
};

/// Towards zero. Up to 32 bits through a floating-point quotient, which vectors have: of two integers of w bits, one
/// that is no integer is further from any than its rounding error, as the mantissa has more than w bits; so truncation
/// is exact.
struct Div {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    if constexpr (!kWhole<T>) {
      return a / b;
    } else if constexpr (sizeof(T) == 8) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return Sub::of(T{0}, a);
      return a / b;
    } else {
      using F = std::conditional_t<sizeof(T) <= 2, float, double>;
      using I = std::conditional_t<sizeof(T) <= 2 || std::is_signed_v<T>, int32_t, int64_t>;
      F q = static_cast<F>(a) / static_cast<F>(b == 0 ? T{1} : b);
      // Only MIN / -1 of 32 bits is out of range, and MIN is what it wraps to.
      if constexpr (std::is_same_v<T, int32_t>) q = q > 2147483647.0 ? -2147483648.0 : q;
      const T quotient = static_cast<T>(static_cast<I>(q));
      return b == 0 ? T{0} : quotient;
    }
  }
};
struct Mod {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    if constexpr (!kWhole<T>) {
      return __builtin_fmod(a, b);
    } else {
      const T rest = Sub::of(a, Mul::of(Div::of(a, b), b));
      return b == 0 ? T{0} : rest;
    }
  }
};
struct FloorMod {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    const T rest = Mod::of(a, b);
    if constexpr (std::is_unsigned_v<T>) return rest;
    const T moved = Add::of(rest, b);
    return (rest != 0) & ((rest < 0) != (b < 0)) ? moved : rest;
  }
};
struct FloorDiv {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    const T q = Div::of(a, b);
    if constexpr (!kWhole<T> || std::is_unsigned_v<T>) return q;
    const T rest = Sub::of(a, Mul::of(q, b));
    const bool below = (b != 0) & (rest != 0) & ((a < 0) != (b < 0));
    return static_cast<T>(q - below);
  }
};
struct Pow {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T base, T exponent) {
    if constexpr (!kWhole<T>) {
      return __builtin_pow(base, exponent);
    } else {
      if constexpr (std::is_signed_v<T>)
        if (exponent < 0) return base == 1 ? T{1} : base == -1 ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : T{0};
      uint64_t rest = static_cast<uint64_t>(exponent), square = static_cast<uint64_t>(base), result = 1;
      for (; rest != 0; rest >>= 1, square *= square) result *= (rest & 1) != 0 ? square : 1;
      return static_cast<T>(result);
    }
  }
};

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

/// Remainders of one unit of f32 in f64. A quotient below 2^28 that is no integer is 2^-52 of itself away from any, so
/// its rounded form truncates exactly, and q * b has at most 24 + 28 bits. What is left goes to the C library.
TERROIR_NOINLINE static void remainders(const float* a, const float* b, float* rest) {
  double quotient[kTileUnit];
  int64_t hard[kTileUnit], any = 0;
  // Three loops, since in one the compiler turns choices between values into branches and gives up on vectors.
#pragma GCC unroll 1
  for (int64_t i = 0; i < kTileUnit; ++i) quotient[i] = static_cast<double>(a[i]) / static_cast<double>(b[i]);
#pragma GCC unroll 1
  for (int64_t i = 0; i < kTileUnit; ++i) {
    hard[i] = !(__builtin_fabs(quotient[i]) < 0x1p28) | !(__builtin_fabsf(b[i]) < kInfinity<float>);
    any |= hard[i];
    quotient[i] = hard[i] != 0 ? 0.0 : quotient[i];
  }
#pragma GCC unroll 1
  for (int64_t i = 0; i < kTileUnit; ++i) {
    const double whole = static_cast<double>(static_cast<int32_t>(quotient[i]));
    const double left = static_cast<double>(a[i]) - whole * static_cast<double>(b[i]);
    rest[i] = __builtin_copysignf(static_cast<float>(left), a[i]);
  }
  if (any == 0) return;
  for (int64_t i = 0; i < kTileUnit; ++i)
    if (hard[i] != 0) rest[i] = __builtin_fmodf(a[i], b[i]);
}

template <bool kFloor>
void float_mod_loop(const void* const* in, void* out, int64_t n) {
  const float* a = static_cast<const float*>(in[0]);
  const float* b = static_cast<const float*>(in[1]);
  float* r = static_cast<float*>(out);
  for (int64_t first = 0; first < n; first += kTileUnit, a += kTileUnit, b += kTileUnit, r += kTileUnit) {
    float rest[kTileUnit];
    remainders(a, b, rest);
#pragma GCC ivdep
    for (int64_t i = 0; i < kTileUnit; ++i) {
      const float moved = rest[i] + b[i];
      r[i] = kFloor && ((rest[i] != 0) & ((rest[i] < 0) != (b[i] < 0))) ? moved : rest[i];
    }
  }
}

/// levels - 1 is below 2^22, so adding 1.5 * 2^23 rounds to the nearest integer, halves to even.
void fake_quantize_loop(const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  const float *low = static_cast<const float*>(in[1]), *high = static_cast<const float*>(in[2]);
  const float *to_low = static_cast<const float*>(in[3]), *to_high = static_cast<const float*>(in[4]);
  const float* steps = static_cast<const float*>(in[5]);
  float* r = static_cast<float*>(out);
  n &= -kTileUnit;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float least = high[i] < low[i] ? high[i] : low[i], most = low[i] < high[i] ? high[i] : low[i];
    const float scaled = (x[i] - low[i]) / (high[i] - low[i]) * steps[i];
    const float level = (scaled + 0x1.8p23f) - 0x1.8p23f;
    const float inside = level / steps[i] * (to_high[i] - to_low[i]) + to_low[i];
    const float above = x[i] > most ? to_high[i] : inside;
    r[i] = x[i] <= least ? to_low[i] : above;
  }
}

// ---- bits

struct BitAnd {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct BitNot {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct ShiftLeft {  // unsigned: a negative count is a large one
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    constexpr T kWidth = 8 * sizeof(T);
    const T shifted = static_cast<T>(static_cast<Wide<T>>(a) << (b & (kWidth - 1)));
    return b < kWidth ? shifted : T{0};
  }
};
struct ShiftRight {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a, T b) {
    constexpr T kWidth = 8 * sizeof(T);
    const T shifted = static_cast<T>(a >> (b & (kWidth - 1))), sign = a < 0 ? static_cast<T>(-1) : T{0};
    return (b >= 0) & (b < kWidth) ? shifted : sign;
  }
};

// ---- comparisons and tests

struct Equal {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a, T b) {
    return a <= b;
  }
};
struct And {
  TERROIR_INLINE_MEMBER static bool of(uint8_t a, uint8_t b) { return (a != 0) & (b != 0); }
};
struct Or {
  TERROIR_INLINE_MEMBER static bool of(uint8_t a, uint8_t b) { return (a | b) != 0; }
};
struct Xor {
  TERROIR_INLINE_MEMBER static bool of(uint8_t a, uint8_t b) { return (a != 0) != (b != 0); }
};
struct Truth {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return a != 0;
  }
};
struct Not {
  TERROIR_INLINE_MEMBER static bool of(uint8_t a) { return a == 0; }
};
struct IsNan {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return a != a;
  }
};
struct IsPositiveInf {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return a == kInfinity<T>;
  }
};
struct IsNegativeInf {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return a == -kInfinity<T>;
  }
};
struct IsInf {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return (a == kInfinity<T>) | (a == -kInfinity<T>);
  }
};
struct IsFinite {
  template <class T>
  TERROIR_INLINE_MEMBER static bool of(T a) {
    return (a < kInfinity<T>)&(a > -kInfinity<T>);
  }
};

// ---- one operand

struct Copy {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a) {
    return a;
  }
};
struct Neg {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a) {
    if constexpr (kWhole<T>)
      return Sub::of(T{0}, a);
    else
      return -a;
  }
};
struct Abs {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a) {
    if constexpr (!kWhole<T>) return __builtin_fabs(a);
    const T negative = Neg::of(a);
    return a < 0 ? negative : a;
  }
};
struct Sign {
  template <class T>
  TERROIR_INLINE_MEMBER static T of(T a) {
    const T sign = static_cast<T>((a > 0) - (a < 0));
    if constexpr (kWhole<T>) return sign;
    return a != a ? a : sign;
  }
};
struct Floor {
  TERROIR_INLINE_MEMBER static double of(double a) { return __builtin_floor(a); }
};
struct Ceil {
  TERROIR_INLINE_MEMBER static double of(double a) { return __builtin_ceil(a); }
};
struct RoundEven {
  TERROIR_INLINE_MEMBER static double of(double a) { return __builtin_nearbyint(a); }
};
struct RoundAway {
  TERROIR_INLINE_MEMBER static double of(double a) { return __builtin_round(a); }
};
struct Sqrt {
  TERROIR_INLINE_MEMBER static double of(double a) { return __builtin_sqrt(a); }
};

// ---- the table

/// The unsigned type that is as wide, for loops which do not care about the sign; floating-point types stay.
NumberType without_sign(NumberType type) {
  switch (type) {
    case NumberType::i8:
    case NumberType::boolean:
    case NumberType::f8e4m3:
    case NumberType::f8e5m2:
      return NumberType::u8;
    case NumberType::i16:
    case NumberType::f16:
    case NumberType::bf16:
      return NumberType::u16;
    case NumberType::i32:
      return NumberType::u32;
    case NumberType::i64:
      return NumberType::u64;
    default:
      return type;
  }
}
NumberType bits_of(NumberType type) {
  if (type == NumberType::f32) return NumberType::u32;
  if (type == NumberType::f64) return NumberType::u64;
  return without_sign(type);
}

template <class F, bool kTest, class... Ts>
TileFn unary_of(NumberType type) {
  TileFn fn = nullptr;
  ((kNumber<Ts> == type ? static_cast<void>(fn = &unary_loop<F, Ts, std::conditional_t<kTest, uint8_t, Ts>>)
                        : static_cast<void>(0)),
   ...);
  return fn;
}
template <class F, bool kTest, class... Ts>
TileFn binary_of(NumberType type) {
  TileFn fn = nullptr;
  ((kNumber<Ts> == type ? static_cast<void>(fn = &binary_loop<F, Ts, std::conditional_t<kTest, uint8_t, Ts>>)
                        : static_cast<void>(0)),
   ...);
  return fn;
}

#define TERROIR_SIGNED int8_t, int16_t, int32_t, int64_t
#define TERROIR_UNSIGNED uint8_t, uint16_t, uint32_t, uint64_t
#define TERROIR_WHOLE TERROIR_SIGNED, TERROIR_UNSIGNED

TileFn arithmetic(TileOp op, NumberType type) {
  const NumberType same = without_sign(type);
  switch (op) {
    case TileOp::add:
      return binary_of<Add, false, TERROIR_UNSIGNED, double>(same);
    case TileOp::sub:
      return binary_of<Sub, false, TERROIR_UNSIGNED, double>(same);
    case TileOp::mul:
      return binary_of<Mul, false, TERROIR_UNSIGNED, double>(same);
    case TileOp::squared_difference:
      return binary_of<SquaredDifference, false, TERROIR_UNSIGNED, double>(same);
    case TileOp::div:
      return binary_of<Div, false, TERROIR_WHOLE, double>(type);
    case TileOp::floor_div:
      return binary_of<FloorDiv, false, TERROIR_WHOLE, double>(type);
    case TileOp::mod:
      if (type == NumberType::f32) return &float_mod_loop<false>;
      return binary_of<Mod, false, TERROIR_WHOLE, double>(type);
    case TileOp::floor_mod:
      if (type == NumberType::f32) return &float_mod_loop<true>;
      return binary_of<FloorMod, false, TERROIR_WHOLE, double>(type);
    case TileOp::min:
      return binary_of<Min, false, TERROIR_WHOLE, double>(type);
    case TileOp::max:
      return binary_of<Max, false, TERROIR_WHOLE, double>(type);
    case TileOp::pow:
      return binary_of<Pow, false, TERROIR_WHOLE, double>(type);
    case TileOp::prelu:
      return binary_of<Prelu, false, TERROIR_SIGNED, double>(type);
    default:
      return nullptr;
  }
}

TileFn bits(TileOp op, NumberType type) {
  const NumberType same = without_sign(type);
  switch (op) {
    case TileOp::bit_and:
      return binary_of<BitAnd, false, TERROIR_UNSIGNED>(same);
    case TileOp::bit_or:
      return binary_of<BitOr, false, TERROIR_UNSIGNED>(same);
    case TileOp::bit_xor:
      return binary_of<BitXor, false, TERROIR_UNSIGNED>(same);
    case TileOp::bit_not:
      return unary_of<BitNot, false, TERROIR_UNSIGNED>(same);
    case TileOp::shift_left:
      return binary_of<ShiftLeft, false, TERROIR_UNSIGNED>(same);
    case TileOp::shift_right:
      return binary_of<ShiftRight, false, TERROIR_WHOLE>(type);
    case TileOp::copy:
      return unary_of<Copy, false, TERROIR_UNSIGNED>(bits_of(type));
    default:
      return nullptr;
  }
}

TileFn comparison(TileOp op, NumberType type) {
  switch (op) {
    case TileOp::equal:
      return binary_of<Equal, true, TERROIR_UNSIGNED, float, double>(without_sign(type));
    case TileOp::not_equal:
      return binary_of<NotEqual, true, TERROIR_UNSIGNED, float, double>(without_sign(type));
    case TileOp::less:
      return binary_of<Less, true, TERROIR_WHOLE, float, double>(type);
    case TileOp::less_equal:
      return binary_of<LessEqual, true, TERROIR_WHOLE, float, double>(type);
    case TileOp::truth:
      return unary_of<Truth, true, TERROIR_UNSIGNED, float, double>(without_sign(type));
    case TileOp::is_nan:
      return unary_of<IsNan, true, float, double>(type);
    case TileOp::is_inf:
      return unary_of<IsInf, true, float, double>(type);
    case TileOp::is_positive_inf:
      return unary_of<IsPositiveInf, true, float, double>(type);
    case TileOp::is_negative_inf:
      return unary_of<IsNegativeInf, true, float, double>(type);
    case TileOp::is_finite:
      return unary_of<IsFinite, true, float, double>(type);
    default:
      return nullptr;
  }
}

TileFn logical(TileOp op) {
  switch (op) {
    case TileOp::logical_and:
      return &binary_loop<And, uint8_t, uint8_t>;
    case TileOp::logical_or:
      return &binary_loop<Or, uint8_t, uint8_t>;
    case TileOp::logical_xor:
      return &binary_loop<Xor, uint8_t, uint8_t>;
    case TileOp::logical_not:
      return &unary_loop<Not, uint8_t, uint8_t>;
    default:
      return nullptr;
  }
}

TileFn one_operand(TileOp op, NumberType type) {
  switch (op) {
    case TileOp::abs:
      return unary_of<Abs, false, TERROIR_SIGNED, double>(type);
    case TileOp::neg:
      return unary_of<Neg, false, TERROIR_UNSIGNED, double>(without_sign(type));
    case TileOp::sign:
      return unary_of<Sign, false, TERROIR_WHOLE, double>(type);
    case TileOp::floor:
      return unary_of<Floor, false, double>(type);
    case TileOp::ceil:
      return unary_of<Ceil, false, double>(type);
    case TileOp::round_even:
      return unary_of<RoundEven, false, double>(type);
    case TileOp::round_away:
      return unary_of<RoundAway, false, double>(type);
    case TileOp::sqrt:
      return unary_of<Sqrt, false, double>(type);
    default:
      return nullptr;
  }
}

TileFn selection(NumberType type) {
  switch (bits_of(type)) {
    case NumberType::u8:
      return &select_loop<uint8_t>;
    case NumberType::u16:
      return &select_loop<uint16_t>;
    case NumberType::u32:
      return &select_loop<uint32_t>;
    case NumberType::u64:
      return &select_loop<uint64_t>;
    default:
      return nullptr;
  }
}

#undef TERROIR_SIGNED
#undef TERROIR_UNSIGNED
#undef TERROIR_WHOLE

}  // namespace

TileFn typed_loop(TileOp op, NumberType type) {
  if (op == TileOp::select) return selection(type);
  if (op == TileOp::fake_quantize) return type == NumberType::f32 ? &fake_quantize_loop : nullptr;
  if (const TileFn fn = arithmetic(op, type)) return fn;
  if (const TileFn fn = bits(op, type)) return fn;
  if (const TileFn fn = comparison(op, type)) return fn;
  if (const TileFn fn = one_operand(op, type)) return fn;
  return logical(op);
}

}  // namespace terroir::cpu::TERROIR_ISA

#pragma GCC pop_options
