// What: apply a chain of PostOp to a register tile before it is stored. Include one bucket header first.
// Cost: a lone relu or clamp stays in registers; anything else goes through a copy of the tile in the L1 cache, so the
// kind is looked up once per tile and step, and the code of the steps exists once per bucket.
#pragma once

#include "plugins/cpu/simd/macros.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu::TERROIR_ISA {

// Every step over every element of the region; touches no byte outside it. Defined in kernels/post_ops/<isa>.cpp.
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);

// The place of a tile of R rows (pixels, or rows of a matrix) by C vectors in the destination.
struct TilePlace {
  int64_t offset = 0;      // of lane 0 of vector [0][0], in elements from the base of the destination
  int64_t row_stride = 0;  // elements between rows of the tile
  // Elements between columns; kLanes when the columns are adjacent (nhwc, matrix product), else a multiple of the
  // block. With 8-channel blocks on 4-lane buckets the columns alternate: then give column_offsets, one per column.
  int64_t column_stride = kLanes;
  const int64_t* column_offsets = nullptr;
  int64_t channel = 0;
  ChannelAxis channel_axis = ChannelAxis::lanes;
  int64_t tail = kLanes;  // lanes of the last column that exist; the others are left as they are
  int64_t rows = -1;      // rows of the tile that exist; -1: all
};

template <int R, int C>
TERROIR_INLINE void apply_post_ops(V (&acc)[R][C], const TilePlace& place, const PostOp* ops, int64_t n_ops) {
  if (n_ops == 0) return;
  if (n_ops == 1 && ops->kind == PostOpKind::relu) {
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = max(zero(), acc[r][c]); });
    });
    return;
  }
  if (n_ops == 1 && ops->kind == PostOpKind::clamp) {
    const V low(ops->alpha), high(ops->beta);
    unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
      unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = min(high, max(low, acc[r][c])); });
    });
    return;
  }
  alignas(64) float copy[R * C * kLanes];
  unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { store(copy + (r * C + c) * kLanes, acc[r][c]); });
  });
  const int64_t rows = place.rows < 0 ? R : place.rows;
  PostOpRows region{copy,          copy,
                    rows,          C * kLanes - (kLanes - place.tail),
                    C * kLanes,    C * kLanes,
                    place.offset,  place.row_stride,
                    place.channel, place.channel_axis};
  if (C == 1 || (place.column_offsets == nullptr && place.column_stride == kLanes)) {
    if (place.column_offsets != nullptr) region.offset += place.column_offsets[0];
    run_post_ops(region, ops, n_ops);
  } else {
    for (int64_t c = 0; c < C; ++c) {
      region.in = region.out = copy + c * kLanes;
      region.n = c + 1 == C ? place.tail : kLanes;
      region.offset =
          place.offset + (place.column_offsets != nullptr ? place.column_offsets[c] : c * place.column_stride);
      region.channel = place.channel + (place.channel_axis == ChannelAxis::lanes ? c * kLanes : 0);
      run_post_ops(region, ops, n_ops);
    }
  }
  unroll<R>([&](auto r) TERROIR_INLINE_LAMBDA {
    unroll<C>([&](auto c) TERROIR_INLINE_LAMBDA { acc[r][c] = load(copy + (r * C + c) * kLanes); });
  });
}

}  // namespace terroir::cpu::TERROIR_ISA
