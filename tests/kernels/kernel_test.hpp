// What every kernel test shares: a fixture parameterised on the instruction set buckets of this machine, repeatable
// random data, and comparison with a tolerance that the caller derives.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "plugins/cpu/isa.hpp"
#include "tests/kernels/guarded_buffer.hpp"

namespace terroir::testing {

class KernelTest : public ::testing::TestWithParam<cpu::Isa> {
 protected:
  cpu::Isa isa() const { return GetParam(); }
  int64_t lanes() const {
    switch (isa()) {
      case cpu::Isa::avx512:
        return 16;
      case cpu::Isa::avx2:
        return 8;
      default:
        return 4;
    }
  }
  // 1, T-1, T, T+1, 2T+1 and primes for a tile of T elements.
  static std::vector<int64_t> sizes_around(int64_t tile) {
    std::vector<int64_t> sizes = {1, tile - 1, tile, tile + 1, 2 * tile + 1, 67, 131};
    if (sizes[1] < 1) sizes[1] = 2;
    return sizes;
  }
};

#define TERROIR_INSTANTIATE_PER_ISA(Suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(PerIsa, Suite, ::testing::ValuesIn(::terroir::cpu::available_isas()), \
                           [](const auto& instance) { return std::string(::terroir::cpu::isa_name(instance.param)); })

inline std::vector<float> random_floats(int64_t n, uint32_t seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = draw(engine);
  return values;
}

// Error bound of a sum of k products of factors up to `magnitude`, in any order of summation: k * eps * sum |a b|.
inline float dot_tolerance(int64_t k, float magnitude = 1.0f) {
  return std::numeric_limits<float>::epsilon() * (static_cast<float>(k) + 2.0f) * magnitude *
         std::sqrt(static_cast<float>(k) + 1.0f);
}

}  // namespace terroir::testing
