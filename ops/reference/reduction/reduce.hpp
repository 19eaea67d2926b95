#pragma once
// What: the one loop of all reductions: combines the elements of input 0 over the axes in input 1.
// Formula: y[o] = finish(combine(... combine(start, x0) ..., xn), n) in the order of the elements in memory.
// Cost: one accumulator per output element; f64 for floating point, 64 bits for integers.
#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/shape/broadcast.hpp"
#include "ops/shape/reduce_axes.hpp"

namespace terroir::ops::reference {

/// Where the elements of input 0 go: extents of the output with 1 at reduced axes, and elements per output.
struct ReducePlan {
  ir::Dims kept;
  int64_t outputs = 0;
  int64_t per_output = 0;
};
/// Exception when the axes do not fit or the output has another size.
ReducePlan plan_reduce(const ir::EvalContext& ctx);

/// Widest type of the same kind: f64, int64_t, uint64_t or bool.
template <class T>
using accumulator_t = std::conditional_t<
    std::is_same_v<T, char>, bool,
    std::conditional_t<!std::is_integral_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>;

/// `start(T{}, A{})` gives the first accumulator, `combine(acc, x)` takes the element as A, `finish(acc, count)`
/// the result as A. `Fixed`: the accumulator type, or void for accumulator_t.
template <class Fixed, class... Ts, class Start, class Combine, class Finish>
void reduce_loop(const ir::EvalContext& ctx, const char* op, Start start, Combine combine, Finish finish) {
  const ReducePlan plan = plan_reduce(ctx);
  BroadcastWalk walk(ctx.inputs[0].dims, {plan.kept});
  dispatch_type<Ts...>(ctx.inputs[0].type, op, [&](auto tag) {
    using T = decltype(tag);
    using A = std::conditional_t<std::is_void_v<Fixed>, accumulator_t<T>, Fixed>;
    // Not std::vector<A>: of bool it would be packed.
    struct Slot {
      A value;
    };
    std::vector<Slot> slots(static_cast<size_t>(plan.outputs), Slot{start(T{}, A{})});
    const T* src = ctx.inputs[0].as<T>();
    for (; walk.more(); walk.next()) {
      const T* x = src + walk.position();
      Slot* slot = slots.data() + walk.offset(0);
      for (int64_t i = 0; i < walk.run(); ++i, slot += walk.step(0))
        slot->value = combine(slot->value, static_cast<A>(static_cast<compute_t<T>>(x[i])));
    }
    T* dst = ctx.outputs[0].as<T>();
    for (int64_t i = 0; i < plan.outputs; ++i) {
      const A result = finish(slots[static_cast<size_t>(i)].value, plan.per_output);
      if constexpr (std::is_floating_point_v<A> && std::is_integral_v<T>) {
        dst[i] = saturate<T>(result);
      } else {
        dst[i] = static_cast<T>(result);
      }
    }
  });
}

}  // namespace terroir::ops::reference
