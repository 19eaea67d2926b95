#include "ops/shape/real_range.hpp"

#include <algorithm>
#include <cmath>

namespace terroir::ops {

namespace {

// A function of its own: where two such roundings meet the tests of std::isfinite, GCC 12 drops them.
[[gnu::noinline]] double as_element(double number, element::Type type) {
  return type == element::f32 ? static_cast<double>(static_cast<float>(number)) : number;
}

}  // namespace

std::optional<ir::RealRange> rounded_range(double low, double high, element::Type type) {
  low = as_element(low, type);
  high = as_element(high, type);
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return ir::RealRange{low, high};
}

std::optional<ir::Ranges> known_ranges(ir::InferContext& ctx, int input) {
  if (ctx.type(input).is_real()) return ranges_of(ctx, input);
  const auto numbers = known_numbers(ctx, input);
  if (!numbers) return std::nullopt;
  ir::Ranges ranges;
  for (const KnownNumber& number : *numbers) {
    const bool bounded = number && number->is_bounded();
    ranges.push_back(
        bounded ? std::optional(ir::RealRange{static_cast<double>(number->low), static_cast<double>(number->high)})
                : std::nullopt);
  }
  return ranges;
}

KnownNumber truncated(const std::optional<ir::RealRange>& range) {
  constexpr double kMost = 9e18;
  if (!range || range->low < -kMost || range->high > kMost) return std::nullopt;
  return NumberInterval{static_cast<int64_t>(range->low), static_cast<int64_t>(range->high)};
}

std::optional<ir::Ranges> binary_ranges(ir::InferContext& ctx, RealFn fn) {
  const auto a = ranges_of(ctx, 0), b = ranges_of(ctx, 1);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  ir::Ranges result;
  for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const auto& x = (*a)[a->size() == 1 ? 0 : i];
    const auto& y = (*b)[b->size() == 1 ? 0 : i];
    if (!x || !y) {
      result.push_back(std::nullopt);
      continue;
    }
    const auto [low, high] =
        std::minmax({fn(x->low, y->low), fn(x->low, y->high), fn(x->high, y->low), fn(x->high, y->high)});
    result.push_back(rounded_range(low, high, ctx.type(0)));
  }
  return result;
}

std::optional<ir::Ranges> divided_ranges(ir::InferContext& ctx) {
  const auto divisors = ranges_of(ctx, 1);
  if (!divisors) return std::nullopt;
  for (const auto& divisor : *divisors)
    if (divisor && divisor->low <= 0 && divisor->high >= 0) return std::nullopt;
  return binary_ranges(ctx, [](double a, double b) { return a / b; });
}

std::optional<ir::Ranges> unary_ranges(ir::InferContext& ctx, double (*fn)(double)) {
  auto ranges = ranges_of(ctx, 0);
  if (!ranges) return std::nullopt;
  for (auto& range : *ranges)
    if (range) range = ir::RealRange{fn(range->low), fn(range->high)};
  return ranges;
}

std::optional<ir::Ranges> ranges_of(ir::InferContext& ctx, int input) {
  auto* numbers = dynamic_cast<ir::NumberContext*>(&ctx);
  return numbers ? numbers->ranges(input) : std::nullopt;
}

std::optional<std::vector<Dimension>> answer_ranges(ir::InferContext& ctx, std::optional<ir::Ranges> ranges) {
  if (auto* numbers = dynamic_cast<ir::NumberContext*>(&ctx)) numbers->answer(std::move(ranges));
  return std::nullopt;
}

std::optional<std::vector<Dimension>> same_numbers(ir::InferContext& ctx) {
  return ctx.type(0).is_real() ? answer_ranges(ctx, ranges_of(ctx, 0)) : ctx.dimensions(0);
}

}  // namespace terroir::ops
