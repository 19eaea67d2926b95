#include "ir/graph/graph.hpp"

#include <algorithm>

#include "ir/base/error.hpp"

namespace terroir::ir {

std::string Node::describe() const {
  std::string text = schema->type + " '" + name + "'";
  std::string where;
  if (origin.layer_id >= 0) where = "layer " + std::to_string(origin.layer_id);
  if (!origin.file.empty() || origin.line > 0) {
    if (!where.empty()) where += ", ";
    where += origin.file.empty() ? "line " + std::to_string(origin.line)
                                 : origin.file + (origin.line > 0 ? ":" + std::to_string(origin.line) : std::string());
  }
  return where.empty() ? text : text + " (" + where + ")";
}

NodeId Graph::add(const OpSchema& schema, std::string name, std::unique_ptr<Attributes> attributes,
                  std::vector<Value> inputs) {
  const auto id = static_cast<NodeId>(nodes_.size());
  auto node = std::make_unique<Node>();
  node->id = id;
  node->schema = &schema;
  node->name = std::move(name);
  node->attributes = attributes ? std::move(attributes) : schema.make_attributes();
  if (schema.arity.outputs > 0) node->outputs.resize(static_cast<size_t>(schema.arity.outputs));
  nodes_.push_back(std::move(node));
  uses_.emplace_back();
  ++live_;
  if (schema.type == kParameterType) parameters_.push_back(id);
  if (schema.type == kResultType) results_.push_back(id);
  set_inputs(id, std::move(inputs));
  return id;
}

NodeId Graph::add_constant(const OpSchema& schema, std::string name, Constant constant) {
  ConstAttrs attrs;
  attrs.element_type = constant.view.type;
  attrs.shape = PartialShape(std::vector<Dimension>(constant.view.dims.begin(), constant.view.dims.end()));
  OutputPort output;
  output.type = attrs.element_type;
  output.shape = attrs.shape;
  const NodeId id = add(schema, std::move(name), make_attributes_of(std::move(attrs)));
  Node& added = node(id);
  added.outputs = {std::move(output)};
  added.constant = std::move(constant);
  return id;
}

Node& Graph::node(NodeId id) {
  TERROIR_ASSERT(contains(id), static_cast<int32_t>(id));
  return *nodes_[index_of(id)];
}
const Node& Graph::node(NodeId id) const {
  TERROIR_ASSERT(contains(id), static_cast<int32_t>(id));
  return *nodes_[index_of(id)];
}
OutputPort& Graph::port(Value value) { return node(value.node).outputs.at(static_cast<size_t>(value.output)); }
const OutputPort& Graph::port(Value value) const {
  return node(value.node).outputs.at(static_cast<size_t>(value.output));
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> ids;
  ids.reserve(live_);
  for (const auto& node : nodes_)
    if (node) ids.push_back(node->id);
  return ids;
}

std::vector<NodeId> Graph::sinks() const {
  std::vector<NodeId> ids;
  for (const auto& node : nodes_)
    if (node && !node->schema->flags.pure && node->is("Assign")) ids.push_back(node->id);
  return ids;
}

const std::vector<Use>& Graph::uses(Value value) const {
  static const std::vector<Use> kNone;
  const auto& by_output = uses_.at(index_of(value.node));
  const auto output = static_cast<size_t>(value.output);
  return output < by_output.size() ? by_output[output] : kNone;
}

void Graph::insert_use(Value value, Use use) {
  auto& by_output = uses_[index_of(value.node)];
  const auto output = static_cast<size_t>(value.output);
  if (by_output.size() <= output) by_output.resize(output + 1);
  auto& list = by_output[output];
  list.insert(std::upper_bound(list.begin(), list.end(), use), use);
}

void Graph::remove_use(Value value, Use use) {
  auto& list = uses_[index_of(value.node)].at(static_cast<size_t>(value.output));
  const auto found = std::lower_bound(list.begin(), list.end(), use);
  TERROIR_ASSERT(found != list.end() && *found == use, static_cast<int32_t>(use.node), use.input);
  list.erase(found);
}

void Graph::set_input(Use use, Value value) {
  Value& slot = node(use.node).inputs.at(static_cast<size_t>(use.input));
  if (slot.node != NodeId::none) remove_use(slot, use);
  slot = value;
  if (value.node != NodeId::none) insert_use(value, use);
}

void Graph::add_input(NodeId id, Value value) {
  Node& target = node(id);
  target.inputs.emplace_back();
  set_input({id, static_cast<int32_t>(target.inputs.size() - 1)}, value);
}

void Graph::set_inputs(NodeId id, std::vector<Value> values) {
  Node& target = node(id);
  for (size_t i = 0; i < target.inputs.size(); ++i) set_input({id, static_cast<int32_t>(i)}, Value{});
  target.inputs.assign(values.size(), Value{});
  for (size_t i = 0; i < values.size(); ++i) set_input({id, static_cast<int32_t>(i)}, values[i]);
}

void Graph::replace_uses(Value from, Value to) {
  if (from == to) return;
  const std::vector<Use> moved = uses(from);
  for (const Use& use : moved) set_input(use, to);
  auto& names = port(to).names;
  auto& old_names = port(from).names;
  names.insert(names.end(), old_names.begin(), old_names.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  old_names.clear();
}

void Graph::erase(NodeId id) {
  Node& victim = node(id);
  for (const auto& list : uses_[index_of(id)]) TERROIR_ASSERT(list.empty(), victim.name, list.size());
  for (size_t i = 0; i < victim.inputs.size(); ++i) set_input({id, static_cast<int32_t>(i)}, Value{});
  std::erase(parameters_, id);
  std::erase(results_, id);
  nodes_[index_of(id)].reset();
  uses_[index_of(id)].clear();
  --live_;
}

size_t Graph::erase_unreachable() {
  std::vector<bool> needed(nodes_.size(), false);
  std::vector<NodeId> stack = results_;
  const auto side_effects = sinks();
  stack.insert(stack.end(), side_effects.begin(), side_effects.end());
  for (NodeId id : parameters_) needed[index_of(id)] = true;
  for (NodeId id : stack) needed[index_of(id)] = true;
  while (!stack.empty()) {
    const Node& current = node(stack.back());
    stack.pop_back();
    for (const Value& input : current.inputs) {
      if (input.node == NodeId::none || needed[index_of(input.node)]) continue;
      needed[index_of(input.node)] = true;
      stack.push_back(input.node);
    }
  }
  size_t erased = 0;
  // Unneeded nodes are used by unneeded nodes only, so all their links can be cut before any of them goes.
  for (const auto& entry : nodes_) {
    if (!entry || needed[index_of(entry->id)]) continue;
    for (size_t i = 0; i < entry->inputs.size(); ++i) set_input({entry->id, static_cast<int32_t>(i)}, Value{});
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i] || needed[i]) continue;
    erase(static_cast<NodeId>(i));
    ++erased;
  }
  return erased;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name_);
  copy->rt_info_ = rt_info_;
  copy->ir_version_ = ir_version_;
  copy->uses_ = uses_;
  copy->parameters_ = parameters_;
  copy->results_ = results_;
  copy->live_ = live_;
  copy->nodes_.reserve(nodes_.size());
  for (const auto& from : nodes_) {
    if (!from) {
      copy->nodes_.push_back(nullptr);
      continue;
    }
    auto node = std::make_unique<Node>();
    node->id = from->id;
    node->schema = from->schema;
    node->name = from->name;
    node->attributes = from->attributes->clone();
    node->inputs = from->inputs;
    node->outputs = from->outputs;
    node->input_rt_info = from->input_rt_info;
    node->rt_info = from->rt_info;
    node->origin = from->origin;
    node->origin_names = from->origin_names;
    node->constant = from->constant;
    for (const Body& body : from->bodies) node->bodies.push_back({body.role, body.graph->clone(), body.ports});
    copy->nodes_.push_back(std::move(node));
  }
  return copy;
}

const Constant* constant_of(const Graph& graph, Value value) {
  const Node& node = graph.node(value.node);
  return node.constant ? &*node.constant : nullptr;
}

std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, Value value) {
  const Constant* constant = constant_of(graph, value);
  if (!constant || !(constant->view.type.is_integral() || constant->view.type == element::boolean)) return std::nullopt;
  return to_integers(constant->view);
}

}  // namespace terroir::ir
