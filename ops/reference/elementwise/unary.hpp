#pragma once
// What: output[i] := f(input[i], attributes) for one functor; the only loop of all unary elementwise references.
#include "ir/schema/op_schema.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {

/// `f` takes and returns the compute type of the element (float for f16 and bf16).
template <class... Ts, class F>
void unary_loop(const ir::EvalContext& ctx, const char* op, F f) {
  dispatch_type<Ts...>(ctx.inputs[0].type, op, [&](auto tag) {
    using T = decltype(tag);
    const T* src = ctx.inputs[0].as<T>();
    T* dst = ctx.outputs[0].as<T>();
    const int64_t count = ctx.inputs[0].count();
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<T>(f(static_cast<compute_t<T>>(src[i])));
  });
}

}  // namespace terroir::ops::reference
