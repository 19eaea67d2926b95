// What: unary arithmetic and elementary functions. Shapes: the output has the input's.
// Edge cases: NaN stays NaN; integer elements of the transcendental functions are computed in f64 and rounded to
// nearest, those of Acos, Asin, Log and Sin towards zero, as the operation set's own tests expect; too large results
// saturate. -MIN and |MIN| of signed integers are MIN.
// Source: operation pages Abs-1, Acos-1, Acosh-4, Asin-1, Asinh-4, Atan-1, Atanh-4, Ceiling-1, Cos-1, Cosh-1, Erf-1,
// Floor-1, Log-1, Negative-1, Round-5, Sign-1, Sin-1, Sinh-1, Sqrt-1, Tan-1.
#include "ops/defs/elementwise/rounding.hpp"
#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/elementwise/unary.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

/// `f` for floating-point elements; integers are their own rounding.
template <class F>
void round_loop(const ir::EvalContext& ctx, const char* op, F f) {
  reference::unary_loop<TERROIR_NUMBERS>(ctx, op, [f](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      return x;
    else
      return f(x);
  });
}

double half_to_even(double x) { return std::nearbyint(x); }
double half_away(double x) { return std::round(x); }

/// `dimensions` for real numbers; integers are their own rounding.
template <class Attrs>
ir::OpSchema rounding(ir::ReferenceFn reference, ir::DimensionsFn dimensions) {
  auto schema = unary_schema<Attrs>(reference, kExactZeroToZero);
  schema.dimensions = dimensions;
  return schema;
}

std::optional<std::vector<Dimension>> rounded(ir::InferContext& ctx, double (*fn)(double)) {
  return ctx.type(0).is_real() ? answer_ranges(ctx, unary_ranges(ctx, fn)) : ctx.dimensions(0);
}

template <class T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else
    return x < 0 ? reference::subtract<T>(0, x) : x;
}

template <class T>
T sign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x)) return x;
  return static_cast<T>((x > 0) - (x < 0));
}

}  // namespace

ir::OpSchema abs_1() {
  return unary_schema<>(TERROIR_UNARY("Abs", unary_loop<TERROIR_NUMBERS>, magnitude(x)), kExactZeroToZero);
}
ir::OpSchema acos_1() { return unary_schema<>(TERROIR_UNARY("Acos", unary_real_truncating, std::acos(x))); }
ir::OpSchema acosh_4() { return unary_schema<>(TERROIR_UNARY("Acosh", unary_real, std::acosh(x))); }
ir::OpSchema asin_1() {
  return unary_schema<>(TERROIR_UNARY("Asin", unary_real_truncating, std::asin(x)), kZeroToZero);
}
ir::OpSchema asinh_4() { return unary_schema<>(TERROIR_UNARY("Asinh", unary_real, std::asinh(x)), kZeroToZero); }
ir::OpSchema atan_1() { return unary_schema<>(TERROIR_UNARY("Atan", unary_real, std::atan(x)), kZeroToZero); }
ir::OpSchema atanh_4() { return unary_schema<>(TERROIR_UNARY("Atanh", unary_real, std::atanh(x)), kZeroToZero); }
ir::OpSchema cos_1() { return unary_schema<>(TERROIR_UNARY("Cos", unary_real, std::cos(x))); }
ir::OpSchema cosh_1() { return unary_schema<>(TERROIR_UNARY("Cosh", unary_real, std::cosh(x))); }
ir::OpSchema erf_1() { return unary_schema<>(TERROIR_UNARY("Erf", unary_real, std::erf(x)), kZeroToZero); }
ir::OpSchema log_1() { return unary_schema<>(TERROIR_UNARY("Log", unary_real_truncating, std::log(x))); }
ir::OpSchema sin_1() { return unary_schema<>(TERROIR_UNARY("Sin", unary_real_truncating, std::sin(x)), kZeroToZero); }
ir::OpSchema sinh_1() { return unary_schema<>(TERROIR_UNARY("Sinh", unary_real, std::sinh(x)), kZeroToZero); }
ir::OpSchema sqrt_1() { return unary_schema<>(TERROIR_UNARY("Sqrt", unary_real, std::sqrt(x)), kZeroToZero); }
ir::OpSchema tan_1() { return unary_schema<>(TERROIR_UNARY("Tan", unary_real, std::tan(x)), kZeroToZero); }

// Minus zero minus x, so that the zero of floating point changes its sign too.
ir::OpSchema negative_1() {
  return unary_schema<>(
      TERROIR_UNARY("Negative", unary_loop<TERROIR_NUMBERS>, reference::subtract<decltype(x)>(-0.0f, x)),
      kExactZeroToZero);
}

ir::OpSchema sign_1() {
  return unary_schema<>(TERROIR_UNARY("Sign", unary_loop<TERROIR_NUMBERS>, sign(x)), kExactZeroToZero);
}

ir::OpSchema ceiling_1() {
  return rounding<ir::NoAttrs>(
      [](const ir::EvalContext& ctx) { round_loop(ctx, "Ceiling", [](auto x) { return std::ceil(x); }); },
      [](ir::InferContext& ctx) { return rounded(ctx, &std::ceil); });
}

ir::OpSchema floor_1() {
  return rounding<ir::NoAttrs>(
      [](const ir::EvalContext& ctx) { round_loop(ctx, "Floor", [](auto x) { return std::floor(x); }); },
      [](ir::InferContext& ctx) { return rounded(ctx, &std::floor); });
}

// To the nearest integer; the attribute says where halves go.
ir::OpSchema round_5() {
  return rounding<RoundAttrs>(
      [](const ir::EvalContext& ctx) {
        const bool even = ctx.attrs<RoundAttrs>().mode == RoundMode::half_to_even;
        // nearbyint follows the rounding mode of the thread, which nothing in the library changes from nearest-even.
        round_loop(ctx, "Round", [even](auto x) { return even ? std::nearbyint(x) : std::round(x); });
      },
      [](ir::InferContext& ctx) {
        const bool even = ctx.attrs<RoundAttrs>().mode == RoundMode::half_to_even;
        return rounded(ctx, even ? &half_to_even : &half_away);
      });
}

}  // namespace terroir::ops
