// What: maxima of bytes, of the buckets that have them. Contract: pool.hpp. Include one bucket header first.
// How: columns first, into a line in the first cache, with zeros where padding is: no byte is below them. Then windows
// along the line, four to a vector. Of windows too wide for a line some taps after the other.
#pragma once

#include <cstddef>

#include "plugins/cpu/kernels/pool/windows.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

#if defined(__AVX512BW__)
constexpr int64_t kPixel = 16, kPixels = 4, kVector = kPixel * kPixels;  // bytes of a position; positions of a vector
// Positions of a line, of the taps at once, and of memory, of which some around the line are touched.
constexpr int64_t kMostPixels = 1024, kMostReach = kMostPixels / 2, kLinePixels = kMostPixels + 4 * kPixels;

TERROIR_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
TERROIR_INLINE int64_t within(int64_t x, int64_t size) { return x < 0 ? 0 : least(x, size); }

TERROIR_INLINE __mmask8 first_pixels(int64_t n) {
  return static_cast<__mmask8>(n >= kPixels ? 0xff : n <= 0 ? 0 : (1u << 2 * n) - 1);
}

/// The rows of a window: how many, and how far apart.
struct ByteRows {
  int64_t planes, rows, plane, row;
};

/// K vectors of columns from `first` on, up to position `n`.
template <int K>
TERROIR_INLINE void max_of_columns(const ByteRows& from, const uint8_t* first, int64_t n, uint8_t* dst) {
  __mmask8 wanted[K];
  __m512i acc[K];
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA {
    wanted[v] = first_pixels(n - v * kPixels);
    acc[v] = _mm512_setzero_si512();
  });
  for (int64_t d = 0; d < from.planes; ++d, first += from.plane) {
    const uint8_t* p = first;
    for (int64_t h = 0; h < from.rows; ++h, p += from.row)
      unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA {
        acc[v] = _mm512_max_epu8(acc[v], _mm512_maskz_loadu_epi64(wanted[v], p + v * kVector));
      });
  }
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { _mm512_store_si512(dst + v * kVector, acc[v]); });
}

TERROIR_INLINE void clear(uint8_t* dst, int64_t n) {
  for (; n > 0; n -= kPixels, dst += kVector) _mm512_storeu_si512(dst, _mm512_setzero_si512());
}

/// The columns of a line from those at `src` on, and zeros around them.
TERROIR_INLINE void fill_line(const ByteRows& from, const uint8_t* src, int64_t first, int64_t end, int64_t size,
                              uint8_t* line) {
  uint8_t* const inside = line + first * kPixel;
  for (uint8_t* p = inside; p > line; p -= kVector) _mm512_store_si512(p - kVector, _mm512_setzero_si512());
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
  const __m512i evens = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
  const __mmask8 wanted = first_pixels(K > 1 ? kPixels : left);
  __m512i acc[K];
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA {
    acc[v] = more ? _mm512_maskz_loadu_epi64(wanted, dst + v * kVector) : _mm512_setzero_si512();
  });
  for (int64_t t = 0; t < taps; ++t, line += step)
    unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA {
      const uint8_t* const p = line + v * S * kVector;
      __m512i x = _mm512_loadu_si512(p);
      if (S == 2) x = _mm512_permutex2var_epi64(x, evens, _mm512_loadu_si512(p + kVector));
      acc[v] = _mm512_max_epu8(acc[v], x);
    });
  unroll<K>([&](auto v) TERROIR_INLINE_LAMBDA { _mm512_mask_storeu_epi64(dst + v * kVector, wanted, acc[v]); });
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
    auto* const to = reinterpret_cast<__m128i*>(dst);
    __m128i acc = more ? _mm_loadu_si128(to) : _mm_setzero_si128();
    const uint8_t* p = line + o * stride * kPixel;
    for (int64_t t = 0; t < taps; ++t, p += step)
      acc = _mm_max_epu8(acc, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    _mm_storeu_si128(to, acc);
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
