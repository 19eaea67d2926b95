// What: type conversions of one bucket. Contract: convert.hpp. Include one bucket header first.
// Plain loops without branches, which the compiler turns into vector code of the bucket: the F16C instructions are not
// part of the avx2 bucket, and the integer arithmetic below keeps up with memory.
#pragma once

#include "plugins/cpu/kernels/convert/convert.hpp"
#include "plugins/cpu/kernels/convert/whole.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_INLINE float bits_to_float(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
TERROIR_INLINE uint32_t float_to_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

TERROIR_INLINE float half_to_float(uint16_t half) {
  const uint32_t magnitude = half & 0x7fffu, sign = (half & 0x8000u) << 16;
  // Read as a float the shifted bits are 2^-112 times too small, subnormals included; the product is exact.
  const float scaled = bits_to_float(magnitude << 13) * 0x1p112f;
  // Infinity and NaN have the largest exponent of float as well.
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return bits_to_float(float_to_bits(scaled) | special | sign);
}

TERROIR_INLINE uint16_t float_to_half(float x) {
  const uint32_t bits = float_to_bits(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  // Normal results: rebias the exponent, round to nearest even on the 13 bits that go; a carry becomes infinity.
  const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 1/2 aligns the last bit of a half with the last bit of the float, which rounds for us.
  const uint32_t small = float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : result;
  return static_cast<uint16_t>(result | sign);
}

struct FromHalf {
  TERROIR_INLINE_MEMBER static float of(uint16_t x) { return half_to_float(x); }
};
struct ToHalf {
  TERROIR_INLINE_MEMBER static uint16_t of(float x) { return float_to_half(x); }
};
struct FromBfloat {
  TERROIR_INLINE_MEMBER static float of(uint16_t x) { return bits_to_float(static_cast<uint32_t>(x) << 16); }
};
struct ToBfloat {
  TERROIR_INLINE_MEMBER static uint16_t of(float x) {
    const uint32_t bits = float_to_bits(x);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
};

// Eight bits: sign, exponent, `kMantissa` bits of mantissa. f8e4m3 ends at 448 and has one NaN, which is also what lies
// beyond, without an infinity; f8e5m2 has both, as its wider relatives do.
template <int kMantissa>
struct Small {
  static constexpr int kExponent = 7 - kMantissa, kBias = (1 << (kExponent - 1)) - 1;
  static constexpr bool kHasInfinity = kMantissa == 2;
  static constexpr int kDropped = 23 - kMantissa;

  TERROIR_INLINE_MEMBER static float decoded(uint8_t code) {
    const uint32_t magnitude = code & 0x7fu, sign = (code & 0x80u) << 24;
    // Read as a float the shifted bits are too small by a power of two, subnormals included; the product is exact.
    constexpr float kScale = bits_of_power(127 - kBias);
    const uint32_t value = float_to_bits(bits_to_float(magnitude << kDropped) * kScale);
    constexpr uint32_t kSpecial = kHasInfinity ? 0x7cu : 0x7fu;
    const uint32_t special = magnitude > kSpecial || !kHasInfinity ? 0x7fc00000u : 0x7f800000u;
    return bits_to_float((magnitude >= kSpecial ? special : value) | sign);
  }
  TERROIR_INLINE_MEMBER static uint8_t encoded(float x) {
    const uint32_t bits = float_to_bits(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 24) & 0x80u;
    // Normal results: rebias, round to nearest even on the bits that go.
    constexpr uint32_t kHalf = (1u << (kDropped - 1)) - 1u, kRebias = static_cast<uint32_t>(127 - kBias) << 23;
    const uint32_t normal = (magnitude - kRebias + kHalf + ((magnitude >> kDropped) & 1u)) >> kDropped;
    // Subnormal results: the sum aligns the last bit of the code with the last bit of the float, which rounds for us.
    constexpr float kAlign = bits_of_power(1 - kBias - kMantissa + 23);
    const uint32_t small =
        float_to_bits(bits_to_float(magnitude) + kAlign) - float_bits_of_power(1 - kBias - kMantissa + 23);
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;
    uint32_t code = magnitude < kSmallestNormal ? small : normal;
    constexpr uint32_t kBeyond = kHasInfinity ? 0x7cu : 0x7fu, kOverflow = 0x47800000u;  // 2^16
    code = magnitude >= kOverflow || code > kBeyond ? kBeyond : code;
    code |= sign;
    return static_cast<uint8_t>(magnitude > 0x7f800000u ? (kHasInfinity ? 0x7eu : 0x7fu) : code);
  }

  static constexpr uint32_t float_bits_of_power(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; }
  static constexpr float bits_of_power(int exponent) {
    return __builtin_bit_cast(float, float_bits_of_power(exponent));
  }
};
template <int kMantissa>
struct FromSmall {
  TERROIR_INLINE_MEMBER static float of(uint8_t x) { return Small<kMantissa>::decoded(x); }
};
template <int kMantissa>
struct ToSmall {
  TERROIR_INLINE_MEMBER static uint8_t of(float x) { return Small<kMantissa>::encoded(x); }
};

template <class R>
struct Cast {
  template <class T>
  TERROIR_INLINE_MEMBER static R of(T x) {
    return static_cast<R>(x);
  }
};

template <int kMantissa>
void fake_convert_loop(const void* const* in, void* out, int64_t n) {
  const float *x = static_cast<const float*>(in[0]), *scale = static_cast<const float*>(in[1]);
  const float* shift = static_cast<const float*>(in[2]);
  float* r = static_cast<float*>(out);
  n &= -kTileUnit;
  const float most = kMantissa == 2 ? 57344.0f : 448.0f;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = x[i] * scale[i] - shift[i];
    const float below = scaled > most ? most : scaled, clamped = below < -most ? -most : below;
    r[i] = (Small<kMantissa>::decoded(Small<kMantissa>::encoded(clamped)) + shift[i]) / scale[i];
  }
}

// ---- the table: from the types in Ts to R

template <class F, class R, class... Ts>
TileFn loop_from(NumberType from) {
  TileFn fn = nullptr;
  ((kNumber<Ts> == from ? static_cast<void>(fn = &unary_loop<F, Ts, R>) : static_cast<void>(0)), ...);
  return fn;
}

/// Integers as wide as R or wider lose bits, so only the widths of the source matter; narrower ones are extended.
template <class R>
TileFn to_whole(NumberType from) {
  if (const TileFn fn = loop_from<ToWhole<R>, R, float, double>(from)) return fn;
  using C = Cast<R>;
  if constexpr (sizeof(R) == 1) return loop_from<C, R, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t>(from);
  if constexpr (sizeof(R) == 2) return loop_from<C, R, int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t>(from);
  if constexpr (sizeof(R) == 4) return loop_from<C, R, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint64_t>(from);
  if constexpr (sizeof(R) == 8) return loop_from<C, R, int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t>(from);
}
/// Bits that are kept or repeated are the same for a signed result.
template <class Signed, class Unsigned>
TileFn to_signed(NumberType from) {
  return from == NumberType::f32 || from == NumberType::f64 ? to_whole<Signed>(from) : to_whole<Unsigned>(from);
}

template <class R>
TileFn to_real(NumberType from) {
  return loop_from<Cast<R>, R, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(from);
}

}  // namespace

TileFn fake_conversion_loop(NumberType to) {
  return to == NumberType::f8e4m3 ? &fake_convert_loop<3> : to == NumberType::f8e5m2 ? &fake_convert_loop<2> : nullptr;
}

TileFn conversion_loop(NumberType from, NumberType to) {
  using N = NumberType;
  switch (to) {
    case N::i8:
      return to_signed<int8_t, uint8_t>(from);
    case N::i16:
      return to_signed<int16_t, uint16_t>(from);
    case N::i32:
      return to_signed<int32_t, uint32_t>(from);
    case N::i64:
      return to_signed<int64_t, uint64_t>(from);
    case N::u8:
      return to_whole<uint8_t>(from);
    case N::u16:
      return to_whole<uint16_t>(from);
    case N::u32:
      return to_whole<uint32_t>(from);
    case N::u64:
      return to_whole<uint64_t>(from);
    case N::f64:
      return from == N::f32 ? &unary_loop<Cast<double>, float, double> : to_real<double>(from);
    case N::f32:
      switch (from) {
        case N::f16:
          return &unary_loop<FromHalf, uint16_t, float>;
        case N::bf16:
          return &unary_loop<FromBfloat, uint16_t, float>;
        case N::f8e4m3:
          return &unary_loop<FromSmall<3>, uint8_t, float>;
        case N::f8e5m2:
          return &unary_loop<FromSmall<2>, uint8_t, float>;
        case N::f64:
          return &unary_loop<Cast<float>, double, float>;
        default:
          return to_real<float>(from);
      }
    case N::f16:
      return from == N::f32 ? &unary_loop<ToHalf, float, uint16_t> : nullptr;
    case N::bf16:
      return from == N::f32 ? &unary_loop<ToBfloat, float, uint16_t> : nullptr;
    case N::f8e4m3:
      return from == N::f32 ? &unary_loop<ToSmall<3>, float, uint8_t> : nullptr;
    case N::f8e5m2:
      return from == N::f32 ? &unary_loop<ToSmall<2>, float, uint8_t> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace terroir::cpu::TERROIR_ISA
