#pragma once
// What: what a maximum starts from: -inf, or the lowest number of an integer type.
#include <limits>
#include <type_traits>

namespace terroir::ops::reference {

template <class T>
T lowest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::lowest();
  } else {
    return static_cast<T>(-std::numeric_limits<float>::infinity());
  }
}

}  // namespace terroir::ops::reference
