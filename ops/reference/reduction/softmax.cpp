#include "ops/reference/reduction/softmax.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {

void softmax(const ir::TensorView& src, const ir::MutableTensorView& dst, int64_t axis, bool logarithm) {
  const int64_t count = src.count();
  if (count == 0) return;
  const auto at = static_cast<size_t>(axis);
  const int64_t extent = src.dims[at];
  int64_t inner = 1;
  for (size_t i = at + 1; i < src.dims.size(); ++i) inner *= src.dims[i];
  dispatch_type<TERROIR_FLOATS>(src.type, logarithm ? "LogSoftmax" : "SoftMax", [&](auto tag) {
    using T = decltype(tag);
    for (int64_t outer = 0; outer < count; outer += extent * inner) {
      for (int64_t i = 0; i < inner; ++i) {
        const T* x = src.as<T>() + outer + i;
        T* y = dst.as<T>() + outer + i;
        double top = -std::numeric_limits<double>::infinity();
        for (int64_t k = 0; k < extent; ++k) top = maximum(top, static_cast<double>(x[k * inner]));
        double sum = 0;
        for (int64_t k = 0; k < extent; ++k) sum += std::exp(static_cast<double>(x[k * inner]) - top);
        const double log_sum = std::log(sum);
        for (int64_t k = 0; k < extent; ++k) {
          const double shifted = static_cast<double>(x[k * inner]) - top;
          y[k * inner] = static_cast<T>(logarithm ? shifted - log_sum : std::exp(shifted) / sum);
        }
      }
    }
  });
}

}  // namespace terroir::ops::reference
