// What: f32 to bytes, and back, by the words of the bucket. Include its header first, and before this one what stores
// words of four channels by position: store_positions(dst, words, n), of kLanes positions the first n, kLanes / 4
// words.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/levels.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

void quantize(const float* src, uint8_t* dst, int64_t count, const ByteLevels& of) {
  const Levels levels(of, 0);
  const auto value = [&](int64_t i) TERROIR_INLINE_LAMBDA { return levels_of(loadu(src + i), levels); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes)
    store_four(dst + i, value(i), value(i + kLanes), value(i + 2 * kLanes), value(i + 3 * kLanes));
  for (; i + kLanes <= count; i += kLanes) store_lanes(dst + i, value(i));
  if (i < count) store_bytes(dst + i, levels_of(load_n(src + i, count - i), levels), count - i);
}

void quantize_planes(const float* src, int64_t plane, int64_t channels, uint8_t* dst, int64_t positions,
                     const ByteLevels& of) {
  constexpr int64_t kQuads = kLanes / kBytesAtOnce;
  for (int64_t at = 0; at < positions; at += kLanes) {
    const int64_t n = positions - at < kLanes ? positions - at : kLanes;
    VI words[kQuads];
    for (int64_t quad = 0; quad < kQuads; ++quad) {
      VI word(0);
      for (int64_t c = quad * kBytesAtOnce + kBytesAtOnce - 1; c >= quad * kBytesAtOnce; --c) {
        word = shift_left<8>(word);
        if (c >= channels) continue;
        const V level = (load_n(src + c * plane + at, n) - V(of.low[c])) * V(of.steps[c]);
        word = word | to_int(min(max(level, zero()), V(of.most)));
      }
      words[quad] = word;
    }
    store_positions(dst + at * kLanes, words, n);
  }
}

void dequantize(const uint8_t* src, float* dst, int64_t count, float scale, float shift) {
  const auto value = [&](int64_t i, int64_t n)
                         TERROIR_INLINE_LAMBDA { return fma(float_bytes(src + i, n), V(scale), V(shift)); };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) storeu(dst + i, value(i, kLanes));
  if (i < count) store_n(dst + i, value(i, count - i), count - i);
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
