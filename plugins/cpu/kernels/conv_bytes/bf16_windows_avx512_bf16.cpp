#include "plugins/cpu/simd/avx512_bf16.hpp"

#include "plugins/cpu/kernels/conv_bytes/bf16.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu::avx512_bf16 {
namespace {

constexpr int64_t kBlockBytes = kLanes * kBf16Bytes;

// 16 numbers of bf16; 32, of two blocks of floats or of one block; the first `n` of 32, and zeros.
TERROIR_INLINE __m256i sixteen(const float* src) { return bits_of(_mm512_cvtneps_pbh(_mm512_loadu_ps(src))); }
TERROIR_INLINE __m256i sixteen(const uint16_t* src) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
}
TERROIR_INLINE __m512i two_sixteens(const float* src, const float* other) {
  return bits_of(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(other), _mm512_loadu_ps(src)));
}
TERROIR_INLINE __m512i two_sixteens(const uint16_t* src, const uint16_t*) { return _mm512_loadu_si512(src); }
TERROIR_INLINE __m512i first_ones(const float* src, int64_t n) {
  const V low = load_n(src, n < kLanes ? n : kLanes);
  return bits_of(_mm512_cvtne2ps_pbh(n > kLanes ? load_n(src + kLanes, n - kLanes) : zero(), low));
}
TERROIR_INLINE __m512i first_ones(const uint16_t* src, int64_t n) {
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), src);
}

// To `dst`: numbers of bf16 of one block, of two or of one of 32, and of a row.
template <class Number>
TERROIR_INLINE void store_16(uint8_t* dst, const Number* src, int64_t /*rests*/) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), sixteen(src));
}
template <class Number>
TERROIR_INLINE void store_32(uint8_t* dst, const Number* src, const Number* other, int64_t /*rests*/) {
  _mm512_storeu_si512(dst, two_sixteens(src, other));
}
template <class Number>
TERROIR_INLINE void store_first(uint8_t* dst, const Number* src, int64_t n, int64_t /*rests*/) {
  _mm512_storeu_si512(dst, first_ones(src, n));
}

// A float that becomes two numbers of bf16.
struct Pair {
  float whole;
};
// Whose upper halves are the numbers of bf16 nearest to `x`, away from zero between two of them.
TERROIR_INLINE __m512 nearest_bf16(__m512 x) {
  const __m512i rounded = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000))));
}
TERROIR_INLINE void store_pairs(uint8_t* dst, __m512 low, __m512 high, int64_t rests) {
  const __m512 near_low = nearest_bf16(low), near_high = nearest_bf16(high);
  const __m512i upper_halves = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
                                                27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  _mm512_storeu_si512(
      dst, _mm512_permutex2var_epi16(_mm512_castps_si512(near_low), upper_halves, _mm512_castps_si512(near_high)));
  _mm512_storeu_si512(dst + rests,
                      bits_of(_mm512_cvtne2ps_pbh(_mm512_sub_ps(high, near_high), _mm512_sub_ps(low, near_low))));
}
TERROIR_INLINE void store_16(uint8_t* dst, const Pair* src, int64_t rests) {
  const __m512 x = _mm512_loadu_ps(src), near = nearest_bf16(x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(near), 16)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + rests), bits_of(_mm512_cvtneps_pbh(_mm512_sub_ps(x, near))));
}
TERROIR_INLINE void store_32(uint8_t* dst, const Pair* src, const Pair* other, int64_t rests) {
  store_pairs(dst, _mm512_loadu_ps(src), _mm512_loadu_ps(other), rests);
}
TERROIR_INLINE void store_first(uint8_t* dst, const Pair* src, int64_t n, int64_t rests) {
  const auto lanes = [](int64_t count) {
    return static_cast<__mmask16>(count >= kLanes ? 0xffff : count > 0 ? (1u << count) - 1 : 0);
  };
  store_pairs(dst, _mm512_maskz_loadu_ps(lanes(n), src), _mm512_maskz_loadu_ps(lanes(n - kLanes), src + kLanes), rests);
}

// Numbers from position to position.
template <class Number>
constexpr int64_t kStep = sizeof(Number) == kBf16Bytes ? kBf16Block : kByteBlock;

template <class Number>
void side_by_side(const void* from, int64_t block_step, int64_t blocks, int64_t positions, int64_t step, uint8_t* dst,
                  int64_t dst_step, int64_t rests) {
  const auto* const src = static_cast<const Number*>(from);
  const int64_t apart = step * kStep<Number>;
  // Few streams at a time, which processors notice and read ahead.
  constexpr int64_t kAtOnce = 64;
  for (int64_t first = 0; first < positions; first += kAtOnce) {
    const int64_t n = positions - first < kAtOnce ? positions - first : kAtOnce;
    for (int64_t b = 0; b < blocks; b += 2) {
      const auto* const x = src + b * block_step + first * apart;
      uint8_t* const to = dst + first * dst_step + b * kBlockBytes;
      if (b + 1 < blocks) {
        for (int64_t p = 0; p < n; ++p) store_32(to + p * dst_step, x + p * apart, x + block_step + p * apart, rests);
      } else {
        for (int64_t p = 0; p < n; ++p) store_16(to + p * dst_step, x + p * apart, rests);
      }
    }
  }
}

template <class Number>
void few_channels(const void* from, int64_t channels, int64_t positions, uint8_t* dst) {
  const auto* const src = static_cast<const Number*>(from);
  for (int64_t p = 0; p < positions; ++p) {
    const __m128i few = _mm256_castsi256_si128(sixteen(src + p * kStep<Number>));
    uint8_t* const to = dst + p * channels * kBf16Bytes;
    if (channels == 4)
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), few);
    else
      _mm_storeu_si32(to, few);
  }
}

template <class Number>
void row(const void* from, int64_t count, uint8_t* dst, int64_t rests) {
  const auto* const src = static_cast<const Number*>(from);
  constexpr int64_t kAtOnce = 2 * kLanes;
  for (int64_t i = 0; i < count; i += kAtOnce, dst += kWideBytes)
    store_first(dst, src + i, count - i < kAtOnce ? count - i : kAtOnce, rests);
}

template <class Number>
constexpr ByteConvKernels::Bf16Windows kWindows = {&side_by_side<Number>, &few_channels<Number>, &row<Number>};

// A channel of 16 positions, the first `n`.
TERROIR_INLINE __m256i channel_at(const float* src, int64_t n) {
  return bits_of(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), src)));
}

// What belongs to positions of 32 bytes, of which `at` come before; `mask`: the 32-bit words that are stored, of all.
TERROIR_INLINE void store_words(uint8_t* dst, int64_t at, uint64_t mask, __m256i words) {
  _mm256_mask_storeu_epi32(dst + at * 32, static_cast<__mmask8>(mask >> (8 * at)), words);
}

}  // namespace

void bf16_planes(const float* src, int64_t plane, int64_t channels, int64_t numbers, int64_t positions, uint8_t* dst);
void bf16_planes(const float* src, int64_t plane, int64_t channels, int64_t numbers, int64_t positions, uint8_t* dst) {
  constexpr int64_t kMost = 4;
  for (int64_t p = 0; p < positions; p += kLanes, dst += kLanes * numbers * kBf16Bytes) {
    const int64_t n = positions - p < kLanes ? positions - p : kLanes;
    const uint64_t stored = (uint64_t{1} << (n * numbers / 2)) - 1;
    __m256i c[kMost];
    for (int64_t i = 0; i < kMost; ++i)
      c[i] = i < channels ? channel_at(src + i * plane + p, n) : _mm256_setzero_si256();
    const __m256i low01 = _mm256_unpacklo_epi16(c[0], c[1]), high01 = _mm256_unpackhi_epi16(c[0], c[1]);
    if (numbers == 2) {
      store_words(dst, 0, stored, _mm256_permute2x128_si256(low01, high01, 0x20));
      store_words(dst, 1, stored, _mm256_permute2x128_si256(low01, high01, 0x31));
      continue;
    }
    const __m256i low23 = _mm256_unpacklo_epi16(c[2], c[3]), high23 = _mm256_unpackhi_epi16(c[2], c[3]);
    // Positions 0, 1, 8, 9, then 2, 3, 10, 11, and so on.
    const __m256i q0 = _mm256_unpacklo_epi32(low01, low23), q1 = _mm256_unpackhi_epi32(low01, low23);
    const __m256i q2 = _mm256_unpacklo_epi32(high01, high23), q3 = _mm256_unpackhi_epi32(high01, high23);
    store_words(dst, 0, stored, _mm256_permute2x128_si256(q0, q1, 0x20));
    store_words(dst, 1, stored, _mm256_permute2x128_si256(q2, q3, 0x20));
    store_words(dst, 2, stored, _mm256_permute2x128_si256(q0, q1, 0x31));
    store_words(dst, 3, stored, _mm256_permute2x128_si256(q2, q3, 0x31));
  }
}

void floats_of_bf16(const uint16_t* src, float* dst, int64_t apart, int64_t positions);
void floats_of_bf16(const uint16_t* src, float* dst, int64_t apart, int64_t positions) {
  const auto widened = [](const uint16_t* p) TERROIR_INLINE_LAMBDA {
    return V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(sixteen(p)), 16)));
  };
  for (int64_t p = 0; p < positions; ++p, src += kBf16Block, dst += kLanes) {
    store(dst, widened(src));
    store(dst + apart, widened(src + kLanes));
  }
}

void bf16_of_floats(const float* src, int64_t apart, uint16_t* dst, int64_t positions);
void bf16_of_floats(const float* src, int64_t apart, uint16_t* dst, int64_t positions) {
  for (int64_t p = 0; p < positions; ++p, src += kLanes, dst += kBf16Block) {
    const V high = apart == 0 ? zero() : load(src + apart);
    _mm512_storeu_si512(dst, bits_of(_mm512_cvtne2ps_pbh(high, load(src))));
  }
}

extern const ByteConvKernels::Bf16Windows kBf16OfFloats, kBf16OfBf16, kBf16OfPairs;
constexpr ByteConvKernels::Bf16Windows kBf16OfFloats = kWindows<float>, kBf16OfBf16 = kWindows<uint16_t>,
                                       kBf16OfPairs = {&side_by_side<Pair>, nullptr, &row<Pair>};

}  // namespace terroir::cpu::avx512_bf16
