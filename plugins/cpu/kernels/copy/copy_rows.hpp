#pragma once
// What: the inner loops of copies: runs, evenly spaced units, and tiles whose two sides run along different axes.
// Units are bytes moved together; steps are in bytes, of any sign. Aliasing: none. Alignment: any.
#include <cstdint>

namespace terroir::cpu {

/// dst[c * dst_stride + r] = src[r * src_stride + c], as ReorderKernels::transpose_2d; strides in elements.
using Transpose4 = void (*)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows,
                            int64_t columns, int64_t padded_rows);

/// dst[c * plane + p] = src[3 * p + c] of bytes, as ImageKernels::split_pixels.
using SplitPixels = void (*)(const uint8_t* src, uint8_t* dst, int64_t plane, int64_t pixels);

/// Tiles for which an instruction set has more than 16-byte vectors; null where it has not.
struct TileKernels {
  Transpose4 transpose = nullptr;
  Transpose4 stream = nullptr;  // the same past the caches
  SplitPixels split = nullptr;
};

/// Unit i of dst = unit i of src, i < count.
void copy_units(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t unit, int64_t count) noexcept;

/// `count` times the same unit, side by side.
void repeat_unit(const char* src, char* dst, int64_t unit, int64_t count) noexcept;

/// Unit i of dst = the one at src + sources[i]; side by side.
void copy_indexed(const char* src, const int64_t* sources, char* dst, int64_t unit, int64_t count) noexcept;

/// Whether copy_tile() takes units of this size.
constexpr bool is_tile_unit(int64_t unit) { return unit == 1 || unit == 2 || unit == 4 || unit == 8; }

/// Unit (r, c): dst[c * dst_step + r * unit] = src[r * src_step + c * unit].
void copy_tile(const char* src, int64_t src_step, char* dst, int64_t dst_step, int64_t unit, int64_t rows,
               int64_t columns, const TileKernels& kernels) noexcept;

/// `count` times `squares` squares of four runs of four words: word j of run k of a square goes to word k of its run j.
/// Runs are at src[4 * square + k] + i * src_step and dst[4 * square + j] + i * dst_step, i < count.
void transpose_quads(const char* const* src, int64_t src_step, char* const* dst, int64_t dst_step, int64_t squares,
                     int64_t count) noexcept;

}  // namespace terroir::cpu
