#include "terroir/model.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include "ir/base/error.hpp"
#include "ir/base/short_memory.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "runtime/api/draft.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/layout.hpp"

namespace terroir {

namespace {

using detail::NodeAccess;

constexpr const char* kModel = "the model";

// Output ports of the Parameters or of the Results.
std::vector<Output<Node>> end_ports(const std::shared_ptr<detail::GraphState>& state, bool inputs) {
  std::vector<Output<Node>> ports;
  for (const ir::NodeId id : detail::ends(*state->graph, inputs)) ports.push_back(NodeAccess::port(state, {id, 0}));
  return ports;
}

Output<Node> end_port(const std::shared_ptr<detail::GraphState>& state, bool inputs, size_t index) {
  detail::check_index(*state->graph, inputs, index, kModel);
  return NodeAccess::port(state, {detail::ends(*state->graph, inputs)[index], 0});
}

Output<Node> only_port(const std::shared_ptr<detail::GraphState>& state, bool inputs) {
  detail::check_single(*state->graph, inputs, kModel);
  return end_port(state, inputs, 0);
}

Output<Node> named_port(const std::shared_ptr<detail::GraphState>& state, bool inputs, const std::string& name) {
  return end_port(state, inputs, detail::find_port(*state->graph, inputs, name, kModel));
}

std::vector<Output<const Node>> as_const_ports(const std::vector<Output<Node>>& ports) {
  return {ports.begin(), ports.end()};
}

const Any* find(const AnyMap& root, const std::vector<std::string>& path) {
  const AnyMap* map = &root;
  const Any* found = nullptr;
  for (const std::string& key : path) {
    const auto entry = map != nullptr ? map->find(key) : root.end();
    if (map == nullptr || entry == map->end()) return nullptr;
    found = &entry->second;
    map = found->get_if<AnyMap>();
  }
  return found;
}

void take_over(detail::GraphState& state, std::unique_ptr<ir::Graph> graph) {
  state.graph = std::move(graph);
  state.rewired = false;
  state.changed.clear();
  detail::update_variables(state);
}

using Shapes = std::map<size_t, PartialShape>;
using VariableShapes = std::unordered_map<std::string, PartialShape>;

// What Reshapes to numbers do when the batch becomes another: these numbers whatever comes, or the batch that comes
// where the file's batch stands first (ops::let_batch_through).
enum class ReshapesSay { the_numbers, the_batch_if_all_known, the_batch };

// Whether all that changes is the first extent of inputs, from one number to one other extent.
bool only_batch_changes(const ir::Graph& graph, const Shapes& shapes) {
  std::optional<std::pair<Dimension, Dimension>> change;
  for (const auto& [index, shape] : shapes) {
    if (index >= graph.parameters().size()) return false;
    const PartialShape& now = graph.port({graph.parameters()[index], 0}).shape;
    if (shape == now) continue;
    if (shape.rank().is_dynamic() || now.rank() != shape.rank() || now[0].is_dynamic()) return false;
    if (!std::equal(shape.begin() + 1, shape.end(), now.begin() + 1)) return false;
    if (change && *change != std::pair(now[0], shape[0])) return false;
    change = {now[0], shape[0]};
  }
  return change.has_value();
}

// A copy with new shapes of Parameters and variables, inferred anew.
std::unique_ptr<ir::Graph> reshaped(const ir::Graph& model, const Shapes& shapes, const VariableShapes& variable_shapes,
                                    ReshapesSay say) {
  std::unique_ptr<ir::Graph> graph = model.clone();
  if (say != ReshapesSay::the_numbers) {
    const bool all = say == ReshapesSay::the_batch;
    ops::let_batch_through(*graph, ops::builtin_registry(), all ? ops::Targets::all : ops::Targets::without_computed);
  }
  detail::reshape_variables(*graph, variable_shapes);
  for (const auto& [index, shape] : shapes) {
    detail::check_index(*graph, true, index, kModel);
    ir::Node& parameter = graph->node(graph->parameters()[index]);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    attrs.shape = shape;
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  detail::infer_anew(*graph, "cannot reshape the model");
  return graph;
}

// Takes over the first of these forms of the model that goes with the shapes; if none does, the Exception is that of
// the last, and nothing has changed.
void reshape_inputs(detail::GraphState& state, const Shapes& shapes, const VariableShapes& variable_shapes,
                    std::initializer_list<ReshapesSay> forms) {
  NodeAccess::tell_attributes(state);
  const std::shared_ptr<const ir::Graph> model = state.graph;
  for (const ReshapesSay& form : forms) {
    try {
      return take_over(state, reshaped(*model, shapes, variable_shapes, form));
    } catch (const Exception&) {
      if (&form + 1 == forms.end()) throw;
    }
  }
}

void reshape_inputs(detail::GraphState& state, const Shapes& shapes, const VariableShapes& variable_shapes) {
  using enum ReshapesSay;
  if (only_batch_changes(*state.graph, shapes)) {
    reshape_inputs(state, shapes, variable_shapes, {the_batch_if_all_known, the_batch, the_numbers});
  } else {
    reshape_inputs(state, shapes, variable_shapes, {the_numbers});
  }
}

template <typename T = Node>
std::vector<std::shared_ptr<T>> handles(const std::shared_ptr<detail::GraphState>& state,
                                        const std::vector<ir::NodeId>& ids) {
  std::vector<std::shared_ptr<T>> nodes;
  nodes.reserve(ids.size());
  for (const ir::NodeId id : ids) nodes.push_back(std::static_pointer_cast<T>(NodeAccess::object(state, id)));
  return nodes;
}

int64_t index_of(const detail::GraphState& state, const Node* node, const std::vector<ir::NodeId>& ids) {
  if (node == nullptr || NodeAccess::state(*node).get() != &state) return -1;
  const auto found = std::find(ids.begin(), ids.end(), NodeAccess::id(*node));
  return found != ids.end() ? found - ids.begin() : -1;
}

OutputVector as_outputs(const NodeVector& nodes) { return {nodes.begin(), nodes.end()}; }
OutputVector as_outputs(const ResultVector& results) { return {results.begin(), results.end()}; }

}  // namespace

Model::Model(std::shared_ptr<detail::GraphState> state) : state_(std::move(state)) {
  state_->owned = true;
  state_->objects.keep();
}
Model::Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(detail::model_of_layers(results, sinks, NodeVector(parameters.begin(), parameters.end()), name)) {}
Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const std::string& name)
    : Model(as_outputs(results), sinks, parameters, name) {}
Model::Model(const OutputVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(results, SinkVector{}, parameters, name) {}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(as_outputs(results), parameters, name) {}
Model::Model(const NodeVector& results, const ParameterVector& parameters, const std::string& name)
    : Model(as_outputs(results), parameters, name) {}
Model::Model(const std::shared_ptr<Node>& result, const ParameterVector& parameters, const std::string& name)
    : Model(OutputVector{result}, parameters, name) {}
Model::Model(const OutputVector& results, const std::string& name)
    : Model(detail::model_of_layers(results, {}, std::nullopt, name)) {}
Model::Model(const ResultVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const op::util::VariableVector& variables, const std::string& name)
    : Model(as_outputs(results), sinks, parameters, variables, name) {}
Model::Model(const OutputVector& results, const SinkVector& sinks, const ParameterVector& parameters,
             const op::util::VariableVector& variables, const std::string& name)
    : Model(results, sinks, parameters, name) {
  add_variables(variables);
}
Model::Model(const ResultVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
             const std::string& name)
    : Model(as_outputs(results), SinkVector{}, parameters, variables, name) {}
Model::Model(const OutputVector& results, const ParameterVector& parameters, const op::util::VariableVector& variables,
             const std::string& name)
    : Model(results, SinkVector{}, parameters, variables, name) {}
Model::~Model() {
  state_->owned = false;
  state_->objects.release();
}

const std::string Model::get_friendly_name() const { return state_->graph->name(); }
void Model::set_friendly_name(const std::string& name) { state_->writable().set_name(name); }

std::vector<Output<Node>> Model::inputs() { return end_ports(state_, true); }
std::vector<Output<const Node>> Model::inputs() const { return as_const_ports(end_ports(state_, true)); }
Output<Node> Model::input() { return only_port(state_, true); }
Output<const Node> Model::input() const { return only_port(state_, true); }
Output<Node> Model::input(size_t index) { return end_port(state_, true, index); }
Output<const Node> Model::input(size_t index) const { return end_port(state_, true, index); }
Output<Node> Model::input(const std::string& name) { return named_port(state_, true, name); }
Output<const Node> Model::input(const std::string& name) const { return named_port(state_, true, name); }
std::vector<Output<Node>> Model::outputs() { return end_ports(state_, false); }
std::vector<Output<const Node>> Model::outputs() const { return as_const_ports(end_ports(state_, false)); }
Output<Node> Model::output() { return only_port(state_, false); }
Output<const Node> Model::output() const { return only_port(state_, false); }
Output<Node> Model::output(size_t index) { return end_port(state_, false, index); }
Output<const Node> Model::output(size_t index) const { return end_port(state_, false, index); }
Output<Node> Model::output(const std::string& name) { return named_port(state_, false, name); }
Output<const Node> Model::output(const std::string& name) const { return named_port(state_, false, name); }
size_t Model::get_output_size() const { return state_->graph->results().size(); }
const element::Type Model::get_output_element_type(size_t index) const { return output(index).get_element_type(); }
const PartialShape Model::get_output_partial_shape(size_t index) const { return output(index).get_partial_shape(); }
const Shape Model::get_output_shape(size_t index) const { return output(index).get_shape(); }

namespace {
// A layer that was replaced may have the name of one that is there.
std::vector<ir::NodeId> needed_first(const detail::GraphState& state) {
  const auto needed = state.needed_layers()->nodes();
  std::vector<ir::NodeId> ids(needed.begin(), needed.end());
  const auto all = state.graph->nodes();
  ids.insert(ids.end(), all.begin(), all.end());
  return ids;
}

Output<Node> make_output(const std::shared_ptr<detail::GraphState>& state, ir::Value value) {
  ir::Graph& graph = state->writable();
  const std::string name = concat(graph.node(value.node).name, "/sink_port_", value.output);
  const ir::NodeId id = graph.add(ops::builtin_registry().get(ir::kResultType, "opset1"), name, nullptr, {value});
  ir::Node& result = graph.node(id);
  result.outputs.at(0).type = graph.port(value).type;
  result.outputs.at(0).shape = graph.port(value).shape;
  return NodeAccess::port(state, {id, 0});
}
}  // namespace

Output<Node> Model::add_output(const std::string& tensor_name) {
  for (const ir::NodeId id : needed_first(*state_)) {
    const ir::Node& node = state_->graph->node(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto& names = node.outputs[i].names;
      if (std::find(names.begin(), names.end(), tensor_name) != names.end()) {
        return add_output(NodeAccess::port(state_, {id, static_cast<int32_t>(i)}));
      }
    }
  }
  throw_error(ErrorCode::not_found, "the model has no tensor '", tensor_name, "'");
}

Output<Node> Model::add_output(const std::string& layer_name, size_t index) {
  std::vector<std::string> known;
  for (const ir::NodeId id : needed_first(*state_)) {
    const ir::Node& node = state_->graph->node(id);
    known.push_back(node.name);
    if (node.name != layer_name) continue;
    if (index >= node.outputs.size() || node.is(ir::kResultType)) {
      throw_error(ErrorCode::not_found, node.describe(), " has no output ", index, " to add");
    }
    return add_output(NodeAccess::port(state_, {id, static_cast<int32_t>(index)}));
  }
  throw_error(ErrorCode::not_found, "the model has no layer '", layer_name, "'", did_you_mean(layer_name, known));
}

Output<Node> Model::add_output(const Output<Node>& port) {
  const Node* const layer = port.get_node();
  if (layer == nullptr || (NodeAccess::state(*layer) != state_ && NodeAccess::state(*layer)->owned)) {
    throw_error(ErrorCode::not_found, port, " is no port of the model");
  }
  NodeAccess::enter(*layer);
  detail::bring(state_, *layer);
  const int64_t known = get_result_index(port);
  return known >= 0 ? output(static_cast<size_t>(known)) : make_output(state_, NodeAccess::value(port));
}

void Model::replace_node(const std::shared_ptr<Node>& old_node, const std::shared_ptr<Node>& new_node) {
  if (NodeAccess::state(*old_node) != state_) throw_error(ErrorCode::not_found, *old_node, " is no layer of the model");
  terroir::replace_node(old_node, new_node);
}

std::shared_ptr<Node> Model::get_result() const {
  detail::check_single(*state_->graph, false, kModel);
  return get_output_op(0);
}
std::shared_ptr<Node> Model::get_output_op(size_t index) const {
  detail::check_index(*state_->graph, false, index, kModel);
  return NodeAccess::object(state_, state_->graph->results()[index]);
}

int64_t Model::get_parameter_index(const std::shared_ptr<Node>& parameter) const {
  return index_of(*state_, parameter.get(), state_->graph->parameters());
}
int64_t Model::get_result_index(const Output<Node>& value) const { return get_result_index(Output<const Node>(value)); }
int64_t Model::get_result_index(const Output<const Node>& value) const {
  const int64_t itself = index_of(*state_, value.get_node(), state_->graph->results());
  if (itself >= 0 || value.get_node() == nullptr || NodeAccess::state(*value.get_node()) != state_) return itself;
  const auto& results = state_->graph->results();
  const auto fed = std::find_if(results.begin(), results.end(), [&](ir::NodeId id) {
    return state_->graph->node(id).inputs.at(0) == NodeAccess::value(value);
  });
  return fed != results.end() ? fed - results.begin() : -1;
}

const SinkVector Model::get_sinks() const { return handles(state_, state_->graph->sinks()); }

size_t Model::get_graph_size() const {
  size_t bytes = 0;
  for (const ir::NodeId id : state_->graph->nodes()) {
    const ir::Node& node = state_->graph->node(id);
    bytes += sizeof node + node.outputs.size() * sizeof(ir::OutputPort);
    if (node.constant) bytes += node.constant->view.bytes();
  }
  return bytes;
}

NodeVector Model::get_ops() const {
  return handles(state_, state_->needed_layers(detail::GraphState::Before::kept)->nodes());
}
NodeVector Model::get_ordered_ops() const {
  const auto needed = state_->needed_layers(detail::GraphState::Before::kept);
  return handles(state_, ir::topological_order(*state_->with_dependencies(needed)));
}
const ParameterVector Model::get_parameters() const {
  return handles<op::v0::Parameter>(state_, state_->graph->parameters());
}
const ResultVector Model::get_results() const { return handles<op::v0::Result>(state_, state_->graph->results()); }

bool Model::is_dynamic() const {
  const auto graph = state_->needed_graph();
  for (const ir::NodeId id : graph->nodes()) {
    for (const ir::OutputPort& port : graph->node(id).outputs) {
      if (port.shape.is_dynamic()) return true;
    }
  }
  return false;
}

void Model::validate_nodes_and_infer_types() const {
  NodeAccess::tell_attributes(*state_);
  std::unique_ptr<ir::Graph> graph = state_->graph->clone();
  detail::infer_anew(*graph, "the model is not valid");
  take_over(*state_, std::move(graph));
}

namespace {
void reshape_with_memory(const detail::GraphState& state, FunctionRef<void()> body) {
  with_memory_for("to reshape the model", state.graph->name(), body);
}
}  // namespace

void Model::reshape(const PartialShape& shape, const VariableShapes& variable_shapes) {
  detail::check_single(*state_->graph, true, kModel);
  reshape_with_memory(*state_, [&] { reshape_inputs(*state_, {{0, shape}}, variable_shapes); });
}

void Model::reshape(const std::map<size_t, PartialShape>& shapes, const VariableShapes& variable_shapes) {
  reshape_with_memory(*state_, [&] { reshape_inputs(*state_, shapes, variable_shapes); });
}

void Model::reshape(const std::map<std::string, PartialShape>& shapes, const VariableShapes& variable_shapes) {
  reshape_with_memory(*state_, [&] {
    std::map<size_t, PartialShape> by_index;
    for (const auto& [name, shape] : shapes) {
      const size_t index = detail::find_port(*state_->graph, true, name, kModel);
      const auto [entry, added] = by_index.emplace(index, shape);
      if (!added && entry->second != shape) {
        throw_error(ErrorCode::invalid_argument, "the input '", name, "' is given two shapes: ", entry->second, " and ",
                    shape);
      }
    }
    reshape_inputs(*state_, by_index, variable_shapes);
  });
}

void Model::reshape(const std::map<Output<Node>, PartialShape>& shapes, const VariableShapes& variable_shapes) {
  reshape_with_memory(*state_, [&] {
    std::map<size_t, PartialShape> by_index;
    const auto& parameters = state_->graph->parameters();
    for (const auto& [port, shape] : shapes) {
      const Node* node = port.get_node();
      const auto found = node != nullptr && NodeAccess::state(*node) == state_
                             ? std::find(parameters.begin(), parameters.end(), NodeAccess::id(*node))
                             : parameters.end();
      if (found == parameters.end()) {
        throw_error(ErrorCode::not_found, port, " is no input of the model; there are ",
                    detail::list_ports(*state_->graph, true));
      }
      by_index[static_cast<size_t>(found - parameters.begin())] = shape;
    }
    reshape_inputs(*state_, by_index, variable_shapes);
  });
}

std::shared_ptr<Model> Model::clone() const {
  std::shared_ptr<Model> model;
  with_memory_for("to clone the model", state_->graph->name(), [&] {
    auto copy = std::make_shared<detail::GraphState>(state_->needed_graph(detail::GraphState::Before::kept)->clone());
    state_->rt_info.copy_to(copy->rt_info, *copy->graph);
    model = detail::ModelAccess::make(copy);
    for (const auto& [layer, before] : NodeAccess::dependencies(*state_)) {
      const ir::NodeId from = NodeAccess::id(*layer), to = NodeAccess::id(*before);
      if (NodeAccess::state(*before) != state_ || !copy->graph->contains(from) || !copy->graph->contains(to)) continue;
      NodeAccess::object(copy, from)->add_control_dependency(NodeAccess::object(copy, to));
      copy->has_spare_layers = true;
    }
  });
  return model;
}

AnyMap& Model::get_rt_info() { return state_->rt_info.at(*state_->graph, {}); }
const AnyMap& Model::get_rt_info() const { return state_->rt_info.at(*state_->graph, {}); }

const Any& Model::rt_info_at(const std::vector<std::string>& path) const {
  const Any* found = find(get_rt_info(), path);
  if (found == nullptr) throw_error(ErrorCode::not_found, "the model has no runtime information ", path);
  return *found;
}

bool Model::has_rt_info_at(const std::vector<std::string>& path) const { return find(get_rt_info(), path) != nullptr; }

void Model::set_rt_info_at(const Any& value, const std::vector<std::string>& path) {
  if (path.empty()) throw_error(ErrorCode::invalid_argument, "the path of runtime information is empty");
  AnyMap* map = &get_rt_info();
  for (auto key = path.begin(); key + 1 != path.end(); ++key) {
    Any& inner = (*map)[*key];
    if (!inner.is<AnyMap>()) inner = AnyMap();
    map = &inner.as<AnyMap>();
  }
  (*map)[path.back()] = value;
}

std::ostream& operator<<(std::ostream& out, const Model& model) {
  out << "Model '" << model.get_friendly_name() << "'\n";
  for (const auto& node : model.get_ordered_ops()) out << "  " << *node << '\n';
  return out;
}

namespace {

// Index of the batch axis of an input, if its layout names one and its rank is known.
std::optional<std::ptrdiff_t> batch_axis(const Output<const Node>& input) {
  const Layout layout = layout::get_layout(input);
  if (!layout::has_batch(layout) || input.get_partial_shape().rank().is_dynamic()) return std::nullopt;
  return static_cast<std::ptrdiff_t>(layout::batch_idx(layout));
}

// "; input 0: [1,3,8,8] [N,C,H,W]; ..." of those with a batch, or of all if `all`.
std::string describe_layouts(const Model& model, bool all) {
  std::string text;
  const auto inputs = model.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!all && !batch_axis(inputs[i])) continue;
    text += concat("; input ", i, ": ", inputs[i].get_partial_shape(), " ", layout::get_layout(inputs[i]));
  }
  return text;
}

}  // namespace

Dimension get_batch(const std::shared_ptr<const Model>& model) {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  std::optional<Dimension> batch;
  for (const Output<const Node>& input : model->inputs()) {
    const auto axis = batch_axis(input);
    if (!axis) continue;
    const Dimension found = input.get_partial_shape()[*axis];
    Dimension merged = found;
    if (batch && !Dimension::merge(merged, *batch, found)) {
      throw_error(ErrorCode::invalid_argument, "the inputs of the model have different batches: ", *batch, " and ",
                  found, describe_layouts(*model, false));
    }
    batch = merged;
  }
  if (!batch) {
    throw_error(ErrorCode::invalid_argument,
                "no input of the model has a layout with the axis N; call layout::set_layout() first",
                describe_layouts(*model, true));
  }
  return *batch;
}

void set_batch(const std::shared_ptr<Model>& model, Dimension batch) {
  get_batch(model);  // one batch, or an error
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  reshape_with_memory(state, [&] {
    std::map<size_t, PartialShape> shapes;
    const auto inputs = model->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto axis = batch_axis(inputs[i]);
      if (!axis) continue;
      PartialShape shape = inputs[i].get_partial_shape();
      shape[*axis] = batch;
      shapes.emplace(i, shape);
    }
    reshape_inputs(state, shapes, {}, {ReshapesSay::the_batch, ReshapesSay::the_numbers});
  });
}

}  // namespace terroir
