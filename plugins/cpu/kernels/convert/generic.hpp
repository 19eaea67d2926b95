// What: type conversions of one bucket. Contract: convert.hpp. Include one bucket header first.
// Plain loops without branches, which the compiler turns into vector code of the bucket: the F16C instructions are not
// part of the avx2 bucket, and the integer arithmetic below keeps up with memory.
#pragma once

#include "plugins/cpu/kernels/convert/convert.hpp"

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

void f16_to_f32(const uint16_t* TERROIR_RESTRICT src, float* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = half_to_float(src[i]);
}
void f32_to_f16(const float* TERROIR_RESTRICT src, uint16_t* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = float_to_half(src[i]);
}
void bf16_to_f32(const uint16_t* TERROIR_RESTRICT src, float* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = bits_to_float(static_cast<uint32_t>(src[i]) << 16);
}
void f32_to_bf16(const float* TERROIR_RESTRICT src, uint16_t* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = float_to_bits(src[i]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    dst[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
}

template <typename T>
void integers_to_f32(const T* TERROIR_RESTRICT src, float* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<float>(src[i]);
}

// The instruction gives INT32_MIN for whatever it cannot hold; that is right for numbers below the range only.
TERROIR_INLINE VI saturated(V x) {
  const V in_range = as_float(to_int_trunc(x));
  const V low_or_high = select(x >= V(0x1p31f), as_float(VI(INT32_MAX)), in_range);
  return as_int(select(is_nan(x), zero(), low_or_high));
}
void f32_to_i32(const float* src, int32_t* dst, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_int(dst + i, saturated(loadu(src + i)));
  if (i < n) {
    int32_t lanes[kLanes];
    store_int(lanes, saturated(load_n(src + i, n - i)));
    for (int64_t j = 0; i + j < n; ++j) dst[i + j] = lanes[j];
  }
}
void f32_to_u8(const float* src, uint8_t* dst, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    const V x = count == kLanes ? loadu(src + i) : load_n(src + i, count);
    int32_t lanes[kLanes];
    // In this order a NaN becomes 0.
    store_int(lanes, to_int_trunc(min(max(x, zero()), V(255.0f))));
    for (int64_t j = 0; j < count; ++j) dst[i + j] = static_cast<uint8_t>(lanes[j]);
  }
}
void f32_to_i64(const float* TERROIR_RESTRICT src, int64_t* TERROIR_RESTRICT dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = src[i];
    const int64_t outside = x >= 0x1p63f ? INT64_MAX : x < -0x1p63f ? INT64_MIN : 0;
    dst[i] = x >= -0x1p63f && x < 0x1p63f ? static_cast<int64_t>(x) : outside;
  }
}

}  // namespace

const ConvertKernels& convert_table() {
  static constexpr ConvertKernels kTable = {&f16_to_f32,      &f32_to_f16,      &bf16_to_f32,     &f32_to_bf16,
                                            &integers_to_f32, &integers_to_f32, &integers_to_f32, &integers_to_f32,
                                            &f32_to_u8,       &f32_to_i32,      &f32_to_i64};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
