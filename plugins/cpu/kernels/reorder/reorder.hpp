// What: changes of layout for 4-byte elements, and transposition of tensors of any rank and element size.
// Shapes: N images of C channels by S positions, S the product of the spatial extents (their order never changes).
// Layouts: plain [N][C][S]; blocked [N][ceil(C / B)][S][B], any B up to 64; nhwc [N][S][C]. Every pair.
// Edge cases: channels that pad a blocked destination to a whole block are written as zeros; those of a blocked
//   source are never taken for values. S = 0, N = 0 do nothing.
// Aliasing: none.
// Cost: memory bound; every byte is moved once, by kLanes x kLanes transposes where axes change places.
// Threads: items, and the outermost extent of a permutation, are independent.
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
};

// A permutation of axes, adjacent axes that stay together merged, extents of 1 removed.
struct PermutePlan {
  static constexpr int kMaxRank = 12;
  int rank = 0;
  int64_t element_bytes = 4;
  // In the order of the destination, which is dense; strides in elements.
  int64_t extent[kMaxRank] = {};
  int64_t src_stride[kMaxRank] = {};
  int64_t dst_stride[kMaxRank] = {};
};

// dst axis i is src axis order[i]. element_bytes: 1, 2, 4 or 8. False if the rank is too large even after merging.
bool make_permute_plan(const int64_t* src_shape, const int64_t* order, int64_t rank, int64_t element_bytes,
                       PermutePlan& plan) noexcept;

struct ReorderKernels {
  // The work of a reorder, cut in independent pieces of about equal size.
  int64_t (*items)(const ReorderArgs& args);
  void (*reorder)(const ReorderArgs& args, int64_t item_begin, int64_t item_end);
  // dst[c * dst_stride + r] = src[r * src_stride + c]; zeros for rows <= r < padded_rows.
  void (*transpose_2d)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows,
                       int64_t columns, int64_t padded_rows);
  // dst[r * dst_stride + c] = src[r * src_stride + c]; zeros for columns <= c < padded_columns.
  void (*copy_2d)(const float* src, int64_t src_stride, float* dst, int64_t dst_stride, int64_t rows, int64_t columns,
                  int64_t padded_columns);
  // Indices [begin, end) of the outermost axis of the plan (extent 1 if the plan has rank 0).
  void (*permute)(const PermutePlan& plan, const void* src, void* dst, int64_t begin, int64_t end);
};

const ReorderKernels& reorder_kernels(Isa isa) noexcept;

}  // namespace terroir::cpu
