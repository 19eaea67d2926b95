#include "ops/reference/matrix/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

/// Replaces the n x n `matrix` by its inverse and returns the determinant (Gauss-Jordan with row pivots).
double invert(std::vector<double>& matrix, std::vector<double>& result, size_t n) {
  double determinant = 1;
  result.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i) result[i * n + i] = 1;
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c + 1; r < n; ++r)
      if (std::abs(matrix[r * n + c]) > std::abs(matrix[pivot * n + c])) pivot = r;
    if (pivot != c) {
      determinant = -determinant;
      for (size_t k = 0; k < n; ++k) {
        std::swap(matrix[c * n + k], matrix[pivot * n + k]);
        std::swap(result[c * n + k], result[pivot * n + k]);
      }
    }
    const double scale = matrix[c * n + c];
    determinant *= scale;
    for (size_t k = 0; k < n; ++k) {
      matrix[c * n + k] /= scale;
      result[c * n + k] /= scale;
    }
    for (size_t r = 0; r < n; ++r) {
      const double factor = matrix[r * n + c];
      if (r == c || factor == 0) continue;
      for (size_t k = 0; k < n; ++k) {
        matrix[r * n + k] -= factor * matrix[c * n + k];
        result[r * n + k] -= factor * result[c * n + k];
      }
    }
  }
  matrix.swap(result);
  return determinant;
}

}  // namespace

void inverse(const ir::TensorView& src, const ir::MutableTensorView& dst, bool adjugate) {
  const int64_t count = src.count();
  if (count == 0) return;
  const auto n = static_cast<size_t>(src.dims.back());
  const auto size = static_cast<int64_t>(n * n);
  dispatch_type<TERROIR_FLOATS>(src.type, "Inverse", [&](auto tag) {
    using T = decltype(tag);
    constexpr int64_t kTaskSums = 32768;
    const int64_t per_task = std::max<int64_t>(1, kTaskSums / (size * static_cast<int64_t>(n)));
    parallel_ranges(count / size, per_task, [&](int64_t begin, int64_t end) {
      std::vector<double> matrix, scratch;
      for (int64_t i = begin; i < end; ++i) {
        const T* x = src.as<T>() + i * size;
        T* y = dst.as<T>() + i * size;
        matrix.assign(x, x + size);
        const double determinant = invert(matrix, scratch, n);
        for (size_t k = 0; k < matrix.size(); ++k)
          y[k] = static_cast<T>(adjugate ? matrix[k] * determinant : matrix[k]);
      }
    });
  });
}

}  // namespace terroir::ops::reference
