// What: the share of a round in what a convolution fetches for the steps behind it. Include one bucket header first.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// A share of ConvArgs::ahead for one of `rounds` rounds, of one range and at most `most`.
ConvLines take_lines(const ConvArgs& args, int64_t rounds, int64_t most) {
  ConvAhead* const ahead = args.ahead;
  if (!ahead) return {nullptr, 0};
  while (ahead->count > 0 && ahead->lines->count == 0) ++ahead->lines, --ahead->count;
  int64_t all = 0;
  for (int64_t i = 0; i < ahead->count; ++i) all += ahead->lines[i].count;
  if (all == 0) return {nullptr, 0};
  const int64_t shares = ahead->runs * rounds;
  int64_t count = (all + shares - 1) / shares;
  if (count > ahead->lines->count) count = ahead->lines->count;
  if (count > most) count = most;
  const ConvLines taken{ahead->lines->begin, count};
  ahead->lines->begin += count * 16;
  ahead->lines->count -= count;
  return taken;
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
