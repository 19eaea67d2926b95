#include "terroir/dimension.hpp"

#include <algorithm>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/overflow.hpp"
#include "ir/base/text_dims.hpp"

namespace terroir {

Dimension::Dimension(value_type length) : Dimension(length, length) {}

Dimension::Dimension(value_type min_length, value_type max_length)
    : min_(min_length == -1 ? 0 : min_length), max_(max_length == -1 ? kUnbounded : max_length) {
  if (min_ < 0 || max_ < min_) {
    throw_error(ErrorCode::invalid_argument, "not a dimension: ", min_length, "..", max_length,
                "; bounds must be non-negative (or -1 for none) and in order");
  }
}

Dimension::Dimension(const std::string& text) {
  const std::string_view trimmed = detail::trim(text);
  const auto fail = [&]() {
    throw_error(ErrorCode::parse_error, "not a dimension: '", text, "', expected a number, ?, -1, 1..10, ..5 or 3..");
  };
  if (trimmed == "?") return;
  const size_t dots = trimmed.find("..");
  if (dots == std::string_view::npos) {
    const auto length = detail::parse_int64(trimmed);
    if (!length || *length < -1) fail();
    *this = Dimension(*length);
    return;
  }
  const std::string_view low = detail::trim(trimmed.substr(0, dots));
  const std::string_view high = detail::trim(trimmed.substr(dots + 2));
  if (low.empty() && high.empty()) fail();
  const auto min = low.empty() ? std::optional<int64_t>(0) : detail::parse_int64(low);
  const auto max = high.empty() ? std::optional<int64_t>(kUnbounded) : detail::parse_int64(high);
  if (!min || !max || *min < 0 || *max < *min) fail();
  min_ = *min;
  max_ = *max;
}

Dimension::value_type Dimension::get_length() const {
  if (is_dynamic()) {
    throw_error(ErrorCode::invalid_argument, "the dimension ", *this, " is dynamic, it has no single length");
  }
  return min_;
}

bool Dimension::same_scheme(const Dimension& other) const {
  return (is_dynamic() && other.is_dynamic()) || *this == other;
}

bool Dimension::compatible(const Dimension& other) const { return min_ <= other.max_ && other.min_ <= max_; }

bool Dimension::relaxes(const Dimension& other) const { return min_ <= other.min_ && other.max_ <= max_; }

bool Dimension::merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  if (!a.compatible(b)) return false;
  Dimension merged;
  merged.min_ = std::max(a.min_, b.min_);
  merged.max_ = std::min(a.max_, b.max_);
  dst = merged;
  return true;
}

bool Dimension::broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  const auto is_one = [](const Dimension& d) { return d.min_ == 1 && d.max_ == 1; };
  const auto allows_one = [](const Dimension& d) { return d.min_ <= 1 && d.max_ >= 1; };
  if (is_one(a)) return dst = Dimension(b), true;
  if (is_one(b)) return dst = Dimension(a), true;
  // The result is x if both are x; x from a while b is 1; or x from b while a is 1. The hull of those cases.
  Dimension result;
  bool any = merge(result, a, b);
  const auto widen = [&](const Dimension& with) {
    if (!any) {
      result = with;
      any = true;
      return;
    }
    result.min_ = std::min(result.min_, with.min_);
    result.max_ = std::max(result.max_, with.max_);
  };
  if (allows_one(a)) widen(b);
  if (allows_one(b)) widen(a);
  if (!any) return false;
  dst = result;
  return true;
}

Dimension Dimension::operator+(const Dimension& other) const {
  Dimension result;
  result.min_ = checked_add(min_, other.min_).value_or(kUnbounded);
  result.max_ = checked_add(max_, other.max_).value_or(kUnbounded);
  return result;
}

Dimension Dimension::operator-(const Dimension& other) const {
  Dimension result;
  result.min_ = other.has_upper_bound() ? std::max<value_type>(0, min_ - other.max_) : 0;
  result.max_ = has_upper_bound() ? max_ - other.min_ : kUnbounded;
  if (result.max_ < 0) throw_error(ErrorCode::invalid_argument, "the dimension ", *this, " - ", other, " is negative");
  return result;
}

Dimension Dimension::operator*(const Dimension& other) const {
  Dimension result;
  result.min_ = checked_mul(min_, other.min_).value_or(kUnbounded);
  // 0 times "no bound" is 0.
  result.max_ = checked_mul(max_, other.max_).value_or(kUnbounded);
  return result;
}

Dimension Dimension::operator/(value_type divisor) const {
  if (divisor < 1) throw_error(ErrorCode::invalid_argument, "a dimension cannot be divided by ", divisor);
  Dimension result;
  if (is_static()) {
    result.min_ = result.max_ = min_ / divisor;
    return result;
  }
  result.max_ = has_upper_bound() ? max_ / divisor : kUnbounded;
  // No multiple of the divisor may lie in the interval; the quotient rounded down keeps the result non-empty.
  result.min_ = std::min(min_ / divisor + (min_ % divisor != 0 ? 1 : 0), result.max_);
  return result;
}

Dimension Dimension::operator&(const Dimension& other) const {
  Dimension result;
  if (!merge(result, *this, other)) {
    throw_error(ErrorCode::invalid_argument, "the dimensions ", *this, " and ", other, " have no length in common");
  }
  return result;
}

std::string Dimension::to_string() const {
  if (is_static()) return std::to_string(min_);
  if (min_ == 0 && !has_upper_bound()) return "?";
  return (min_ == 0 ? "" : std::to_string(min_)) + ".." + (has_upper_bound() ? std::to_string(max_) : "");
}

std::ostream& operator<<(std::ostream& out, const Dimension& dimension) { return out << dimension.to_string(); }

}  // namespace terroir
