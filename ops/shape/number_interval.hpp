#pragma once
// What: arithmetic on numbers of which only bounds are known, so that shapes computed from partially known shapes
// (ShapeOf -> Gather -> Multiply -> Concat -> Reshape) resolve as far as possible.
// Edge cases: the fully unknown Dimension stands for any number, a negative one too (the -1 of a Reshape target), so
// nothing follows from it; a result that may be negative or overflows is unknown as well.
#include <limits>
#include <optional>
#include <terroir/dimension.hpp>
#include <vector>

#include "ir/schema/infer_context.hpp"

namespace terroir::ops {

/// A closed interval; `high` may be kUnbounded.
struct NumberInterval {
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  int64_t low = 0;
  int64_t high = 0;

  bool is_number() const { return low == high; }
  bool is_bounded() const { return high != kUnbounded; }
};
/// Empty: may be any number.
using KnownNumber = std::optional<NumberInterval>;

/// Elements of a 0-D or 1-D integer or boolean input; empty when not even their count is known.
std::optional<std::vector<KnownNumber>> known_numbers(ir::InferContext& ctx, int input);
Dimension to_dimension(const KnownNumber& number);
std::vector<Dimension> to_dimensions(const std::vector<KnownNumber>& numbers);

// Each answers "unknown" rather than overflow.
KnownNumber add(const KnownNumber& a, const KnownNumber& b);
KnownNumber subtract(const KnownNumber& a, const KnownNumber& b);
KnownNumber multiply(const KnownNumber& a, const KnownNumber& b);
/// Non-negative by positive, rounded down; unknown for other signs (where the rounding of Divide is an attribute).
KnownNumber divide(const KnownNumber& a, const KnownNumber& b);
/// Of non-negative by positive numbers, where all ways to round agree.
KnownNumber remainder(const KnownNumber& a, const KnownNumber& b);
KnownNumber maximum(const KnownNumber& a, const KnownNumber& b);
KnownNumber minimum(const KnownNumber& a, const KnownNumber& b);

/// 1 (true), 0 (false), or between them where the intervals leave it open.
KnownNumber equal(const KnownNumber& a, const KnownNumber& b);
KnownNumber not_equal(const KnownNumber& a, const KnownNumber& b);
KnownNumber less(const KnownNumber& a, const KnownNumber& b);
KnownNumber less_equal(const KnownNumber& a, const KnownNumber& b);
KnownNumber greater(const KnownNumber& a, const KnownNumber& b);
KnownNumber greater_equal(const KnownNumber& a, const KnownNumber& b);
/// Holds every number of both.
KnownNumber either(const KnownNumber& a, const KnownNumber& b);

/// A binary op over known numbers, with numpy broadcasting of 0-D and 1-D operands.
using NumberFn = KnownNumber (*)(const KnownNumber&, const KnownNumber&);
std::optional<std::vector<Dimension>> binary_dimensions(ir::InferContext& ctx, NumberFn fn);

}  // namespace terroir::ops
