#include "ops/defs/image/grid_sample.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_grid_sample(ir::InferContext& ctx) {
  require_rank(ctx, 0, "data", 4, 4);
  require_rank(ctx, 1, "grid", 4, 4);
  require_real_type(ctx, 1, "grid");
  ctx.require(ctx.type(0) != element::string || ctx.attrs<GridSampleAttrs>().mode == reference::GridSampleMode::nearest,
              "mode must be nearest for texts");
  PartialShape output = PartialShape::dynamic(4);
  const PartialShape &data = ctx.shape(0), &grid = ctx.shape(1);
  if (data.rank().is_static()) {
    output[0] = data[0];
    output[1] = data[1];
  }
  if (grid.rank().is_static()) {
    ctx.require(grid[3].compatible(2), "grid (input 1) must have 2 coordinates per point, got shape ", grid);
    ctx.require(Dimension::merge(output[0], output[0], grid[0]), "grid (input 1) of shape ", grid,
                " must have the batch of data ", data);
    output[2] = grid[1];
    output[3] = grid[2];
  }
  ctx.set_output(0, ctx.type(0), std::move(output));
}

}  // namespace

ir::OpSchema grid_sample_9() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<GridSampleAttrs>;
  schema.infer = &infer_grid_sample;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<GridSampleAttrs>();
    reference::grid_sample(ctx.inputs[0], ctx.inputs[1], {attrs.align_corners, attrs.mode, attrs.padding_mode},
                           ctx.outputs[0]);
  };
  return schema;
}

}  // namespace terroir::ops
