// What: comparisons of two tensors and tests of one; the output is boolean.
// Types: both inputs have the same type, boolean (false < true) and strings (by their bytes) included; the tests take
// floating point.
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

/// `test` of what std::string::compare says of two elements, and 0.
void compare_strings(const ir::EvalContext& ctx, bool (*test)(int, int)) {
  const ir::TensorView &a = ctx.inputs[0], &b = ctx.inputs[1];
  const ir::Dims b_dims = align_operand(a.dims, b.dims, ctx.attrs<BinaryAttrs>().broadcast);
  bool* dst = ctx.outputs[0].as<bool>();
  for (BroadcastWalk walk(ctx.outputs[0].dims, {a.dims, b_dims}); walk.more(); walk.next()) {
    const std::string* left = a.as<std::string>() + walk.offset(0);
    const std::string* right = b.as<std::string>() + walk.offset(1);
    for (int64_t i = 0; i < walk.run(); ++i)
      dst[walk.position() + i] = test(left[i * walk.step(0)].compare(right[i * walk.step(1)]), 0);
  }
}

// The reference function of a comparison, from an expression in `a` and `b`.
#define TERROIR_COMPARISON(op, expression)                                                                           \
  [](const ir::EvalContext& ctx) {                                                                                   \
    if (ctx.inputs[0].type == element::string) return compare_strings(ctx, [](int a, int b) { return expression; }); \
    reference::binary_loop<TERROIR_NUMBERS, char>(ctx, op, ctx.attrs<BinaryAttrs>().broadcast,                       \
                                                  [](auto a, auto b) { return expression; });                        \
  }

template <NumberFn F>
ir::OpSchema comparison(ir::ReferenceFn reference) {
  auto schema =
      binary_schema<BinaryAttrs, true>(reference, {.maps_zero_to_zero = false, .accuracy = ir::Accuracy::exact});
  schema.dimensions = [](ir::InferContext& ctx) { return binary_dimensions(ctx, F); };
  return schema;
}

template <class Attrs = ir::NoAttrs>
ir::OpSchema test(ir::ReferenceFn reference) {
  auto schema = unary_schema<Attrs>(reference, {false, ir::Accuracy::exact});
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, element::boolean, ctx.shape(0)); };
  return schema;
}

}  // namespace

ir::OpSchema equal_1() { return comparison<&equal>(TERROIR_COMPARISON("Equal", a == b)); }
ir::OpSchema not_equal_1() { return comparison<&not_equal>(TERROIR_COMPARISON("NotEqual", a != b)); }
ir::OpSchema greater_1() { return comparison<&greater>(TERROIR_COMPARISON("Greater", a > b)); }
ir::OpSchema greater_equal_1() { return comparison<&greater_equal>(TERROIR_COMPARISON("GreaterEqual", a >= b)); }
ir::OpSchema less_1() { return comparison<&less>(TERROIR_COMPARISON("Less", a < b)); }
ir::OpSchema less_equal_1() { return comparison<&less_equal>(TERROIR_COMPARISON("LessEqual", a <= b)); }

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
