// What: from the sums of some positions to what a row stores: bias, residual, clamp, post-ops, and f32 or bytes.
// Include one bucket header first, of those beside avx512.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/simd/pairs.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// The steps of chains exist once for processors with and without AVX512_VNNI.
namespace avx512 {
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
}

namespace TERROIR_ISA {
namespace {

// Whose sums are finished at once.
constexpr int64_t kMostPositions = 32;

struct Levels {
  explicit Levels(const ByteLevels& levels) : low(levels.low), steps(levels.steps), most(levels.most) {}
  V low, steps, most;
};

TERROIR_INLINE VI levels_of(V x, const Levels& levels) {
  // In this order NaN becomes 0.
  return to_int(min(max((x - levels.low) * levels.steps, zero()), levels.most));
}

TERROIR_INLINE void store_part(const ByteConvRow& row, float* dst, V x, int64_t lanes) {
  if (lanes == kLanes) return storeu(dst, x);
  if (row.pads) return storeu(dst, keep(x, tail(lanes)));
  store_n(dst, x, lanes);
}

TERROIR_INLINE void store_16(uint8_t* dst, VI x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_cvtepi32_epi8(x));
}
TERROIR_INLINE void store_part(const ByteConvRow& row, uint8_t* dst, VI x, int64_t lanes) {
  if (lanes == kLanes) return store_16(dst, x);
  if (row.pads) return store_16(dst, VI(_mm512_maskz_mov_epi32(tail(lanes).mask, x)));
  store_bytes(dst, x, lanes);
}

// Bytes of four vectors, one behind the other.
TERROIR_INLINE void store_64(uint8_t* dst, VI a, VI b, VI c, VI d) {
  const __m512i quads = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(dst, _mm512_permutexvar_epi32(order, quads));
}

// Sums [blocks][count][16] of `count` positions from `first` on; those before `done` have been stored by another tile.
struct Sums {
  const int32_t* at;
  int64_t count, first, done;
};

// What most layers do: no operand, nothing behind the clamp, the same bias for all positions; the scale and the clamp
// are those of the levels.
TERROIR_INLINE void finish_bytes(const ByteConvRow& row, const Sums& sums) {
  const Levels levels(row.levels);
  const V low = min(max((V(row.low) - levels.low) * levels.steps, zero()), levels.most);
  const V high = min(max((V(row.high) - levels.low) * levels.steps, low), levels.most);
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes;
    const V scale = loadu(row.scale + b * kLanes) * levels.steps;
    const V bias = (loadu(row.bias + b * kLanes) - levels.low) * levels.steps;
    const int32_t* const at = sums.at + b * sums.count * kLanes;
    uint8_t* dst = row.dst_bytes + sums.first * row.dst_step + b * row.dst_block;
    const auto value = [&](int64_t i) TERROIR_INLINE_LAMBDA {
      return to_int(min(high, max(low, fma(to_float(load_int(at + i * kLanes)), scale, bias))));
    };
    int64_t i = sums.done;
    if (lanes == kLanes && row.dst_step == kLanes)
      for (; i + 4 <= sums.count; i += 4)
        store_64(dst + i * kLanes, value(i), value(i + 1), value(i + 2), value(i + 3));
    for (; i < sums.count; ++i) store_part(row, dst + i * row.dst_step, value(i), lanes);
  }
}

TERROIR_INLINE void store_either(const ByteConvRow& row, int64_t place, V x, const Levels& levels, int64_t lanes) {
  if (row.dst) store_part(row, row.dst + place, x, lanes);
  if (row.dst_bytes) store_part(row, row.dst_bytes + place, levels_of(x, levels), lanes);
}

#if defined(__clang__)
#define TERROIR_NO_CLONES
#else
#define TERROIR_NO_CLONES __attribute__((noclone))  // a copy for each number of positions is no faster
#endif
TERROIR_NOINLINE TERROIR_NO_CLONES void finish(const ByteConvRow& row, const Sums& sums) {
  if (!row.dst && !row.residual && !row.bias_offsets && row.post_op_count == 0) return finish_bytes(row, sums);
  const V low(row.low), high(row.high);
  const Levels levels(row.levels);
  const bool direct = row.post_op_count == 0;
  alignas(64) float values[kMostPositions * kLanes];
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes, at = sums.first * row.dst_step + b * row.dst_block;
    const V scale = loadu(row.scale + b * kLanes);
    const float* const bias = row.bias + b * kLanes;
    for (int64_t i = sums.done; i < sums.count; ++i) {
      const int64_t place = at + i * row.dst_step;
      const V shift = loadu(bias + (row.bias_offsets ? row.bias_offsets[sums.first + i] : 0));
      V x = fma(to_float(load_int(sums.at + (b * sums.count + i) * kLanes)), scale, shift);
      if (row.residual) x = x + load_n(row.residual + place, lanes);
      x = min(high, max(low, x));
      if (direct) {
        store_either(row, place, x, levels, lanes);
      } else {
        store(values + i * kLanes, x);
      }
    }
    if (direct) continue;
    const int64_t first = at + sums.done * row.dst_step;
    float* const begin = values + sums.done * kLanes;
    const PostOpRows region{begin,
                            begin,
                            sums.count - sums.done,
                            lanes,
                            kLanes,
                            kLanes,
                            row.place + first,
                            row.dst_step,
                            row.channel + b * kLanes,
                            ChannelAxis::lanes};
    avx512::run_post_ops(region, row.post_ops, row.post_op_count);
    for (int64_t i = sums.done; i < sums.count; ++i)
      store_either(row, at + i * row.dst_step, load(values + i * kLanes), levels, lanes);
  }
}

}  // namespace
}  // namespace TERROIR_ISA
}  // namespace terroir::cpu
