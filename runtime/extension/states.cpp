#include "runtime/extension/states.hpp"

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "ops/registry.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::custom {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;

bool keeps_states(const Node& node) {
  const LayerAttrs* attributes = layer_attributes(*node.attributes);
  return attributes != nullptr && attributes->layer->descriptor.states > attributes->states();
}

bool any_keeps_states(const Graph& graph) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (keeps_states(node)) return true;
    for (const ir::Body& body : node.bodies)
      if (any_keeps_states(*body.graph)) return true;
  }
  return false;
}

/// infer() of the form with states, before there is anything to connect these to: they do not count for it.
class StateTypes final : public ir::InferContext {
 public:
  StateTypes(ir::KnownValues& known, const Graph& graph, const Node& node, const ir::OpSchema& schema,
             const ir::Attributes& attributes, int states)
      : InferContext(schema, attributes, inputs(graph, node, states)), known_(known), node_(node) {}

  std::optional<ir::TensorView> value(int input) override {
    const ir::TensorView* view = known_.find(node_.inputs.at(static_cast<size_t>(input)));
    return view != nullptr ? std::optional(*view) : std::nullopt;
  }

 private:
  static std::vector<ir::PortType> inputs(const Graph& graph, const Node& node, int states) {
    std::vector<ir::PortType> types;
    for (const ir::Value& input : node.inputs) types.push_back({graph.port(input).type, graph.port(input).shape});
    types.resize(types.size() + static_cast<size_t>(states));
    return types;
  }

  ir::KnownValues& known_;
  const Node& node_;
};

void give_ports(Graph& graph, NodeId id, const std::string& prefix) {
  const Node& kept = graph.node(id);
  const LayerAttrs& before = *layer_attributes(*kept.attributes);
  const Layer& layer = *before.layer;
  const auto outputs = static_cast<size_t>(layer.descriptor.outputs);
  auto attributes = ir::make_attributes_of(LayerAttrs{&layer, before.attributes, true});
  std::vector<ir::PortType> types;
  try {
    ir::KnownValues known(graph);
    StateTypes context(known, graph, kept, *layer.with_states, *attributes, layer.descriptor.states);
    layer.with_states->infer(context);
    types.assign(context.outputs().begin() + layer.descriptor.outputs, context.outputs().end());
  } catch (Exception& error) {
    error.add_context(kept.describe());
    throw;
  }
  std::vector<std::string> names;
  std::vector<ir::Value> inputs = kept.inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].type.is_dynamic())
      throw_error(ErrorCode::invalid_argument, kept.describe(), ": state ", i, " has no element type (", layer.source,
                  ")");
    names.push_back(concat(prefix, kept.name, "/state", i));
    const NodeId read = graph.add(ops::newest("ReadValue"), names[i],
                                  ir::make_attributes_of(ops::ReadValueAttrs{names[i], types[i].type, types[i].shape}));
    graph.node(read).origin = graph.node(id).origin;
    inputs.push_back({read, 0});
  }
  const NodeId fresh = graph.add(*layer.with_states, graph.node(id).name, std::move(attributes), std::move(inputs));
  graph.node(fresh).origin = graph.node(id).origin;
  graph.node(fresh).rt_info = graph.node(id).rt_info;
  for (size_t i = 0; i < outputs; ++i) {
    const auto port = static_cast<int32_t>(i);
    graph.node(fresh).outputs[i] = graph.node(id).outputs[i];
    graph.replace_uses({id, port}, {fresh, port});
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const NodeId assign =
        graph.add(ops::newest("Assign"), names[i], ir::make_attributes_of(ops::VariableAttrs{names[i]}),
                  {{fresh, static_cast<int32_t>(outputs + i)}});
    graph.node(assign).origin = graph.node(fresh).origin;
  }
  graph.erase(id);
}

void give_ports(Graph& graph, const std::string& prefix) {
  for (NodeId id : graph.nodes()) {
    for (ir::Body& body : graph.node(id).bodies) {
      if (!any_keeps_states(*body.graph)) continue;
      give_ports(*body.graph, concat(prefix, graph.node(id).name, '/', body.role, '/'));
      ir::infer_graph(*body.graph);
    }
    if (keeps_states(graph.node(id))) give_ports(graph, id, prefix);
  }
}

}  // namespace

std::unique_ptr<Graph> with_states_as_ports(const Graph& graph) {
  if (!any_keeps_states(graph)) return nullptr;
  std::unique_ptr<Graph> copy = graph.clone();
  give_ports(*copy, {});
  ir::infer_graph(*copy);
  return copy;
}

}  // namespace terroir::custom
