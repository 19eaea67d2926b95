#include "tests/support/compare.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

/// 0 for equal elements; above 1 when outside the tolerance.
long double excess(long double expected, long double actual, Tolerance tolerance) {
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
  if (!std::isfinite(expected) || !std::isfinite(actual)) return INFINITY;
  const long double magnitude = std::max(std::fabs(expected), std::fabs(actual));
  const long double allowed =
      std::max(static_cast<long double>(tolerance.absolute), static_cast<long double>(tolerance.relative) * magnitude);
  const long double distance = std::fabs(expected - actual);
  return allowed > 0 ? distance / allowed : INFINITY;
}

}  // namespace

Tolerance default_tolerance(element::Type type) {
  if (!type.is_real()) return {0, 0};
  if (type == element::bf16) return {1.6e-2, 1e-3};
  if (type.bitwidth() <= 16) return {2e-3, 1e-4};
  return {1e-5, 1e-6};
}

std::string difference(const ir::TensorView& expected, const ir::TensorView& actual, Tolerance tolerance,
                       int64_t count) {
  if (expected.type != actual.type) return concat("element type ", actual.type, ", expected ", expected.type);
  if (count < 0) {
    if (expected.count() != actual.count()) return concat(actual.count(), " elements, expected ", expected.count());
    count = expected.count();
  } else if (count > std::min(expected.count(), actual.count())) {
    return concat("too few elements: ", actual.count(), ", expected ", expected.count(), ", of which ", count,
                  " are compared");
  }
  int64_t wrong = 0, first = -1, worst = -1;
  long double worst_excess = 0;
  for (int64_t i = 0; i < count; ++i) {
    long double off = 0;
    if (expected.type == element::string)
      off = static_cast<const std::string*>(expected.data)[i] == static_cast<const std::string*>(actual.data)[i]
                ? 0
                : INFINITY;
    else
      off = excess(element_at(expected, i), element_at(actual, i), tolerance);
    if (off <= 1) continue;
    if (wrong++ == 0) first = i;
    if (worst < 0 || off > worst_excess) worst = i, worst_excess = off;
  }
  if (wrong == 0) return {};
  const auto show = [&](int64_t i) {
    return concat("element ", i, ": ", element_text(actual, i), ", expected ", element_text(expected, i));
  };
  std::string text = concat(wrong, " of ", count, " elements differ; ", show(first));
  if (worst != first) text += concat("; worst ", show(worst));
  return text + concat(" (tolerance ", tolerance.relative, " relative, ", tolerance.absolute, " absolute)");
}

}  // namespace terroir::test
