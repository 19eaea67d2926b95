#pragma once
// What: a long real line as half as many complex numbers, its even ones in the real parts and the odd ones in the
// imaginary parts: after their transform the spectra of both are told apart, or joined before the inverse.
// Formula: z the transform of h = n / 2 complex numbers, w = exp(-2 pi i / n): even[k] = (z[k] + conj z[h - k]) / 2,
//   odd[k] = (z[k] - conj z[h - k]) / 2i, x[k] = even[k] + w^k odd[k], 0 <= k <= h; and back.
// Layouts: lines one behind the other. Aliasing: none. Threads: ranges of k.
// Edge cases: the imaginary parts of x[0] and x[h], which no real line has, are taken for 0.
#include <vector>

#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

class FourierHalves {
 public:
  enum class Way { split, join };
  /// `numbers`: of a line, even. `stride`: floats from one half of a spectrum to the next. `scale`: of joined ones.
  FourierHalves(Way way, int64_t numbers, int64_t lines, int64_t stride, float scale);

  int64_t work_floats(int64_t /*threads*/) const { return 0; }
  size_t table_bytes() const { return rotations_.size() * sizeof(float); }
  void run(const parallel::Arena& arena, const float* src, float* dst, float* work) const noexcept;

 private:
  Way way_;
  int64_t half_, lines_, stride_;
  float scale_;
  std::vector<float> rotations_;  // [half + 1] pairs: w^k
};

}  // namespace terroir::cpu
