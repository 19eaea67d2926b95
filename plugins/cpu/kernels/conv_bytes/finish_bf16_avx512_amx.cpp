#include "plugins/cpu/simd/avx512_amx.hpp"

#include "plugins/cpu/kernels/conv_bytes/bf16.hpp"
#include "plugins/cpu/kernels/conv_bytes/finish_bf16.hpp"
// Behind the bucket.
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// The steps of chains exist once for processors with and without tiles.
namespace avx512 {
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
}

namespace avx512_amx {
namespace {

// A block: sums from `from` on, and what is `place` elements behind `dst` and the residual.
struct Block {
  const int32_t* from;
  V bias;
  int64_t place, channel, lanes;
  __mmask16 inside, stored;
};

// `load(place, sum)`: with what is added; `store(i, place, x)`.
template <class Load, class Store>
TERROIR_INLINE void finish_block(const ByteConvRow& row, const Sums& sums, const Block& block, Load load, Store store) {
  const V low(row.low), high(row.high);
  for (int64_t i = sums.done; i < sums.count; ++i) {
    const int64_t place = block.place + i * row.dst_step;
    const V sum(_mm512_load_ps(block.from + i * kLanes));
    store(i, place, min(high, max(low, load(place, sum + block.bias))));
  }
}

template <class Load>
TERROIR_INLINE void finish_from(const ByteConvRow& row, const Sums& sums, const Block& block, Load load) {
  const auto to_bf16 = [&](int64_t, int64_t place, V x) TERROIR_INLINE_LAMBDA {
    const __m512 kept = _mm512_maskz_mov_ps(block.inside, x);
    _mm256_mask_storeu_epi16(row.dst_bf16 + place, block.stored, bits_of(_mm512_cvtneps_pbh(kept)));
  };
  const auto to_floats = [&](int64_t, int64_t place, V x) TERROIR_INLINE_LAMBDA {
    _mm512_mask_storeu_ps(row.dst + place, block.stored, _mm512_maskz_mov_ps(block.inside, x));
  };
  if (row.post_op_count == 0) {
    if (row.dst_bf16)
      finish_block(row, sums, block, load, to_bf16);
    else
      finish_block(row, sums, block, load, to_floats);
    return;
  }
  alignas(64) float values[kMostPositions * kLanes];
  finish_block(row, sums, block, load,
               [&](int64_t i, int64_t, V x) TERROIR_INLINE_LAMBDA { store(values + i * kLanes, x); });
  float* const begin = values + sums.done * kLanes;
  const int64_t place = block.place + sums.done * row.dst_step;
  const PostOpRows region{
      begin,        begin,         sums.count - sums.done, block.lanes, kLanes, kLanes, row.place + place,
      row.dst_step, block.channel, ChannelAxis::lanes};
  avx512::run_post_ops(region, row.post_ops, row.post_op_count);
  const auto each = [&](auto to) TERROIR_INLINE_LAMBDA {
    for (int64_t i = sums.done; i < sums.count; ++i)
      to(i, block.place + i * row.dst_step, V(_mm512_load_ps(values + i * kLanes)));
  };
  if (row.dst_bf16)
    each(to_bf16);
  else
    each(to_floats);
}

}  // namespace

void finish_bf16_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums) {
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes;
    const auto inside = static_cast<__mmask16>((1u << lanes) - 1);
    const Block block{sums.at + b * sums.stride * kLanes,
                      loadu(row.bias + b * kLanes),
                      r * rows.dst_step + sums.first * row.dst_step + b * row.dst_block,
                      row.channel + b * kLanes,
                      lanes,
                      inside,
                      static_cast<__mmask16>(row.pads ? 0xffff : inside)};
    if (row.residual_bf16)
      finish_from(row, sums, block, [&](int64_t place, V x) TERROIR_INLINE_LAMBDA {
        const __m256i numbers = _mm256_maskz_loadu_epi16(block.inside, row.residual_bf16 + place);
        return x + V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(numbers), 16)));
      });
    else if (row.residual)
      finish_from(row, sums, block, [&](int64_t place, V x) TERROIR_INLINE_LAMBDA {
        return x + V(_mm512_maskz_loadu_ps(block.inside, row.residual + place));
      });
    else
      finish_from(row, sums, block, [](int64_t, V x) TERROIR_INLINE_LAMBDA { return x; });
  }
}

}  // namespace avx512_amx
}  // namespace terroir::cpu
