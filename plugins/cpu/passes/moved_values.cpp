#include "plugins/cpu/passes/moved_values.hpp"

#include <algorithm>

#include "ops/defs/image/interpolate.hpp"
#include "ops/defs/pooling/max_pool.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

/// Each result one of the values of the image it lies in.
bool picks_nearest(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Interpolate") || node.schema->opset == "opset1") return false;
  const auto& attrs = node.attrs<ops::InterpolateAttrs>();
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  const PartialShape &from = graph.port(node.inputs[0]).shape, &to = node.outputs[0].shape;
  return attrs.mode == ops::ResampleMode::nearest &&
         std::all_of(attrs.pads_begin.begin(), attrs.pads_begin.end(), is_zero) &&
         std::all_of(attrs.pads_end.begin(), attrs.pads_end.end(), is_zero) && from.is_static() && to.is_static() &&
         to.size() >= 3 && to[0] == from[0] && to[1] == from[1];
}

/// The largest of each window, as long as there is one: of padding alone it is the lowest float, which no level is.
bool picks_largest(const ir::Graph& graph, const ir::Node& node) {
  const PartialShape& shape = graph.port(node.inputs[0]).shape;
  if (shape.is_dynamic() || (node.outputs.size() > 1 && !graph.uses({node.id, 1}).empty())) return false;
  const ir::Dims data = ir::to_dims(shape.to_shape());
  const ops::PoolGeometry geometry = node.schema->opset == "opset1"
                                         ? ops::pool_geometry(node.attrs<ops::MaxPool1Attrs>(), data)
                                         : ops::pool_geometry(node.attrs<ops::MaxPool8Attrs>(), data);
  for (const ops::WindowAxis& axis : geometry.axes)
    for (int64_t o = 0; o < axis.output; ++o)
      if (const auto inside = axis.inside(o); inside.first >= inside.last) return false;
  return true;
}

}  // namespace

size_t moved_inputs(const ir::Graph& graph, const ir::Node& node) {
  if (is_cpu_op(node)) return 0;
  for (const char* type : {"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Split", "VariadicSplit"})
    if (node.is(type)) return 1;
  if (node.is("MaxPool")) return picks_largest(graph, node) ? 1 : 0;
  if (picks_nearest(graph, node)) return 1;
  return node.is("Concat") ? node.inputs.size() : 0;
}

size_t moved_inputs_in_blocks(const ir::Graph& graph, const ir::Node& node) {
  const PartialShape& shape = graph.port({node.id, 0}).shape;
  if (shape.is_dynamic() || shape.size() < 3 || shape.size() > 5) return 0;
  for (const char* type : {"Concat", "Split", "VariadicSplit", "MaxPool", "Interpolate"})
    if (node.is(type)) return moved_inputs(graph, node);
  return 0;
}

}  // namespace terroir::cpu
