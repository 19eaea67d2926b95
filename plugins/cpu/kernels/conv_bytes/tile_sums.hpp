// What: sums of a register tile, by the words of the bucket: broadcast_word and add_dot. Include its header first.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// What a tile fetches meanwhile, a line at each step; `line` 0: nothing more.
struct Ahead {
  const int8_t* at;
  int64_t line;
};

// T positions from `first` on by B blocks of outputs: sums [B][stride][kLanes].
template <int T, int B>
TERROIR_INLINE void add_up(const ByteConvRow& row, int64_t first, Ahead ahead, int32_t* sums, int64_t stride) {
  VI acc[T][B];
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { acc[t][b] = VI(0); }); });
  const int64_t step = row.src_step;
  const uint8_t* const src = row.src + first * step;
  const int8_t* weights = row.weights;
  for (int64_t k = 0; k < row.depth; ++k, weights += B * 4 * kLanes) {
    const uint8_t* const x = src + row.offsets[k];
    _mm_prefetch(reinterpret_cast<const char*>(ahead.at), _MM_HINT_T1);
    ahead.at += ahead.line;
    VI w[B];
    unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA {
      w[b] = VI::load_aligned(reinterpret_cast<const int32_t*>(weights + b * 4 * kLanes));
    });
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA {
      const VI u = broadcast_word(x + t * step);
      unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { add_dot(acc[t][b], u, w[b]); });
    });
  }
  unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA {
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store_int(sums + (b * stride + t) * kLanes, acc[t][b]); });
  });
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
