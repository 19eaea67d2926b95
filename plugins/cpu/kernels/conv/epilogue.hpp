// What: the post-ops of a convolution, sorted by where they can happen: a leading addition of a tensor goes into the
// start value of the sums, a final relu or clamp stays in registers, and the rest runs over a copy of the tile.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/simd/post_ops.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

struct Epilogue {
  const float* residual;
  bool clamp;
  float low, high;
  const PostOp* rest;
  int64_t rest_count;
};

// `ragged`: the last block has padding, so a step that does not map zero to zero must know where the channels end.
Epilogue make_epilogue(const PostOp* ops, int64_t count, bool ragged) {
  Epilogue e{nullptr, false, 0.0f, 0.0f, nullptr, 0};
  int64_t i = 0;
  if (count > 0 && ops[0].kind == PostOpKind::add && ops[0].mode == OperandMode::tensor) e.residual = ops[i++].operand;
  if (i == count) return e;
  const PostOp& op = ops[i];
  if (i + 1 == count && op.kind == PostOpKind::relu) {
    e.clamp = true;
    e.high = __builtin_inff();
  } else if (i + 1 == count && op.kind == PostOpKind::clamp && !(ragged && !(op.alpha <= 0.0f && op.beta >= 0.0f))) {
    e.clamp = true;
    e.low = op.alpha;
    e.high = op.beta;
  } else {
    e.rest = ops + i;
    e.rest_count = count - i;
  }
  return e;
}

// Writes zero to the lanes from `channels` to the end of the block, at `width` positions.
void clear_tail(float* dst, int64_t step, int64_t width, int64_t channels) {
  for (int64_t r = 0; channels < kBlock && r < width; ++r) {
    for (int64_t l = channels; l < kBlock; ++l) dst[r * step + l] = 0.0f;
  }
}

// `width` positions of one channel block: from `in` (adjacent blocks) to dst + offset, whose positions are `step`
// apart. Writes zero to the lanes from `channels` to the end of the block.
void apply_epilogue(const Epilogue& e, const float* in, float* dst, int64_t offset, int64_t step, int64_t width,
                    int64_t channel, int64_t channels) {
  const PostOpRows region{in, dst + offset, width, channels, kBlock, step, offset, step, channel, ChannelAxis::lanes};
  run_post_ops(region, e.rest, e.rest_count);
  clear_tail(dst + offset, step, width, channels);
}

}  // namespace

}  // namespace terroir::cpu::TERROIR_ISA
