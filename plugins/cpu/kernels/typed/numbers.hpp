// What: which C++ type a NumberType is, for the tables of tile loops. Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/typed/typed.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <class T>
inline constexpr NumberType kNumber = NumberType::none;
template <>
inline constexpr NumberType kNumber<int8_t> = NumberType::i8;
template <>
inline constexpr NumberType kNumber<int16_t> = NumberType::i16;
template <>
inline constexpr NumberType kNumber<int32_t> = NumberType::i32;
template <>
inline constexpr NumberType kNumber<int64_t> = NumberType::i64;
template <>
inline constexpr NumberType kNumber<uint8_t> = NumberType::u8;
template <>
inline constexpr NumberType kNumber<uint16_t> = NumberType::u16;
template <>
inline constexpr NumberType kNumber<uint32_t> = NumberType::u32;
template <>
inline constexpr NumberType kNumber<uint64_t> = NumberType::u64;
template <>
inline constexpr NumberType kNumber<float> = NumberType::f32;
template <>
inline constexpr NumberType kNumber<double> = NumberType::f64;

// r[i] = F::of(a[i]) for n elements, n a multiple of kTileUnit: the mask tells the compiler that no tail is left.
template <class F, class T, class R>
void unary_loop(const void* const* in, void* out, int64_t n) {
  const T* a = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
  n &= -kTileUnit;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::of(a[i]));
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
