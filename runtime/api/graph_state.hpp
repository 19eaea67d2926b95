// The graph behind the handles of the public API.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.hpp"
#include "runtime/api/graph_objects.hpp"
#include "runtime/api/rt_info_maps.hpp"
#include "terroir/model.hpp"
#include "terroir/node.hpp"

namespace terroir::detail {

/// Shared by a Model and all handles of its layers and ports. Compiled models may share the graph itself, so it is
/// copied before it changes while others hold it; ids stay the same.
struct GraphState {
  explicit GraphState(std::unique_ptr<ir::Graph> g) : graph(std::move(g)) {}

  std::shared_ptr<ir::Graph> graph;
  bool owned = false;             // by a Model or the like; else a draft: layers made in code that are no model yet
  bool has_spare_layers = false;  // made in code, and needed by no result
  bool has_dependencies = false;  // a layer was said to come after another, see dependencies()
  bool rewired = false;  // types and shapes are those of before inputs came to read something else, or ends went
  // Layers whose attributes or inputs have changed since what reads them was inferred.
  std::set<ir::NodeId> changed;

  // An end of a model has a new id when it has come into the model's lists or left them (model_ends.hpp): by old id.
  std::map<ir::NodeId, ir::NodeId> relisted;
  ir::NodeId current(ir::NodeId id) const {
    for (auto entry = relisted.find(id); entry != relisted.end(); entry = relisted.find(id)) id = entry->second;
    return id;
  }
  // What code has said the model has, and no layer uses yet.
  op::util::VariableVector spare_variables;
  // Those of layers that somebody has asked for or made, and what layers and object said when they last agreed.
  struct KnownVariable {
    op::util::Variable::Ptr object;
    op::util::VariableInfo agreed;
  };
  mutable std::vector<KnownVariable> variables;
  // The graph's own is that of before code wrote to it.
  mutable RtInfoMaps rt_info;
  uint64_t changes = 0;  // how often writable() was called
  // What lead_to_ends() has found, and of which graph when.
  mutable struct {
    std::vector<bool> layers;
    std::weak_ptr<const ir::Graph> graph;
    uint64_t changes = 0;
  } leading;
  mutable LayerObjects objects;

  // Layers of a draft move on when it is joined with another or becomes a model: where to, and their ids there by their
  // ids here; none: such a layer stays.
  std::shared_ptr<GraphState> next;
  std::vector<ir::NodeId> next_ids;
  bool moved_on(ir::NodeId id) const {
    return ir::index_of(id) < next_ids.size() && next_ids[ir::index_of(id)] != ir::NodeId::none;
  }

  ir::Graph& writable() {
    ++changes;
    if (graph.use_count() > 1) graph = graph->clone();
    return *graph;
  }
  /// By layer: whether a Result or an Assign follows from it. Under objects.mutex(), which the caller holds.
  const std::vector<bool>& lead_to_ends() const;
  /// What layers that are needed come after, and nothing else needs.
  enum class Before { left_out, kept };
  /// The graph without spare layers, with the same ids. Assigns that needed layers come after are sinks of it.
  std::shared_ptr<const ir::Graph> needed_layers(Before before = Before::left_out) const;
  /// The same with types, shapes and runtime information that hold: what is compiled and written. Throws Exception when
  /// a rewired graph cannot be inferred, invalid_argument when it has no result or needs a Parameter that is no input
  /// of it.
  std::shared_ptr<const ir::Graph> needed_graph(Before before = Before::left_out) const;
  /// Of the graph or a part of it: a copy in which layers read what they come after, too; itself if none does.
  std::shared_ptr<const ir::Graph> with_dependencies(std::shared_ptr<const ir::Graph> part) const;
};

/// Layers from which one of `ends` can be reached, and these, by id.
std::vector<bool> needed_by(const ir::Graph& graph, std::vector<ir::NodeId> ends);
/// Those that are no spare layers.
std::vector<bool> needed_by_ends(const ir::Graph& graph);

/// Infers a graph of which something was changed. Spare layers that refuse their new inputs stay as they are. `failed`
/// stands before the text of an Exception; these are those of GraphState::needed_graph().
void infer_anew(ir::Graph& graph, const char* failed);

/// Infers a layer, and of what follows from it what reads something that has become another: a type, a shape, a value
/// of at most 1024 elements. Layers that refuse stay as they are. Throws Exception for what the layer itself refuses.
void infer_from(GraphState& state, ir::NodeId first);

struct NodeAccess {
  /// Where a layer is now.
  struct Place {
    const std::shared_ptr<GraphState>& state;
    ir::NodeId id;
  };
  static Place place(const Node& node);
  /// The object of a layer, see LayerObjects.
  static std::shared_ptr<Node> object(const std::shared_ptr<GraphState>& state, ir::NodeId id);
  /// Makes a layer's object known that the program has made, unless it is under construction.
  static void enter(const Node& node);
  /// Makes the object of a new layer known, and what it keeps its own; and what comes before its end.
  static void announce(const Node& node, const NodeHandle& handle);
  static void leave(const Node& node);
  static void drop_inputs(const Node& node);
  /// Objects of the program's own classes tell the model their attributes, see Node::tell_attributes().
  static void tell_attributes(GraphState& state);
  static bool tell_attributes(Node& object, AnyMap* instead);
  static bool tell_unnamed(Node& object, AnyMap* instead) { return object.tell_attributes(instead); }  // errors are not
  /// What tell_attributes() would tell; nothing changes, so that several threads may ask.
  struct Changed {
    ir::NodeId id;
    AnyMap values;
  };
  static std::vector<Changed> changed_attributes(const GraphState& state);
  /// A layer's attributes, with what its object would tell.
  static std::unique_ptr<ir::Attributes> attributes(const Node& node);
  static void stand_for(Node& object, const NodeHandle& handle);
  /// The objects of what a layer reads, null where there is none; and the layer's object keeps those that it reads now.
  static NodeVector inputs(const GraphState& state, ir::NodeId id);
  static void keep_inputs(const Node& node);
  /// Objects of other classes that are kept beside an object of the same layer.
  static NodeVector objects_of_class(const Node& node);
  static std::shared_ptr<Node> object_of_class(const Node& node, MakeObject make);
  /// That of the layer where there is one, which somebody keeps.
  static Node& own_object(const Node& node);
  /// See Node::set_argument().
  static OutputVector& later_inputs(const Node& node);
  /// What a layer was said to come after, and what was said to come after it.
  static NodeVector& comes_after(const Node& node);
  static std::vector<Node*>& come_after(const Node& node);
  /// Of an object that goes.
  static void drop_dependencies(const Node& node);
  using Dependency = std::pair<std::shared_ptr<Node>, std::shared_ptr<Node>>;
  /// A layer of the state and one that it comes after, which may be of another.
  static std::vector<Dependency> dependencies(const GraphState& state);
  static Output<Node> port(const std::shared_ptr<GraphState>& state, ir::Value value);
  static const std::shared_ptr<GraphState>& state(const Node& node);
  static ir::NodeId id(const Node& node);
  static NodeHandle handle(const Node& node) { return {node.state_, node.id_}; }  // where the layer was made
  /// Throws Exception (not_found) for a layer that is not part of its model any more.
  static const ir::Node& node(const Node& node);
  /// Where the type and shape of a port are kept: for a Result, at the value it takes.
  static ir::Value value(const Output<const Node>& port);
  /// All tensor names of a port, sorted.
  static std::vector<std::string> names(const Output<const Node>& port);
  /// The runtime information of a layer or one of its inputs; of an output, at value().
  static AnyMap& rt_info(const Node& node, RtInfoMaps::Of of, size_t index = 0);
};

/// Throws Exception (invalid_argument) unless the layer has an output (or input) `index`.
void check_output(const ir::Node& node, size_t index);
void check_input(const ir::Node& node, size_t index);

struct ModelAccess {
  static std::shared_ptr<Model> make(std::unique_ptr<ir::Graph> graph) {
    return make(std::make_shared<GraphState>(std::move(graph)));
  }
  static std::shared_ptr<Model> make(std::shared_ptr<GraphState> state) {
    return std::shared_ptr<Model>(new Model(std::move(state)));
  }
  static const std::shared_ptr<GraphState>& state(const Model& model) { return model.state_; }
};

/// Gives ReadValue layers the shapes of their variables, by name. Throws Exception: not_found for a variable there is
/// not, unsupported if its layers carry no shape.
void reshape_variables(ir::Graph& graph, const std::unordered_map<std::string, PartialShape>& shapes);

/// What terroir/ops.hpp calls the operation that files call `type`.
std::string class_name(const std::string& type);
/// What layers of variables are to say because the program has said so to the Variable.
std::vector<NodeAccess::Changed> changed_variables(const GraphState& state);
/// They say it; types and shapes that follow are not inferred yet.
void take_up_variables(GraphState& state);
/// Variables say what layers say, but those that the program has changed.
void update_variables(const GraphState& state);
/// Layers that came from there share their variables.
void share_variables(const GraphState& from, const GraphState& to);

/// Its class, which lives as long as the process.
const DiscreteTypeInfo& class_info(const ir::OpSchema& schema);

/// Finds an input (or output) by tensor name, then by the name of the Parameter (Result, or the layer that feeds it).
/// Throws Exception (not_found) that lists the known ones; `owner` is "the model" or the like.
size_t find_port(const ir::Graph& graph, bool inputs, const std::string& name, const char* owner);
/// The same without the exception: -1.
int64_t find_port_or_none(const ir::Graph& graph, bool inputs, const std::string& name);
/// "'a', 'b'": the names by which inputs (or outputs) are known.
std::string list_ports(const ir::Graph& graph, bool inputs);

/// The layers at the ends: Parameters or Results.
inline const std::vector<ir::NodeId>& ends(const ir::Graph& graph, bool inputs) {
  return inputs ? graph.parameters() : graph.results();
}
/// The port of an end: the Parameter's output, or the value the Result takes.
ir::Value end_value(const ir::Graph& graph, bool inputs, size_t index);

/// Checks an index against the number of inputs (or outputs); throws Exception (not_found).
void check_index(const ir::Graph& graph, bool inputs, size_t index, const char* owner);
/// Throws Exception (invalid_argument) unless there is exactly one input (or output).
void check_single(const ir::Graph& graph, bool inputs, const char* owner);

}  // namespace terroir::detail
