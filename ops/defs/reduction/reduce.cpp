// What: reductions over the axes of input 1 (0-D or 1-D integers, negative ones count from the end, doubles count
// once, none: every element for itself).
// Shapes: reduced axes become 1 with keep_dims, else they go. Types: numeric, boolean for the logical ones.
// Edge cases: sums and products wrap for integers, their means truncate. Over no elements: sum and mean 0, product 1,
// max and min the lowest and highest finite value of the type, all true, none false, as OpenVINO's CPU device has them.
// f16 and bf16 are computed in f32, so that such a value is infinite only where a model hands it out in 16 bits.
// NaN wins a max or min. Source: operation pages ReduceSum-1, ReduceMean-1, ReduceMax-1, ReduceMin-1, ReduceProd-1,
// ReduceL1-4, ReduceL2-4, ReduceLogicalAnd-1, ReduceLogicalOr-1.
#include "ops/defs/reduction/reduce.hpp"

#include <algorithm>
#include <limits>

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/reduction/reduce.hpp"
#include "ops/shape/number_interval.hpp"
#include "ops/shape/reduce_axes.hpp"

namespace terroir::ops {
namespace {

void infer_reduce(ir::InferContext& ctx) {
  ctx.set_output(0, ctx.type(0), reduced_shape(ctx, 0, 1, ctx.attrs<ReduceAttrs>().keep_dims));
}

/// A vector of known numbers reduced to one.
std::optional<std::vector<Dimension>> reduce_dimensions(ir::InferContext& ctx, NumberFn fn) {
  const auto axes = ctx.integers(1);
  const PartialShape& shape = ctx.shape(0);
  if (!axes || axes->empty() || shape.rank().is_dynamic() || shape.size() != 1) return std::nullopt;
  const auto numbers = known_numbers(ctx, 0);
  if (!numbers || numbers->empty()) return std::nullopt;
  KnownNumber result = numbers->front();
  for (size_t i = 1; i < numbers->size(); ++i) result = fn(result, (*numbers)[i]);
  return std::vector<Dimension>{to_dimension(result)};
}

ir::OpSchema reduction(ir::ReferenceFn reference, ir::DimensionsFn dimensions = nullptr) {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<ReduceAttrs>;
  schema.infer = &infer_reduce;
  schema.reference = reference;
  schema.dimensions = dimensions;
  return schema;
}

// The functors of the frame.
constexpr auto zero = [](auto, auto acc) { return decltype(acc){0}; };
constexpr auto one = [](auto, auto acc) { return decltype(acc){1}; };
template <class T>
using limits_of = std::numeric_limits<T>;
constexpr auto lowest = [](auto element, auto acc) {
  using A = decltype(acc);
  if constexpr (limits_of<A>::has_infinity)
    return -limits_of<A>::infinity();
  else
    return static_cast<A>(limits_of<decltype(element)>::lowest());
};
constexpr auto highest = [](auto element, auto acc) {
  using A = decltype(acc);
  if constexpr (limits_of<A>::has_infinity)
    return limits_of<A>::infinity();
  else
    return static_cast<A>(limits_of<decltype(element)>::max());
};
/// What a maximum or minimum of nothing started from, as a finite number.
void finish_without_elements(const ir::EvalContext& ctx) {
  const ir::MutableTensorView& dst = ctx.outputs[0];
  if (ctx.inputs[0].count() != 0 || !dst.type.is_real()) return;
  reference::dispatch_type<TERROIR_FLOATS>(dst.type, "Reduce", [&](auto tag) {
    using T = decltype(tag);
    for (T* x = dst.as<T>(); x < dst.as<T>() + dst.count(); ++x)
      *x = static_cast<float>(*x) < 0 ? limits_of<T>::lowest() : limits_of<T>::max();
  });
}
constexpr auto plus = [](auto acc, auto x) { return reference::add(acc, x); };
constexpr auto as_it_is = [](auto acc, int64_t) { return acc; };

}  // namespace

ir::OpSchema reduce_sum_1() {
  return reduction(
      [](const ir::EvalContext& ctx) {
        reference::reduce_loop<void, TERROIR_NUMBERS>(ctx, "ReduceSum", zero, plus, as_it_is);
      },
      [](ir::InferContext& ctx) { return reduce_dimensions(ctx, &add); });
}

ir::OpSchema reduce_mean_1() {
  return reduction([](const ir::EvalContext& ctx) {
    reference::reduce_loop<void, TERROIR_NUMBERS>(ctx, "ReduceMean", zero, plus, [](auto acc, int64_t count) {
      return reference::divide_truncated(acc, static_cast<decltype(acc)>(std::max<int64_t>(count, 1)));
    });
  });
}

ir::OpSchema reduce_max_1() {
  auto schema = reduction(
      [](const ir::EvalContext& ctx) {
        reference::reduce_loop<void, TERROIR_NUMBERS>(
            ctx, "ReduceMax", lowest, [](auto acc, auto x) { return reference::maximum(acc, x); }, as_it_is);
        finish_without_elements(ctx);
      },
      [](ir::InferContext& ctx) { return reduce_dimensions(ctx, &maximum); });
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema reduce_min_1() {
  auto schema = reduction(
      [](const ir::EvalContext& ctx) {
        reference::reduce_loop<void, TERROIR_NUMBERS>(
            ctx, "ReduceMin", highest, [](auto acc, auto x) { return reference::minimum(acc, x); }, as_it_is);
        finish_without_elements(ctx);
      },
      [](ir::InferContext& ctx) { return reduce_dimensions(ctx, &minimum); });
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema reduce_prod_1() {
  return reduction(
      [](const ir::EvalContext& ctx) {
        reference::reduce_loop<void, TERROIR_NUMBERS>(
            ctx, "ReduceProd", one, [](auto acc, auto x) { return reference::multiply(acc, x); }, as_it_is);
      },
      [](ir::InferContext& ctx) { return reduce_dimensions(ctx, &multiply); });
}

// Formula: sum |x|.
ir::OpSchema reduce_l1_4() {
  return reduction([](const ir::EvalContext& ctx) {
    reference::reduce_loop<void, TERROIR_NUMBERS>(
        ctx, "ReduceL1", zero,
        [](auto acc, auto x) {
          if constexpr (std::is_floating_point_v<decltype(x)>)
            return acc + std::abs(x);
          else
            return reference::add(acc, x < 0 ? reference::subtract(decltype(x){0}, x) : x);
        },
        as_it_is);
  });
}

// Formula: sqrt(sum x^2); integers are computed in f64 and truncate.
ir::OpSchema reduce_l2_4() {
  return reduction([](const ir::EvalContext& ctx) {
    reference::reduce_loop<double, TERROIR_NUMBERS>(
        ctx, "ReduceL2", zero, [](double acc, double x) { return acc + x * x; },
        [](double acc, int64_t) { return std::sqrt(acc); });
  });
}

ir::OpSchema reduce_logical_and_1() {
  auto schema = reduction([](const ir::EvalContext& ctx) {
    reference::reduce_loop<void, char>(
        ctx, "ReduceLogicalAnd", one, [](bool acc, bool x) { return acc && x; }, as_it_is);
  });
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

ir::OpSchema reduce_logical_or_1() {
  auto schema = reduction([](const ir::EvalContext& ctx) {
    reference::reduce_loop<void, char>(
        ctx, "ReduceLogicalOr", zero, [](bool acc, bool x) { return acc || x; }, as_it_is);
  });
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
