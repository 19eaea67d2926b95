#include "plugins/cpu/kernels/conv/gather.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/cpu/kernels/conv/plan.hpp"

namespace terroir::cpu {
namespace {

ConvAxis gathered(const ConvAxis& axis) { return {axis.out, axis.out, 1, 1, 1, 0}; }

int64_t outputs(const ConvProblem& p) { return p.d.out * p.h.out * p.w.out; }

template <int64_t Block>
void gather_row(const float* src, int64_t step, float* dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * Block, src + i * step, Block * sizeof(float));
}

}  // namespace

bool conv_gathers(const ConvProblem& p, const ConvKernel& kernel) noexcept {
  // Each source is then written and read once more; so many outputs per source make up for it.
  constexpr int64_t kLeastOutputs = 128;
  if (kernel.src != ConvFormat::blocked || p.transposed || p.oc / p.groups < kLeastOutputs) return false;
  for (const ConvAxis* a : {&p.d, &p.h, &p.w})
    if (!conv::has_one_tap(*a)) return false;
  return p.d.stride * p.h.stride * p.w.stride > 1;
}

ConvProblem conv_gathered(const ConvProblem& p) noexcept {
  ConvProblem dense = p;
  dense.d = gathered(p.d);
  dense.h = gathered(p.h);
  dense.w = gathered(p.w);
  return dense;
}

int64_t conv_gather_pieces(const ConvProblem& p, int64_t block) noexcept { return p.batch * ceil_div(p.ic, block); }

int64_t conv_gathered_floats(const ConvProblem& p, int64_t block) noexcept {
  return conv_gather_pieces(p, block) * outputs(p) * block;
}

void conv_gather(const ConvProblem& p, int64_t block, const float* src, float* gathered, Stretch pieces,
                 Stretch positions) noexcept {
  const auto row = block == 16 ? &gather_row<16> : block == 8 ? &gather_row<8> : nullptr;
  const int64_t row_floats = p.w.in * block, step = p.w.stride * block;
  for (int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
    const float* const from = src + piece * p.d.in * p.h.in * row_floats;
    float* const to = gathered + piece * outputs(p) * block;
    for (int64_t at = positions.begin, count; at < positions.end; at += count) {
      const int64_t d = at / p.w.out / p.h.out, h = at / p.w.out % p.h.out, w = at % p.w.out;
      count = std::min(p.w.out - w, positions.end - at);
      row(from + (d * p.d.stride * p.h.in + h * p.h.stride) * row_floats + w * step, step, to + at * block, count);
    }
  }
}

}  // namespace terroir::cpu
