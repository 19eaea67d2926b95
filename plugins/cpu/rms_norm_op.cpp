#include "plugins/cpu/rms_norm_op.hpp"

#include <cmath>

#include "ir/schema/infer_context.hpp"

namespace terroir::cpu {
namespace {

void reference(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<RmsNormAttrs>();
  const ir::TensorView& x = ctx.inputs[0];
  const int64_t n = x.dims.back(), rows = n == 0 ? 0 : x.count() / n;
  const float* scale = ctx.inputs.size() > 1 ? ctx.inputs[1].as<float>() : nullptr;
  for (int64_t r = 0; r < rows; ++r) {
    const float* src = x.as<float>() + r * n;
    float* dst = ctx.outputs[0].as<float>() + r * n;
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(src[i]) * static_cast<double>(src[i]);
    const double mean = squares / static_cast<double>(n);
    const double root = attrs.eps_outside_sqrt ? std::sqrt(mean) + attrs.eps : std::sqrt(mean + attrs.eps);
    for (int64_t i = 0; i < n; ++i)
      dst[i] = static_cast<float>(static_cast<double>(src[i]) / root) * (scale ? scale[i] : 1.0f);
  }
}

}  // namespace

ir::OpSchema rms_norm_schema() {
  ir::OpSchema schema;
  schema.type = kRmsNormType;
  schema.opset = "cpu";
  schema.arity = {1, 2, 1};
  schema.make_attributes = &ir::make_attributes<RmsNormAttrs>;
  schema.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
  schema.reference = &reference;
  return schema;
}

}  // namespace terroir::cpu
