#include "plugins/cpu/nodes/convolution_problem.hpp"

#include <algorithm>
#include <vector>

#include "ir/base/error.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/convolution/convolution_backprop_data.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

ops::ConvGeometry geometry_of(const NodeContext& context) {
  const ir::Node& node = context.node;
  const ir::Attributes& attributes = base_attributes(node);
  const ir::Dims &data = context.inputs[0].dims, &weights = context.inputs[1].dims;
  const std::string& type = base_schema(node).type;
  const bool grouped = type.starts_with("Group");
  if (!type.ends_with("BackpropData"))
    return ops::conv_geometry(ir::attributes_as<ops::ConvolutionAttrs>(attributes), data, weights, grouped);
  const auto& attrs = ir::attributes_as<ops::ConvolutionBackpropDataAttrs>(attributes);
  if (base_input_count(node) < 3) return ops::conv_backprop_geometry(attrs, data, weights, grouped, nullptr);
  // The third input's values are the extents that inference has already made of them.
  const ir::Dims& out = context.outputs[0].dims;
  const std::vector<int64_t> output_shape(out.begin() + 2, out.end());
  return ops::conv_backprop_geometry(attrs, data, weights, grouped, &output_shape);
}

/// One position, and one tap that reads it.
bool is_single(const ops::WindowAxis& a) { return a.input == 1 && a.output == 1 && a.kernel == 1 && a.pad_begin == 0; }

/// Of axes of which some are single, those go first.
bool moves_axes(const std::vector<ops::WindowAxis>& axes) {
  return !std::is_partitioned(axes.begin(), axes.end(), is_single);
}

}  // namespace

ConvProblem conv_problem(const NodeContext& context) {
  ops::ConvGeometry geometry = geometry_of(context);
  // A column of pixels lies in memory as a row does, and kernels take neighbours of a row at once.
  std::stable_partition(geometry.axes.begin(), geometry.axes.end(), is_single);
  ConvProblem problem;
  problem.batch = geometry.batch;
  problem.groups = geometry.groups;
  problem.ic = geometry.groups * geometry.in_channels;
  problem.oc = geometry.groups * geometry.out_channels;
  problem.transposed = base_schema(context.node).type.ends_with("BackpropData");
  problem.cold_weights = context.weights.leave_caches();
  ConvAxis* const axes[] = {&problem.d, &problem.h, &problem.w};
  const size_t rank = geometry.axes.size();
  for (size_t i = 0; i < rank; ++i) {
    const ops::WindowAxis& axis = geometry.axes[i];
    if (is_single(axis)) continue;
    *axes[3 - rank + i] = {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.pad_begin};
  }
  return problem;
}

bool has_own_rows(const NodeContext& context) { return !moves_axes(geometry_of(context).axes); }

bool is_pointwise(const ConvProblem& p) {
  const auto unit = [](const ConvAxis& a) { return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.in == a.out; };
  return p.groups == 1 && !p.transposed && p.d.in == 1 && unit(p.d) && unit(p.h) && unit(p.w);
}

const ir::Constant* leading_bias(const NodeContext& context) {
  const std::vector<FusedOp>& chain = chain_of(context.node);
  if (chain.empty() || chain[0].kind != PostOpKind::add || chain[0].mode != OperandMode::per_channel) return nullptr;
  return context.constants[static_cast<size_t>(chain[0].operand)];
}

void add_convolution_chain(const NodeContext& context, const Layout& result, LayoutChoice& choice) {
  add_chain_inputs(context, result, choice);
  const std::vector<FusedOp>& chain = chain_of(context.node);
  const size_t first = leading_bias(context) ? 1 : 0;
  if (first < chain.size() && chain[first].kind == PostOpKind::add && chain[first].mode == OperandMode::tensor)
    choice.in_place = {chain[first].operand};
}

}  // namespace terroir::cpu
