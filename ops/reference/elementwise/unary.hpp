#pragma once
// What: output[i] := f(input[i], attributes) for one functor; the loops of all unary elementwise references.
#include "ir/schema/op_schema.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"

namespace terroir::ops::reference {

/// `f` takes the compute type of the element (float for f16 and bf16) and returns it, or a bool for tests.
template <class... Ts, class F>
void unary_loop(const ir::EvalContext& ctx, const char* op, F f) {
  const int64_t count = ctx.inputs[0].count();
  dispatch_type<Ts...>(ctx.inputs[0].type, op, [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    using R = std::conditional_t<std::is_same_v<decltype(f(C{})), bool>, char, T>;
    const T* src = ctx.inputs[0].as<T>();
    R* dst = ctx.outputs[0].as<R>();
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<R>(f(static_cast<C>(src[i])));
  });
}

/// The integer T for a result of f64: in range as it is, above and below saturated, but negative results of unsigned
/// types wrap around, as negative integers do when they are converted.
template <class T>
T integer_result(double value) {
  if constexpr (std::is_unsigned_v<T>)
    if (value < 0) return wrap<T>(static_cast<uint64_t>(saturate<int64_t>(value)));
  return saturate<T>(value);
}

/// A function of real numbers. Integer elements are computed in f64 and rounded to the nearest, half away from zero.
template <class F>
void unary_real(const ir::EvalContext& ctx, const char* op, F f) {
  unary_loop<TERROIR_NUMBERS>(ctx, op, [f](auto x) {
    using C = decltype(x);
    if constexpr (std::is_integral_v<C>) {
      return integer_result<C>(std::round(f(static_cast<double>(x))));
    } else {
      return f(x);
    }
  });
}

/// As unary_real, but integer elements are rounded towards zero.
template <class F>
void unary_real_truncating(const ir::EvalContext& ctx, const char* op, F f) {
  unary_loop<TERROIR_NUMBERS>(ctx, op, [f](auto x) {
    using C = decltype(x);
    if constexpr (std::is_integral_v<C>) {
      return integer_result<C>(f(static_cast<double>(x)));
    } else {
      return f(x);
    }
  });
}

}  // namespace terroir::ops::reference
