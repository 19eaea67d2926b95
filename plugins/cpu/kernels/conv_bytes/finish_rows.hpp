// What: finish.hpp by the words of the bucket, for rows of kLanes sums. Include its header first, and define
// TERROIR_ISA_OF_FLOATS, the bucket whose chains of post-ops it runs: these exist once for processors with and without
// products of bytes.
#pragma once

#include "plugins/cpu/kernels/conv_bytes/finish.hpp"
#include "plugins/cpu/kernels/conv_bytes/levels.hpp"
#include "plugins/cpu/simd/post_op.hpp"

namespace terroir::cpu {

namespace TERROIR_ISA_OF_FLOATS {
void run_post_ops(const PostOpRows& region, const PostOp* ops, int64_t n_ops);
}

namespace TERROIR_ISA {
namespace {

// What most layers do: no operand, nothing behind the clamp, the same bias for all positions; the scale and the clamp
// are those of the levels.
TERROIR_INLINE void finish_bytes(const ByteConvRow& row, const Sums& sums) {
  for (int64_t b = 0; b < row.blocks; ++b) {
    const Levels levels(row.levels, b * kLanes);
    const V low = min(max((V(row.low) - levels.low) * levels.steps, zero()), levels.most);
    const V high = min(max((V(row.high) - levels.low) * levels.steps, low), levels.most);
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes;
    const V scale = loadu(row.scale + b * kLanes) * levels.steps;
    const V bias = (loadu(row.bias + b * kLanes) - levels.low) * levels.steps;
    const int32_t* const at = sums.at + b * sums.stride * kLanes;
    uint8_t* dst = row.dst_bytes + sums.first * row.results.step + b * row.results.block;
    const auto value = [&](int64_t i) TERROIR_INLINE_LAMBDA {
      return to_int(min(high, max(low, fma(to_float(load_int(at + i * kLanes)), scale, bias))));
    };
    int64_t i = sums.done;
    if (lanes == kLanes && row.results.step == kLanes)
      for (; i + 4 <= sums.count; i += 4)
        store_four(dst + i * kLanes, value(i), value(i + 1), value(i + 2), value(i + 3));
    for (; i < sums.count; ++i) store_part(row, dst + i * row.results.step, value(i), lanes);
  }
}

TERROIR_INLINE void store_either(const ByteConvRow& row, int64_t place, V x, const Levels& levels, int64_t lanes) {
  if (row.dst) store_part(row, row.dst + place, x, lanes);
  if (row.dst_bytes) store_part(row, row.dst_bytes + place, levels_of(x, levels), lanes);
}

// No steps but a sum with floats and the clamp.
TERROIR_INLINE void finish_plainly(const ByteConvRow& row, const Sums& sums) {
  const V low(row.low), high(row.high);
  const float* const residual = row.residual;
  const int32_t* const bias_offsets = row.bias_offsets;
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes,
                  at = sums.first * row.results.step + b * row.results.block;
    const V scale = loadu(row.scale + b * kLanes);
    const float* const bias = row.bias + b * kLanes;
    const int32_t* const from = sums.at + b * sums.stride * kLanes;
    const Levels levels(row.levels, b * kLanes);
    if (!residual && !bias_offsets && !row.dst_bytes && lanes == kLanes) {
      const V shift = loadu(bias);
      float* dst = row.dst + at + sums.done * row.results.step;
      for (int64_t i = sums.done; i < sums.count; ++i, dst += row.results.step)
        storeu(dst, min(high, max(low, fma(to_float(load_int(from + i * kLanes)), scale, shift))));
      continue;
    }
    for (int64_t i = sums.done; i < sums.count; ++i) {
      const int64_t place = at + i * row.results.step;
      const V shift = loadu(bias + (bias_offsets ? bias_offsets[sums.first + i] : 0));
      V x = fma(to_float(load_int(from + i * kLanes)), scale, shift);
      if (residual) x = x + load_lanes(residual + place, lanes);
      store_either(row, place, min(high, max(low, x)), levels, lanes);
    }
  }
}

}  // namespace

void finish(const ByteConvRow& row, const Sums& sums) {
  if (!row.residual_bytes && !row.rounding && row.first_op_count + row.post_op_count == 0) {
    if (row.dst || row.residual || row.bias_offsets) return finish_plainly(row, sums);
    return finish_bytes(row, sums);
  }
  const V low(row.low), high(row.high), residual_scale(row.residual_scale), residual_shift(row.residual_shift);
  const ByteRounding rounding = row.rounding ? *row.rounding : ByteRounding{};
  const V first(rounding.low), last(rounding.high), alpha(rounding.alpha), beta(rounding.beta);
  const V scale_out(rounding.scale), shift_out(rounding.shift);
  const bool rounds = row.rounding;
  const float* const residual = row.residual;
  const uint8_t* const residual_bytes = row.residual_bytes;
  // What stands between the first steps and the last ones.
  const auto middle = [&](V x, int64_t place, int64_t lanes) TERROIR_INLINE_LAMBDA {
    if (rounds) x = fma(round_even(fma(min(last, max(first, x)), alpha, beta)), scale_out, shift_out);
    if (residual) x = x + load_lanes(residual + place, lanes);
    if (residual_bytes) x = x + fma(float_bytes(residual_bytes + place, lanes), residual_scale, residual_shift);
    return min(high, max(low, x));
  };
  alignas(64) float values[kMostPositions * kLanes];
  for (int64_t b = 0; b < row.blocks; ++b) {
    const int64_t lanes = b + 1 == row.blocks ? row.lanes : kLanes,
                  at = sums.first * row.results.step + b * row.results.block;
    const V scale = loadu(row.scale + b * kLanes);
    const float* const bias = row.bias + b * kLanes;
    const Levels levels(row.levels, b * kLanes);
    const auto first_value = [&](int64_t i) TERROIR_INLINE_LAMBDA {
      const V shift = loadu(bias + (row.bias_offsets ? row.bias_offsets[sums.first + i] : 0));
      return fma(to_float(load_int(sums.at + (b * sums.stride + i) * kLanes)), scale, shift);
    };
    const auto run_ops = [&](const PostOp* ops, int64_t count) {
      float* const begin = values + sums.done * kLanes;
      const PostOpRows region{begin,
                              begin,
                              sums.count - sums.done,
                              lanes,
                              kLanes,
                              kLanes,
                              row.place + at + sums.done * row.results.step,
                              row.results.step,
                              row.channel + b * kLanes,
                              ChannelAxis::lanes};
      TERROIR_ISA_OF_FLOATS::run_post_ops(region, ops, count);
    };
    if (row.first_op_count > 0) {
      for (int64_t i = sums.done; i < sums.count; ++i) store(values + i * kLanes, first_value(i));
      run_ops(row.first_ops, row.first_op_count);
    }
    for (int64_t i = sums.done; i < sums.count; ++i) {
      const int64_t place = at + i * row.results.step;
      const V x = middle(row.first_op_count > 0 ? load(values + i * kLanes) : first_value(i), place, lanes);
      if (row.post_op_count == 0)
        store_either(row, place, x, levels, lanes);
      else
        store(values + i * kLanes, x);
    }
    if (row.post_op_count == 0) continue;
    run_ops(row.post_ops, row.post_op_count);
    for (int64_t i = sums.done; i < sums.count; ++i)
      store_either(row, at + i * row.results.step, load(values + i * kLanes), levels, lanes);
  }
}

void finish_in_row(const ByteConvRow& row, const ByteConvRows& rows, int64_t r, const Sums& sums) {
  if (r == 0 && !rows.bias) return finish(row, sums);
  ByteConvRow one = row;
  const int64_t place = r * rows.dst_step;
  if (row.dst) one.dst += place;
  if (row.dst_bytes) one.dst_bytes += place;
  if (row.residual) one.residual += place;
  if (row.residual_bytes) one.residual_bytes += place;
  one.place += place;
  if (rows.bias) one.bias += rows.bias[r];
  finish(one, sums);
}

}  // namespace TERROIR_ISA
}  // namespace terroir::cpu
