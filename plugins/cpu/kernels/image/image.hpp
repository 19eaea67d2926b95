// What: rows of images in bytes: blending rows, rounding to bytes, brightness and colour apart -> red, green, blue, the
//   bytes of pixels in another order, pixels of three bytes apart.
// Formula: blend: dst[i] = the sum over t of weight[t] * src[index[t] * stride + i]. round: halves away from zero;
//   truncate: towards zero, with 2^-11 added for what sums of weights are short of 1; both saturate at 0 and 255, NaN
//   gives 0. permute: byte j of a pixel is byte places[j] of the pixel read.
//   split_pixels: dst[c * plane + p] = src[3 * p + c]. YUV: see ops/reference/image/yuv.hpp,
//   whose bits these are.
// Layouts: pixels in a row; colours interleaved. The colour of pixels 2j and 2j + 1 is u[j * step], v[j * step], where
//   step is 2 if u and v lie side by side, else 1. Aliasing: none. Threads: rows are independent.
// Edge cases: a width of 0; pixels of 1 to kPermuted bytes on either side; rows of YUV have even widths. Source:
// operation pages NV12toRGB-8, I420toRGB-8.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

template <class T>
struct YuvRow {
  const T *y, *u, *v;
  int64_t step;
  bool blue_first;
};

constexpr int64_t kPermuted = 16;

struct PixelOrder {
  int64_t from, to;  // bytes of a pixel as read and as written
  uint8_t places[kPermuted];
};

struct ImageKernels {
  void (*widen)(const uint8_t* src, float* dst, int64_t n);
  void (*blend)(const uint8_t* src, int64_t stride, const int32_t* index, const float* weight, int64_t taps, float* dst,
                int64_t n);
  void (*round)(const float* src, uint8_t* dst, int64_t n);
  void (*truncate)(const float* src, uint8_t* dst, int64_t n);
  void (*yuv_bytes)(const YuvRow<uint8_t>& src, uint8_t* dst, int64_t width);
  void (*yuv_floats)(const YuvRow<float>& src, float* dst, int64_t width);
  void (*permute)(const PixelOrder& order, const uint8_t* src, uint8_t* dst, int64_t pixels);
  void (*split_pixels)(const uint8_t* src, uint8_t* dst, int64_t plane, int64_t pixels);  // null below AVX2
};

const ImageKernels& image_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
