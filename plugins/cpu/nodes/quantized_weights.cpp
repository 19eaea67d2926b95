#include "plugins/cpu/nodes/quantized_weights.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "terroir/bfloat16.hpp"

namespace terroir::cpu {
namespace {

/// Of |x| below 2^22.
int32_t nearest(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: sums with it have no fraction
  return std::bit_cast<int32_t>(x + kRound) - std::bit_cast<int32_t>(kRound);
}

}  // namespace

void pack_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
               const float* steps, int8_t* packed, int32_t* sums) {
  const int64_t taps = p.taps(), inputs = p.row_inputs, outputs = (unit.blocks - 1) * p.block + unit.lanes;
  std::fill_n(sums, taps * unit.blocks * p.block, 0);
  std::fill_n(packed, p.depth() * unit.blocks * p.quad(), int8_t{0});
  const int64_t step = p.wide ? p.quad() : unit.blocks * p.quad(), block = p.wide ? p.depth() * p.quad() : p.quad();
  const int64_t first_output = p.first_output(unit);
  for (int64_t o = 0; o < outputs; ++o) {
    const float per_step = 1 / steps[o];
    const float* const row = weights + o * strides.output;
    int8_t* const to = packed + o / p.block * block + o % p.block * kBytesAtOnce;
    const int64_t first = (first_output + o) / p.row_outputs * inputs * p.element;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t own = p.own_tap(tap, unit.phase), begin = p.first_byte(tap) + first;
      if (own < 0) continue;
      int32_t sum = 0;
      for (int64_t c = 0; c < inputs; ++c) {
        const int32_t weight = nearest(row[c * strides.input + own * strides.tap] * per_step);
        const int64_t byte = begin + c * p.element;
        int8_t* const at = to + byte / kBytesAtOnce * step + byte % kBytesAtOnce;
        at[0] = static_cast<int8_t>(weight);
        if (p.element > 1) at[1] = static_cast<int8_t>(weight < 0 ? -1 : 0);
        sum += weight;
      }
      sums[tap * unit.blocks * p.block + o] = sum;
    }
  }
}

void pack_winograd_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                        const float* steps, int8_t* packed, int32_t* sums) {
  constexpr int64_t kTaps = 3, kSide = 4;
  const int64_t inputs = p.row_inputs, outputs = (unit.blocks - 1) * p.block + unit.lanes;
  const int64_t step = unit.blocks * p.quad(), number = p.number_steps() * step;
  std::fill_n(sums, kTaps * kTaps * unit.blocks * p.block, 0);
  std::fill_n(packed, WinogradTiles::kNumbers * number, int8_t{0});
  // Of three weights in a line, twice G.
  const auto transform = [](const int32_t* in, int64_t in_step, int32_t* out, int64_t out_step) {
    const int32_t first = in[0], second = in[in_step], third = in[2 * in_step];
    out[0] = 2 * first;
    out[out_step] = first + second + third;
    out[2 * out_step] = first - second + third;
    out[3 * out_step] = 2 * third;
  };
  for (int64_t o = 0; o < outputs; ++o) {
    const float per_step = 1 / steps[o];
    int8_t* const to = packed + o / p.block * p.quad() + o % p.block * kBytesAtOnce;
    for (int64_t c = 0; c < inputs; ++c) {
      std::array<int32_t, kTaps * kTaps> own;
      for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
        const int32_t weight = nearest(weights[o * strides.output + c * strides.input + tap * strides.tap] * per_step);
        own[static_cast<size_t>(tap)] = weight;
        sums[tap * unit.blocks * p.block + o] += weight;
      }
      std::array<int32_t, kSide * kTaps> rows;
      std::array<int32_t, kSide * kSide> all;
      for (size_t x = 0; x < kTaps; ++x) transform(&own[x], kTaps, &rows[x], kTaps);
      for (size_t y = 0; y < kSide; ++y) transform(&rows[y * kTaps], 1, &all[y * kSide], 1);
      int8_t* const at = to + c / 2 * step + c % 2 * p.element;
      for (size_t n = 0; n < all.size(); ++n) {
        const auto value = static_cast<int16_t>(all[n]);
        std::memcpy(at + static_cast<int64_t>(n) * number, &value, sizeof(value));
      }
    }
  }
}

void pack_bf16_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                    const ByteConvKernels& kernels, bool pairs, int8_t* packed) {
  const int64_t taps = p.taps(), inputs = p.row_inputs, outputs = (unit.blocks - 1) * kByteBlock + unit.lanes;
  const int64_t part = p.depth() * p.quad(), block = pairs ? 2 * part : part, rests = block - part;
  const auto block_of = [&](int64_t o) { return packed + o / kByteBlock * block; };
  const bool dense = p.row_outputs == p.group_outputs;
  // What the steps beyond the inputs, and taps that a phase does not have, multiply.
  if (!dense || p.transposed || taps * inputs * kBf16Bytes != p.depth() * kBytesAtOnce)
    std::fill_n(packed, unit.blocks * block, int8_t{0});
  if (dense) {
    for (int64_t o = 0; o < outputs; o += kByteBlock)
      for (int64_t tap = 0; tap < taps; ++tap)
        if (const int64_t own = p.own_tap(tap, unit.phase); own >= 0)
          kernels.pack_bf16({weights + o * strides.output + own * strides.tap, std::min(outputs - o, kByteBlock),
                             strides.output, inputs, strides.input, rests},
                            reinterpret_cast<uint8_t*>(block_of(o) + p.first_byte(tap) / kBytesAtOnce * p.quad()));
    return;
  }
  const int64_t first_output = p.first_output(unit);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = (first_output + o) / p.row_outputs * inputs;
    int8_t* const to = block_of(o) + o % kByteBlock * kBytesAtOnce;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t own = p.own_tap(tap, unit.phase);
      for (int64_t c = 0; own >= 0 && c < inputs; ++c) {
        const int64_t byte = p.first_byte(tap) + (first + c) * kBf16Bytes;
        int8_t* const at = to + byte / kBytesAtOnce * p.quad() + byte % kBytesAtOnce;
        const float weight = weights[o * strides.output + c * strides.input + own * strides.tap];
        const bfloat16 number(weight), rest(weight - static_cast<float>(number));
        std::memcpy(at, &number, sizeof(number));
        if (pairs) std::memcpy(at + rests, &rest, sizeof(rest));
      }
    }
  }
}

bool round_to_bf16_numbers(const float* weights, int64_t count) {
  constexpr int32_t kMagnitude = 0x7fffffff, kLastThatDoes = 0x7f7f7fff;
  const auto beyond = [&](int64_t i) { return kLastThatDoes - (std::bit_cast<int32_t>(weights[i]) & kMagnitude); };
  constexpr int64_t kAtOnce = 16;
  std::array<int32_t, kAtOnce> all{};  // below 0: some are
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (int64_t k = 0; k < kAtOnce; ++k) all[static_cast<size_t>(k)] |= beyond(i + k);
  for (; i < count; ++i) all[0] |= beyond(i);
  return std::all_of(all.begin(), all.end(), [](int32_t one) { return one >= 0; });
}

}  // namespace terroir::cpu
