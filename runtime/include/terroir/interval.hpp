// A range of integers, as Dimension::get_interval() gives it.
//
// Edge cases: s_max stands for "without bound"; sums, differences and products stay between 0 and it. A range that ends
// before it begins has no elements and is kept as s_max..s_max.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>

namespace terroir {

class Interval {
 public:
  using value_type = int64_t;
  using size_type = uint64_t;
  static constexpr value_type s_max = std::numeric_limits<value_type>::max();

  /// Every number from 0 on.
  constexpr Interval() = default;
  /// From min_val to max_val, inclusive.
  constexpr Interval(value_type min_val, value_type max_val) : min_(min_val), max_(max_val) {
    if (max_ < min_) min_ = max_ = s_max;
  }
  constexpr Interval(value_type val) : Interval(val, val) {}  // NOLINT: implicit, as in OpenVINO

  /// How many numbers there are; s_max without an upper bound.
  constexpr size_type size() const {
    if (max_ == s_max) return empty() ? 0 : static_cast<size_type>(s_max);
    return static_cast<size_type>(max_) - static_cast<size_type>(min_) + 1;
  }
  constexpr bool empty() const { return min_ == s_max; }
  constexpr value_type get_min_val() const { return min_; }
  constexpr value_type get_max_val() const { return max_; }
  void set_min_val(value_type val) { min_ = val; }
  void set_max_val(value_type val) { max_ = val; }
  constexpr bool has_upper_bound() const { return max_ != s_max; }
  constexpr bool contains(value_type value) const { return min_ <= value && value <= max_; }
  constexpr bool contains(const Interval& other) const { return contains(other.min_) && contains(other.max_); }

  constexpr bool operator==(const Interval& other) const { return min_ == other.min_ && max_ == other.max_; }
  constexpr bool operator!=(const Interval& other) const { return !(*this == other); }

  /// The smallest range with every sum, difference, product of an element of each.
  constexpr Interval operator+(const Interval& other) const {
    if (empty() || other.empty()) return none();
    return {sum(min_, other.min_), sum(max_, other.max_)};
  }
  constexpr Interval operator-(const Interval& other) const {
    if (empty() || other.empty()) return none();
    const value_type lowest = other.max_ == s_max ? 0 : std::max<value_type>(min_ - other.max_, 0);
    const value_type highest = max_ == s_max ? s_max : std::max<value_type>(max_ - other.min_, 0);
    return {lowest, highest};
  }
  constexpr Interval operator*(const Interval& other) const {
    if (empty() || other.empty()) return none();
    return {product(min_, other.min_), product(max_, other.max_)};
  }
  /// What is in both.
  constexpr Interval operator&(const Interval& other) const {
    return {std::max(min_, other.min_), std::min(max_, other.max_)};
  }
  Interval& operator+=(const Interval& other) { return *this = *this + other; }
  Interval& operator-=(const Interval& other) { return *this = *this - other; }
  Interval& operator*=(const Interval& other) { return *this = *this * other; }
  Interval& operator&=(const Interval& other) { return *this = *this & other; }

 private:
  static constexpr Interval none() { return {s_max, s_max}; }
  static constexpr value_type sum(value_type a, value_type b) { return a > s_max - b ? s_max : a + b; }
  static constexpr value_type product(value_type a, value_type b) {
    if (a == 0 || b == 0) return 0;
    return a > s_max / b ? s_max : a * b;
  }

  value_type min_ = 0;
  value_type max_ = s_max;
};

/// "Interval(1, 10)", "Interval(1, ...)".
inline std::ostream& operator<<(std::ostream& out, const Interval& interval) {
  out << "Interval(" << interval.get_min_val() << ", ";
  return interval.has_upper_bound() ? out << interval.get_max_val() << ")" : out << "...)";
}

}  // namespace terroir
