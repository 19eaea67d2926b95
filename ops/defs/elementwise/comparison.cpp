// What: comparisons of two tensors and tests of one; the output is boolean.
// Types: both inputs have the same type, boolean included (false < true); the tests take floating point.
// Edge cases: as IEEE 754: NaN differs from everything, itself included.
// Source: operation pages Equal-1, NotEqual-1, Greater-1, GreaterEqual-1, Less-1, LessEqual-1, IsNaN-10, IsInf-10,
// IsFinite-10.
#include "ops/defs/elementwise/comparison.hpp"

#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/elementwise/binary.hpp"
#include "ops/reference/elementwise/unary.hpp"
#include "ops/shape/number_interval.hpp"

namespace terroir::ops {
namespace {

#define TERROIR_COMPARABLE TERROIR_NUMBERS, char

template <NumberFn F>
ir::OpSchema comparison(ir::ReferenceFn reference) {
  auto schema = binary_schema<BinaryAttrs, TypeClass::any, true>(
      reference, {.maps_zero_to_zero = false, .accuracy = ir::Accuracy::exact});
  schema.dimensions = [](ir::InferContext& ctx) { return binary_dimensions(ctx, F); };
  return schema;
}

template <class Attrs = ir::NoAttrs>
ir::OpSchema test(ir::ReferenceFn reference) {
  auto schema = unary_schema<Attrs, TypeClass::real>(reference, {false, ir::Accuracy::exact});
  schema.infer = [](ir::InferContext& ctx) {
    check_type_class(ctx, 0, TypeClass::real);
    ctx.set_output(0, element::boolean, ctx.shape(0));
  };
  return schema;
}

}  // namespace

ir::OpSchema equal_1() { return comparison<&equal>(TERROIR_BINARY("Equal", TERROIR_COMPARABLE, a == b)); }
ir::OpSchema not_equal_1() { return comparison<&not_equal>(TERROIR_BINARY("NotEqual", TERROIR_COMPARABLE, a != b)); }
ir::OpSchema greater_1() { return comparison<&greater>(TERROIR_BINARY("Greater", TERROIR_COMPARABLE, a > b)); }
ir::OpSchema greater_equal_1() {
  return comparison<&greater_equal>(TERROIR_BINARY("GreaterEqual", TERROIR_COMPARABLE, a >= b));
}
ir::OpSchema less_1() { return comparison<&less>(TERROIR_BINARY("Less", TERROIR_COMPARABLE, a < b)); }
ir::OpSchema less_equal_1() { return comparison<&less_equal>(TERROIR_BINARY("LessEqual", TERROIR_COMPARABLE, a <= b)); }

ir::OpSchema is_nan_10() { return test<>(TERROIR_UNARY("IsNaN", unary_loop<TERROIR_FLOATS>, std::isnan(x))); }
ir::OpSchema is_finite_10() { return test<>(TERROIR_UNARY("IsFinite", unary_loop<TERROIR_FLOATS>, std::isfinite(x))); }

ir::OpSchema is_inf_10() {
  return test<IsInfAttrs>([](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<IsInfAttrs>();
    reference::unary_loop<TERROIR_FLOATS>(ctx, "IsInf", [&attrs](auto x) {
      return std::isinf(x) && (x > 0 ? attrs.detect_positive : attrs.detect_negative);
    });
  });
}

}  // namespace terroir::ops
