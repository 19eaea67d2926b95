// What: rows of images of one bucket. Contract: image.hpp. Include one bucket header first.
// Plain loops over short pieces of a row, which the compiler turns into vector code of the bucket.
#pragma once

#include "plugins/cpu/kernels/image/image.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

constexpr int64_t kPiece = 128;  // pixels or elements whose sums stay in registers and the nearest cache

/// 0 for NaN.
TERROIR_INLINE float limited(float x) {
  x = x > 0.0f ? x : 0.0f;
  return x < 255.0f ? x : 255.0f;
}
TERROIR_INLINE int32_t rounded(float x) { return static_cast<int32_t>(limited(x) + 0.5f); }

void widen(const uint8_t* src, float* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<float>(src[i]);
}

void blend(const uint8_t* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps,
           float* __restrict dst, int64_t n) {
  const bool pair = taps > 1;
  const uint8_t *a = src + (taps > 0 ? index[0] * stride : 0), *b = src + (pair ? index[1] * stride : 0);
  const float wa = taps > 0 ? weight[0] : 0.0f, wb = pair ? weight[1] : 0.0f;
  for (int64_t i = 0; i < n; ++i) dst[i] = wa * static_cast<float>(a[i]) + wb * static_cast<float>(b[i]);
  for (int64_t t = 2; t < taps; ++t) {
    const uint8_t* row = src + index[t] * stride;
    const float w = weight[t];
    for (int64_t i = 0; i < n; ++i) dst[i] += w * static_cast<float>(row[i]);
  }
}

void round(const float* src, uint8_t* __restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<uint8_t>(rounded(src[i]));
}

void truncate(const float* src, uint8_t* __restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<uint8_t>(static_cast<int32_t>(limited(src[i] + 0x1p-11f)));
}

/// Red, green and blue before they are limited, of n pixels, even and at most kPiece.
template <class T, int kStep>
TERROIR_INLINE void colors(const YuvRow<T>& src, int64_t from, int64_t n, float* red, float* green, float* blue) {
  const T *y = src.y + from, *u = src.u + from / 2 * kStep, *v = src.v + from / 2 * kStep;
  float du[kPiece], dv[kPiece];
  for (int64_t j = 0; j < n / 2; ++j) {
    T pair[2] = {u[j * kStep], v[j * kStep]};
    if constexpr (kStep == 2 && sizeof(T) == 1) {
      // One behind the other: taken apart in a word, without shuffles.
      uint16_t both;
      __builtin_memcpy(&both, u + 2 * j, sizeof(both));
      pair[0] = static_cast<T>(both & 0xff);
      pair[1] = static_cast<T>(both >> 8);
    }
    du[2 * j] = du[2 * j + 1] = static_cast<float>(pair[0]) - 128.0f;
    dv[2 * j] = dv[2 * j + 1] = static_cast<float>(pair[1]) - 128.0f;
  }
  for (int64_t i = 0; i < n; ++i) {
    const float light = 1.164f * (static_cast<float>(y[i]) - 16.0f);
    red[i] = light + 1.596f * dv[i];
    green[i] = light - 0.391f * du[i] - 0.813f * dv[i];
    blue[i] = light + 2.018f * du[i];
  }
}

/// Of kPermuted bytes.
TERROIR_INLINE void shuffle(const uint8_t* src, const uint8_t* places, uint8_t* dst) {
#if defined(__SSSE3__)
  const auto load = [](const uint8_t* p)
                        TERROIR_INLINE_LAMBDA { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm_shuffle_epi8(load(src), load(places)));
#else
  for (int64_t j = 0; j < kPermuted; ++j) dst[j] = src[places[j]];
#endif
}

/// Limited as an integer, which takes one instruction each way; for sums of bytes, none of which is too large for it.
TERROIR_INLINE int32_t byte_of(float x) {
  const auto whole = static_cast<int32_t>(x + 0.5f);
  const int32_t positive = whole > 0 ? whole : 0;
  return positive < 255 ? positive : 255;
}

TERROIR_INLINE void interleave(const float* first, const float* second, const float* third, uint8_t* dst, int64_t n) {
  int32_t pixel[kPiece];
  for (int64_t i = 0; i < n; ++i) pixel[i] = byte_of(first[i]) | byte_of(second[i]) << 8 | byte_of(third[i]) << 16;
  int64_t i = 0;
#if defined(__SSSE3__)
  // Four pixels at once, and four bytes that the next ones overwrite.
  constexpr uint8_t kPlaces[kPermuted] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14};
  for (; i + 6 <= n; i += 4) shuffle(reinterpret_cast<const uint8_t*>(pixel + i), kPlaces, dst + 3 * i);
#endif
  // One store per pixel, whose fourth byte the next pixel overwrites.
  for (; i + 1 < n; ++i) __builtin_memcpy(dst + 3 * i, pixel + i, 4);
  if (n > 0) __builtin_memcpy(dst + 3 * (n - 1), pixel + n - 1, 3);
}

TERROIR_INLINE void interleave(const float* first, const float* second, const float* third, float* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    dst[3 * i] = limited(first[i]);
    dst[3 * i + 1] = limited(second[i]);
    dst[3 * i + 2] = limited(third[i]);
  }
}

template <class T, int kStep>
TERROIR_INLINE void yuv_piece(const YuvRow<T>& src, int64_t from, int64_t n, T* dst) {
  float red[kPiece], green[kPiece], blue[kPiece];
  colors<T, kStep>(src, from, n, red, green, blue);
  interleave(src.blue_first ? blue : red, green, src.blue_first ? red : blue, dst + 3 * from, n);
}

template <class T, int kStep>
TERROIR_INLINE void yuv_steps(const YuvRow<T>& src, T* dst, int64_t width) {
  int64_t i = 0;
  // The whole pieces have a length that the compiler knows.
  for (; i + kPiece <= width; i += kPiece) yuv_piece<T, kStep>(src, i, kPiece, dst);
  if (i < width) yuv_piece<T, kStep>(src, i, width - i, dst);
}

template <class T>
void yuv_row(const YuvRow<T>& src, T* dst, int64_t width) {
  if (src.step == 2) {
    yuv_steps<T, 2>(src, dst, width);
  } else {
    yuv_steps<T, 1>(src, dst, width);
  }
}

/// As many pixels at once as fit; what is written behind them the next ones overwrite.
void permute(const PixelOrder& order, const uint8_t* src, uint8_t* dst, int64_t pixels) {
  const int64_t from = order.from, to = order.to, at_once = kPermuted / (from > to ? from : to);
  uint8_t places[kPermuted] = {};
  for (int64_t p = 0; p < at_once; ++p)
    for (int64_t j = 0; j < to; ++j) places[p * to + j] = static_cast<uint8_t>(p * from + order.places[j]);
  // Whole loads and stores stay within the pixels.
  const int64_t behind = kPermuted / (from < to ? from : to) + 1;
  int64_t p = 0;
  for (; p + behind <= pixels; p += at_once) shuffle(src + p * from, places, dst + p * to);
  for (; p < pixels; p += at_once) {
    const int64_t left = at_once < pixels - p ? at_once : pixels - p;
    uint8_t in[kPermuted] = {}, out[kPermuted];
    __builtin_memcpy(in, src + p * from, static_cast<size_t>(left * from));
    shuffle(in, places, out);
    __builtin_memcpy(dst + p * to, out, static_cast<size_t>(left * to));
  }
}

#if defined(__AVX2__)
/// Where byte j of a plane is within the third v of sixteen pixels; none: a place whose highest bit is set gives zero.
struct SplitPlaces {
  alignas(16) uint8_t at[3][3][16];
  constexpr SplitPlaces() : at() {
    for (int c = 0; c < 3; ++c)
      for (int v = 0; v < 3; ++v)
        for (int j = 0; j < 16; ++j) {
          const int byte = 3 * j + c - 16 * v;
          at[c][v][j] = static_cast<uint8_t>(byte >= 0 && byte < 16 ? byte : 0x80);
        }
  }
};
constexpr SplitPlaces kSplitPlaces;

void split_pixels(const uint8_t* src, uint8_t* dst, int64_t plane, int64_t pixels) {
  const auto sixteen = [](const uint8_t* p)
                           TERROIR_INLINE_LAMBDA { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  int64_t i = 0;
  for (; i + 32 <= pixels; i += 32) {
    // Sixteen pixels in each half of three vectors.
    const uint8_t* from = src + 3 * i;
    __m256i third[3];
    unroll<3>([&](auto v) TERROIR_INLINE_LAMBDA {
      third[v] =
          _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(from + 16 * v)), sixteen(from + 48 + 16 * v), 1);
    });
    unroll<3>([&](auto c) TERROIR_INLINE_LAMBDA {
      __m256i found = _mm256_setzero_si256();
      unroll<3>([&](auto v) TERROIR_INLINE_LAMBDA {
        const __m256i places = _mm256_broadcastsi128_si256(sixteen(kSplitPlaces.at[c][v]));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(third[v], places));
      });
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + c * plane + i), found);
    });
  }
  for (; i < pixels; ++i)
    for (int64_t c = 0; c < 3; ++c) dst[c * plane + i] = src[3 * i + c];
}
constexpr auto kSplitPixels = &split_pixels;
#else
constexpr decltype(ImageKernels::split_pixels) kSplitPixels = nullptr;
#endif

}  // namespace

const ImageKernels& image_table() {
  static constexpr ImageKernels kTable = {&widen,          &blend,   &round,      &truncate, &yuv_row<uint8_t>,
                                          &yuv_row<float>, &permute, kSplitPixels};
  return kTable;
}

}  // namespace terroir::cpu::TERROIR_ISA
