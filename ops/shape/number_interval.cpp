#include "ops/shape/number_interval.hpp"

#include <algorithm>

#include "ir/base/overflow.hpp"

namespace terroir::ops {
namespace {

constexpr int64_t kUnbounded = NumberInterval::kUnbounded;

KnownNumber interval(std::optional<int64_t> low, std::optional<int64_t> high) {
  if (!low || !high) return std::nullopt;
  return NumberInterval{*low, *high};
}

constexpr NumberInterval kFalse{0, 0}, kTrue{1, 1}, kOpen{0, 1};

KnownNumber negated(const KnownNumber& truth) { return NumberInterval{1 - truth->high, 1 - truth->low}; }

std::optional<int64_t> sum_or_unbounded(int64_t a, int64_t b) {
  if (a == kUnbounded || b == kUnbounded) return kUnbounded;
  return checked_add(a, b);
}

}  // namespace

std::optional<std::vector<KnownNumber>> known_numbers(ir::InferContext& ctx, int input) {
  std::vector<KnownNumber> numbers;
  // Values come first: unlike dimensions they may be negative.
  if (!ctx.type(input).is_integral()) return std::nullopt;
  if (const auto integers = ctx.integers(input)) {
    for (int64_t number : *integers) numbers.push_back(NumberInterval{number, number});
    return numbers;
  }
  const auto dims = ctx.dimensions(input);
  if (!dims) return std::nullopt;
  for (const Dimension& dim : *dims) {
    if (dim == Dimension::dynamic()) {
      numbers.push_back(std::nullopt);
    } else {
      numbers.push_back(
          NumberInterval{dim.get_min_length(), dim.has_upper_bound() ? dim.get_max_length() : kUnbounded});
    }
  }
  return numbers;
}

Dimension to_dimension(const KnownNumber& number) {
  if (!number || number->low < 0) return Dimension::dynamic();
  return {number->low, number->is_bounded() ? number->high : -1};
}

std::vector<Dimension> to_dimensions(const std::vector<KnownNumber>& numbers) {
  std::vector<Dimension> dims;
  for (const KnownNumber& number : numbers) dims.push_back(to_dimension(number));
  return dims;
}

KnownNumber add(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return std::nullopt;
  return interval(checked_add(a->low, b->low), sum_or_unbounded(a->high, b->high));
}

KnownNumber subtract(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b || !b->is_bounded()) return std::nullopt;
  return interval(checked_sub(a->low, b->high), a->is_bounded() ? checked_sub(a->high, b->low) : kUnbounded);
}

KnownNumber multiply(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return std::nullopt;
  if (a->is_number() && b->is_number()) {
    const auto product = checked_mul(a->low, b->low);
    return interval(product, product);
  }
  if (a->low < 0 || b->low < 0) return std::nullopt;
  const bool bounded = a->is_bounded() && b->is_bounded();
  return interval(checked_mul(a->low, b->low), bounded ? checked_mul(a->high, b->high) : kUnbounded);
}

KnownNumber divide(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b || a->low < 0 || b->low <= 0) return std::nullopt;
  return NumberInterval{b->is_bounded() ? a->low / b->high : 0, a->is_bounded() ? a->high / b->low : kUnbounded};
}

KnownNumber remainder(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b || a->low < 0 || b->low <= 0) return std::nullopt;
  if (a->is_number() && b->is_number()) return NumberInterval{a->low % b->low, a->low % b->low};
  if (a->high < b->low) return a;
  return NumberInterval{0, std::min(a->high, b->is_bounded() ? b->high - 1 : kUnbounded)};
}

KnownNumber equal(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return kOpen;
  if (a->high < b->low || b->high < a->low) return kFalse;
  return a->is_number() && b->is_number() ? kTrue : kOpen;
}

KnownNumber less(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return kOpen;
  if (a->high < b->low) return kTrue;
  return a->low >= b->high ? kFalse : kOpen;
}

KnownNumber not_equal(const KnownNumber& a, const KnownNumber& b) { return negated(equal(a, b)); }
KnownNumber greater(const KnownNumber& a, const KnownNumber& b) { return less(b, a); }
KnownNumber less_equal(const KnownNumber& a, const KnownNumber& b) { return negated(less(b, a)); }
KnownNumber greater_equal(const KnownNumber& a, const KnownNumber& b) { return negated(less(a, b)); }

KnownNumber either(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return std::nullopt;
  return NumberInterval{std::min(a->low, b->low), std::max(a->high, b->high)};
}

KnownNumber maximum(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return std::nullopt;
  return NumberInterval{std::max(a->low, b->low), std::max(a->high, b->high)};
}

KnownNumber minimum(const KnownNumber& a, const KnownNumber& b) {
  if (!a || !b) return std::nullopt;
  return NumberInterval{std::min(a->low, b->low), std::min(a->high, b->high)};
}

std::optional<std::vector<Dimension>> binary_dimensions(ir::InferContext& ctx, NumberFn fn) {
  const auto a = known_numbers(ctx, 0);
  const auto b = known_numbers(ctx, 1);
  if (!a || !b) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  const size_t count = a->size() == 1 ? b->size() : a->size();
  std::vector<KnownNumber> result;
  for (size_t i = 0; i < count; ++i) result.push_back(fn((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  return to_dimensions(result);
}

}  // namespace terroir::ops
