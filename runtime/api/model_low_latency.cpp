#include <algorithm>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ops/defs/infrastructure/state.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/pass/low_latency.hpp"

namespace terroir {

namespace {

/// A layer whose output is as `like`, until the model is inferred.
ir::Value add_layer(ir::Graph& graph, const char* type, const char* opset, const std::string& name,
                    std::unique_ptr<ir::Attributes> attributes, std::vector<ir::Value> inputs, ir::Value like) {
  const ir::NodeId id =
      graph.add(ops::builtin_registry().get(type, opset), name, std::move(attributes), std::move(inputs));
  graph.node(id).outputs.at(0).type = graph.port(like).type;
  graph.node(id).outputs.at(0).shape = graph.port(like).shape;
  return {id, 0};
}

/// Zeros of the type and shape of the value, whatever its shape is.
ir::Value zeros_like(ir::Graph& graph, ir::Value value, const std::string& name) {
  const element::Type type = graph.port(value).type;
  if (type.is_dynamic() || type == element::string)
    throw_error(ErrorCode::invalid_argument, "LowLatency2: there are no zeros of type ", type, " for the variable '",
                name, "'; LowLatency2(false) begins with what the layer begins with");
  const auto bytes = std::make_shared<AlignedBuffer>((type.bitwidth() + 7) / 8);
  std::fill_n(static_cast<char*>(static_cast<void*>(bytes->data())), bytes->size(), '\0');
  ir::Constant zero;
  zero.view = {type, {1}, bytes->data()};
  zero.owner = bytes;
  const ir::Value constant{
      graph.add_constant(ops::builtin_registry().get(ir::kConstType, "opset1"), name + "/zero", std::move(zero)), 0};
  const ir::OpSchema& shape_of = ops::builtin_registry().get("ShapeOf", "opset3");
  const ir::OpSchema& broadcast = ops::builtin_registry().get("Broadcast", "opset3");
  const ir::NodeId shape = graph.add(shape_of, name + "/shape", shape_of.make_attributes(), {value});
  graph.node(shape).outputs.at(0).type = element::i64;
  return add_layer(graph, "Broadcast", "opset3", name + "/zeros", broadcast.make_attributes(), {constant, {shape, 0}},
                   value);
}

/// The input is the variable from now on, which gets the output at last; false if it is a variable already.
bool keep_value(ir::Graph& graph, ir::Use input, ir::Value last, const std::string& name, bool zeros) {
  const ir::Value initial = graph.node(input.node).inputs.at(static_cast<size_t>(input.input));
  if (graph.node(initial.node).is("ReadValue")) return false;
  ops::ReadValueAttrs variable;
  variable.variable_id = name;
  variable.variable_type = graph.port(initial).type;
  variable.variable_shape = graph.port(initial).shape;
  const ir::Value first = zeros ? zeros_like(graph, initial, name) : initial;
  const ir::Value read = add_layer(graph, "ReadValue", "opset6", name + "/read",
                                   ir::make_attributes_of(std::move(variable)), {first}, initial);
  graph.set_input(input, read);
  ops::VariableAttrs assigned;
  assigned.variable_id = name;
  add_layer(graph, "Assign", "opset6", name + "/assign", ir::make_attributes_of(std::move(assigned)), {last}, last);
  return true;
}

/// The output of the loop that is this result of its last iteration; a new one if there is none.
ir::Value last_value(ir::Node& loop, ir::Body& body, ir::NodeId result) {
  for (const ir::BodyPortMap::Output& output : body.ports.outputs) {
    if (output.result == result && !output.axis && output.external_port >= 0)
      return {loop.id, static_cast<int32_t>(output.external_port)};
  }
  ir::BodyPortMap::Output output;
  output.external_port = static_cast<int64_t>(loop.outputs.size());
  output.result = result;
  body.ports.outputs.push_back(output);
  loop.outputs.emplace_back();
  const ir::OutputPort& taken = body.graph->port(body.graph->node(result).inputs.at(0));
  loop.outputs.back().type = taken.type;
  loop.outputs.back().shape = taken.shape;
  return {loop.id, static_cast<int32_t>(output.external_port)};
}

/// What a loop carries from iteration to iteration becomes variables; whether there is any.
bool keep_values_of_loop(ir::Graph& graph, ir::NodeId id, bool zeros) {
  bool any = false;
  int64_t index = 0;  // among the inputs, as in OpenVINO's names
  const ir::BodyPortMap ports = graph.node(id).bodies.front().ports;
  for (const ir::BodyPortMap::Input& input : ports.inputs) {
    if (input.current_iteration || input.external_port < 0) continue;
    const auto edge = std::find_if(ports.back_edges.begin(), ports.back_edges.end(),
                                   [&](const auto& e) { return e.parameter == input.parameter; });
    const int64_t number = index++;
    if (edge == ports.back_edges.end()) continue;
    ir::Node& loop = graph.node(id);
    ir::Body& body = loop.bodies.front();
    const std::string name = concat(loop.name, "/", body.graph->node(input.parameter).name, "/variable_", number);
    const ir::Value last = last_value(loop, body, edge->result);
    any |= keep_value(graph, {id, static_cast<int32_t>(input.external_port)}, last, name, zeros);
  }
  return any;
}

/// The same of the states of a recurrent layer: its inputs from 1 on are its outputs from 1 on.
bool keep_states(ir::Graph& graph, ir::NodeId id, int32_t states, bool zeros) {
  bool any = false;
  for (int32_t i = 1; i <= states; ++i)
    any |= keep_value(graph, {id, i}, {id, i}, concat(graph.node(id).name, "/variable_", i - 1), zeros);
  return any;
}

}  // namespace

bool pass::LowLatency2::run_on_model(const std::shared_ptr<Model>& model) {
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  std::unique_ptr<ir::Graph> graph = state.graph->clone();
  const std::vector<bool> needed = detail::needed_by_ends(*graph);
  bool any = false;
  for (const ir::NodeId id : graph->nodes()) {
    const ir::Node& node = graph->node(id);
    if (!needed[ir::index_of(id)]) continue;
    if (node.is("TensorIterator") || node.is("Loop")) any |= keep_values_of_loop(*graph, id, zeros_);
    if (node.schema->opset != "opset5") continue;
    if (node.is("LSTMSequence")) any |= keep_states(*graph, id, 2, zeros_);
    if (node.is("GRUSequence") || node.is("RNNSequence")) any |= keep_states(*graph, id, 1, zeros_);
  }
  if (!any) return false;
  ops::inline_single_iterations(*graph, ops::builtin_registry());
  state.graph = std::move(graph);
  state.rewired = state.has_spare_layers = true;
  return true;
}

}  // namespace terroir
