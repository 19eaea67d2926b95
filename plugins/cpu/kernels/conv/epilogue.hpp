// What: the post-ops of a convolution, sorted by where they can happen: a leading addition of a tensor goes into the
// start value of the sums, a final relu or clamp stays in registers, a final activation without operands runs over some
// tiles where they were stored, still in L1, and the rest runs over a copy of the tile.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/simd/activations.hpp"
#include "plugins/cpu/simd/post_ops.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// Stored tiles side by side: distances in floats; a position is a whole block.
struct StoredTiles {
  float* out;
  int64_t blocks, block_stride;
  int64_t rows, row_stride;
  int64_t width, step;
};

// Floats: some tiles at a time, so that the long latency of a function overlaps with its like, while they are in L1.
constexpr int64_t kActivatedAtOnce = 4096;

using ActivateFn = void (*)(const StoredTiles& tile, float alpha) noexcept;

template <typename F>
TERROIR_INLINE void activate(const StoredTiles& t, F f) {
  for (int64_t b = 0; b < t.blocks; ++b) {
    for (int64_t r = 0; r < t.rows; ++r) {
      float* p = t.out + b * t.block_stride + r * t.row_stride;
      for (int64_t w = t.width; w > 0; --w, p += t.step) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectorsPerBlock; ++v) storeu(p + v * kLanes, f(loadu(p + v * kLanes)));
      }
    }
  }
}

TERROIR_NOINLINE void activate_hswish(const StoredTiles& t, float) noexcept {
  activate(t, [](V x) TERROIR_INLINE_LAMBDA { return hswish(x); });
}
TERROIR_NOINLINE void activate_hsigmoid(const StoredTiles& t, float) noexcept {
  activate(t, [](V x) TERROIR_INLINE_LAMBDA { return hsigmoid(x); });
}
TERROIR_NOINLINE void activate_sigmoid(const StoredTiles& t, float) noexcept {
  activate(t, [](V x) TERROIR_INLINE_LAMBDA { return sigmoid(x); });
}
// The usual one, without the multiplication by 1.
TERROIR_NOINLINE void activate_swish_1(const StoredTiles& t, float) noexcept {
  activate(t, [](V x) TERROIR_INLINE_LAMBDA { return divide_by_one_plus_exp(x, x); });
}
TERROIR_NOINLINE void activate_swish(const StoredTiles& t, float alpha) noexcept {
  const V a(alpha);
  activate(t, [a](V x) TERROIR_INLINE_LAMBDA { return swish(x, a); });
}

// Null for steps that go the long way.
ActivateFn activation_of(const PostOp& op) {
  switch (op.kind) {
    case PostOpKind::hswish:
      return &activate_hswish;
    case PostOpKind::hsigmoid:
      return &activate_hsigmoid;
    case PostOpKind::sigmoid:
      return &activate_sigmoid;
    case PostOpKind::swish:
      return op.alpha == 1.0f ? &activate_swish_1 : &activate_swish;
    default:
      return nullptr;
  }
}

struct Epilogue {
  const float* residual;
  bool clamp;
  float low, high;
  ActivateFn activate;  // or null
  float alpha;
  const PostOp* rest;
  int64_t rest_count;
};

// `ragged`: the last block has padding, so a step that does not map zero to zero must know where the channels end.
// `copied`: the tile goes through a copy anyway, and whole vectors of operands and dst may not be touched.
Epilogue make_epilogue(const PostOp* ops, int64_t count, bool ragged, bool copied = false) {
  Epilogue e{nullptr, false, 0.0f, 0.0f, nullptr, 0.0f, nullptr, 0};
  int64_t i = 0;
  if (!copied && count > 0 && ops[0].kind == PostOpKind::add && ops[0].mode == OperandMode::tensor)
    e.residual = ops[i++].operand;
  if (i == count) return e;
  const PostOp& op = ops[i];
  if (i + 1 == count && op.kind == PostOpKind::relu) {
    e.clamp = true;
    e.high = __builtin_inff();
  } else if (i + 1 == count && op.kind == PostOpKind::clamp && !(ragged && !(op.alpha <= 0.0f && op.beta >= 0.0f))) {
    e.clamp = true;
    e.low = op.alpha;
    e.high = op.beta;
  } else if (!copied && i + 1 == count && activation_of(op)) {
    e.activate = activation_of(op);
    e.alpha = op.alpha;
  } else {
    e.rest = ops + i;
    e.rest_count = count - i;
  }
  return e;
}

// Writes zero to the lanes from `channels` to the end of the block, at `width` positions. Whole vectors: those who read
// them next would wait for stores of single lanes.
void clear_tail(float* dst, int64_t step, int64_t width, int64_t channels) {
  if (channels >= kBlock) return;
  const int64_t full = channels / kLanes * kLanes;
  const Tail kept = tail(channels - full);
  for (int64_t r = 0; r < width; ++r) {
    float* const at = dst + r * step;
    storeu(at + full, keep(loadu(at + full), kept));
    for (int64_t l = full + kLanes; l < kBlock; l += kLanes) storeu(at + l, zero());
  }
}

// `width` positions of one channel block: from `in` (adjacent blocks) to dst + offset, whose positions are `step`
// apart. `padded`: writes zero to the lanes from `channels` to the end of the block; else leaves them alone.
void apply_epilogue(const Epilogue& e, const float* in, float* dst, int64_t offset, int64_t step, int64_t width,
                    int64_t channel, int64_t channels, bool padded = true) {
  if (e.rest_count > 0) {
    const PostOpRows region{in, dst + offset, width, channels, kBlock, step, offset, step, channel, ChannelAxis::lanes};
    run_post_ops(region, e.rest, e.rest_count);
  } else {
    for (int64_t r = 0; r < width; ++r) {
      for (int64_t l = 0; l < channels; l += kLanes) {
        const V v = loadu(in + r * kBlock + l);
        if (channels - l >= kLanes) {
          storeu(dst + offset + r * step + l, v);
        } else {
          store_n(dst + offset + r * step + l, v, channels - l);
        }
      }
    }
  }
  if (padded) clear_tail(dst + offset, step, width, channels);
}

}  // namespace

}  // namespace terroir::cpu::TERROIR_ISA
