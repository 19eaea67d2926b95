#include "tests/terroir1/array.hpp"

#include <functional>
#include <numeric>

namespace terroir::test {

int64_t count_of(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::string text(const std::vector<int64_t>& values) {
  std::string joined;
  for (const int64_t value : values) joined += (joined.empty() ? "" : ",") + std::to_string(value);
  return joined;
}

Array channels_last(const Array& array) {
  const int64_t batch = array.dims[0], channels = array.dims[1];
  const int64_t inner = count_of(array.dims) / batch / channels;
  Array result;
  result.dims = {batch};
  result.dims.insert(result.dims.end(), array.dims.begin() + 2, array.dims.end());
  result.dims.push_back(channels);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t c = 0; c < channels; ++c)
        result.values.push_back(array.values[static_cast<size_t>((n * channels + c) * inner + i)]);
  return result;
}

Array eighths(std::vector<int64_t> dims, uint32_t seed) {
  Array array{std::move(dims), {}};
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = count_of(array.dims); i > 0; --i) {
    state = state * 1664525u + 1013904223u;
    array.values.push_back((static_cast<double>(state >> 16) / 65535.0 > 0.5 ? 1 : -1) *
                           static_cast<double>(state >> 20 & 7u) / 8);
  }
  return array;
}

}  // namespace terroir::test
