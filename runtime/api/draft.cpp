#include "runtime/api/draft.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/registry.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/model_ends.hpp"
#include "runtime/api/tensor_state.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"

namespace terroir::detail {

namespace {

using StatePtr = std::shared_ptr<GraphState>;
using NewIds = std::vector<ir::NodeId>;  // by old id; none: not copied

StatePtr new_draft() { return std::make_shared<GraphState>(std::make_unique<ir::Graph>()); }

std::string unique_name(const std::string& type) {
  static std::atomic<uint64_t> count{0};
  return concat(class_name(type), "_", count.fetch_add(1, std::memory_order_relaxed));
}

const Node& node_of(const Output<Node>& port) {
  if (port.get_node() == nullptr) throw_error(ErrorCode::invalid_argument, "an input of a layer is an empty port");
  return *port.get_node();
}

// A layer has an id in every state it has been in.
struct Place {
  StatePtr state;
  ir::NodeId id;
};

/// The places of a layer, the newest first.
std::vector<Place> places(const Node& node) {
  const NodeHandle handle = NodeAccess::handle(node);
  std::vector<Place> found{{handle.state, handle.state->current(static_cast<ir::NodeId>(handle.id))}};
  for (Place place = found.back(); place.state->moved_on(place.id); place = found.back()) {
    const StatePtr& next = place.state->next;
    found.push_back({next, next->current(place.state->next_ids[ir::index_of(place.id)])});
  }
  std::reverse(found.begin(), found.end());
  return found;
}

ir::NodeId id_in(const StatePtr& state, const Node& node) {
  for (const Place& place : places(node)) {
    if (place.state == state) return place.id;
  }
  return ir::NodeId::none;
}

/// The newest state that all of the layers are in, or null.
StatePtr common_state(const std::vector<const Node*>& nodes) {
  const auto has_all = [&](const StatePtr& state) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const Node* n) { return id_in(state, *n) != ir::NodeId::none; });
  };
  for (const Node* node : nodes) {
    for (const Place& place : places(*node)) {
      if (has_all(place.state)) return place.state;
    }
  }
  return nullptr;
}

// What ends are in the graph they are copied into: listed (model_ends.hpp) or not.
using SchemaThere = const ir::OpSchema& (*)(const ir::OpSchema&);

std::vector<ir::Body> copies_of(const std::vector<ir::Body>& bodies) {
  std::vector<ir::Body> copies;
  for (const ir::Body& body : bodies) copies.push_back({body.role, body.graph->clone(), body.ports});
  return copies;
}

/// Copies layers, which come after those they read, and which read copied ones only.
NewIds copy_layers(const ir::Graph& from, const std::vector<ir::NodeId>& layers, ir::Graph& into, SchemaThere there,
                   NewIds copied = {}) {
  copied.resize(from.id_bound(), ir::NodeId::none);
  for (const ir::NodeId id : layers) {
    if (copied[ir::index_of(id)] != ir::NodeId::none) continue;
    const ir::Node& old = from.node(id);
    std::vector<ir::Value> inputs;
    for (const ir::Value& input : old.inputs) inputs.push_back({copied[ir::index_of(input.node)], input.output});
    const ir::NodeId added = into.add(there(*old.schema), old.name, old.attributes->clone(), std::move(inputs));
    ir::Node& node = into.node(added);
    node.outputs = old.outputs;
    node.input_rt_info = old.input_rt_info;
    node.rt_info = old.rt_info;
    node.origin = old.origin;
    node.origin_names = old.origin_names;
    node.constant = old.constant;
    node.bodies = copies_of(old.bodies);
    copied[ir::index_of(id)] = added;
  }
  return copied;
}

/// All layers of `from` that have not moved on become layers of `into`.
void move_layers(const StatePtr& from, const StatePtr& into) {
  for (ir::NodeId& id : from->next_ids) id = into->current(id);
  from->next_ids = copy_layers(*from->graph, ir::topological_order(*from->graph), into->writable(),
                               into->owned ? unlisted : listed, std::move(from->next_ids));
  from->rt_info.hand_over(into->rt_info, from->next_ids, true);
  from->objects.hand_over(into->objects, from->next_ids);
  from->next = into;
  share_variables(*from, *into);
  into->has_spare_layers |= into->owned;
  into->has_dependencies |= from->has_dependencies;
  into->rewired |= from->rewired;
  for (const ir::NodeId id : from->changed)
    if (from->moved_on(id)) into->changed.insert(from->next_ids[ir::index_of(id)]);
}

/// One state with the layers of both.
StatePtr join(StatePtr into, StatePtr from) {
  if (into == from) return into;
  // What was left over when the model was made joins it, the layers that it took are known.
  const auto left_over = [](const StatePtr& state, const StatePtr& model) {
    return !state->owned && state->next == model;
  };
  if (left_over(into, from)) std::swap(into, from);
  if (left_over(from, into)) {
    move_layers(from, into);
    return into;
  }
  // The layers of a model, and those left over from making one, stay.
  const auto stays = [](const StatePtr& state) { return state->owned || state->next != nullptr; };
  if (stays(into) && stays(from)) throw_error(ErrorCode::invalid_argument, "layers of two models cannot be connected");
  if (stays(from) || (!stays(into) && from->graph->node_count() > into->graph->node_count())) std::swap(into, from);
  move_layers(from, into);
  from->graph = std::make_shared<ir::Graph>();
  return into;
}

/// The state that all of the layers are in; drafts are joined for it.
StatePtr one_state(const std::vector<const Node*>& nodes) {
  if (nodes.empty()) return new_draft();
  for (const Node* node : nodes) NodeAccess::enter(*node);
  if (StatePtr common = common_state(nodes)) return common;
  StatePtr state = NodeAccess::state(*nodes.front());
  for (const Node* node : nodes) {
    if (id_in(state, *node) == ir::NodeId::none) state = join(state, NodeAccess::state(*node));
  }
  return state;
}

/// Infers a layer just added to the graph; takes it away again if it is refused.
void infer(ir::Graph& graph, ir::NodeId id) {
  ir::KnownValues known(graph);
  try {
    ir::infer_outputs(graph, id, known);
  } catch (...) {
    graph.erase(id);
    throw;
  }
}

/// Layers with bodies were inferred when some of what feeds them was missing, and so were those behind them, and behind
/// inputs that came to read something else.
void finish_bodies(ir::Graph& graph, bool rewired) {
  bool any = rewired;
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    for (const ir::Body& body : node.bodies) {
      any = true;
      for (const ir::NodeId parameter : body.graph->parameters()) {
        const bool fed = std::any_of(body.ports.inputs.begin(), body.ports.inputs.end(),
                                     [&](const auto& input) { return input.parameter == parameter; });
        if (fed || body.graph->uses({parameter, 0}).empty()) continue;
        throw_error(ErrorCode::invalid_argument, body.graph->node(parameter).describe(), " of the ", body.role, " of ",
                    node.describe(), " is used, and not fed");
      }
    }
  }
  if (any) ir::infer_graph(graph);
}

/// What a Model is made of, as ids in one state.
class Parts {
 public:
  Parts(const OutputVector& results, const NodeVector& sinks, const std::optional<NodeVector>& parameters) {
    std::vector<const Node*> nodes;
    for (const Output<Node>& result : results) nodes.push_back(&node_of(result));
    const auto take = [&](const NodeVector& layers) {
      for (const auto& layer : layers) {
        if (layer == nullptr) throw_error(ErrorCode::invalid_argument, "a layer of a model is null");
        nodes.push_back(layer.get());
      }
    };
    take(sinks);
    if (parameters) take(*parameters);
    do {
      state_ = one_state(nodes);
      results_.clear();
      for (const Output<Node>& result : results) results_.push_back(value_in(state_, result));
      sinks_.clear();
      for (const auto& sink : sinks) sinks_.push_back(id_in(state_, *sink));
      find_needed();
    } while (take_dependencies(nodes));
    parameters ? take_parameters(*parameters) : take_needed_parameters();
  }

  StatePtr make_state(const std::string& name) const {
    NodeAccess::tell_attributes(*state_);
    const ir::Graph& from = *state_->graph;
    const StatePtr model = new_draft();
    ir::Graph& graph = *model->graph;
    graph.set_name(name);
    NewIds copied = copy_layers(from, parameters_, graph, listed);
    copied = copy_layers(from, order_, graph, listed, std::move(copied));
    for (const ir::Value& result : results_) {
      if (is_result(from.node(result.node))) {
        copied = copy_layers(from, {result.node}, graph, listed, std::move(copied));
      } else {
        add_result(graph, {copied[ir::index_of(result.node)], result.output});
      }
    }
    finish_bodies(graph, state_->rewired);
    model->has_dependencies = model->has_spare_layers = state_->has_dependencies;
    if (state_->next == nullptr) {
      state_->next = model;
      state_->next_ids = copied;
      state_->owned ? keep_needed(*state_, state_->next_ids) : take_readers(*model);
      state_->rt_info.hand_over(model->rt_info, state_->next_ids, true);
      state_->objects.hand_over(model->objects, state_->next_ids);
    }
    state_->rt_info.hand_over(model->rt_info, copied, false);
    share_variables(*state_, *model);
    return model;
  }

 private:
  /// Layers that somebody has, and that read layers of the model which does not need them, come along, with what else
  /// they read: as those do that are made when there is a model.
  void take_readers(GraphState& model) const {
    const ir::Graph& from = *state_->graph;
    const NodeVector objects = state_->objects.all();
    const std::vector<ir::NodeId> order = ir::topological_order(from);
    std::vector<bool> reads_model(from.id_bound());
    std::vector<ir::NodeId> readers;
    for (const ir::NodeId id : order) {
      const auto& inputs = from.node(id).inputs;
      const size_t at = ir::index_of(id);
      if (state_->moved_on(id)) continue;
      reads_model[at] = std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value& input) {
        return state_->moved_on(input.node) || reads_model[ir::index_of(input.node)];
      });
      if (reads_model[at] && at < objects.size() && objects[at] != nullptr) readers.push_back(id);
    }
    if (readers.empty()) return;
    const std::vector<bool> taken = needed_by(from, std::move(readers));
    std::vector<ir::NodeId> layers;
    std::copy_if(order.begin(), order.end(), std::back_inserter(layers),
                 [&](ir::NodeId id) { return taken[ir::index_of(id)]; });
    state_->next_ids = copy_layers(from, layers, *model.graph, unlisted, std::move(state_->next_ids));
    model.has_spare_layers = true;
    model.rewired = state_->rewired;
    for (const ir::NodeId id : state_->changed)
      if (state_->moved_on(id)) model.changed.insert(state_->next_ids[ir::index_of(id)]);
  }

  /// The layers that a model needs itself stay where they are.
  static void keep_needed(const GraphState& model, NewIds& moved) {
    const std::vector<bool> needed = needed_by_ends(*model.with_dependencies(model.graph));
    for (size_t i = 0; i < moved.size(); ++i) {
      if (needed[i]) moved[i] = ir::NodeId::none;
    }
  }

  /// Whether needed layers come after some that are elsewhere.
  bool take_dependencies(std::vector<const Node*>& nodes) const {
    const size_t before = nodes.size();
    for (const auto& [layer, other] : NodeAccess::dependencies(*state_)) {
      if (needed_[ir::index_of(NodeAccess::id(*layer))] && id_in(state_, *other) == ir::NodeId::none)
        nodes.push_back(other.get());
    }
    return nodes.size() > before;
  }

  void find_needed() {
    const std::shared_ptr<const ir::Graph> linked = state_->with_dependencies(state_->graph);
    const ir::Graph& graph = *linked;
    std::vector<ir::NodeId> ends = sinks_;
    for (const ir::Value& result : results_) ends.push_back(result.node);
    needed_ = needed_by(graph, std::move(ends));
    order_.clear();
    for (const ir::NodeId id : ir::topological_order(graph)) {
      if (needed_[ir::index_of(id)] && !is_result(graph.node(id))) order_.push_back(id);
    }
  }

  void take_needed_parameters() {
    for (const ir::NodeId id : state_->graph->nodes()) {
      if (needed_[ir::index_of(id)] && is_parameter(state_->graph->node(id))) parameters_.push_back(id);
    }
  }

  void take_parameters(const NodeVector& listed) {
    for (const auto& parameter : listed) {
      const ir::NodeId id = id_in(state_, *parameter);
      if (std::find(parameters_.begin(), parameters_.end(), id) != parameters_.end()) {
        throw_error(ErrorCode::invalid_argument, state_->graph->node(id).describe(), " is listed twice");
      }
      parameters_.push_back(id);
    }
    for (const ir::NodeId id : order_) {
      const ir::Node& node = state_->graph->node(id);
      if (!is_parameter(node) || std::find(parameters_.begin(), parameters_.end(), id) != parameters_.end()) {
        continue;
      }
      throw_error(ErrorCode::invalid_argument, node.describe(),
                  " is needed, and not among the parameters of the model");
    }
  }

  static void add_result(ir::Graph& graph, ir::Value value) {
    const ir::OpSchema& schema = ops::builtin_registry().get(ir::kResultType, "opset1");
    infer(graph, graph.add(schema, unique_name(schema.type), nullptr, {value}));
  }

  StatePtr state_;
  std::vector<ir::Value> results_;  // a Result's own output, or the value to make one of
  std::vector<ir::NodeId> sinks_, parameters_;
  std::vector<bool> needed_;
  std::vector<ir::NodeId> order_;  // what is needed, but for the Results
};

}  // namespace

ir::Value value_in(const StatePtr& state, const Output<Node>& port) {
  const ir::NodeId id = id_in(state, node_of(port));
  const ir::Node& node = state->graph->node(id);
  check_output(node, port.get_index());
  return {id, static_cast<int32_t>(port.get_index())};
}

namespace {

/// Of a layer just made: its object will keep those of the inputs.
NodeHandle handle_of_new(const Place& place) {
  return {place.state, static_cast<int32_t>(place.id), true, NodeAccess::inputs(*place.state, place.id)};
}

/// A layer that reads `inputs`, where these are. Its outputs are not inferred yet.
Place add_layer(const ir::OpSchema& schema, std::unique_ptr<ir::Attributes> attrs, const OutputVector& inputs) {
  std::vector<const Node*> nodes;
  for (const Output<Node>& input : inputs) nodes.push_back(&node_of(input));
  StatePtr state = one_state(nodes);
  std::vector<ir::Value> values;
  for (const Output<Node>& input : inputs) values.push_back(value_in(state, input));
  const ir::NodeId id = state->writable().add(state->owned ? unlisted(schema) : schema, unique_name(schema.type),
                                              std::move(attrs), std::move(values));
  state->has_spare_layers |= state->owned;
  return {std::move(state), id};
}

Place add_layer(const char* type, const char* opset, const OutputVector& inputs, const AnyMap& attributes) {
  const ir::OpSchema& schema = ops::builtin_registry().get(type, opset);
  return add_layer(
      schema, with_context([&] { return schema.type; }, [&] { return make_attributes(schema, attributes); }), inputs);
}

}  // namespace

NodeHandle copy_layer(const Node& layer, const OutputVector& inputs) {
  const ir::Node& old = NodeAccess::node(layer);
  // Adding it may move the layer to another draft.
  std::optional<ir::Constant> constant = old.constant;
  std::vector<ir::Body> bodies = copies_of(old.bodies);
  const Place added = add_layer(listed(*old.schema), NodeAccess::attributes(layer), inputs);
  share_variables(*NodeAccess::state(layer), *added.state);
  ir::Graph& graph = added.state->writable();
  ir::Node& node = graph.node(added.id);
  if (constant) node.outputs = {{constant->view.type, PartialShape(constant->view.dims), {}, {}, {}}};
  node.constant = std::move(constant);
  node.bodies = std::move(bodies);
  infer(graph, added.id);
  return handle_of_new(added);
}

NodeHandle make_open_layer(const char* type, const char* opset, const OutputVector& inputs) {
  return make_open_layer(ops::builtin_registry().get(type, opset), inputs);
}

NodeHandle make_open_layer(const ir::OpSchema& schema, const OutputVector& inputs) {
  const Place added = add_layer(schema, schema.make_attributes(), inputs);
  added.state->writable().node(added.id).outputs.clear();
  return handle_of_new(added);
}

OpenLayer open_layer(const Node& layer, const OutputVector& inputs) {
  std::vector<const Node*> nodes{&layer};
  for (const Output<Node>& input : inputs) nodes.push_back(&node_of(input));
  const StatePtr& now = NodeAccess::state(layer);
  if (now->owned && needed_by_ends(*now->graph)[ir::index_of(NodeAccess::id(layer))])
    throw_error(ErrorCode::invalid_argument, NodeAccess::node(layer).describe(),
                " belongs to a model and cannot be changed");
  StatePtr state = one_state(nodes);
  const ir::NodeId id = id_in(state, layer);
  return {std::move(state), id};
}

NodeHandle make_layer(const char* type, const char* opset, const OutputVector& inputs, const AnyMap& attributes) {
  const Place added = add_layer(type, opset, inputs, attributes);
  infer(added.state->writable(), added.id);
  return handle_of_new(added);
}

void set_parameter(const Node& parameter, const element::Type& type, const PartialShape& shape) {
  GraphState& state = *NodeAccess::state(parameter);
  ir::Node& node = state.writable().node(NodeAccess::id(parameter));
  with_context([&] { return node.describe(); }, [&] { require_layout_fits(node.outputs.at(0).rt_info, shape); });
  node.attributes = ir::make_attributes_of(ir::ParameterAttrs{shape, type});
  node.outputs.at(0).type = type;
  node.outputs.at(0).shape = shape;
  state.rewired = true;
  state.changed.insert(node.id);
}

void set_attributes(const Node& layer, const AnyMap& values) {
  const ir::Node& old = NodeAccess::node(layer);
  std::unique_ptr<ir::Attributes> changed = with_context(
      [&] { return old.describe(); }, [&] { return changed_attributes(*old.schema, *old.attributes, values); });
  GraphState& state = *NodeAccess::state(layer);
  state.writable().node(NodeAccess::id(layer)).attributes = std::move(changed);
  state.rewired = true;
  state.changed.insert(NodeAccess::id(layer));
}

NodeHandle make_constant(const Tensor& value) {
  const TensorState* tensor = &TensorAccess::state(value);
  Tensor dense = value;
  // Memory of the user may go before the model does.
  if (!tensor->dense || tensor->owner == nullptr) {
    dense = Tensor(tensor->type, tensor->shape);
    value.copy_to(dense);
    tensor = &TensorAccess::state(dense);
  }
  ir::Constant constant;
  constant.view = {tensor->type, ir::to_dims(tensor->shape), tensor->data};
  constant.owner = tensor->owner;
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kConstType, "opset1");
  StatePtr state = new_draft();
  const ir::NodeId id = state->graph->add_constant(schema, unique_name(schema.type), std::move(constant));
  return {std::move(state), static_cast<int32_t>(id), true};
}

Tensor tensor_over(const element::Type& type, const Shape& shape, const void* data, std::shared_ptr<void> owner) {
  if (data == nullptr && shape_size(shape) > 0)
    throw_error(ErrorCode::invalid_argument, "a Constant of shape ", shape, " got no elements");
  // Something owns the elements in any case: they must not be copied, and what is packed from them is known by it.
  const bool owned = owner.use_count() > 0;
  std::shared_ptr<const void> kept =
      owned ? std::shared_ptr<const void>(owner, data) : std::shared_ptr<const void>(data, [](const void*) {});
  return TensorAccess::share(type, shape, data, std::move(kept));
}

Tensor constant_value(const Node& constant) {
  const ir::Node& node = NodeAccess::node(constant);
  if (!node.constant) throw_error(ErrorCode::invalid_argument, node.describe(), " is no constant");
  const ir::TensorView& view = node.constant->view;
  return TensorAccess::share(view.type, Shape(view.dims.begin(), view.dims.end()), view.data, node.constant->owner);
}

bool has_one_value(const Tensor& value) {
  const element::Type& type = value.get_element_type();
  const size_t count = value.get_size();
  if (count == 0) return true;
  if (type == element::string) {
    const auto* const texts = value.data<std::string>();
    return std::all_of(texts, texts + count, [&](const std::string& text) { return text == *texts; });
  }
  const auto* const bytes = static_cast<const uint8_t*>(value.data());
  if (type.bitwidth() < 8) {
    const auto width = static_cast<int>(type.bitwidth());
    for (size_t i = 1; i < count; ++i) {
      if (ir::read_bits(bytes, static_cast<int64_t>(i), width) != ir::read_bits(bytes, 0, width)) return false;
    }
    return true;
  }
  return std::memcmp(bytes, bytes + type.size(), value.get_byte_size() - type.size()) == 0;
}

ir::NodeId bring(const StatePtr& model, const Node& layer) {
  if (id_in(model, layer) == ir::NodeId::none) join(model, NodeAccess::state(layer));
  return id_in(model, layer);
}

namespace {

/// The state of a layer and what it is to read: its model's, or one draft.
StatePtr state_with(const Node& layer, const OutputVector& sources) {
  StatePtr state = NodeAccess::state(layer);
  if (state->owned) {
    for (const Output<Node>& source : sources) {
      NodeAccess::enter(node_of(source));
      bring(state, node_of(source));
    }
    return state;
  }
  std::vector<const Node*> nodes{&layer};
  for (const Output<Node>& source : sources) nodes.push_back(&node_of(source));
  return one_state(nodes);
}

/// A layer that has no inputs yet has no outputs, either, until others read them: what they are is not known then.
void promise_output(const StatePtr& state, const Output<Node>& source) {
  constexpr size_t kMost = 1024;
  const ir::NodeId id = id_in(state, node_of(source));
  const ir::Node& node = state->graph->node(id);
  if (!node.outputs.empty() || is_result(node) || source.get_index() >= kMost) return;
  std::vector<ir::OutputPort>& outputs = state->writable().node(id).outputs;
  outputs.resize(source.get_index() + 1);
  for (ir::OutputPort& port : outputs) port.shape = PartialShape::dynamic();
}

/// What a layer of the state may read.
ir::Value readable(const StatePtr& state, const Node& layer, const Output<Node>& source) {
  promise_output(state, source);
  ir::Value value = value_in(state, source);
  if (is_result(state->graph->node(value.node))) value = state->graph->node(value.node).inputs.at(0);
  if (needed_by(*state->graph, {value.node})[ir::index_of(id_in(state, layer))])
    throw_error(ErrorCode::invalid_argument, NodeAccess::node(layer).describe(), " cannot read ", source,
                ", which follows from it");
  return value;
}

void note_new_inputs(const StatePtr& state, const Node& layer) {
  state->rewired = true;
  state->has_spare_layers |= state->owned;
  state->changed.insert(id_in(state, layer));
  NodeAccess::keep_inputs(layer);
}

}  // namespace

void rewire(const Node& layer, size_t index, const Output<Node>& source) {
  const StatePtr state = state_with(layer, {source});
  const ir::Value value = readable(state, layer, source);
  state->writable().set_input({id_in(state, layer), static_cast<int32_t>(index)}, value);
  note_new_inputs(state, layer);
}

void set_arguments(const Node& layer, const OutputVector& sources) {
  const StatePtr state = state_with(layer, sources);
  std::vector<ir::Value> values;
  for (const Output<Node>& source : sources) values.push_back(readable(state, layer, source));
  state->writable().set_inputs(id_in(state, layer), std::move(values));
  note_new_inputs(state, layer);
}

NodeHandle handle_of(const Node& node) { return NodeAccess::handle(node); }

StatePtr model_of_layers(const OutputVector& results, const NodeVector& sinks,
                         const std::optional<NodeVector>& parameters, const std::string& name) {
  return with_context([&] { return concat("the model '", name, "'"); },
                      [&] { return Parts(results, sinks, parameters).make_state(name); });
}

}  // namespace terroir::detail
