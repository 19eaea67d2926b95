#include "plugins/cpu/passes/compress_products.hpp"

#include <optional>
#include <vector>

#include "ir/schema/attribute_text.hpp"
#include "ir/schema/registry.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

struct CompressedWeights {
  ir::Value numbers, scales;
  std::optional<ir::Value> zeros;
  std::vector<ir::NodeId> nodes;  // from the product back to the numbers
};

bool is_float(const ir::Node& node, const char* type) {
  return node.is(type) && ir::opset_number(node.schema->opset) > 0 && node.outputs.size() == 1 &&
         node.outputs[0].type == element::f32 && !ir::broadcasts_from_an_axis(*node.attributes);
}

/// Constants, or what folding makes one.
bool will_be_constant(const ir::Graph& graph, ir::Value value) {
  if (graph.port(value).type != element::f32 || graph.port(value).shape.is_dynamic()) return false;
  while (graph.node(value.node).is("Convert")) value = graph.node(value.node).inputs[0];
  return graph.node(value.node).constant.has_value();
}

ir::TensorView described(const ir::Graph& graph, ir::Value value) {
  return {graph.port(value).type, ir::to_dims(graph.port(value).shape.to_shape())};
}

bool fits(const ir::Graph& graph, const ir::Node& product, const CompressedWeights& found) {
  const bool in_rows = ir::number_attribute(*product.attributes, "transpose_b") != 0;
  const ir::TensorView zeros = found.zeros ? described(graph, *found.zeros) : ir::TensorView{};
  const auto matrix = CompressedMatrix::from(in_rows, described(graph, found.numbers), described(graph, found.scales),
                                             found.zeros ? &zeros : nullptr);
  return matrix && graph.port(product.inputs[1]).shape == PartialShape(ir::to_shape(matrix->matrix_dims()));
}

std::optional<CompressedWeights> compressed_weights(const ir::Graph& graph, const ir::Node& product) {
  if (!is_float(product, "MatMul") || graph.port(product.inputs[0]).type != element::f32) return std::nullopt;
  CompressedWeights found;
  // The node behind an input, for this reader alone.
  const auto producer = [&](ir::Value value) -> const ir::Node* {
    if (graph.uses(value).size() != 1) return nullptr;
    found.nodes.push_back(value.node);
    return &graph.node(value.node);
  };
  const ir::Node* node = producer(product.inputs[1]);
  if (node && is_float(*node, "Reshape")) node = producer(node->inputs[0]);
  if (!node || !is_float(*node, "Multiply")) return std::nullopt;
  const size_t side = will_be_constant(graph, node->inputs[1]) ? 0 : 1;
  found.scales = node->inputs[1 - side];
  node = producer(node->inputs[side]);
  if (node && is_float(*node, "Subtract")) {
    found.zeros = node->inputs[1];
    node = producer(node->inputs[0]);
  }
  if (!node || !is_float(*node, "Convert") || !graph.node(node->inputs[0].node).constant) return std::nullopt;
  found.numbers = node->inputs[0];
  if (!will_be_constant(graph, found.scales) || (found.zeros && !will_be_constant(graph, *found.zeros)) ||
      !fits(graph, product, found))
    return std::nullopt;
  return found;
}

}  // namespace

std::set<ir::NodeId> nodes_of_compressed_weights(const ir::Graph& graph) {
  std::set<ir::NodeId> kept;
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (node.is("FakeQuantize")) return {};
    if (const auto found = compressed_weights(graph, node)) kept.insert(found->nodes.begin(), found->nodes.end());
  }
  return kept;
}

ir::Pass compress_products(const CpuOps& ops) {
  return {"compress_products", [&ops](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              auto found = compressed_weights(graph, node);
              if (!found || node.outputs[0].shape.is_dynamic()) continue;
              CompressedAttrs attrs;
              attrs.fused.base = node.schema;
              attrs.fused.base_attributes = node.attributes->clone();
              attrs.fused.base_inputs = 2;
              attrs.fused.channel_axis = static_cast<int>(node.outputs[0].shape.size()) - 1;
              attrs.has_zeros = found->zeros.has_value();
              std::vector<ir::Value> inputs = {node.inputs[0], found->numbers, found->scales};
              if (found->zeros) inputs.push_back(*found->zeros);
              found->nodes.insert(found->nodes.begin(), id);
              patch.replace({id, 0}, patch.add(ops.compressed_matmul(), ir::make_attributes_of(std::move(attrs)),
                                               std::move(inputs), std::move(found->nodes)));
            }
          }};
}

}  // namespace terroir::cpu
