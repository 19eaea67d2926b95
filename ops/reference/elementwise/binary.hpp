#pragma once
// What: output[i] := f(a[i], b[i]) with broadcasting, for one functor; the loop of all binary elementwise references.
// Cost: one strided inner loop per functor and type; broadcasting is data (BroadcastWalk), not another instance.
#include "ir/schema/op_schema.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops::reference {

/// `f` takes two values of the compute type (bool for boolean) and returns it, or a bool for comparisons. `b_dims` are
/// the extents of the second operand aligned with the first one's at the last axis.
template <class... Ts, class F>
void binary_loop(const ir::EvalContext& ctx, const char* op, const ir::Dims& b_dims, F f) {
  const ir::TensorView& a = ctx.inputs[0];
  const ir::TensorView& b = ctx.inputs[1];
  // Built once here, not in every instance of the loop.
  BroadcastWalk walk(ctx.outputs[0].dims, {a.dims, b_dims});
  dispatch_type<Ts...>(a.type, op, [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    using R = std::conditional_t<std::is_same_v<decltype(f(C{}, C{})), bool>, char, T>;
    const T* a_data = a.as<T>();
    const T* b_data = b.as<T>();
    R* dst = ctx.outputs[0].as<R>();
    for (; walk.more(); walk.next()) {
      const T* pa = a_data + walk.offset(0);
      const T* pb = b_data + walk.offset(1);
      R* d = dst + walk.position();
      for (int64_t i = 0; i < walk.run(); ++i)
        d[i] = static_cast<R>(f(static_cast<C>(pa[i * walk.step(0)]), static_cast<C>(pb[i * walk.step(1)])));
    }
  });
}

template <class... Ts, class F>
void binary_loop(const ir::EvalContext& ctx, const char* op, const BroadcastRule& rule, F f) {
  binary_loop<Ts...>(ctx, op, align_operand(ctx.inputs[0].dims, ctx.inputs[1].dims, rule), f);
}

}  // namespace terroir::ops::reference
