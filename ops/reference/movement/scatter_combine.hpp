#pragma once
// What: the arithmetic of the Scatter family, one element at a time; shared by the reference and the fast kernels,
// whose bits are therefore the same.
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/movement/scatter.hpp"

namespace terroir::ops::reference {

// Integers wrap around, as they do in the fast kernels.
template <class C>
C combined(ScatterReduction reduction, C a, C b) {
  const auto wrapped = [](uint64_t x) { return static_cast<C>(x); };
  switch (reduction) {
    case ScatterReduction::min:
      return b < a ? b : a;
    case ScatterReduction::max:
      return a < b ? b : a;
    case ScatterReduction::prod:
      if constexpr (std::is_integral_v<C>) return wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      return a * b;
    case ScatterReduction::sub:
      if constexpr (std::is_integral_v<C>) return wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
      return a - b;
    case ScatterReduction::sum:
    case ScatterReduction::mean:
      if constexpr (std::is_integral_v<C>) return wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      return a + b;
    default:
      return b;
  }
}

template <class C>
C neutral(ScatterReduction reduction) {
  using Limits = std::numeric_limits<C>;
  switch (reduction) {
    case ScatterReduction::min:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ScatterReduction::max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ScatterReduction::prod:
      return C{1};
    default:
      return C{0};
  }
}

inline bool combined_bool(ScatterReduction reduction, bool a, bool b) {
  switch (reduction) {
    case ScatterReduction::sum:
    case ScatterReduction::max:
      return a || b;
    case ScatterReduction::prod:
    case ScatterReduction::min:
      return a && b;
    default:
      return a != b;  // sub
  }
}

/// Sums are kept wide, so that only the mean has to fit.
template <class T>
using ScatterSum = std::conditional_t<std::is_integral_v<T>, int64_t, compute_t<T>>;

/// Integers are rounded down.
template <class T>
T mean_of(ScatterSum<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t quotient = sum / count;
    return static_cast<T>(quotient - (sum % count < 0 ? 1 : 0));
  } else {
    return static_cast<T>(sum / static_cast<ScatterSum<T>>(count));
  }
}

}  // namespace terroir::ops::reference
