#pragma once
// What: arithmetic on real numbers of which only bounds are known: extents times scales, as exporters of resizing write
// them (ShapeOf -> Convert -> Multiply -> Floor -> Convert -> Interpolate).
// How: bounds are computed as the elements are, in f32 or f64; rounding is monotonic and keeps them bounds.
// Edge cases: what may be infinite, and quotients whose divisor may be 0, have no bounds.
#include "ir/schema/number_context.hpp"
#include "ops/shape/number_interval.hpp"

namespace terroir::ops {

/// The bounds rounded to `type`; empty when they are not finite then.
std::optional<ir::RealRange> rounded_range(double low, double high, element::Type type);
/// Elements of a 0-D or 1-D input of any numeric type.
std::optional<ir::Ranges> known_ranges(ir::InferContext& ctx, int input);
/// The range rounded towards zero.
KnownNumber truncated(const std::optional<ir::RealRange>& range);

/// A binary op that is monotonic in each operand, with numpy broadcasting of 0-D and 1-D operands.
using RealFn = double (*)(double, double);
std::optional<ir::Ranges> binary_ranges(ir::InferContext& ctx, RealFn fn);
/// As binary_ranges, where the divisor is not 0.
std::optional<ir::Ranges> divided_ranges(ir::InferContext& ctx);
/// A monotonic function of input 0.
std::optional<ir::Ranges> unary_ranges(ir::InferContext& ctx, double (*fn)(double));
/// Bounds of an f32 or f64 input, where the context knows such.
std::optional<ir::Ranges> ranges_of(ir::InferContext& ctx, int input);
/// What OpSchema::dimensions does where its output is real: the answer are bounds, and there are no dimensions.
std::optional<std::vector<Dimension>> answer_ranges(ir::InferContext& ctx, std::optional<ir::Ranges> ranges);
/// OpSchema::dimensions of ops that leave a list of numbers, integers or not, as it is.
std::optional<std::vector<Dimension>> same_numbers(ir::InferContext& ctx);

}  // namespace terroir::ops
