#include "terroir/node_input.hpp"

#include <algorithm>
#include <utility>

#include "ir/base/error.hpp"
#include "runtime/api/draft.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/pass/pattern.hpp"

namespace terroir {

using detail::NodeAccess;

namespace {

void check_input(const Node* layer, size_t index) {
  if (layer == nullptr) throw_error(ErrorCode::invalid_argument, "input ", index, " of a null pointer to a layer");
  detail::check_input(NodeAccess::node(*layer), index);
}

template <typename NodeT>
std::vector<Input<NodeT>> inputs_of(NodeT& node) {
  std::vector<Input<NodeT>> inputs;
  for (size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(node.input(i));
  return inputs;
}

}  // namespace

Input<const Node>::Input(std::shared_ptr<const Node> node, size_t index) : node_(std::move(node)), index_(index) {
  check_input(node_.get(), index);
}
Input<const Node>::Input(const Input<Node>& other) : node_(other.node_), index_(other.index_) {}
Input<Node>::Input(std::shared_ptr<Node> node, size_t index) : node_(std::move(node)), index_(index) {
  check_input(node_.get(), index);
}

const RTMap& Input<const Node>::get_rt_info() const {
  check_input(node_.get(), index_);
  return NodeAccess::rt_info(*node_, detail::RtInfoMaps::Of::input, index_);
}
RTMap& Input<Node>::get_rt_info() { return const_cast<RTMap&>(std::as_const(*this).get_rt_info()); }

bool Input<const Node>::operator<(const Input& other) const {
  const auto key = [](const Input& input) {
    return std::tuple(NodeAccess::state(*input.node_).get(), NodeAccess::id(*input.node_), input.index_);
  };
  return key(*this) < key(other);
}

void Input<Node>::replace_source_output(const Output<Node>& source) const { detail::rewire(*node_, index_, source); }

void Node::set_arguments(const OutputVector& sources) {
  static_cast<void>(NodeAccess::node(*this));
  detail::set_arguments(*this, sources);
}

void Node::set_argument(size_t index, const Output<Node>& source) {
  constexpr size_t kMost = size_t{1} << 20;
  const size_t count = get_input_size();
  const bool leaves_gap = index > count;
  if (index < count || (leaves_gap && (get_output_size() > 0 || index >= kMost)))
    return input(index).replace_source_output(source);
  OutputVector& later = NodeAccess::later_inputs(*this);
  if (later.size() <= index) later.resize(index + 1);
  later[index] = source;
  if (leaves_gap) return;
  OutputVector sources = input_values();
  while (sources.size() < later.size() && later[sources.size()].get_node() != nullptr)
    sources.push_back(later[sources.size()]);
  set_arguments(sources);
  if (later.size() == sources.size()) later.clear();
}

Input<Node> Node::input(size_t index) { return {shared_from_this(), index}; }
Input<const Node> Node::input(size_t index) const { return {shared_from_this(), index}; }
std::vector<Input<Node>> Node::inputs() { return inputs_of(*this); }
std::vector<Input<const Node>> Node::inputs() const { return inputs_of(*this); }

std::set<Input<Node>> Node::get_output_target_inputs(size_t index) const { return output(index).get_target_inputs(); }

std::vector<std::shared_ptr<Node>> Node::get_users(bool check_is_used) const {
  std::vector<std::shared_ptr<Node>> users;
  const std::vector<bool> needed =
      check_is_used ? detail::needed_by_ends(*NodeAccess::state(*this)->graph) : std::vector<bool>();
  for (const Output<const Node>& port : outputs()) {
    for (const Input<Node>& input : port.get_target_inputs()) {
      if (check_is_used && !needed[ir::index_of(NodeAccess::id(*input.get_node()))]) continue;
      const auto same = [&](const std::shared_ptr<Node>& user) { return *user == *input.get_node(); };
      if (std::none_of(users.begin(), users.end(), same)) users.push_back(input.get_node()->shared_from_this());
    }
  }
  return users;
}

std::set<Input<Node>> Output<const Node>::get_target_inputs() const {
  const ir::Value value = NodeAccess::value(*this);
  const std::shared_ptr<detail::GraphState>& state = NodeAccess::state(*node_);
  std::set<Input<Node>> inputs;
  // A Result's output is that of the model: no layer reads it.
  if (value.node != NodeAccess::id(*node_)) return inputs;
  for (const ir::Use& use : state->graph->uses(value))
    inputs.emplace(NodeAccess::object(state, use.node), static_cast<size_t>(use.input));
  return inputs;
}
std::set<Input<Node>> Output<Node>::get_target_inputs() const { return Output<const Node>(*this).get_target_inputs(); }

size_t pass::pattern::detail::count_readers(const Output<Node>& value, size_t most) {
  const ir::Value read = NodeAccess::value(value);
  const std::shared_ptr<terroir::detail::GraphState>& state = NodeAccess::state(*value.get_node());
  if (read.node != NodeAccess::id(*value.get_node())) return 0;
  const std::lock_guard lock(state->objects.mutex());
  const std::vector<bool>& needed = state->lead_to_ends();
  size_t count = 0;
  for (const ir::Use& use : state->graph->uses(read)) {
    if (count == most) break;
    count += needed[ir::index_of(use.node)] ? 1 : 0;
  }
  return count;
}

void Output<Node>::replace(const Output<Node>& replacement) {
  for (const Input<Node>& input : get_target_inputs()) input.replace_source_output(replacement);
  const std::unordered_set<std::string> names = get_names();
  set_names({});
  Output<Node>(replacement).add_names(names);
}

namespace {

void hand_over_dependencies(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  for (const auto& [layer, before] : NodeAccess::dependencies(*NodeAccess::state(*target))) {
    const bool is_target = *layer == *target, is_before = *before == *target;
    if (is_before) layer->remove_control_dependency(before);
    if (is_before && *layer != *replacement) layer->add_control_dependency(replacement);
    if (is_target && *before != *replacement) replacement->add_control_dependency(before);
  }
}

}  // namespace

void replace_node(const std::shared_ptr<Node>& target, const OutputVector& replacements) {
  if (target->get_output_size() != replacements.size())
    throw_error(ErrorCode::invalid_argument, *target, " has ", target->get_output_size(), " outputs, the replacement ",
                replacements.size());
  for (size_t i = 0; i < replacements.size(); ++i) target->output(i).replace(replacements[i]);
  // Of several the first stands for the target.
  if (!replacements.empty() && NodeAccess::state(*target)->has_dependencies)
    hand_over_dependencies(target, replacements[0].get_node_shared_ptr());
}

void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement) {
  replace_node(target, replacement->outputs());
}

}  // namespace terroir
