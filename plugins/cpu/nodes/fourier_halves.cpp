#include "plugins/cpu/nodes/fourier_halves.hpp"

#include <algorithm>

#include "plugins/cpu/kernels/fft/plan.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

struct Pair {
  float re, im;
};

Pair times(Pair a, Pair b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/// x[k] for first <= k < last of the line whose transform is z.
void split(const Pair* z, const Pair* rotations, Pair* x, int64_t half, int64_t first, int64_t last) {
  for (int64_t k = first; k < last; ++k) {
    const Pair low = z[k < half ? k : 0], high = z[k > 0 ? half - k : 0];
    const Pair odd = times({0.5f * (low.im + high.im), 0.5f * (high.re - low.re)}, rotations[k]);
    x[k] = {0.5f * (low.re + high.re) + odd.re, 0.5f * (low.im - high.im) + odd.im};
  }
}

/// Twice `scale` times z[k].
void join(const Pair* x, const Pair* rotations, Pair* z, int64_t half, int64_t first, int64_t last, float scale) {
  for (int64_t k = first; k < last; ++k) {
    Pair low = x[k], high = x[half - k];
    if (k == 0) low.im = high.im = 0;
    const Pair odd = times({low.re - high.re, low.im + high.im}, {rotations[k].re, -rotations[k].im});
    z[k] = {scale * (low.re + high.re - odd.im), scale * (low.im - high.im + odd.re)};
  }
}

}  // namespace

FourierHalves::FourierHalves(Way way, int64_t numbers, int64_t lines, int64_t stride, float scale)
    : way_(way),
      half_(numbers / 2),
      lines_(lines),
      stride_(stride),
      scale_(scale),
      rotations_(fft_rotations(numbers)) {}

void FourierHalves::run(const parallel::Arena& arena, const float* src, float* dst, float* /*work*/) const noexcept {
  constexpr int64_t kTaskNumbers = 8192;
  const int64_t count = way_ == Way::split ? half_ + 1 : half_, pieces = ceil_div(count, kTaskNumbers);
  const auto* rotations = reinterpret_cast<const Pair*>(rotations_.data());
  arena.parallel_for(lines_ * pieces, [&](int64_t task) {
    const int64_t line = task / pieces, first = task % pieces * kTaskNumbers;
    const int64_t last = std::min(count, first + kTaskNumbers);
    const int64_t numbers = line * 2 * half_, spectrum = line * stride_;
    if (way_ == Way::split)
      split(reinterpret_cast<const Pair*>(src + numbers), rotations, reinterpret_cast<Pair*>(dst + spectrum), half_,
            first, last);
    else
      join(reinterpret_cast<const Pair*>(src + spectrum), rotations, reinterpret_cast<Pair*>(dst + numbers), half_,
           first, last, scale_);
  });
}

}  // namespace terroir::cpu
