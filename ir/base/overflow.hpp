// Integer arithmetic that notices overflow.
#pragma once

#include <optional>

namespace terroir {

/// a * b, or nothing if it does not fit T.
template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a + b, or nothing if it does not fit T.
template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a - b, or nothing if it does not fit T.
template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_sub(T a, T b) noexcept {
  T result{};
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

}  // namespace terroir
