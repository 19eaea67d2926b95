// One extent that may be known, bounded or unknown: a closed interval of non-negative integers.
//
// Edge cases: an upper bound of -1 means none. Arithmetic works on both bounds and saturates at "no bound".
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>

#include "terroir/export.hpp"
#include "terroir/interval.hpp"

namespace terroir {

class TERROIR_API Dimension {
 public:
  using value_type = int64_t;

  /// Any extent: 0 and up.
  constexpr Dimension() = default;
  /// A known extent; -1 means any. Throws Exception (invalid_argument) for another negative value.
  Dimension(value_type length);  // NOLINT: implicit, as in OpenVINO
  /// Between both, inclusive; max_length -1 means without upper bound. Throws Exception (invalid_argument) if the
  /// interval is empty or starts below 0 (a min_length of -1 counts as 0).
  Dimension(value_type min_length, value_type max_length);
  /// From text: "?" or "-1", "7", "1..10", "..5", "3..". Throws Exception (parse_error) for another text.
  explicit Dimension(const std::string& text);

  static constexpr Dimension dynamic() { return Dimension(); }

  bool is_static() const { return min_ == max_; }
  bool is_dynamic() const { return min_ != max_; }
  /// The known extent. Throws Exception (invalid_argument) if it is dynamic.
  value_type get_length() const;
  /// Lower bound.
  value_type get_min_length() const { return min_; }
  /// Upper bound; -1 if there is none.
  value_type get_max_length() const { return max_ == kUnbounded ? -1 : max_; }
  bool has_upper_bound() const { return max_ != kUnbounded; }
  /// Both bounds.
  Interval get_interval() const { return {min_, max_}; }

  /// Both intervals are the same.
  bool operator==(const Dimension& other) const { return min_ == other.min_ && max_ == other.max_; }
  bool operator!=(const Dimension& other) const { return !(*this == other); }
  /// Both dynamic (whatever the bounds), or both static and equal.
  bool same_scheme(const Dimension& other) const;
  /// Some extent satisfies both.
  bool compatible(const Dimension& other) const;
  /// Every extent of `other` is one of this.
  bool relaxes(const Dimension& other) const;
  /// Every extent of this is one of `other`.
  bool refines(const Dimension& other) const { return other.relaxes(*this); }

  /// The extents that satisfy both, into `dst`; false (dst untouched) if there are none.
  static bool merge(Dimension& dst, const Dimension& a, const Dimension& b);
  /// The result of numpy broadcasting two extents, into `dst`; false (dst untouched) if they cannot broadcast.
  static bool broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b);

  Dimension operator+(const Dimension& other) const;
  /// Bounds never fall below 0; throws Exception (invalid_argument) if every difference would be negative.
  Dimension operator-(const Dimension& other) const;
  Dimension operator*(const Dimension& other) const;
  /// The extents q with q * divisor in this, for a positive divisor; for static extents the quotient rounded down.
  /// Throws Exception (invalid_argument) for a divisor below 1.
  Dimension operator/(value_type divisor) const;
  Dimension& operator+=(const Dimension& other) { return *this = *this + other; }
  Dimension& operator-=(const Dimension& other) { return *this = *this - other; }
  Dimension& operator*=(const Dimension& other) { return *this = *this * other; }
  Dimension& operator/=(value_type divisor) { return *this = *this / divisor; }
  /// The extents both allow; throws Exception (invalid_argument) if there are none.
  Dimension operator&(const Dimension& other) const;
  Dimension& operator&=(const Dimension& other) { return *this = *this & other; }

  /// "?", "7", "1..10", "..5", "3..".
  std::string to_string() const;

 private:
  static constexpr value_type kUnbounded = Interval::s_max;

  value_type min_ = 0;
  value_type max_ = kUnbounded;
};

TERROIR_API std::ostream& operator<<(std::ostream& out, const Dimension& dimension);

/// The number of axes, which may be unknown too.
using Rank = Dimension;

}  // namespace terroir
