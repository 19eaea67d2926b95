#include "terroir/node.hpp"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <set>

#include "ir/base/error.hpp"
#include "ir/graph/names.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/draft.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/model_ends.hpp"
#include "terroir/layout.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/ends.hpp"

namespace terroir {

namespace {

using detail::NodeAccess;

const Node& node_behind(const Output<const Node>& port) {
  if (port.get_node() == nullptr) throw_error(ErrorCode::invalid_argument, "the port is empty");
  return *port.get_node();
}

const ir::OutputPort& port_of(const Output<const Node>& port) {
  const Node& node = node_behind(port);
  return NodeAccess::state(node)->graph->port(NodeAccess::value(port));
}

ir::OutputPort& writable_port(const Output<Node>& port) {
  const Output<const Node> reading = port;
  return NodeAccess::state(node_behind(reading))->writable().port(NodeAccess::value(reading));
}

detail::RtInfoMaps::Owner rt_info_owner(const Output<const Node>& port) {
  const ir::Value value = NodeAccess::value(port);
  return {detail::RtInfoMaps::Of::output, value.node, value.output};
}

/// The map that code may have written to; null while nobody has asked for it.
AnyMap* written_rt_info(const Output<const Node>& port) {
  const auto& state = NodeAccess::state(node_behind(port));
  return state->rt_info.find(*state->graph, rt_info_owner(port));
}

/// Those that a Result has beside the names of the tensor it takes; of any other port, its names.
std::vector<std::string>& own_names(const Output<Node>& port) {
  const Node& node = node_behind(port);
  ir::Node& layer = NodeAccess::state(node)->writable().node(NodeAccess::node(node).id);
  detail::check_output(layer, port.get_index());
  return layer.outputs[port.get_index()].names;
}

/// Whether the tensor of an output is that of an input, whose names are none of the output's.
bool feeds_as_input(const Output<const Node>& port) {
  return detail::is_parameter(NodeAccess::state(node_behind(port))->graph->node(NodeAccess::value(port).node));
}

/// A layer of a file: objects of its class are made when they are asked for, and then kept beside it.
class NodeWithoutClass final : public Node {
 public:
  explicit NodeWithoutClass(const detail::NodeHandle& handle) : Node(handle) {}

  bool tell_attributes(AnyMap* instead) override {
    bool has_told = false;
    for (const std::shared_ptr<Node>& object : NodeAccess::objects_of_class(*this))
      has_told |= NodeAccess::tell_unnamed(*object, instead);
    return has_told;
  }
};

}  // namespace

NodeAccess::Place NodeAccess::place(const Node& node) {
  const std::shared_ptr<detail::GraphState>* state = &node.state_;
  ir::NodeId id = (*state)->current(static_cast<ir::NodeId>(node.id_));
  while ((*state)->moved_on(id)) {
    id = (*state)->next_ids[ir::index_of(id)];
    state = &(*state)->next;
    id = (*state)->current(id);
  }
  return {*state, id};
}
const std::shared_ptr<detail::GraphState>& NodeAccess::state(const Node& node) { return place(node).state; }
ir::NodeId NodeAccess::id(const Node& node) { return place(node).id; }

const ir::Node& NodeAccess::node(const Node& node) {
  const ir::Graph& graph = *state(node)->graph;
  const ir::NodeId id = NodeAccess::id(node);
  if (!graph.contains(id)) throw_error(ErrorCode::not_found, "the layer is not part of its model any more");
  return graph.node(id);
}

std::string detail::class_name(const std::string& file_type) {
  const std::string type(listed_type(file_type));
  // Files spell these as the first frameworks did.
  static constexpr std::pair<std::string_view, const char*> kClasses[] = {
      {"Const", "Constant"}, {"PReLU", "PRelu"}, {"ReLU", "Relu"}, {"SoftMax", "Softmax"}};
  for (const auto& [in_files, name] : kClasses) {
    if (type == in_files) return name;
  }
  return type;
}

std::shared_ptr<Node> NodeAccess::object(const std::shared_ptr<detail::GraphState>& state, ir::NodeId id) {
  if (auto known = state->objects.find(id)) return known;
  const detail::NodeHandle handle{state, static_cast<int32_t>(id)};
  Node* made = nullptr;  // one pointer type: std::make_shared of each class is much code
  if (state->graph->contains(id)) {
    const ir::Node& node = state->graph->node(id);
    if (detail::is_parameter(node)) made = new op::v0::Parameter(handle);
    if (node.is(ir::kConstType)) made = new op::v0::Constant(handle);
    if (detail::is_result(node)) made = new op::v0::Result(handle);
  }
  if (made == nullptr) made = new NodeWithoutClass(handle);
  return state->objects.enter(id, std::shared_ptr<Node>(made));
}

void NodeAccess::announce(const Node& node, const detail::NodeHandle& handle) {
  node.belongings().inputs = handle.inputs;
  node.belongings().is_announced = true;
  handle.state->objects.announce(static_cast<ir::NodeId>(handle.id), const_cast<Node*>(&node));
}

void NodeAccess::leave(const Node& node) {
  if (node.belongings_ == nullptr || !node.belongings_->is_announced) return;
  node.belongings_->is_announced = false;
  const detail::GraphState* state = node.state_.get();
  ir::NodeId id = state->current(static_cast<ir::NodeId>(node.id_));
  state->objects.leave(id, &node);
  while (state->moved_on(id)) {
    id = state->next_ids[ir::index_of(id)];
    state = state->next.get();
    id = state->current(id);
    state->objects.leave(id, &node);
  }
}

void NodeAccess::enter(const Node& node) {
  const std::shared_ptr<Node> object = const_cast<Node&>(node).weak_from_this().lock();
  if (object == nullptr) return;
  const Place here = place(node);
  here.state->objects.enter(here.id, object);
}

bool NodeAccess::tell_attributes(Node& object, AnyMap* instead) {
  return with_context([&] { return NodeAccess::node(object).describe(); },
                      [&] { return object.tell_attributes(instead); });
}

void NodeAccess::tell_attributes(detail::GraphState& state) {
  detail::take_up_variables(state);
  for (const std::shared_ptr<Node>& object : state.objects.all()) {
    // Folded layers are in no graph any more.
    if (object != nullptr && NodeAccess::state(*object)->graph->contains(NodeAccess::id(*object)))
      tell_attributes(*object, nullptr);
  }
}

std::vector<NodeAccess::Changed> NodeAccess::changed_attributes(const detail::GraphState& state) {
  std::vector<Changed> changed = detail::changed_variables(state);
  for (const std::shared_ptr<Node>& object : state.objects.all()) {
    if (object == nullptr) continue;
    const Place here = place(*object);
    AnyMap values;
    if (here.state.get() == &state && state.graph->contains(here.id) && tell_attributes(*object, &values))
      changed.push_back({here.id, std::move(values)});
  }
  return changed;
}

std::unique_ptr<ir::Attributes> NodeAccess::attributes(const Node& node) {
  const ir::Node& layer = NodeAccess::node(node);
  const Place here = place(node);
  const std::shared_ptr<Node> object = here.state->objects.find(here.id);
  for (Node* one : {const_cast<Node*>(&node), object.get()}) {
    AnyMap values;
    if (one != nullptr && tell_attributes(*one, &values))
      return detail::changed_attributes(*layer.schema, *layer.attributes, values);
  }
  return layer.attributes->clone();
}

void NodeAccess::stand_for(Node& object, const detail::NodeHandle& handle) {
  leave(object);
  object.state_ = handle.state;
  object.id_ = handle.id;
  handle.state->has_dependencies |= object.belongings_ != nullptr && !object.belongings_->comes_after.empty();
}
void detail::stand_for(Node& object, const NodeHandle& handle) { NodeAccess::stand_for(object, handle); }

NodeVector NodeAccess::inputs(const detail::GraphState& state, ir::NodeId id) {
  NodeVector objects;
  for (const ir::Value& input : state.graph->node(id).inputs)
    objects.push_back(input.node != ir::NodeId::none ? state.objects.find(input.node) : nullptr);
  return objects;
}

void NodeAccess::keep_inputs(const Node& node) {
  const Place here = place(node);
  const std::shared_ptr<Node> object = here.state->objects.find(here.id);
  NodeVector others;
  if (object != nullptr) others = objects_of_class(*object);
  std::vector<const Node*> all{&node, object.get()};
  for (const std::shared_ptr<Node>& other : others) all.push_back(other.get());
  for (const Node* one : all) {
    if (one == nullptr) continue;
    NodeVector kept = inputs(*here.state, here.id);  // those of before are gone after the lock is
    const std::lock_guard lock(here.state->objects.mutex());
    one->belongings().inputs.swap(kept);
  }
}

NodeVector NodeAccess::objects_of_class(const Node& node) {
  const std::lock_guard lock(state(node)->objects.mutex());
  NodeVector objects;
  if (node.belongings_ == nullptr) return objects;
  for (const auto& [make, object] : node.belongings_->of_class) objects.push_back(object);
  return objects;
}

std::shared_ptr<Node> NodeAccess::object_of_class(const Node& node, detail::MakeObject make) {
  const auto known = [&]() -> std::shared_ptr<Node> {
    for (const auto& [maker, object] : node.belongings().of_class)
      if (maker == make) return object;
    return nullptr;
  };
  std::mutex& mutex = state(node)->objects.mutex();
  {
    const std::lock_guard lock(mutex);
    if (auto object = known()) return object;
  }
  const std::shared_ptr<Node> made = make(handle(node));
  const std::lock_guard lock(mutex);
  if (auto object = known()) return object;
  node.belongings().of_class.emplace_back(make, made);
  return made;
}

void NodeAccess::drop_inputs(const Node& node) {
  if (node.belongings_ == nullptr) return;
  // One after the other: what they keep in turn may be a long chain.
  NodeVector going = std::move(node.belongings_->inputs);
  while (!going.empty()) {
    const std::shared_ptr<Node> last = std::move(going.back());
    going.pop_back();
    if (last.use_count() != 1) continue;
    const std::lock_guard lock(state(*last)->objects.mutex());
    if (last->belongings_ == nullptr) continue;
    NodeVector& inputs = last->belongings_->inputs;
    std::move(inputs.begin(), inputs.end(), std::back_inserter(going));
    inputs.clear();
  }
}

Output<Node> NodeAccess::port(const std::shared_ptr<detail::GraphState>& state, ir::Value value) {
  return {object(state, value.node), static_cast<size_t>(value.output)};
}

ir::Value NodeAccess::value(const Output<const Node>& port) {
  const Node& handle = node_behind(port);
  const ir::Node& node = NodeAccess::node(handle);
  if (detail::is_result(node)) return node.inputs.at(0);
  return {node.id, static_cast<int32_t>(port.get_index())};
}

std::vector<std::string> NodeAccess::names(const Output<const Node>& port) {
  const Node& handle = node_behind(port);
  const ir::Node& node = NodeAccess::node(handle);
  detail::check_output(node, port.get_index());
  // A Result that is no output of the model is no Result of its graph.
  const bool has_own = !node.outputs[port.get_index()].names.empty();
  return ir::tensor_names(*state(handle)->graph,
                          has_own ? ir::Value{node.id, static_cast<int32_t>(port.get_index())} : value(port));
}

std::shared_ptr<Node> detail::object_of_class(const Node& node, std::shared_ptr<Node> (*make)(const NodeHandle&)) {
  const NodeAccess::Place here = NodeAccess::place(node);
  const std::shared_ptr<Node> object = here.state->objects.find(here.id);
  if (object == nullptr) return NodeAccess::object_of_class(node, make);
  return dynamic_cast<const NodeWithoutClass*>(object.get()) != nullptr ? NodeAccess::object_of_class(*object, make)
                                                                        : object;
}

Node::Node(const detail::NodeHandle& handle) : state_(handle.state), id_(handle.id) {
  static_cast<void>(NodeAccess::node(*this));  // throws if it is not there
  if (handle.is_new) NodeAccess::announce(*this, handle);
}
Node::~Node() {
  NodeAccess::leave(*this);
  NodeAccess::drop_dependencies(*this);
  NodeAccess::drop_inputs(*this);
}

const std::string Node::get_friendly_name() const { return NodeAccess::node(*this).name; }
void Node::set_friendly_name(const std::string& name) {
  static_cast<void>(NodeAccess::node(*this));
  NodeAccess::state(*this)->writable().node(NodeAccess::id(*this)).name = name;
}
const std::string Node::get_name() const { return concat(get_type_name(), "_", get_instance_id()); }
size_t Node::get_instance_id() const { return ir::index_of(NodeAccess::id(*this)); }

const char* Node::get_type_name() const { return detail::class_info(*NodeAccess::node(*this).schema).name; }
const DiscreteTypeInfo& Node::get_type_info() const { return detail::class_info(*NodeAccess::node(*this).schema); }

size_t Node::get_input_size() const { return NodeAccess::node(*this).inputs.size(); }
size_t Node::get_output_size() const { return NodeAccess::node(*this).outputs.size(); }

Output<Node> Node::output(size_t index) {
  const ir::Node& node = NodeAccess::node(*this);
  detail::check_output(node, index);
  NodeAccess::enter(*this);
  if (auto object = weak_from_this().lock()) return {std::move(object), index};
  return NodeAccess::port(NodeAccess::state(*this), {node.id, static_cast<int32_t>(index)});
}
Output<const Node> Node::output(size_t index) const { return const_cast<Node*>(this)->output(index); }

std::vector<Output<Node>> Node::outputs() {
  std::vector<Output<Node>> ports;
  for (size_t i = 0; i < get_output_size(); ++i) ports.push_back(output(i));
  return ports;
}

std::vector<Output<const Node>> Node::outputs() const {
  std::vector<Output<const Node>> ports;
  for (size_t i = 0; i < get_output_size(); ++i) ports.push_back(output(i));
  return ports;
}

Output<Node> Node::input_value(size_t index) {
  const ir::Node& node = NodeAccess::node(*this);
  detail::check_input(node, index);
  const NodeAccess::Place here = NodeAccess::place(*this);
  Output<Node> source = NodeAccess::port(here.state, node.inputs[index]);
  std::shared_ptr<Node> kept = source.get_node_shared_ptr();
  const std::lock_guard lock(here.state->objects.mutex());
  NodeVector& inputs = belongings().inputs;
  if (inputs.size() <= index) inputs.resize(index + 1);
  inputs[index].swap(kept);
  return source;
}

detail::NodeBelongings& Node::belongings() const {
  if (belongings_ == nullptr) belongings_ = std::make_unique<detail::NodeBelongings>();
  return *belongings_;
}

Node& NodeAccess::own_object(const Node& node) {
  const Place here = place(node);
  const std::shared_ptr<Node> object = here.state->objects.find(here.id);
  return object != nullptr ? *object : const_cast<Node&>(node);
}
NodeVector& NodeAccess::comes_after(const Node& node) { return own_object(node).belongings().comes_after; }
OutputVector& NodeAccess::later_inputs(const Node& node) { return own_object(node).belongings().later_inputs; }
std::vector<Node*>& NodeAccess::come_after(const Node& node) { return own_object(node).belongings().come_after; }

std::vector<NodeAccess::Dependency> NodeAccess::dependencies(const detail::GraphState& state) {
  std::vector<Dependency> pairs;
  if (!state.has_dependencies) return pairs;
  for (const std::shared_ptr<Node>& object : state.objects.all()) {
    if (object == nullptr || object->belongings_ == nullptr || place(*object).state.get() != &state) continue;
    for (const std::shared_ptr<Node>& before : object->belongings_->comes_after) {
      if (before != nullptr) pairs.emplace_back(object, before);
    }
  }
  return pairs;
}

namespace {

void forget_dependent(const std::shared_ptr<Node>& before, const Node* layer) {
  if (before == nullptr) return;
  std::vector<Node*>& known = NodeAccess::come_after(*before);
  known.erase(std::remove(known.begin(), known.end(), layer), known.end());
}

}  // namespace

void NodeAccess::drop_dependencies(const Node& node) {
  if (node.belongings_ == nullptr) return;
  for (const std::shared_ptr<Node>& before : node.belongings_->comes_after) forget_dependent(before, &node);
}

void Node::add_control_dependency(std::shared_ptr<Node> layer) {
  NodeVector& known = NodeAccess::comes_after(*this);
  NodeAccess::state(*this)->has_dependencies = true;
  if (std::find(known.begin(), known.end(), layer) != known.end()) return;
  known.push_back(layer);
  if (layer != nullptr) NodeAccess::come_after(*layer).push_back(&NodeAccess::own_object(*this));
}
void Node::remove_control_dependency(const std::shared_ptr<Node>& layer) {
  NodeVector& known = NodeAccess::comes_after(*this);
  known.erase(std::remove(known.begin(), known.end(), layer), known.end());
  forget_dependent(layer, &NodeAccess::own_object(*this));
}
void Node::clear_control_dependencies() {
  NodeVector known;
  known.swap(NodeAccess::comes_after(*this));
  for (const std::shared_ptr<Node>& layer : known) forget_dependent(layer, &NodeAccess::own_object(*this));
}
const NodeVector& Node::get_control_dependencies() const { return NodeAccess::comes_after(*this); }

const std::vector<Node*> Node::get_control_dependents() const { return NodeAccess::come_after(*this); }
void Node::clear_control_dependents() {
  const std::shared_ptr<Node> self = shared_from_this();
  for (Node* layer : get_control_dependents()) layer->remove_control_dependency(self);
}
void Node::add_node_control_dependencies(const std::shared_ptr<const Node>& layer) {
  for (const std::shared_ptr<Node>& before : NodeVector(layer->get_control_dependencies()))
    add_control_dependency(before);
}
void Node::add_node_control_dependents(const std::shared_ptr<const Node>& layer) {
  for (Node* after : layer->get_control_dependents()) after->add_control_dependency(shared_from_this());
}
void Node::transfer_control_dependents(const std::shared_ptr<Node>& replacement) {
  replacement->add_node_control_dependents(shared_from_this());
  clear_control_dependents();
}

descriptor::Tensor& Node::get_output_tensor(size_t index) const {
  static_cast<void>(output(index));
  const std::lock_guard lock(NodeAccess::state(*this)->objects.mutex());
  return belongings().tensor(const_cast<Node*>(this), index);
}
descriptor::Tensor& Node::get_input_tensor(size_t index) const {
  const Output<const Node> source = input_value(index);
  return source.get_node()->get_output_tensor(source.get_index());
}

Output<const Node> Node::input_value(size_t index) const { return const_cast<Node*>(this)->input_value(index); }

Output<Node> Node::get_input_source_output(size_t index) { return input_value(index); }
Output<const Node> Node::get_input_source_output(size_t index) const { return input_value(index); }

std::shared_ptr<Node> Node::get_input_node_shared_ptr(size_t index) const {
  return const_cast<Node*>(this)->input_value(index).get_node_shared_ptr();
}

std::vector<Output<Node>> Node::input_values() {
  std::vector<Output<Node>> values;
  for (size_t i = 0; i < get_input_size(); ++i) values.push_back(input_value(i));
  return values;
}

const element::Type Node::get_output_element_type(size_t index) const { return output(index).get_element_type(); }
const PartialShape Node::get_output_partial_shape(size_t index) const { return output(index).get_partial_shape(); }
const Shape Node::get_output_shape(size_t index) const { return output(index).get_shape(); }
const element::Type Node::get_input_element_type(size_t index) const { return input_value(index).get_element_type(); }
const PartialShape Node::get_input_partial_shape(size_t index) const { return input_value(index).get_partial_shape(); }
const Shape Node::get_input_shape(size_t index) const { return input_value(index).get_shape(); }

Output<const Node> Node::get_default_output() const {
  if (get_output_size() != 1) throw_error(ErrorCode::invalid_argument, *this, " has ", get_output_size(), " outputs");
  return output(0);
}
Output<Node> Node::get_default_output() {
  static_cast<void>(std::as_const(*this).get_default_output());
  return output(0);
}
const element::Type Node::get_element_type() const { return get_default_output().get_element_type(); }
const Shape Node::get_shape() const { return get_default_output().get_shape(); }

bool Node::is_dynamic() const {
  const std::vector<Output<const Node>> ports = outputs();
  return std::any_of(ports.begin(), ports.end(), [](const auto& p) { return p.get_partial_shape().is_dynamic(); });
}

void Node::validate_and_infer_types() {
  static_cast<void>(NodeAccess::node(*this));
  detail::infer_from(*NodeAccess::state(*this), NodeAccess::id(*this));
}

std::map<std::string, std::string> Node::get_attributes() const {
  std::map<std::string, std::string> texts;
  for (const ir::AttributeText& text : ir::to_text(*NodeAccess::attributes(*this))) {
    texts.emplace(text.name, text.value);
  }
  return texts;
}

AnyMap& NodeAccess::rt_info(const Node& node, detail::RtInfoMaps::Of of, size_t index) {
  const Place here = place(node);
  return here.state->rt_info.at(*here.state->graph, {of, here.id, static_cast<int32_t>(index)});
}

RTMap& Node::get_rt_info() { return const_cast<RTMap&>(std::as_const(*this).get_rt_info()); }
const RTMap& Node::get_rt_info() const {
  static_cast<void>(NodeAccess::node(*this));
  return NodeAccess::rt_info(*this, detail::RtInfoMaps::Of::layer);
}

std::shared_ptr<Node> Node::clone_with_new_inputs(const OutputVector& inputs) const {
  const detail::NodeHandle copy = detail::copy_layer(*this, inputs);
  auto object = NodeAccess::object(copy.state, static_cast<ir::NodeId>(copy.id));
  NodeAccess::keep_inputs(*object);
  return object;
}
std::shared_ptr<Node> Node::copy_with_new_inputs(const OutputVector& inputs) const {
  auto copy = clone_with_new_inputs(inputs);
  copy->set_friendly_name(get_friendly_name());
  for (const auto& before : get_control_dependencies()) copy->add_control_dependency(before);
  return copy;
}

bool Node::operator==(const Node& other) const {
  return NodeAccess::state(*this) == NodeAccess::state(other) && NodeAccess::id(*this) == NodeAccess::id(other);
}

const element::Type Output<const Node>::get_element_type() const { return port_of(*this).type; }
const PartialShape Output<const Node>::get_partial_shape() const { return port_of(*this).shape; }
const Shape Output<const Node>::get_shape() const {
  const PartialShape& shape = port_of(*this).shape;
  if (shape.is_dynamic()) throw_error(ErrorCode::invalid_argument, "the shape of ", *this, " is dynamic");
  return shape.to_shape();
}

const std::unordered_set<std::string> Output<const Node>::get_names() const {
  const auto names = NodeAccess::names(*this);
  return {names.begin(), names.end()};
}

const std::string Output<const Node>::get_any_name() const {
  const auto names = NodeAccess::names(*this);
  if (names.empty()) throw_error(ErrorCode::not_found, "the tensor of ", *this, " has no name");
  return names.front();
}

descriptor::Tensor& Output<const Node>::get_tensor() const { return node_behind(*this).get_output_tensor(index_); }

const RTMap& Output<const Node>::get_rt_info() const {
  const auto& state = NodeAccess::state(node_behind(*this));
  return state->rt_info.at(*state->graph, rt_info_owner(*this));
}
RTMap& Output<Node>::get_rt_info() { return const_cast<RTMap&>(std::as_const(*this).get_rt_info()); }

bool Output<const Node>::operator==(const Output& other) const {
  if (node_ == nullptr || other.node_ == nullptr) return node_ == other.node_;
  return index_ == other.index_ && *node_ == *other.node_;
}

bool Output<const Node>::operator<(const Output& other) const {
  const auto key = [](const Output& port) {
    return std::tuple(port.node_ != nullptr ? NodeAccess::state(*port.node_).get() : nullptr,
                      port.node_ != nullptr ? NodeAccess::id(*port.node_) : ir::NodeId::none, port.index_);
  };
  return key(*this) < key(other);
}

void Output<Node>::set_names(const std::unordered_set<std::string>& names) {
  const std::set<std::string> sorted(names.begin(), names.end());
  own_names(*this).assign(sorted.begin(), sorted.end());
}

void Output<Node>::add_names(const std::unordered_set<std::string>& names) {
  auto& own = own_names(*this);
  std::set<std::string> all(own.begin(), own.end());
  if (all.empty() && detail::is_result(NodeAccess::node(*node_)) && !feeds_as_input(*this)) {
    const auto known = NodeAccess::names(*this);
    all.insert(known.begin(), known.end());
  }
  all.insert(names.begin(), names.end());
  own.assign(all.begin(), all.end());
}

namespace {

std::ostream& print_name(std::ostream& out, const Node& node) {
  const DiscreteTypeInfo& type = node.get_type_info();
  return out << type.version_id << "::" << type.name << ' ' << node.get_friendly_name();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Node* node) {
  return node != nullptr ? out << *node : out << "no layer";
}

std::ostream& operator<<(std::ostream& out, const Node& node) {
  print_name(out, node) << " (";
  const char* before = "";
  for (size_t i = 0; i < node.get_input_size(); ++i) {
    out << before << node.input_value(i);
    before = ", ";
  }
  out << ") -> (";
  before = "";
  for (const Output<const Node>& port : node.outputs()) {
    out << before << port.get_element_type() << port.get_partial_shape();
    before = ", ";
  }
  return out << ')';
}

std::ostream& operator<<(std::ostream& out, const Output<const Node>& port) {
  if (port.get_node() == nullptr) return out << "empty port";
  return print_name(out, *port.get_node())
         << '[' << port.get_index() << "]:" << port.get_element_type() << port.get_partial_shape();
}

std::ostream& operator<<(std::ostream& out, const Output<Node>& port) { return out << Output<const Node>(port); }

namespace layout {

Layout get_layout(const Output<const Node>& port) {
  if (const AnyMap* info = written_rt_info(port)) {
    const auto entry = info->find("layout");
    const AnyMap* fields = entry != info->end() ? entry->second.get_if<AnyMap>() : nullptr;
    return fields != nullptr && fields->count("layout") != 0 ? Layout(fields->at("layout").as<std::string>())
                                                             : Layout();
  }
  const ir::RtInfo& info = port_of(port).rt_info;
  const auto entry = info.find("layout");
  if (entry == info.end()) return Layout();
  const auto text = entry->second.find("layout");
  return text == entry->second.end() ? Layout() : Layout(text->second);
}

void set_layout(Output<Node> port, const Layout& layout) {
  ir::OutputPort& target = writable_port(port);
  if (layout.empty()) {
    target.rt_info.erase("layout");
    if (AnyMap* written = written_rt_info(port)) written->erase("layout");
    return;
  }
  const std::string text = layout.to_string();
  if (!detail::fits_rank(layout, target.shape.rank())) {
    throw_error(ErrorCode::invalid_argument, "the layout ", layout, " does not fit ", port);
  }
  const auto write = [&text](auto& record) {
    record["version"] = "0";
    record["layout"] = text;
  };
  auto& record = target.rt_info["layout"];
  record.clear();
  write(record);
  if (AnyMap* written = written_rt_info(port)) {
    AnyMap as_written;
    write(as_written);
    (*written)["layout"] = std::move(as_written);
  }
}

}  // namespace layout

}  // namespace terroir
