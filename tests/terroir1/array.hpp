#pragma once
// What: dense arrays of numbers for tests, and the order of their channels.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace terroir::test {

struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;
};

using Texts = std::vector<std::pair<std::string, std::string>>;

int64_t count_of(const std::vector<int64_t>& dims);
std::string text(const std::vector<int64_t>& values);

/// [N, C, spatial] -> [N, spatial, C].
Array channels_last(const Array& array);

/// Eighths in [-1, 1] that depend on `seed` alone, so that sums of a few products have no rounding error.
Array eighths(std::vector<int64_t> dims, uint32_t seed);

}  // namespace terroir::test
