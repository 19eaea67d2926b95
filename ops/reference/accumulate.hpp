#pragma once
// What: the type sums are kept in. Floating-point sums are kept in double, so that a reference is nearer to the true
// value than what it judges; integer sums wrap around, as the element type itself would.
#include <cstdint>
#include <type_traits>

namespace terroir::ops::reference {

template <class T>
using sum_t = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
sum_t<T> to_sum(T value) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return static_cast<sum_t<T>>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <class T>
T from_sum(sum_t<T> sum) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return static_cast<T>(sum);
  } else {
    return static_cast<T>(static_cast<float>(sum));
  }
}

/// For what is computed in real numbers whatever the type.
template <class T>
double to_real(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(value);
  } else {
    return to_sum(value);
  }
}

}  // namespace terroir::ops::reference
