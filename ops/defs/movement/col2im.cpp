#include "ops/defs/movement/col2im.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/reference/movement/col2im.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

// Far beyond any image; keeps index arithmetic inside 64 bits.
constexpr int64_t kMostInBlock = int64_t{1} << 24;

void require_pair(const char* name, const std::vector<int64_t>& values, int64_t least) {
  if (values.size() != 2) throw_error(ErrorCode::invalid_argument, name, " must have 2 elements, got ", values.size());
  for (const int64_t value : values)
    if (value < least || value > kMostInBlock)
      throw_error(ErrorCode::invalid_argument, name, " must be in [", least, ", ", kMostInBlock, "], got ", value);
}

void infer_col2im(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<Col2ImAttrs>();
  require_pair("strides", attrs.strides, 1);
  require_pair("dilations", attrs.dilations, 1);
  require_pair("pads_begin", attrs.pads_begin, 0);
  require_pair("pads_end", attrs.pads_end, 0);
  require_rank(ctx, 0, "data", 2, 3);
  for (int i = 1; i < 3; ++i) {
    require_integer_type(ctx, i, i == 1 ? "output_size" : "kernel_size");
    require_rank(ctx, i, i == 1 ? "output_size" : "kernel_size", 1, 1);
  }
  const PartialShape& data = ctx.shape(0);
  const auto size = ctx.integers(1);
  const auto kernel = ctx.integers(2);
  if (kernel) require_pair("kernel_size", *kernel, 1);
  if (size) require_pair("output_size", *size, 1);
  if (size && kernel) {
    const reference::Col2ImParams params = col2im_params(attrs, *size, *kernel);
    if (data.rank().is_static())
      ctx.require(data[-1].compatible(params.blocks[0] * params.blocks[1]), "data ", data, " must have ",
                  params.blocks[0] * params.blocks[1], " blocks on its last axis");
  }
  if (data.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), PartialShape::dynamic());
    return;
  }
  std::vector<Dimension> dims(data.begin(), data.end() - 2);
  dims.push_back(kernel ? divided(data[-2], (*kernel)[0] * (*kernel)[1], static_cast<int64_t>(data.size()) - 2)
                        : Dimension::dynamic());
  for (size_t k = 0; k < 2; ++k) dims.push_back(size ? Dimension((*size)[k]) : Dimension::dynamic());
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

}  // namespace

reference::Col2ImParams col2im_params(const Col2ImAttrs& attrs, const std::vector<int64_t>& size,
                                      const std::vector<int64_t>& kernel) {
  require_pair("output_size", size, 1);
  require_pair("kernel_size", kernel, 1);
  reference::Col2ImParams params{};
  for (size_t k = 0; k < 2; ++k) {
    params.size[k] = size[k];
    params.kernel[k] = kernel[k];
    params.strides[k] = attrs.strides[k];
    params.dilations[k] = attrs.dilations[k];
    params.pads_begin[k] = attrs.pads_begin[k];
    const int64_t span = size[k] + attrs.pads_begin[k] + attrs.pads_end[k] - (kernel[k] - 1) * attrs.dilations[k] - 1;
    if (span < 0)
      throw_error(ErrorCode::invalid_argument, "no block of kernel_size ", kernel, " fits into output_size ", size);
    params.blocks[k] = span / attrs.strides[k] + 1;
  }
  return params;
}

ir::OpSchema col2im_15() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.make_attributes = &ir::make_attributes<Col2ImAttrs>;
  schema.infer = &infer_col2im;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::col2im(
        ctx, col2im_params(ctx.attrs<Col2ImAttrs>(), ir::to_integers(ctx.inputs[1]), ir::to_integers(ctx.inputs[2])));
  };
  return schema;
}

}  // namespace terroir::ops
