// What: the register tiles of convolutions whose lanes are output positions (run.cpp).
// Formula: acc[o][v] = bias[o] + sum over i, t of src[i * channel + offset[t] + v * lanes] * wei[i][t][o]
// Cost: per i and t, O*P FMAs for P loads, most of them across two cache lines, and O broadcasts.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv_planes/entry_points.hpp"
#include "plugins/cpu/simd/interleave.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

template <int O, int P>
void planes_tile(const PlanesTile& t) noexcept {
  V acc[O][P];
#pragma GCC unroll 6
  for (int o = 0; o < O; ++o) {
    const V bias = broadcast(t.bias + o);
#pragma GCC unroll 16
    for (int v = 0; v < P; ++v) acc[o][v] = bias;
  }
  const float *src = t.src, *wei = t.wei;
  for (int64_t i = t.inputs; i > 0; --i, src += t.channel, wei += t.wei_input) {
    const float* k = wei;
    const int32_t* offset = t.offsets;
    for (int64_t n = t.taps; n > 0; --n, ++offset, k += O) {
      const float* const s = src + *offset;
      V x[P];
#pragma GCC unroll 16
      for (int v = 0; v < P; ++v) x[v] = loadu(s + v * kLanes);
#pragma GCC unroll 6
      for (int o = 0; o < O; ++o) {
        const V weight = broadcast(k + o);
#pragma GCC unroll 16
        for (int v = 0; v < P; ++v) add_product(acc[o][v], weight, x[v]);
      }
    }
  }
  float* out = t.out;
#pragma GCC unroll 6
  for (int o = 0; o < O; ++o, out += t.result) {
#pragma GCC unroll 16
    for (int v = 0; v < P; ++v) storeu(out + v * kLanes, acc[o][v]);
  }
}

template <int O>
constexpr PlanesTileFns tiles_of() {
  constexpr int kShorter = planes_short_vectors(kLanes, O);
  PlanesTileFns fns{&planes_tile<O, planes_vectors(kLanes, O)>, nullptr};
  if constexpr (kShorter > 0) fns.shorter = &planes_tile<O, kShorter>;
  return fns;
}

}  // namespace

const PlanesTileFns* planes_tiles() noexcept {
  static constexpr PlanesTileFns kTiles[] = {tiles_of<1>(), tiles_of<2>(), tiles_of<3>(), tiles_of<4>(), {},
                                             tiles_of<6>()};
  return kTiles;
}

void planes_every_second(const float* src, int64_t count, float* dst) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) storeu(dst + i, every_second(src + 2 * i));
  for (; i < count; ++i) dst[i] = src[2 * i];
}

}  // namespace terroir::cpu::TERROIR_ISA
