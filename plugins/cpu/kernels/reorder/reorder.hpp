// What: changes of layout for 4-byte elements. Of others, and any permutation of axes: kernels/copy.
// Shapes: N images of C channels by S positions, S the product of the spatial extents (their order never changes).
// Layouts: plain [N][C][S]; blocked [N][ceil(C / B)][S][B], any B up to 64; nhwc [N][S][C]. Every pair.
// Edge cases: channels that pad a blocked destination to a whole block are written as zeros; those of a blocked
//   source are never taken for values. S = 0, N = 0 do nothing.
// Aliasing: none.
// Cost: memory bound; every byte is moved once, by kLanes x kLanes transposes where axes change places.
// Threads: items are independent.
#pragma once

#include <cstdint>

namespace terroir::cpu {

// Declared only: the files of the buckets include this header, and isa.hpp brings in containers.
enum class Isa : int32_t;

enum class ImageFormat : int32_t { plain, blocked, nhwc };

struct ReorderArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t n = 0, c = 0, s = 0;
  ImageFormat src_format = ImageFormat::plain;
  ImageFormat dst_format = ImageFormat::plain;
  int64_t src_block = 0;  // of blocked formats
  int64_t dst_block = 0;
  // Past the caches, where axes change places and lines are written whole: see streamed_results.hpp.
  bool streamed = false;
};

struct ReorderKernels {
  // The work of a reorder, cut in independent pieces of about equal size: how many depends on where dst begins, too.
  int64_t (*items)(const ReorderArgs& args);
  void (*reorder)(const ReorderArgs& args, int64_t item_begin, int64_t item_end);
  // dst[c * dst_stride + r] = src[r * src_stride + c]; zeros for rows <= r < padded_rows.
  void (*transpose_2d)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows,
                       int64_t columns, int64_t padded_rows);
  // The same past the caches, where columns of dst are whole lines of them: see streamed_results.hpp.
  void (*stream_2d)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
                    int64_t padded_rows);
  // dst[r * dst_stride + c] = src[r * src_stride + c]; zeros for columns <= c < padded_columns.
  void (*copy_2d)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
                  int64_t padded_columns);
};

const ReorderKernels& reorder_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
