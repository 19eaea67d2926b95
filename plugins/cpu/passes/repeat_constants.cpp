#include "plugins/cpu/passes/repeat_constants.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/returned_memory.hpp"
#include "ir/graph/node_sets.hpp"
#include "ir/schema/attribute_text.hpp"

namespace terroir::cpu {
namespace {

bool is_convolution(const ir::Node& node) {
  static constexpr std::string_view kTypes[] = {"Convolution", "GroupConvolution", "ConvolutionBackpropData",
                                                "GroupConvolutionBackpropData", "DeformableConvolution"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) { return node.is(type); });
}

/// Whether the axes of input 1 are those behind the channels: of others there is one layout only. Axes that are not
/// known, or attributes of an old version, may be these.
bool is_over_positions(const ir::Graph& graph, const ir::Node& node) {
  const PartialShape& data = graph.port(node.inputs[0]).shape;
  auto axes = node.inputs.size() < 2 ? std::nullopt : ir::constant_integers(graph, node.inputs[1]);
  if (!axes || data.rank().is_dynamic()) return true;
  const auto rank = static_cast<int64_t>(data.size());
  std::vector<bool> named(data.size());
  for (const int64_t axis : *axes) named.at(static_cast<size_t>(axis < 0 ? axis + rank : axis)) = true;
  return rank > 2 && !named[0] && !named[1] && std::count(named.begin(), named.end(), true) == rank - 2;
}

/// Whether the bits of its results depend on the layout in which it runs.
bool depends_on_layout(const ir::Graph& graph, const ir::Node& node) {
  static constexpr std::string_view kTypes[] = {"GroupNormalization", "NormalizeL2", "GRN", "LRN", "Interpolate"};
  if (is_convolution(node) ||
      std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) { return node.is(type); }))
    return true;
  const bool sums = node.is("MVN") || (node.schema->type.starts_with("Reduce") && node.inputs.size() == 2);
  return sums && !node.schema->from_extension && is_over_positions(graph, node);
}

/// Whether the result may have the layout of `data`: of the same channels, or of some that are joined or parted along
/// any axis, or of axes in another order. A matrix product has plain operands and results.
bool passes_layout_on(const ir::Node& node, const PartialShape& data) {
  static constexpr std::string_view kTypes[] = {"Concat", "Split", "VariadicSplit"};
  if (std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) { return node.is(type); }))
    return true;
  const PartialShape& result = node.outputs[0].shape;
  if (result.rank().is_dynamic() || result.size() < 3 || data.rank() != result.rank() || node.is("MatMul"))
    return false;
  return node.is("Transpose") || data[1] == result[1];
}

/// By node: whether one whose bits depend on its layout may share that with it: before it, behind it, or beside it as
/// another reader of one value.
std::vector<bool> reached_nodes(const ir::Graph& graph) {
  ir::NodeSets regions(graph.id_bound());  // that may share a layout
  std::vector<ir::NodeId> depending;
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    const bool depends = depends_on_layout(graph, node);
    if (depends) depending.push_back(id);
    for (const ir::Value& input : node.inputs)
      if (depends ? input == node.inputs[0] : passes_layout_on(node, graph.port(input).shape))
        regions.join(id, input.node);
  }
  std::vector<bool> reached(graph.id_bound());
  for (const ir::NodeId id : depending) reached[regions.of(id)] = true;
  std::vector<bool> result(graph.id_bound());
  for (const ir::NodeId id : graph.nodes()) result[ir::index_of(id)] = reached[regions.of(id)];
  return result;
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
            const std::vector<bool> reached = reached_nodes(graph);
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!reached[ir::index_of(id)] || is_convolution(node) || !node.schema->flags.elementwise) continue;
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
