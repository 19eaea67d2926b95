#include "plugins/cpu/nodes/interpolate_geometry.hpp"

#include <algorithm>

#include "ir/base/machine_memory.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

/// Where the tables are made, nobody knows for which layer. Without elements there are none.
void require_room(const NodeContext& context) {
  const ir::Dims &data = context.inputs[0].dims, &output = context.outputs[0].dims;
  for (size_t i = 0; i < data.size() && context.outputs[0].count() > 0; ++i)
    if (output[i] != data[i])
      ir::require_table_fits(context.node.describe(), "the table of a resized axis", output[i],
                             2 * sizeof(ops::ResampleTap) + sizeof(int64_t));
}

}  // namespace

std::variant<ops::InterpolateGeometry, Reject> geometry_of(const NodeContext& context) {
  const ir::Node& node = context.node;
  const ir::Dims &data = context.inputs[0].dims, &output = context.outputs[0].dims;
  for (const ir::Dims* dims : {&data, &output})
    if (std::any_of(dims->begin(), dims->end(), [](int64_t extent) { return extent > INT32_MAX; }))
      return Reject{"an axis of more positions than tables of 31 bits have"};
  require_room(context);
  const std::string& opset = base_schema(node).opset;
  if (opset == "opset1") return ops::interpolate_geometry(node.attrs<ops::Interpolate1Attrs>(), data, output);
  const auto& attrs = ir::attributes_as<ops::InterpolateAttrs>(base_attributes(node));
  const size_t scales_input = opset == "opset4" ? 2 : 1, axes_input = scales_input + 1;
  std::optional<std::vector<int64_t>> axes;
  if (base_input_count(node) > static_cast<int>(axes_input)) {
    if (!context.constants[axes_input]) return Reject{"the axes are known at run time only"};
    axes = ir::to_integers(context.constants[axes_input]->view);
  }
  std::vector<double> scales;
  if (attrs.shape_calculation_mode == ops::ShapeCalculation::scales) {
    if (!context.constants[scales_input]) return Reject{"the scales are known at run time only"};
    scales = ir::to_reals(context.constants[scales_input]->view);
  }
  return ops::interpolate_geometry(attrs, data, output, axes, scales);
}

}  // namespace terroir::cpu
