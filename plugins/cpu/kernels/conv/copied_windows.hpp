// What: what the windows of some output positions see of a blocked source, side by side: a row of positions, of which
// each has the channels of a block for every tap in turn, with zeros where a window reaches beyond the source. A
// convolution over an image of few positions is a 1x1 convolution over that row, whose tiles hold them all.
// Cost: a load and a store per vector of a window; every tile of a unit of output channels reads the copies.
// Include one bucket header first.
#pragma once

#include "plugins/cpu/kernels/conv/bucket.hpp"
#include "plugins/cpu/kernels/conv/conv_tile.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

TERROIR_NOINLINE void copy_windows(const ConvPlan& plan, const float* image, const Range& positions, float* to) {
  const ConvProblem& p = plan.problem;
  const int64_t row = p.w.in * kBlock, plane = p.h.in * row, block = p.d.in * plane;
  const int64_t all = p.d.out * p.h.out * p.w.out;
  for (int64_t c = 0; c < p.ic / kBlock; ++c, image += block) {
    for (int64_t tap = 0; tap < p.d.kernel * p.h.kernel * p.w.kernel; ++tap, to += all * kBlock) {
      const int64_t kd = tap / (p.h.kernel * p.w.kernel), kh = tap / p.w.kernel % p.h.kernel, kw = tap % p.w.kernel;
      int64_t d = positions.begin / (p.h.out * p.w.out), h = positions.begin / p.w.out % p.h.out,
              w = positions.begin % p.w.out;
      for (int64_t at = positions.begin; at < positions.end; ++at) {
        const int64_t z = d * p.d.stride - p.d.pad + kd * p.d.dilation,
                      y = h * p.h.stride - p.h.pad + kh * p.h.dilation,
                      x = w * p.w.stride - p.w.pad + kw * p.w.dilation;
        const bool inside = z >= 0 && z < p.d.in && y >= 0 && y < p.h.in && x >= 0 && x < p.w.in;
        const float* const from = image + z * plane + y * row + x * kBlock;
        for (int64_t v = 0; v < kBlock; v += kLanes) storeu(to + at * kBlock + v, inside ? loadu(from + v) : zero());
        if (++w < p.w.out) continue;
        w = 0;
        if (++h < p.h.out) continue;
        h = 0;
        ++d;
      }
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
