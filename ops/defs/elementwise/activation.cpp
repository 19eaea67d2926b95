// What: activations without a frame of their own. Shapes: the output has the input's. Formulas: at each op; those
// with a name are in ops/reference/elementwise/functions.hpp.
// Edge cases: NaN stays NaN; integer elements are computed in f64, rounded to nearest (Elu and Exp: towards zero, as
// the operation set's own tests expect) and saturated. Source: operation pages ReLU-1, Sigmoid-1, Tanh-1, Exp-1,
// HSwish-4, HSigmoid-5, Mish-4, SoftPlus-4, SoftSign-9, Gelu-2, Gelu-7, Clamp-1, Elu-1.
#include "ops/defs/elementwise/activation.hpp"

#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/elementwise/functions.hpp"
#include "ops/reference/elementwise/unary.hpp"

namespace terroir::ops {

// max(0, x)
ir::OpSchema relu_1() {
  return unary_schema<>(
      [](const ir::EvalContext& ctx) {
        reference::unary_loop<TERROIR_NUMBERS>(ctx, "ReLU", [](auto x) { return x < 0 ? decltype(x){0} : x; });
      },
      kExactZeroToZero);
}

// 1 / (1 + e^-x)
ir::OpSchema sigmoid_1() { return unary_schema<>(TERROIR_UNARY("Sigmoid", unary_real, reference::sigmoid(x))); }

ir::OpSchema tanh_1() { return unary_schema<>(TERROIR_UNARY("Tanh", unary_real, std::tanh(x)), kZeroToZero); }

ir::OpSchema exp_1() { return unary_schema<>(TERROIR_UNARY("Exp", unary_real_truncating, std::exp(x))); }

// x * min(max(x + 3, 0), 6) / 6
ir::OpSchema hswish_4() {
  return unary_schema<>(TERROIR_UNARY("HSwish", unary_real, x * reference::hsigmoid(x)), kZeroToZero);
}

// min(max(x + 3, 0), 6) / 6
ir::OpSchema hsigmoid_5() { return unary_schema<>(TERROIR_UNARY("HSigmoid", unary_real, reference::hsigmoid(x))); }

// x * tanh(softplus(x))
ir::OpSchema mish_4() {
  return unary_schema<>(TERROIR_UNARY("Mish", unary_real, x * std::tanh(reference::softplus(x))), kZeroToZero);
}

// log(1 + e^x)
ir::OpSchema softplus_4() { return unary_schema<>(TERROIR_UNARY("SoftPlus", unary_real, reference::softplus(x))); }

// x / (1 + |x|)
ir::OpSchema softsign_9() {
  return unary_schema<>(TERROIR_UNARY("SoftSign", unary_real, x / (1 + std::abs(x))), kZeroToZero);
}

// x * Phi(x), Phi the distribution function of the standard normal distribution
ir::OpSchema gelu_2() { return unary_schema<>(TERROIR_UNARY("Gelu", unary_real, reference::gelu_erf(x)), kZeroToZero); }

// As Gelu-2, or with Phi approximated by (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
ir::OpSchema gelu_7() {
  return unary_schema<GeluAttrs>(
      [](const ir::EvalContext& ctx) {
        const bool erf = ctx.attrs<GeluAttrs>().approximation_mode == GeluMode::erf;
        reference::unary_real(ctx, "Gelu",
                              [erf](auto x) { return erf ? reference::gelu_erf(x) : reference::gelu_tanh(x); });
      },
      kZeroToZero);
}

// min where x is below it, max where x is above it, else x; for integers min rounds up and max rounds down, and is the
// result from min on where no integer lies between.
ir::OpSchema clamp_1() {
  auto schema = unary_schema<ClampAttrs>(
      [](const ir::EvalContext& ctx) {
        const auto& attrs = ctx.attrs<ClampAttrs>();
        reference::unary_loop<TERROIR_NUMBERS>(ctx, "Clamp", [&attrs](auto x) {
          using C = decltype(x);
          C low;
          C high;
          if constexpr (std::is_integral_v<C>) {
            low = reference::saturate<C>(std::ceil(attrs.min));
            high = reference::saturate<C>(std::floor(attrs.max));
          } else {
            low = static_cast<C>(attrs.min);
            high = static_cast<C>(attrs.max);
          }
          return x < low ? low : x > high ? high : x;
        });
      },
      {.maps_zero_to_zero = false, .accuracy = ir::Accuracy::exact});
  schema.infer = [](ir::InferContext& ctx) {
    const auto& attrs = ctx.attrs<ClampAttrs>();
    ctx.require(attrs.min <= attrs.max, "min must not be above max, got min=", attrs.min, " and max=", attrs.max);
    infer_unary(ctx);
  };
  return schema;
}

// x < 0 ? alpha * (e^x - 1) : x
ir::OpSchema elu_1() {
  return unary_schema<EluAttrs>(
      [](const ir::EvalContext& ctx) {
        const double alpha = ctx.attrs<EluAttrs>().alpha;
        reference::unary_real_truncating(
            ctx, "Elu", [alpha](auto x) { return reference::elu(x, static_cast<decltype(x)>(alpha)); });
      },
      kZeroToZero);
}

}  // namespace terroir::ops
