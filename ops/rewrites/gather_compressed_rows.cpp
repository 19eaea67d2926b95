#include <algorithm>
#include <optional>
#include <vector>

#include "ir/schema/attribute_text.hpp"
#include "ops/defs/movement/gather.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

bool is_of_opsets(const ir::Node& node, const char* type) {
  return node.is(type) && ir::opset_number(node.schema->opset) > 0;
}

/// A constant, perhaps behind Converts.
bool is_made_of_constant(const ir::Graph& graph, ir::Value value) {
  while (is_of_opsets(graph.node(value.node), "Convert")) value = graph.node(value.node).inputs[0];
  return graph.node(value.node).constant.has_value();
}

struct Table {
  std::vector<ir::NodeId> steps;  // that compute it, the last one first
  ir::Value numbers;
};

/// Multiply(Subtract?(Convert(numbers), zeros), scales) of a large matrix of bytes.
std::optional<Table> compressed_table(const ir::Graph& graph, ir::Value value) {
  constexpr int64_t kLeastNumbers = int64_t{1} << 20;  // smaller ones may be looked up more often than they have rows
  if (graph.port(value).type != element::f32 || graph.port(value).shape.is_dynamic()) return std::nullopt;
  const PartialShape& shape = graph.port(value).shape;
  if (shape.size() != 2 || ir::element_count(ir::to_dims(shape.to_shape())) < kLeastNumbers) return std::nullopt;
  Table table;
  for (const char* type : {"Multiply", "Subtract"}) {
    const ir::Node& step = graph.node(value.node);
    if (!is_of_opsets(step, type)) {
      if (table.steps.empty()) return std::nullopt;
      continue;
    }
    const ir::OutputPort& other = graph.port(step.inputs[1]);
    if (ir::broadcasts_from_an_axis(*step.attributes) || !is_made_of_constant(graph, step.inputs[1]) ||
        other.shape.is_dynamic() || other.shape.size() > 2)
      return std::nullopt;
    table.steps.push_back(step.id);
    value = step.inputs[0];
  }
  const ir::Node& convert = graph.node(value.node);
  if (!is_of_opsets(convert, "Convert") || !graph.node(convert.inputs[0].node).constant) return std::nullopt;
  const ir::OutputPort& numbers = graph.port(convert.inputs[0]);
  if ((numbers.type != element::i8 && numbers.type != element::u8) || numbers.shape != shape) return std::nullopt;
  table.steps.push_back(convert.id);
  table.numbers = convert.inputs[0];
  return table;
}

bool gathers_rows(const ir::Graph& graph, const ir::Node& node) {
  if (!is_of_opsets(node, "Gather")) return false;
  const auto* attrs = dynamic_cast<const ir::AttributesOf<GatherAttrs>*>(node.attributes.get());
  const auto axis = ir::constant_integers(graph, node.inputs[2]);
  const PartialShape& indices = graph.port(node.inputs[1]).shape;
  if ((attrs && attrs->value.batch_dims != 0) || !axis || axis->size() != 1) return false;
  return ((*axis)[0] == 0 || (*axis)[0] == -2) && indices.rank().is_static() && indices.size() > 0;
}

}  // namespace

ir::Pass gather_compressed_rows() {
  return {"gather_compressed_rows", [](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& gather = graph.node(id);
              if (!gathers_rows(graph, gather)) continue;
              auto table = compressed_table(graph, gather.inputs[0]);
              if (!table) continue;
              const auto rows_of = [&](ir::Value value) {
                const PartialShape& shape = graph.port(value).shape;
                if (shape.size() < 2 || shape[0] == 1) return value;  // the same for all rows
                return patch.add(*gather.schema, gather.attributes->clone(),
                                 {value, gather.inputs[1], gather.inputs[2]}, {id});
              };
              ir::Value result = rows_of(table->numbers);
              std::reverse(table->steps.begin(), table->steps.end());
              for (const ir::NodeId step_id : table->steps) {
                const ir::Node& step = graph.node(step_id);
                std::vector<ir::Value> inputs = {result};
                if (step.inputs.size() > 1) inputs.push_back(rows_of(step.inputs[1]));
                result = patch.add(*step.schema, step.attributes->clone(), std::move(inputs), {step_id, id});
              }
              patch.replace({id, 0}, result);
            }
          }};
}

}  // namespace terroir::ops
