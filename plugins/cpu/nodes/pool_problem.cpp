#include "plugins/cpu/nodes/pool_problem.hpp"

#include "ops/shape/inputs.hpp"

namespace terroir::cpu {

bool is_max_pool(const NodeContext& context) { return context.node.schema->type == "MaxPool"; }

ops::PoolGeometry pool_geometry_of(const NodeContext& context) {
  const ir::Node& node = context.node;
  const ir::Dims& data = context.inputs[0].dims;
  if (is_max_pool(context))
    return node.schema->opset == "opset1" ? ops::pool_geometry(node.attrs<ops::MaxPool1Attrs>(), data)
                                          : ops::pool_geometry(node.attrs<ops::MaxPool8Attrs>(), data);
  return node.schema->opset == "opset16" ? ops::pool_geometry(node.attrs<ops::AvgPool16Attrs>(), data)
                                         : ops::pool_geometry(node.attrs<ops::AvgPoolAttrs>(), data);
}

PoolArgs pool_args(const ops::PoolGeometry& geometry) {
  PoolArgs args;
  const auto axes = ops::three_axes(geometry.axes);
  for (size_t i = 0; i < 3; ++i) {
    args.in[i] = axes[i].input;
    args.out[i] = axes[i].output;
    args.kernel[i] = axes[i].kernel;
    args.stride[i] = axes[i].stride;
    args.dilation[i] = axes[i].dilation;
    args.pad_begin[i] = axes[i].pad_begin;
  }
  return args;
}

}  // namespace terroir::cpu
