#include "runtime/api/graph_state.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/names.hpp"
#include "ir/graph/order.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/layout_axes.hpp"
#include "runtime/api/model_ends.hpp"

namespace terroir::detail {

namespace {

const char* kind(bool inputs) { return inputs ? "input" : "output"; }

void check_slot(const ir::Node& node, bool inputs, size_t index) {
  const size_t count = inputs ? node.inputs.size() : node.outputs.size();
  if (index < count) return;
  throw_error(ErrorCode::invalid_argument, node.describe(), " has ", count, " ", kind(inputs), "s, not an ",
              kind(inputs), " ", index);
}

}  // namespace

void check_output(const ir::Node& node, size_t index) { check_slot(node, false, index); }
void check_input(const ir::Node& node, size_t index) { check_slot(node, true, index); }

std::vector<bool> needed_by(const ir::Graph& graph, std::vector<ir::NodeId> ends) {
  std::vector<bool> needed(graph.id_bound(), false);
  while (!ends.empty()) {
    const ir::NodeId id = ends.back();
    ends.pop_back();
    if (id == ir::NodeId::none || needed[ir::index_of(id)]) continue;
    needed[ir::index_of(id)] = true;
    for (const ir::Value& input : graph.node(id).inputs) ends.push_back(input.node);
  }
  return needed;
}

const std::vector<bool>& GraphState::lead_to_ends() const {
  const bool same_graph = !leading.graph.owner_before(graph) && !graph.owner_before(leading.graph);
  if (same_graph && leading.changes == changes && leading.layers.size() == graph->id_bound()) return leading.layers;
  std::vector<ir::NodeId> ends;
  for (const ir::NodeId id : graph->nodes()) {
    const ir::Node& node = graph->node(id);
    if (is_result(node) || node.schema->type == "Assign") ends.push_back(id);
  }
  leading.layers = needed_by(*graph, std::move(ends));
  leading.graph = graph;
  leading.changes = changes;
  return leading.layers;
}

std::vector<bool> needed_by_ends(const ir::Graph& graph) {
  std::vector<ir::NodeId> ends = graph.results();
  for (const auto& more : {graph.sinks(), graph.parameters()}) ends.insert(ends.end(), more.begin(), more.end());
  return needed_by(graph, std::move(ends));
}

void infer_anew(ir::Graph& graph, const char* failed) {
  // What the file declares holds for what was in the file only.
  for (const ir::NodeId id : graph.nodes()) {
    for (ir::OutputPort& port : graph.node(id).outputs) port.declared.reset();
  }
  with_context([&] { return std::string(failed); },
               [&] {
                 const std::vector<bool> needed = needed_by_ends(graph);
                 require_ends(graph, needed);
                 ir::KnownValues known(graph);
                 for (const ir::NodeId id : ir::topological_order(graph)) {
                   try {
                     ir::infer_outputs(graph, id, known);
                   } catch (const Exception&) {
                     if (needed[ir::index_of(id)]) throw;
                   }
                 }
                 for (const bool inputs : {true, false}) {
                   for (const ir::NodeId id : ends(graph, inputs)) {
                     const ir::Node& end = graph.node(id);
                     const ir::OutputPort& port = graph.port(inputs ? ir::Value{id, 0} : end.inputs.at(0));
                     with_context([&] { return end.describe(); },
                                  [&] { require_layout_fits(port.rt_info, port.shape); });
                   }
                 }
               });
}

namespace {

/// Infers one layer; whether a type or a shape has become another.
bool infer_again(ir::Graph& graph, ir::NodeId id, ir::KnownValues& known) {
  ir::Node& node = graph.node(id);
  std::vector<ir::PortType> before;
  for (ir::OutputPort& port : node.outputs) {
    before.push_back({port.type, port.shape});
    port.declared.reset();
  }
  ir::infer_outputs(graph, id, known);
  const auto same = [](const ir::PortType& a, const ir::OutputPort& b) {
    return a.type == b.type && a.shape == b.shape;
  };
  return !std::equal(before.begin(), before.end(), node.outputs.begin(), node.outputs.end(), same);
}

/// Whether shapes may follow from what the layer computes.
bool is_small(const ir::Node& node) {
  constexpr int64_t kMostElements = 1024;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [](const ir::OutputPort& port) {
    if (port.shape.is_dynamic()) return port.shape.rank().is_static() && port.shape.size() <= 1;
    int64_t count = 1;
    for (const Dimension& extent : port.shape)
      count = std::min(count, kMostElements + 1) * std::min(extent.get_length(), kMostElements + 1);
    return count <= kMostElements;
  });
}

}  // namespace

void infer_from(GraphState& state, ir::NodeId first) {
  take_up_variables(state);
  ir::Graph& graph = state.writable();
  ir::KnownValues known(graph);
  const bool differs = infer_again(graph, first, known);
  if (!(state.changed.erase(first) != 0 || differs)) return;
  std::vector<bool> reads_others(graph.id_bound(), false);
  const auto tell_readers = [&](ir::NodeId id) {
    for (const std::vector<ir::Use>& readers : graph.uses_by_output(id))
      for (const ir::Use& reader : readers) reads_others[ir::index_of(reader.node)] = true;
  };
  tell_readers(first);
  for (const ir::NodeId id : ir::topological_order(graph)) {
    if (!reads_others[ir::index_of(id)]) continue;
    try {
      const bool other_type = infer_again(graph, id, known);
      if (state.changed.erase(id) != 0 || other_type || is_small(graph.node(id))) tell_readers(id);
    } catch (const Exception&) {
      // It is inferred, and refuses, when the model is.
    }
  }
}

std::shared_ptr<const ir::Graph> GraphState::with_dependencies(std::shared_ptr<const ir::Graph> part) const {
  if (!has_dependencies) return part;
  std::shared_ptr<ir::Graph> linked = part->clone();
  for (const auto& [layer, before] : NodeAccess::dependencies(*this)) {
    const ir::NodeId from = NodeAccess::id(*before), to = NodeAccess::id(*layer);
    if (NodeAccess::state(*before).get() == this && part->contains(from) && part->contains(to))
      linked->add_input(to, {from, 0});
  }
  return linked;
}

namespace {

/// `copy`: of the state's graph.
void erase_spare_layers(const GraphState& state, ir::Graph& copy, GraphState::Before before) {
  if (state.has_dependencies) {
    const std::vector<bool> needed = needed_by_ends(*state.with_dependencies(state.graph));
    std::vector<ir::NodeId> order = ir::topological_order(copy);
    std::reverse(order.begin(), order.end());
    for (const ir::NodeId id : order) {
      ir::Node& node = copy.node(id);
      const bool ends = is_parameter(node) || is_result(node);
      if (needed[ir::index_of(id)] && !ends) node.schema = &listed(*node.schema);
      if (!needed[ir::index_of(id)] && before == GraphState::Before::kept) copy.erase(id);
    }
  }
  if (!state.has_dependencies || before == GraphState::Before::left_out) copy.erase_unreachable();
}

}  // namespace

std::shared_ptr<const ir::Graph> GraphState::needed_layers(Before before) const {
  if (!has_spare_layers) return graph;
  std::shared_ptr<ir::Graph> pruned = graph->clone();
  erase_spare_layers(*this, *pruned, before);
  return pruned;
}

std::shared_ptr<const ir::Graph> GraphState::needed_graph(Before before) const {
  const std::vector<NodeAccess::Changed> told = NodeAccess::changed_attributes(*this);
  if (!rewired && told.empty() && !rt_info.differ(*graph)) return needed_layers(before);
  std::shared_ptr<ir::Graph> settled = graph->clone();
  rt_info.differ(*graph, settled.get());
  for (const auto& [id, values] : told) {
    ir::Node& node = settled->node(id);
    node.attributes = with_context([&] { return node.describe(); },
                                   [&] { return changed_attributes(*node.schema, *node.attributes, values); });
  }
  erase_spare_layers(*this, *settled, before);
  if (rewired || !told.empty()) infer_anew(*settled, "the model is not valid");
  return settled;
}

ir::Value end_value(const ir::Graph& graph, bool inputs, size_t index) {
  const ir::NodeId id = ends(graph, inputs).at(index);
  return inputs ? ir::Value{id, 0} : graph.node(id).inputs.at(0);
}

int64_t find_port_or_none(const ir::Graph& graph, bool inputs, const std::string& name) {
  const size_t count = ends(graph, inputs).size();
  for (const bool own : {true, false}) {
    for (size_t i = 0; i < count; ++i) {
      const ir::Value named = own ? ir::Value{ends(graph, inputs)[i], 0} : end_value(graph, inputs, i);
      if (ir::has_tensor_name(graph, named, name)) return static_cast<int64_t>(i);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (graph.node(ends(graph, inputs)[i]).name == name) return static_cast<int64_t>(i);
  }
  if (inputs) return -1;
  for (size_t i = 0; i < count; ++i) {
    const ir::Value value = end_value(graph, inputs, i);
    const ir::Node& producer = graph.node(value.node);
    const bool whole = producer.outputs.size() == 1 && producer.name == name;
    if (whole || producer.name + "." + std::to_string(value.output) == name ||
        producer.name + ":" + std::to_string(value.output) == name) {
      return static_cast<int64_t>(i);
    }
  }
  return -1;
}

std::string list_ports(const ir::Graph& graph, bool inputs) {
  std::string text;
  for (size_t i = 0; i < ends(graph, inputs).size(); ++i) {
    const ir::Value value = end_value(graph, inputs, i);
    const auto names = ir::tensor_names(graph, {ends(graph, inputs)[i], 0});
    text += concat(i == 0 ? "" : ", ", "'", names.empty() ? graph.node(value.node).name : names.front(), "'");
  }
  return text.empty() ? "none" : text;
}

size_t find_port(const ir::Graph& graph, bool inputs, const std::string& name, const char* owner) {
  const int64_t index = find_port_or_none(graph, inputs, name);
  if (index < 0) {
    throw_error(ErrorCode::not_found, owner, " has no ", kind(inputs), " '", name, "'; there are ",
                list_ports(graph, inputs));
  }
  return static_cast<size_t>(index);
}

void check_index(const ir::Graph& graph, bool inputs, size_t index, const char* owner) {
  const size_t count = ends(graph, inputs).size();
  if (index >= count) {
    throw_error(ErrorCode::not_found, owner, " has no ", kind(inputs), " ", index, "; it has ", count);
  }
}

void check_single(const ir::Graph& graph, bool inputs, const char* owner) {
  const size_t count = ends(graph, inputs).size();
  if (count != 1) {
    throw_error(ErrorCode::invalid_argument, owner, " has ", count, " ", kind(inputs),
                "s, say which: ", list_ports(graph, inputs));
  }
}

}  // namespace terroir::detail
