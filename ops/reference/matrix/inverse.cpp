#include "ops/reference/matrix/inverse.hpp"

#include <cmath>

#include "ops/reference/dispatch.hpp"

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
    std::vector<double> matrix;
    std::vector<double> scratch;
    for (int64_t first = 0; first < count; first += size) {
      const T* x = src.as<T>() + first;
      T* y = dst.as<T>() + first;
      matrix.assign(x, x + size);
      const double determinant = invert(matrix, scratch, n);
      for (size_t i = 0; i < matrix.size(); ++i) y[i] = static_cast<T>(adjugate ? matrix[i] * determinant : matrix[i]);
    }
  });
}

}  // namespace terroir::ops::reference
