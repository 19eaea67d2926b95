#include "plugins/cpu/simd/avx512_bf16.hpp"

#include "plugins/cpu/kernels/conv_bytes/bf16.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu::avx512_bf16 {
namespace {

TERROIR_INLINE __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>(n >= kLanes ? 0xffff : (1u << n) - 1); }

// What is left of floats beside the numbers of bf16 that are nearest to them.
TERROIR_INLINE __m512 rest_of(__m512 x, __m256i numbers) {
  return _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16)));
}

// Outputs side by side: pairs are those of two rows.
TERROIR_INLINE void pack_columns(const Bf16Weights& w, uint8_t* dst) {
  const __mmask16 lanes = first_lanes(w.outputs);
  const auto pairs_of = [](__m256i first, __m256i second) TERROIR_INLINE_LAMBDA {
    return _mm512_or_si512(_mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16), _mm512_cvtepu16_epi32(first));
  };
  for (int64_t c = 0; c < w.inputs; c += 2, dst += kWideBytes) {
    const float* const row = w.at + c * w.input_step;
    const __m512 first = _mm512_maskz_loadu_ps(lanes, row);
    const __m512 second = _mm512_maskz_loadu_ps(c + 1 < w.inputs ? lanes : 0, row + w.input_step);
    const __m256i one = bits_of(_mm512_cvtneps_pbh(first)), other = bits_of(_mm512_cvtneps_pbh(second));
    _mm512_storeu_si512(dst, pairs_of(one, other));
    if (w.rests == 0) continue;
    _mm512_storeu_si512(dst + w.rests, pairs_of(bits_of(_mm512_cvtneps_pbh(rest_of(first, one))),
                                                bits_of(_mm512_cvtneps_pbh(rest_of(second, other)))));
  }
}

// Rows of 32 numbers, to pairs of inputs of 16 outputs each, as many as hold `inputs`.
TERROIR_INLINE void store_pairs(V (&rows)[kLanes], int64_t inputs, uint8_t* dst) {
  transpose(rows);
  for (int64_t pair = 0; pair < kLanes && 2 * pair < inputs; ++pair)
    _mm512_storeu_ps(dst + pair * kWideBytes, rows[pair]);
}

// The inputs of an output side by side, or as far apart as there are taps: pairs are turned from rows to columns.
TERROIR_INLINE void pack_rows(const Bf16Weights& w, uint8_t* dst) {
  const __m512i order = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i places = _mm512_mullo_epi32(order, _mm512_set1_epi32(static_cast<int32_t>(w.input_step)));
  const auto sixteen = [&](const float* at, int64_t n) TERROIR_INLINE_LAMBDA {
    if (w.input_step == 1) return _mm512_maskz_loadu_ps(first_lanes(n), at);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), first_lanes(n), places, at, sizeof(float));
  };
  constexpr int64_t kAtOnce = 2 * kLanes;
  for (int64_t c = 0; c < w.inputs; c += kAtOnce, dst += kLanes * kWideBytes) {
    const int64_t left = w.inputs - c, second = left > kLanes ? left - kLanes : 0;
    V rows[kLanes], rests[kLanes];
    for (int64_t o = 0; o < kLanes; ++o) {
      const float* const at = w.at + o * w.output_step + c * w.input_step;
      rows[o] = rests[o] = zero();
      if (o >= w.outputs) continue;
      const __m512 low = sixteen(at, left);
      const __m512 high = second > 0 ? sixteen(at + kLanes * w.input_step, second) : _mm512_setzero_ps();
      const __m512i numbers = bits_of(_mm512_cvtne2ps_pbh(high, low));
      rows[o] = V(_mm512_castsi512_ps(numbers));
      if (w.rests == 0) continue;
      rests[o] = V(_mm512_castsi512_ps(bits_of(_mm512_cvtne2ps_pbh(rest_of(high, _mm512_extracti64x4_epi64(numbers, 1)),
                                                                   rest_of(low, _mm512_castsi512_si256(numbers))))));
    }
    store_pairs(rows, left, dst);
    if (w.rests > 0) store_pairs(rests, left, dst + w.rests);
  }
}

}  // namespace

void pack_bf16(const Bf16Weights& weights, uint8_t* dst);
void pack_bf16(const Bf16Weights& weights, uint8_t* dst) {
  if (weights.output_step == 1 && weights.input_step != 1)
    pack_columns(weights, dst);
  else
    pack_rows(weights, dst);
}

}  // namespace terroir::cpu::avx512_bf16
