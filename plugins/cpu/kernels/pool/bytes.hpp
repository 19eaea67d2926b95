// What: maxima of bytes, of the buckets that have them. Contract: pool.hpp. Include one bucket header first.
// How: columns first, into a line in the first cache, with zeros where padding is: no byte is below them. Then windows
// along the line, four to a vector. Of windows too wide for a line some taps after the other.
#pragma once

#include <cstddef>

#include "plugins/cpu/kernels/pool/windows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512BW__) || defined(__AVX2__)
#if defined(__AVX512BW__)
using Bytes = __m512i;
#else
using Bytes = __m256i;
#endif
constexpr int64_t kVector = sizeof(Bytes), kPixels = 4, kPixel = kVector / kPixels;  // of a vector; of a position
// Positions of a line, of the taps at once, and of memory, of which some around the line are touched.
constexpr int64_t kMostPixels = 1024, kMostReach = kMostPixels / 2, kLinePixels = kMostPixels + 4 * kPixels;

TERROIR_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TERROIR_INLINE int64_t within(int64_t x, int64_t size) { return x < 0 ? 0 : least(x, size); }

#if defined(__AVX512BW__)
TERROIR_INLINE __mmask8 first_pixels(int64_t n) {
  return static_cast<__mmask8>(n >= kPixels ? 0xff : n <= 0 ? 0 : (1u << 2 * n) - 1);
}
/// The first `n` of a vector, and zeros; of none nothing is read.
TERROIR_INLINE Bytes load_first(const uint8_t* p, int64_t n) { return _mm512_maskz_loadu_epi64(first_pixels(n), p); }
TERROIR_INLINE void store_first(uint8_t* p, int64_t n, Bytes x) { _mm512_mask_storeu_epi64(p, first_pixels(n), x); }
TERROIR_INLINE Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
TERROIR_INLINE void store_vector(uint8_t* p, Bytes x) { _mm512_storeu_si512(p, x); }
TERROIR_INLINE Bytes max_of(Bytes a, Bytes b) { return _mm512_max_epu8(a, b); }
TERROIR_INLINE Bytes no_bytes() { return _mm512_setzero_si512(); }
/// Positions 0 and 2 of one vector, and of the next.
TERROIR_INLINE Bytes evens_of(Bytes a, Bytes b) {
  return _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), b);
}
TERROIR_INLINE __m128i load_pixel(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
TERROIR_INLINE void store_pixel(uint8_t* p, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }
#else
TERROIR_INLINE Bytes load_bytes(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
TERROIR_INLINE void store_vector(uint8_t* p, Bytes x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
TERROIR_INLINE Bytes no_bytes() { return _mm256_setzero_si256(); }
TERROIR_INLINE __m256i first_pixels(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
TERROIR_INLINE Bytes load_first(const uint8_t* p, int64_t n) {
  return n >= kPixels ? load_bytes(p) : _mm256_maskload_epi64(reinterpret_cast<const long long*>(p), first_pixels(n));
}
TERROIR_INLINE void store_first(uint8_t* p, int64_t n, Bytes x) {
  if (n >= kPixels) return store_vector(p, x);
  _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), first_pixels(n), x);
}
TERROIR_INLINE Bytes max_of(Bytes a, Bytes b) { return _mm256_max_epu8(a, b); }
TERROIR_INLINE Bytes evens_of(Bytes a, Bytes b) {
  return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), _MM_SHUFFLE(3, 1, 2, 0));
}
TERROIR_INLINE __m128i load_pixel(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
TERROIR_INLINE void store_pixel(uint8_t* p, __m128i x) { _mm_storel_epi64(reinterpret_cast<__m128i*>(p), x); }
#endif

/// The rows of a window: how many, and how far apart.
struct ByteRows {
  int64_t planes, rows, plane, row;
};

/// K vectors of columns from `first` on, up to position `n`.
template <int K>
TERROIR_INLINE void max_of_columns(const ByteRows& from, const uint8_t* first, int64_t n, uint8_t* dst) {
  Bytes acc[K];
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { acc[v] = no_bytes(); });
  for (int64_t d = 0; d < from.planes; ++d, first += from.plane) {
    const uint8_t* p = first;
    for (int64_t h = 0; h < from.rows; ++h, p += from.row)
      unroll<K>([&](auto v)
                    TERROIR_INLINE_LAMBDA { acc[v] = max_of(acc[v], load_first(p + v * kVector, n - v * kPixels)); });
  }
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { store_vector(dst + v * kVector, acc[v]); });
}

TERROIR_INLINE void clear(uint8_t* dst, int64_t n) {
  for (; n > 0; n -= kPixels, dst += kVector) store_vector(dst, no_bytes());
}

/// The columns of a line from those at `src` on, and zeros around them.
TERROIR_INLINE void fill_line(const ByteRows& from, const uint8_t* src, int64_t first, int64_t end, int64_t size,
                              uint8_t* line) {
  uint8_t* const inside = line + first * kPixel;
  for (uint8_t* p = inside; p > line; p -= kVector) store_vector(p - kVector, no_bytes());
  const int64_t n = end - first;
  int64_t i = 0;
  for (; i + 4 * kPixels <= n; i += 4 * kPixels)
    max_of_columns<4>(from, src + i * kPixel, 4 * kPixels, inside + i * kPixel);
  for (; i < n; i += kPixels) max_of_columns<1>(from, src + i * kPixel, n - i, inside + i * kPixel);
  clear(line + end * kPixel, size - end);
}

/// K vectors of windows from `line` on, `taps` of each; `more`: those before are in `dst` already. Of a vector alone as
/// many windows as are left.
template <int S, int K>
TERROIR_INLINE void max_of_vectors(const uint8_t* line, int64_t step, int64_t taps, int64_t left, bool more,
                                   uint8_t* dst) {
  const int64_t wanted = K > 1 ? kPixels : left;
  Bytes acc[K];
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { acc[v] = more ? load_first(dst + v * kVector, wanted) : no_bytes(); });
  for (int64_t t = 0; t < taps; ++t, line += step)
    unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA {
      const uint8_t* const p = line + v * S * kVector;
      Bytes x = load_bytes(p);
      if (S == 2) x = evens_of(x, load_bytes(p + kVector));
      acc[v] = max_of(acc[v], x);
    });
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { store_first(dst + v * kVector, wanted, acc[v]); });
}

/// `n` windows, S positions apart.
template <int S>
TERROIR_INLINE void max_of_neighbours(const uint8_t* line, int64_t step, int64_t taps, int64_t n, bool more,
                                      uint8_t* dst) {
  int64_t o = 0;
  for (; o + 2 * kPixels <= n; o += 2 * kPixels)
    max_of_vectors<S, 2>(line + o * S * kPixel, step, taps, n - o, more, dst + o * kPixel);
  for (; o < n; o += kPixels) max_of_vectors<S, 1>(line + o * S * kPixel, step, taps, n - o, more, dst + o * kPixel);
}

TERROIR_INLINE void max_of_taps(const PoolArgs& a, const uint8_t* line, int64_t taps, int64_t n, bool more,
                                uint8_t* dst) {
  const int64_t step = a.dilation[2] * kPixel, stride = a.stride[2];
  if (stride == 1) return max_of_neighbours<1>(line, step, taps, n, more, dst);
  if (stride == 2) return max_of_neighbours<2>(line, step, taps, n, more, dst);
  for (int64_t o = 0; o < n; ++o, dst += kPixel) {
    __m128i acc = more ? load_pixel(dst) : _mm_setzero_si128();
    const uint8_t* p = line + o * stride * kPixel;
    for (int64_t t = 0; t < taps; ++t, p += step) acc = _mm_max_epu8(acc, load_pixel(p));
    store_pixel(dst, acc);
  }
}

void max_bytes(const PoolArgs& a, const uint8_t* src, uint8_t* dst, int64_t row_begin, int64_t row_end) {
  alignas(64) uint8_t memory[kLinePixels * kPixel];
  const int64_t row_bytes = a.in[2] * kPixel, stride = a.stride[2], apart = a.dilation[2];
  const int64_t most_taps = least(a.kernel[2], apart < kMostReach ? (kMostReach - 1) / apart + 1 : 1);
  const int64_t most = (kMostPixels - (most_taps - 1) * apart - 1) / stride + 1;
  for (int64_t tap = 0; tap < a.kernel[2]; tap += most_taps) {
    const int64_t taps = least(a.kernel[2] - tap, most_taps);
    for (int64_t o = 0; o < a.out[2]; o += most) {
      const int64_t n = least(a.out[2] - o, most), size = (n - 1) * stride + (taps - 1) * apart + 1;
      const int64_t begin = o * stride + tap * apart - a.pad_begin[2];
      const int64_t first = within(-begin, size), inside_end = within(a.in[2] - begin, size);
      const int64_t end = inside_end > first ? inside_end : first;
      // What is inside begins with a cache line.
      uint8_t* const line = memory + (kPixels - first % kPixels) % kPixels * kPixel;
      int64_t plane = row_begin / a.out[1], y = row_begin % a.out[1];
      Span d = span_of(a, 0, plane);
      for (int64_t row = row_begin; row < row_end; ++row) {
        const Span h = span_of(a, 1, y);
        fill_line({d.count, h.count, a.dilation[0] * a.in[1] * row_bytes, a.dilation[1] * row_bytes},
                  src + (d.first * a.in[1] + h.first) * row_bytes + (begin + first) * kPixel, first, end, size, line);
        max_of_taps(a, line, taps, n, tap > 0, dst + (row * a.out[2] + o) * kPixel);
        if (++y == a.out[1]) {
          y = 0;
          d = span_of(a, 0, ++plane);
        }
      }
    }
  }
}

constexpr auto kMaxBytes = &max_bytes;
#else
constexpr std::nullptr_t kMaxBytes = nullptr;
#endif

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
