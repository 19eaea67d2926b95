#include "plugins/cpu/simd/avx512_bf16.hpp"

#include "plugins/cpu/kernels/conv_bytes/bf16.hpp"
#include "plugins/cpu/kernels/conv_bytes/finish_bf16.hpp"
// Behind the bucket.
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// The steps of chains exist once for processors with and without tiles.
namespace avx512 {
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
}

namespace avx512_bf16 {
namespace {

// A block: its sums, and where behind the results, the residual and operands of steps its first place is.
struct Block {
  const int32_t* from;
  const float* bias;
  int64_t place, residual, operand, channel, lanes;
  __mmask16 inside;
};

TERROIR_INLINE Block block_of(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums,
                              int64_t b) {
  const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes;
  return {sums.at + b * sums.stride * kLanes,
          row.bias + b * kLanes,
          r * rows.dst_step + sums.first * row.results.step + row.results.at(b),
          r * rows.residual_step + sums.first * row.residuals.step + row.residuals.at(b),
          r * rows.operand_step + sums.first * row.operands.step + row.operands.at(b),
          row.channel + b * kLanes,
          lanes,
          static_cast<__mmask16>((1u << lanes) - 1)};
}

// A block alone. `value(i)`: of position `i`.
template <class Value>
TERROIR_INLINE void store_one(const ByteConvRow& row, const Sums& sums, const Block& block, Value value) {
  const int64_t step = row.results.step;
  const __mmask16 inside = block.inside, stored = row.pads ? 0xffff : inside;
  int64_t i = sums.done;
  if (row.dst_bf16) {
    uint16_t* dst = row.dst_bf16 + block.place + i * step;
    for (; i < sums.count; ++i, dst += step)
      _mm256_mask_storeu_epi16(dst, stored, bits_of(_mm512_cvtneps_pbh(_mm512_maskz_mov_ps(inside, value(i)))));
  } else {
    float* dst = row.dst + block.place + i * step;
    for (; i < sums.count; ++i, dst += step) _mm512_mask_storeu_ps(dst, stored, _mm512_maskz_mov_ps(inside, value(i)));
  }
}

// Two blocks that are one of 32 channels.
template <class First, class Second>
TERROIR_INLINE void store_two(const ByteConvRow& row, const Sums& sums, const Block& block, __mmask16 other,
                              First first, Second second) {
  const int64_t step = row.results.step;
  const __mmask16 inside = block.inside;
  int64_t i = sums.done;
  uint16_t* dst = row.dst_bf16 + block.place + i * step;
  for (; i < sums.count; ++i, dst += step) {
    const __m512 low = _mm512_maskz_mov_ps(inside, first(i)), high = _mm512_maskz_mov_ps(other, second(i));
    _mm512_storeu_si512(dst, bits_of(_mm512_cvtne2ps_pbh(high, low)));
  }
}

using Values = float[2][kMostPositions * kLanes];

TERROIR_INLINE V widened(const uint16_t* p, __mmask16 inside) {
  return V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(inside, p)), 16)));
}

// What waits in memory, through the steps of the chain.
TERROIR_NOINLINE void finish_values(const ByteConvRow& row, const Sums& sums, const Block& block, const Block* other,
                                    Values& values) {
  const bool two = other && other->from;
  for (int64_t half = 0; half < (two ? 2 : 1); ++half) {
    const Block& one = half == 0 ? block : *other;
    float* const begin = values[half] + sums.done * kLanes;
    const PostOpRows region{begin,
                            begin,
                            sums.count - sums.done,
                            one.lanes,
                            kLanes,
                            kLanes,
                            row.place + one.operand + sums.done * row.operands.step,
                            row.operands.step,
                            one.channel,
                            ChannelAxis::lanes};
    if (row.post_op_count > 0) avx512::run_post_ops(region, row.post_ops, row.post_op_count);
    for (int64_t i = sums.done; row.is_residual_late && i < sums.count; ++i) {
      const int64_t at = one.residual + i * row.residuals.step;
      const V x = load(values[half] + i * kLanes);
      store(values[half] + i * kLanes,
            x + (row.residual_bf16 ? widened(row.residual_bf16 + at, one.inside)
                                   : V(_mm512_maskz_loadu_ps(one.inside, row.residual + at))));
    }
  }
  const auto first = [&](int64_t i) TERROIR_INLINE_LAMBDA { return load(values[0] + i * kLanes); };
  if (!other) return store_one(row, sums, block, first);
  if (!two) return store_two(row, sums, block, 0, first, [](int64_t) TERROIR_INLINE_LAMBDA { return zero(); });
  store_two(row, sums, block, other->inside, first,
            [&](int64_t i) TERROIR_INLINE_LAMBDA { return load(values[1] + i * kLanes); });
}

// `add(place, inside, sum)`: with the residual. `other`: the block's other half, or null; of pads alone, if it has no
// sums.
template <class Add>
TERROIR_INLINE void finish_blocks(const ByteConvRow& row, const Sums& sums, const Block& block, const Block* other,
                                  Add add) {
  const bool two = other && other->from;
  const V low(row.low), high(row.high), bias = loadu(block.bias), other_bias = two ? loadu(other->bias) : zero();
  const int64_t step = row.residuals.step, at = block.residual, other_at = two ? other->residual : 0;
  const int32_t *const from = block.from, *const other_from = two ? other->from : nullptr;
  const __mmask16 inside = block.inside, other_inside = two ? other->inside : 0;
  const auto first = [&](int64_t i) TERROIR_INLINE_LAMBDA {
    return min(high, max(low, add(at + i * step, inside, V(_mm512_load_ps(from + i * kLanes)) + bias)));
  };
  const auto second = [&](int64_t i) TERROIR_INLINE_LAMBDA {
    const V sum = V(_mm512_load_ps(other_from + i * kLanes)) + other_bias;
    return min(high, max(low, add(other_at + i * step, other_inside, sum)));
  };
  if (row.post_op_count > 0 || row.is_residual_late) {
    alignas(64) Values values;
    for (int64_t i = sums.done; i < sums.count; ++i) store(values[0] + i * kLanes, first(i));
    for (int64_t i = two ? sums.done : sums.count; i < sums.count; ++i) store(values[1] + i * kLanes, second(i));
    finish_values(row, sums, block, other, values);
  } else if (two) {
    store_two(row, sums, block, other_inside, first, second);
  } else if (other) {
    store_two(row, sums, block, other_inside, first, [](int64_t) TERROIR_INLINE_LAMBDA { return zero(); });
  } else {
    store_one(row, sums, block, first);
  }
}

}  // namespace

void finish_bf16_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums) {
  const bool halves = row.dst_bf16 && row.results.halves > 1;
  for (int64_t b = 0, count; b < row.blocks; b += count) {
    const bool whole = halves && (row.results.first + b) % 2 == 0;
    count = whole && b + 1 < row.blocks ? 2 : 1;
    const Block block = block_of(row, rows, r, sums, b);
    const Block other = count == 2 ? block_of(row, rows, r, sums, b + 1) : Block{};
    const Block* const second = whole && (count == 2 || row.pads_half) ? &other : nullptr;
    if (row.residual_bf16 && !row.is_residual_late)
      finish_blocks(row, sums, block, second, [&](int64_t place, __mmask16 inside, V x) TERROIR_INLINE_LAMBDA {
        return x + widened(row.residual_bf16 + place, inside);
      });
    else if (row.residual && !row.is_residual_late)
      finish_blocks(row, sums, block, second, [&](int64_t place, __mmask16 inside, V x) TERROIR_INLINE_LAMBDA {
        return x + V(_mm512_maskz_loadu_ps(inside, row.residual + place));
      });
    else
      finish_blocks(row, sums, block, second, [](int64_t, __mmask16, V x) TERROIR_INLINE_LAMBDA { return x; });
  }
}

}  // namespace avx512_bf16
}  // namespace terroir::cpu
