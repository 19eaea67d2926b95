// What: rows of a panel of narrow_b.hpp as floats, as packed panels have them. Include the bucket's header first.
#pragma once

#include "plugins/cpu/kernels/matmul/narrow_b.hpp"
#include "plugins/cpu/simd/macros.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// kLanes bytes, each in a lane of its own; and, for numbers of 4 bits, their floats from the low ones of each lane,
// whatever is above.
#if defined(__AVX512F__)
template <bool Signed>
TERROIR_INLINE VI widen_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return VI(Signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}
template <bool Signed>
TERROIR_INLINE V float_of_half_byte(VI bits) {
  const __m512 unsigned_ones = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 signed_ones = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
  return V(_mm512_permutexvar_ps(bits, Signed ? signed_ones : unsigned_ones));
}
#else
#if defined(__AVX2__)
template <bool Signed>
TERROIR_INLINE VI widen_bytes(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return VI(Signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}
#elif defined(__SSE4_2__)
template <bool Signed>
TERROIR_INLINE VI widen_bytes(const uint8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  const __m128i bytes = _mm_cvtsi32_si128(four);
  return VI(Signed ? _mm_cvtepi8_epi32(bytes) : _mm_cvtepu8_epi32(bytes));
}
#else
template <bool Signed>
TERROIR_INLINE VI widen_bytes(const uint8_t* p) {
  const auto lane = [p](int i) -> int32_t { return Signed ? static_cast<int8_t>(p[i]) : p[i]; };
  return VI(I4{lane(0), lane(1), lane(2), lane(3)});
}
#endif
template <bool Signed>
TERROIR_INLINE V float_of_half_byte(VI bits) {
  bits = bits & VI(0xf);
  if constexpr (Signed) bits = (bits ^ VI(8)) - VI(8);
  return to_float(bits);
}
#endif

template <NarrowType Type, bool HasZeros>
void unpack_rows(const NarrowB& b, int64_t index, int64_t row, int64_t rows, float* dst) {
  constexpr int64_t kColumns = 2 * kLanes;
  const int64_t row_bytes = b.row_bytes(kColumns);
  const uint8_t* numbers = b.numbers + index * b.panel_bytes(kColumns) + row * row_bytes;
  for (const int64_t end = row + rows; row < end;) {
    const int64_t group = row / b.group, behind = (group + 1) * b.group, stop = behind < end ? behind : end;
    const int64_t at = (index * b.groups + group) * kColumns;
    V scale[2], zero[2];
    for (int j = 0; j < 2; ++j) {
      scale[j] = loadu(b.scales + at + j * kLanes);
      if constexpr (HasZeros) zero[j] = loadu(b.zeros + at + j * kLanes);
    }
    for (; row < stop; ++row, numbers += row_bytes, dst += kColumns) {
      constexpr bool kSigned = Type == NarrowType::i8 || Type == NarrowType::i4;
      V value[2];
      if constexpr (is_half_byte(Type)) {
        const VI bits = widen_bytes<false>(numbers);
        value[0] = float_of_half_byte<kSigned>(bits);
        value[1] = float_of_half_byte<kSigned>(shift_right<4>(bits));
      } else {
        value[0] = to_float(widen_bytes<kSigned>(numbers));
        value[1] = to_float(widen_bytes<kSigned>(numbers + kLanes));
      }
      for (int j = 0; j < 2; ++j) {
        if constexpr (HasZeros) value[j] = value[j] - zero[j];
        storeu(dst + j * kLanes, value[j] * scale[j]);
      }
    }
  }
}

// Rows [row, row + rows) of panel `index` to dst [rows][panel].
void unpack_panel(const NarrowB& b, int64_t index, int64_t row, int64_t rows, float* dst) {
  using Unpack = void (*)(const NarrowB&, int64_t, int64_t, int64_t, float*);
  static constexpr Unpack kUnpack[][2] = {{&unpack_rows<NarrowType::i8, false>, &unpack_rows<NarrowType::i8, true>},
                                          {&unpack_rows<NarrowType::u8, false>, &unpack_rows<NarrowType::u8, true>},
                                          {&unpack_rows<NarrowType::i4, false>, &unpack_rows<NarrowType::i4, true>},
                                          {&unpack_rows<NarrowType::u4, false>, &unpack_rows<NarrowType::u4, true>}};
  kUnpack[static_cast<int>(b.type)][b.zeros != nullptr ? 1 : 0](b, index, row, rows, dst);
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
