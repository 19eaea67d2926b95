// What: the binary arithmetic ops. Types: numeric. Shapes: ops/shape/broadcast.hpp.
// Edge cases: ops/reference/numeric.hpp (integers wrap, division by zero is 0).
// Source: operation pages Add-1, Subtract-1, Multiply-1, Divide-1, Power-1, Maximum-1, Minimum-1, Mod-1, FloorMod-1,
// SquaredDifference-1.
#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/elementwise/binary.hpp"
#include "ops/shape/number_interval.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

double sum(double a, double b) { return a + b; }
double difference(double a, double b) { return a - b; }
double product(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

template <NumberFn F>
ir::OpSchema with_dimensions(ir::OpSchema schema) {
  schema.dimensions = [](ir::InferContext& ctx) { return binary_dimensions(ctx, F); };
  return schema;
}

/// Of integers and of real numbers.
template <NumberFn F, RealFn R>
ir::OpSchema with_numbers(ir::OpSchema schema) {
  schema.dimensions = [](ir::InferContext& ctx) {
    return ctx.type(0).is_real() ? answer_ranges(ctx, binary_ranges(ctx, R)) : binary_dimensions(ctx, F);
  };
  return schema;
}

// Multiply does not keep 0 * inf, so only its zeros meet zeros in a padded tail.
constexpr UnaryTraits kMapsZero = kZeroToZero;

}  // namespace

ir::OpSchema add_1() {
  return with_numbers<&add, &sum>(
      binary_schema(TERROIR_BINARY("Add", TERROIR_NUMBERS, reference::add(a, b)), kMapsZero));
}

ir::OpSchema subtract_1() {
  return with_numbers<&subtract, &difference>(
      binary_schema(TERROIR_BINARY("Subtract", TERROIR_NUMBERS, reference::subtract(a, b)), kMapsZero));
}

ir::OpSchema multiply_1() {
  return with_numbers<&multiply, &product>(
      binary_schema(TERROIR_BINARY("Multiply", TERROIR_NUMBERS, reference::multiply(a, b)), kMapsZero));
}

ir::OpSchema divide_1() {
  auto schema = binary_schema<DivideAttrs>([](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<DivideAttrs>();
    reference::binary_loop<TERROIR_NUMBERS>(ctx, "Divide", attrs.broadcast, [&attrs](auto a, auto b) {
      return attrs.m_pythondiv ? reference::divide_floored(a, b) : reference::divide_truncated(a, b);
    });
  });
  schema.dimensions = [](ir::InferContext& ctx) {
    return ctx.type(0).is_real() ? answer_ranges(ctx, divided_ranges(ctx)) : binary_dimensions(ctx, &divide);
  };
  return schema;
}

ir::OpSchema power_1() { return binary_schema(TERROIR_BINARY("Power", TERROIR_NUMBERS, reference::power(a, b))); }

ir::OpSchema maximum_1() {
  return with_numbers<&maximum, &larger>(
      binary_schema(TERROIR_BINARY("Maximum", TERROIR_NUMBERS, reference::maximum(a, b)), kExactZeroToZero));
}

ir::OpSchema minimum_1() {
  return with_numbers<&minimum, &smaller>(
      binary_schema(TERROIR_BINARY("Minimum", TERROIR_NUMBERS, reference::minimum(a, b)), kExactZeroToZero));
}

// Formula: the remainder takes the sign of the dividend (C's fmod); x mod 0 is NaN for floating point.
ir::OpSchema mod_1() {
  return with_dimensions<&remainder>(
      binary_schema(TERROIR_BINARY("Mod", TERROIR_NUMBERS, reference::mod_truncated(a, b))));
}

// Formula: the remainder takes the sign of the divisor (Python's %).
ir::OpSchema floor_mod_1() {
  return with_dimensions<&remainder>(
      binary_schema(TERROIR_BINARY("FloorMod", TERROIR_NUMBERS, reference::mod_floored(a, b))));
}

// Formula: (a - b)^2.
ir::OpSchema squared_difference_1() {
  return binary_schema(TERROIR_BINARY("SquaredDifference", TERROIR_NUMBERS,
                                      reference::multiply(reference::subtract(a, b), reference::subtract(a, b))),
                       kMapsZero);
}

}  // namespace terroir::ops
