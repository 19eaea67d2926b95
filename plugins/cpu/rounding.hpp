// Division and rounding upwards, for counts that are not negative. For files compiled for the baseline, as its
// functions are inline: not for kernels of one instruction set.
#pragma once

#include <cstdint>

namespace terroir::cpu {

constexpr int64_t ceil_div(int64_t a, int64_t b) noexcept { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) noexcept { return ceil_div(a, b) * b; }

}  // namespace terroir::cpu
