#pragma once
// What: a sum divided by a count, rounded as the averaging ops round: 8-bit integers to the nearest even, wider ones
// towards zero.
#include <cmath>

#include "ops/reference/accumulate.hpp"

namespace terroir::ops::reference {

template <class T>
T mean(sum_t<T> sum, double count) {
  if constexpr (!std::is_integral_v<T>) {
    return from_sum<T>(sum / count);
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<T>(std::nearbyint(static_cast<double>(static_cast<int64_t>(sum)) / count));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<int64_t>(sum) / static_cast<int64_t>(count));
  } else {
    return static_cast<T>(sum / static_cast<uint64_t>(count));
  }
}

}  // namespace terroir::ops::reference
