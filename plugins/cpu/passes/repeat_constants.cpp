#include "plugins/cpu/passes/repeat_constants.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "ir/base/returned_memory.hpp"
#include "ir/graph/order.hpp"
#include "ir/schema/attribute_text.hpp"

namespace terroir::cpu {
namespace {

bool is_convolution(const ir::Node& node) {
  static constexpr std::string_view kTypes[] = {"Convolution", "GroupConvolution", "ConvolutionBackpropData",
                                                "GroupConvolutionBackpropData", "DeformableConvolution"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) { return node.is(type); });
}

/// Whether the result may have the blocks of channels in which `data` lies: of the same channels, or of some that are
/// joined or parted along any axis.
bool passes_blocks_on(const ir::Node& node, const PartialShape& data) {
  static constexpr std::string_view kTypes[] = {"Concat", "Split", "VariadicSplit"};
  if (std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) { return node.is(type); }))
    return true;
  const PartialShape& result = node.outputs[0].shape;
  return result.rank().is_static() && result.size() >= 3 && data.rank() == result.rank() && data[1] == result[1];
}

/// By node: whether the layout of a convolution before or behind it may reach its results.
std::vector<bool> blocked_nodes(const ir::Graph& graph) {
  std::vector<bool> behind(graph.id_bound()), before(graph.id_bound());
  const std::vector<ir::NodeId> order = ir::topological_order(graph);
  for (const ir::NodeId id : order) {
    const ir::Node& node = graph.node(id);
    const auto brings_blocks = [&](ir::Value input) {
      return behind[ir::index_of(input.node)] && passes_blocks_on(node, graph.port(input).shape);
    };
    behind[ir::index_of(id)] =
        is_convolution(node) || std::any_of(node.inputs.begin(), node.inputs.end(), brings_blocks);
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node& node = graph.node(*id);
    if (!is_convolution(node) && !before[ir::index_of(*id)]) continue;
    for (const ir::Value& input : node.inputs)
      if (is_convolution(node) ? input == node.inputs[0] : passes_blocks_on(node, graph.port(input).shape))
        before[ir::index_of(input.node)] = true;
  }
  std::transform(before.begin(), before.end(), behind.begin(), behind.begin(), std::logical_or<>());
  return behind;
}

/// `dims` are those of `result` but for its first axis, along which the value repeats, and vary along spatial ones.
bool is_one_image(const ir::Dims& dims, const ir::Dims& result) {
  const size_t missing = result.size() - dims.size();
  if (dims.size() > result.size() || missing > 1 || dims == result) return false;
  if (missing == 0 && dims[0] != 1) return false;
  const auto channels = dims.begin() + (missing == 0 ? 1 : 0);
  return std::equal(channels, dims.end(), result.begin() + 1) &&
         std::any_of(channels + 1, dims.end(), [](int64_t extent) { return extent > 1; });
}

ir::Constant repeated(const ir::TensorView& image, const ir::Dims& dims) {
  const auto bytes = image.bytes();
  auto buffer = allocate_returned(bytes * static_cast<size_t>(dims[0]));
  for (int64_t n = 0; n < dims[0]; ++n)
    std::memcpy(static_cast<std::byte*>(buffer.get()) + static_cast<size_t>(n) * bytes, image.data, bytes);
  return {{image.type, dims, buffer.get()}, buffer};
}

}  // namespace

ir::Pass repeat_constants(const ir::OpRegistry& registry) {
  const ir::OpSchema& schema = registry.get(ir::kConstType, "opset1");
  return {"repeat_constants", [&schema](const ir::Graph& graph, ir::Patch& patch) {
            const std::vector<bool> blocked = blocked_nodes(graph);
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!blocked[ir::index_of(id)] || is_convolution(node) || !node.schema->flags.elementwise) continue;
              const PartialShape& shape = node.outputs[0].shape;
              if (shape.is_dynamic() || shape.size() < 3 ||
                  ir::attribute_text(*node.attributes, "auto_broadcast") != "numpy")
                continue;
              const ir::Dims dims = ir::to_dims(shape.to_shape());
              for (size_t i = 0; i < node.inputs.size(); ++i) {
                const ir::Constant* constant = ir::constant_of(graph, node.inputs[i]);
                if (!constant || constant->view.type.bitwidth() % 8 != 0 || !is_one_image(constant->view.dims, dims))
                  continue;
                patch.rewire({id, static_cast<int32_t>(i)},
                             patch.add_constant(schema, graph.node(node.inputs[i].node).name + "/of_each_image",
                                                repeated(constant->view, dims)));
              }
            }
          }};
}

}  // namespace terroir::cpu
