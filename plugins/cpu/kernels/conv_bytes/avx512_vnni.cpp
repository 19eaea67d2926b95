#include "plugins/cpu/simd/avx512_vnni.hpp"

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/simd/pairs.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

// The steps of chains exist once for processors with and without AVX512_VNNI.
namespace avx512 {
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
}

namespace avx512_vnni {
namespace {

// Positions of a register tile: with four blocks of outputs, 28 sums, four vectors of weights leave no register idle.
constexpr int kTile = 7;

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
  alignas(64) float values[kTile * kLanes];
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

// Bytes of 16 channels at four positions, in each lane those of one channel.
TERROIR_INLINE VI by_channel(const uint8_t* p) {
  const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  return VI(_mm512_shuffle_epi8(_mm512_permutexvar_epi32(lanes, _mm512_loadu_si512(p)), bytes));
}

// What a tile fetches meanwhile, a line at each step; `line` 0: nothing more.
struct Ahead {
  const int8_t* at;
  int64_t line;
};

template <int T>
void depthwise_tile(const ByteConvRow& row, int64_t first, int64_t done, Ahead) {
  VI acc[T];
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { acc[t] = VI(0); });
  const int64_t step = row.src_step;
  const uint8_t* const src = row.src + first * step;
  for (int64_t k = 0; k < row.depth; ++k) {
    const uint8_t* const x = src + row.offsets[k];
    const VI w(_mm512_load_si512(row.weights + k * 4 * kLanes));
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { add_dot_bytes(acc[t], by_channel(x + t * step), w); });
  }
  alignas(64) int32_t sums[T * kLanes];
  unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store_int(sums + t * kLanes, acc[t]); });
  finish(row, {sums, T, first, done});
}

// T positions from `first` on by B blocks of outputs.
template <int T, int B>
void tile(const ByteConvRow& row, int64_t first, int64_t done, Ahead ahead) {
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
    unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { w[b] = VI(_mm512_load_si512(weights + b * 4 * kLanes)); });
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA {
      const VI u = broadcast_word(x + t * step);
      unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA { add_dot_bytes(acc[t][b], u, w[b]); });
    });
  }
  alignas(64) int32_t sums[B * T * kLanes];
  unroll<B>([&](auto b) TERROIR_INLINE_LAMBDA {
    unroll<T>([&](auto t) TERROIR_INLINE_LAMBDA { store_int(sums + (b * T + t) * kLanes, acc[t][b]); });
  });
  finish(row, {sums, T, first, done});
}

// Positions [first + done, first + T).
using Tile = void (*)(const ByteConvRow& row, int64_t first, int64_t done, Ahead ahead);
template <int B>
constexpr Tile kTiles[kTile] = {&tile<1, B>, &tile<2, B>, &tile<3, B>, &tile<4, B>,
                                &tile<5, B>, &tile<6, B>, &tile<7, B>};

constexpr Tile kDepthwiseTiles[kTile] = {&depthwise_tile<1>, &depthwise_tile<2>, &depthwise_tile<3>, &depthwise_tile<4>,
                                         &depthwise_tile<5>, &depthwise_tile<6>, &depthwise_tile<7>};

constexpr int64_t kLine = 64;

TERROIR_INLINE int64_t tiles_of(int64_t positions) { return (positions + kTile - 1) / kTile; }

// Tiles of one width, of which the last one may begin before the one before ends.
TERROIR_INLINE void cut(const ByteConvRow& row, const Tile* by_width) {
  const int64_t tiles = tiles_of(row.positions), width = (row.positions + tiles - 1) / tiles;
  const Tile tile = by_width[width - 1];
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t begin = i * width, last = row.positions - width, first = begin < last ? begin : last;
    const int64_t fetched = i * row.depth;
    // Hints may name anything; the weights are near.
    const Ahead ahead = fetched < row.ahead_lines ? Ahead{row.ahead + fetched * kLine, kLine} : Ahead{row.weights, 0};
    tile(row, first, begin - first, ahead);
  }
}

int64_t lines_per_row(int64_t positions, int64_t depth) { return tiles_of(positions) * depth; }

void row(const ByteConvRow& row) {
  constexpr const Tile* kByBlocks[] = {kTiles<1>, kTiles<2>, kTiles<3>, kTiles<4>};
  cut(row, kByBlocks[row.blocks - 1]);
}

void depthwise_row(const ByteConvRow& row) { cut(row, kDepthwiseTiles); }

void quantize(const float* src, uint8_t* dst, int64_t count, const ByteLevels& of) {
  const Levels levels(of);
  const auto value = [&](int64_t i) TERROIR_INLINE_LAMBDA { return levels_of(loadu(src + i), levels); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    store_64(dst + i, value(i), value(i + kLanes), value(i + 2 * kLanes), value(i + 3 * kLanes));
  for (; i + kLanes <= count; i += kLanes) store_16(dst + i, value(i));
  if (i < count) store_bytes(dst + i, levels_of(load_n(src + i, count - i), levels), count - i);
}

void quantize_planes(const float* src, int64_t plane, int64_t channels, uint8_t* dst, int64_t positions,
                     const ByteLevels& of) {
  const Levels levels(of);
  constexpr int64_t kQuads = kByteBlock / kBytesAtOnce;
  for (int64_t at = 0; at < positions; at += kLanes) {
    const int64_t n = positions - at < kLanes ? positions - at : kLanes;
    // Four channels of 16 positions each.
    alignas(64) int32_t words[kQuads][kLanes];
    for (int64_t quad = 0; quad < kQuads; ++quad) {
      VI word(0);
      for (int64_t c = quad * kBytesAtOnce + kBytesAtOnce - 1; c >= quad * kBytesAtOnce; --c) {
        word = shift_left<8>(word);
        if (c < channels) word = word | levels_of(load_n(src + c * plane + at, n), levels);
      }
      store_int(words[quad], word);
    }
    for (int64_t i = 0; i < n; ++i) {
      const __m128i bytes = _mm_setr_epi32(words[0][i], words[1][i], words[2][i], words[3][i]);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + (at + i) * kByteBlock), bytes);
    }
  }
}

}  // namespace

const ByteConvKernels& byte_conv_table();
const ByteConvKernels& byte_conv_table() {
  static constexpr ByteConvKernels kTable = {&row, &depthwise_row, &lines_per_row, &quantize, &quantize_planes};
  return kTable;
}

}  // namespace avx512_vnni
}  // namespace terroir::cpu
