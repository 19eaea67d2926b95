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
  const int64_t taps = p.taps(), inputs = p.row_inputs, outputs = (unit.blocks - 1) * kByteBlock + unit.lanes;
  std::fill_n(sums, taps * unit.blocks * kByteBlock, 0);
  std::fill_n(packed, p.depth() * unit.blocks * kQuad, int8_t{0});
  const int64_t step = p.wide ? kQuad : unit.blocks * kQuad, block = p.wide ? p.depth() * kQuad : kQuad;
  const int64_t first_output = p.first_output(unit);
  for (int64_t o = 0; o < outputs; ++o) {
    const float per_step = 1 / steps[o];
    const float* const row = weights + o * strides.output;
    int8_t* const to = packed + o / kByteBlock * block + o % kByteBlock * kBytesAtOnce;
    const int64_t first = (first_output + o) / p.row_outputs * inputs;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t own = p.own_tap(tap, unit.phase), begin = p.first_byte(tap) + first;
      if (own < 0) continue;
      int32_t sum = 0;
      for (int64_t c = 0; c < inputs; ++c) {
        const int32_t weight = nearest(row[c * strides.input + own * strides.tap] * per_step);
        const int64_t byte = begin + c;
        to[byte / kBytesAtOnce * step + byte % kBytesAtOnce] = static_cast<int8_t>(weight);
        sum += weight;
      }
      sums[tap * unit.blocks * kByteBlock + o] = sum;
    }
  }
}

void pack_bf16_unit(const ByteProblem& p, const ByteUnit& unit, const float* weights, const WeightStrides& strides,
                    const ByteConvKernels& kernels, bool pairs, int8_t* packed) {
  const int64_t taps = p.taps(), inputs = p.row_inputs, outputs = (unit.blocks - 1) * kByteBlock + unit.lanes;
  const int64_t part = p.depth() * kQuad, block = pairs ? 2 * part : part, rests = block - part;
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
                            reinterpret_cast<uint8_t*>(block_of(o) + p.first_byte(tap) / kBytesAtOnce * kQuad));
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
        int8_t* const at = to + byte / kBytesAtOnce * kQuad + byte % kBytesAtOnce;
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
