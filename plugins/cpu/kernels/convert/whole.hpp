// What: real numbers as integers, for the tables of conversions. Include one bucket header first.
#pragma once

#include <limits>
#include <type_traits>

#include "plugins/cpu/kernels/typed/numbers.hpp"

namespace terroir::cpu::TERROIR_ISA {
namespace {

/// Towards zero, saturated, NaN to 0. What is out of range never reaches the instruction, so that the compiler need not
/// branch around it.
template <class T>
struct ToWhole {
  template <class F>
  TERROIR_INLINE_MEMBER static T of(F x) {
    constexpr int kDigits = std::numeric_limits<T>::digits, kMantissa = std::numeric_limits<F>::digits;
    constexpr F kLow = static_cast<F>(std::numeric_limits<T>::min());
    // The largest integer of F in T's range, and the first number above that range.
    constexpr T kHighest =
        kDigits <= kMantissa
            ? std::numeric_limits<T>::max()
            : static_cast<T>(std::numeric_limits<T>::max() >> (kDigits > kMantissa ? kDigits - kMantissa : 0)
                                                                  << (kDigits > kMantissa ? kDigits - kMantissa : 0));
    constexpr F kHigh = static_cast<F>(kHighest);
    const F number = x == x ? x : F{0};
    const F raised = number < kLow ? kLow : number;
    const F inside = raised > kHigh ? kHigh : raised;
    T result;
    if constexpr (sizeof(T) <= 2)
      result = static_cast<T>(static_cast<int32_t>(inside));
    else if constexpr (sizeof(T) == 4)
      result = static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, int32_t, int64_t>>(inside));
    else
      result = static_cast<T>(inside);
    if constexpr (kDigits > kMantissa) return raised > kHigh ? std::numeric_limits<T>::max() : result;
    return result;
  }
};
}  // namespace
}  // namespace terroir::cpu::TERROIR_ISA
