#pragma once
// What: axes of convolutions with 3x3 kernels and stride 2.
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {

/// `before` and `after`: pads.
inline ConvAxis strided(int64_t in, int64_t before = 1, int64_t after = 1) { return axis(in, 3, 2, 1, before, after); }

}  // namespace terroir::cpu::conv_test
