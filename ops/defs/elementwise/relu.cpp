// What: ReLU. Formula: y = max(0, x). Shapes: any. Edge cases: NaN stays NaN.
// Source: operation page ReLU-1.
#include "ops/defs/elementwise/unary.hpp"
#include "ops/reference/elementwise/unary.hpp"

namespace terroir::ops {

ir::OpSchema relu_1() {
  return unary_schema(
      [](const ir::EvalContext& ctx) {
        reference::unary_loop<TERROIR_NUMBERS>(ctx, "ReLU",
                                               [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; });
      },
      /*maps_zero_to_zero=*/true);
}

}  // namespace terroir::ops
