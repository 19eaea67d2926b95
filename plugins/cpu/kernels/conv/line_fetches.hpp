// What: which cache lines the register tiles of a dense convolution fetch while they compute: weights of the next round
// of the reduction where all of them do not stay in L2, or a group's sources, and what the steps behind it read first.
// Include one bucket header first.
#pragma once

#include <cstdint>

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "plugins/cpu/kernels/conv/take_lines.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

// What the register tiles of one round fetch ahead, each its share: weights of the next round first, then what follows
// the run.
struct Fetch {
  const float* own;
  const float* ahead;
  int64_t lines;      // per innermost loop; 0: nothing
  int64_t loops;      // per register tile
  int64_t own_loops;  // of these, for `own`
};

// The innermost loops over which both kinds of fetches are spread evenly: `tiles` times `loops` in each of `rounds`
// rounds that are left.
struct FetchLoops {
  int64_t tiles, loops, rounds;
};

// The fetches of one of the rounds, for `units` units.
Fetch shared_fetch(const ConvArgs& args, const ConvLines& own, int64_t units, FetchLoops& share) {
  const int64_t tiles = share.tiles * units, loops = share.loops, rounds = (share.rounds + units - 1) / units;
  share.rounds -= units;
  // A fetch holds one of L1's few buffers for misses until it is done, and so the kernel's own reads: beyond this the
  // loops become slower by what is won behind them, measured.
  constexpr int64_t kLinesPerLoop = 12;
  const int64_t all = tiles * loops, spare = all * kLinesPerLoop - own.count;
  const ConvLines ahead = take_lines(args, rounds, spare > 0 ? spare : 0);
  Fetch fetch{own.begin, ahead.begin, (own.count + ahead.count + all - 1) / all, loops, 0};
  if (own.count == 0 || fetch.lines == 0) return fetch;
  fetch.own_loops = loops;
  if (ahead.count > 0) {
    fetch.own_loops = (own.count + tiles * fetch.lines - 1) / (tiles * fetch.lines);
    if (fetch.own_loops > loops) fetch.own_loops = loops;
  }
  return fetch;
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
