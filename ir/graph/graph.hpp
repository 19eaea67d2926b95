#pragma once
// What: the typed graph of layers. It owns its nodes, keeps uses consistent through every edit, and knows nothing of
// files, devices or layouts.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/graph/ids.hpp"
#include "ir/schema/infer_context.hpp"
#include "ir/schema/infrastructure.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::ir {

class Graph;

/// The value of a Const node: a view and whoever keeps the bytes alive (a mapping, a buffer).
struct Constant {
  TensorView view;
  std::shared_ptr<const void> owner;
};

/// Runtime information as files carry it: attribute name -> its fields.
using RtInfo = std::map<std::string, std::map<std::string, std::string>>;

/// Tree of the model-level <rt_info>: a key has a value, or children.
struct RtTree {
  std::string value;
  std::vector<std::pair<std::string, RtTree>> children;
  bool operator==(const RtTree&) const = default;
};

/// Where a node was read from, for error texts.
struct Origin {
  std::string file;       // empty for a graph that was built in memory
  int64_t layer_id = -1;  // as in the file
  int32_t line = 0;       // 1-based; 0: unknown
};

struct OutputPort {
  element::Type type = element::dynamic;
  PartialShape shape = PartialShape::dynamic();
  std::vector<std::string> names;  // tensor names, sorted, without doubles
  RtInfo rt_info;
  std::optional<PortType> declared;  // what the file claims; checked against the inferred type and shape
};

/// How TensorIterator and Loop connect their body; If uses the plain fields for each of its two bodies.
struct BodyPortMap {
  struct Input {
    int64_t external_port = -1;  // index among the node's inputs; -1: current iteration counter
    NodeId parameter = NodeId::none;
    std::optional<int64_t> axis;  // present: sliced
    int64_t start = 0, end = -1, stride = 1, part_size = 1;
    bool current_iteration = false;
  };
  struct Output {
    int64_t external_port = -1;  // index among the node's outputs; -1: execution condition
    NodeId result = NodeId::none;
    std::optional<int64_t> axis;  // present: concatenated over iterations
    int64_t start = 0, end = -1, stride = 1, part_size = 1;
    bool execution_condition = false;
  };
  struct BackEdge {
    NodeId result = NodeId::none;
    NodeId parameter = NodeId::none;
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<BackEdge> back_edges;
};

struct Body {
  std::string role;  // "body", "then_body", "else_body"
  std::unique_ptr<Graph> graph;
  BodyPortMap ports;
};

struct Node {
  NodeId id = NodeId::none;
  const OpSchema* schema = nullptr;
  std::string name;  // the user's name for the layer; unique within a graph is usual, not required
  std::unique_ptr<Attributes> attributes;
  std::vector<Value> inputs;
  std::vector<OutputPort> outputs;
  std::vector<RtInfo> input_rt_info;  // by input; may be shorter than inputs
  RtInfo rt_info;
  Origin origin;
  std::vector<std::string> origin_names;  // layers of the file that were fused into this one, itself not included
  std::optional<Constant> constant;       // of Const nodes only
  std::vector<Body> bodies;               // of TensorIterator, Loop, If

  /// Not of a layer of somebody else's library, which may have the type of an operation and is another.
  bool is(std::string_view type) const { return schema->type == type && !schema->from_extension; }
  template <class T>
  const T& attrs() const {
    return attributes_as<T>(*attributes);
  }
  /// "MaxPool 'pool1' (layer 17, model.xml:203)": how errors name a layer.
  std::string describe() const;
};

class Graph {
 public:
  explicit Graph(std::string name = {}) : name_(std::move(name)) {}
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  RtTree& rt_info() { return rt_info_; }
  const RtTree& rt_info() const { return rt_info_; }
  int64_t ir_version() const { return ir_version_; }
  void set_ir_version(int64_t version) { ir_version_ = version; }

  /// Adds a node with unconnected or connected inputs. `outputs` ports are made (untyped) when the schema fixes their
  /// number; else by inference. Parameters and Results are model inputs and outputs in the order they are added.
  NodeId add(const OpSchema& schema, std::string name, std::unique_ptr<Attributes> attributes,
             std::vector<Value> inputs = {});
  /// A Const node of `schema` (type "Const") with its value and finished output.
  NodeId add_constant(const OpSchema& schema, std::string name, Constant constant);

  Node& node(NodeId id);
  const Node& node(NodeId id) const;
  bool contains(NodeId id) const { return index_of(id) < nodes_.size() && nodes_[index_of(id)] != nullptr; }
  OutputPort& port(Value value);
  const OutputPort& port(Value value) const;

  /// Ids of the nodes that exist, in order of addition.
  std::vector<NodeId> nodes() const;
  size_t node_count() const { return live_; }
  /// One more than the largest id ever given; for tables indexed by node.
  size_t id_bound() const { return nodes_.size(); }

  const std::vector<NodeId>& parameters() const { return parameters_; }
  const std::vector<NodeId>& results() const { return results_; }
  /// Nodes that act but are no Result (Assign): they keep what they need alive.
  std::vector<NodeId> sinks() const;

  /// Inputs that read `value`, ordered by node and input.
  const std::vector<Use>& uses(Value value) const;
  /// The same for every output of a node, by output; may be shorter than its outputs.
  const std::vector<std::vector<Use>>& uses_by_output(NodeId id) const { return uses_.at(index_of(id)); }

  void set_input(Use use, Value value);
  void add_input(NodeId id, Value value);
  void set_inputs(NodeId id, std::vector<Value> values);
  /// Every use of `from` reads `to` afterwards. Tensor names move along, so a model output keeps its names.
  void replace_uses(Value from, Value to);
  /// Erases a node without uses.
  void erase(NodeId id);
  /// Erases nodes from which no Result and no sink can be reached; Parameters stay. Returns how many went.
  size_t erase_unreachable();

  std::unique_ptr<Graph> clone() const;

 private:
  void remove_use(Value value, Use use);
  void insert_use(Value value, Use use);

  std::string name_;
  RtTree rt_info_;
  int64_t ir_version_ = 11;
  std::vector<std::unique_ptr<Node>> nodes_;         // by id; null where erased
  std::vector<std::vector<std::vector<Use>>> uses_;  // by id, then by output
  std::vector<NodeId> parameters_, results_;
  size_t live_ = 0;
};

/// The integer value of a Const node as numbers; empty for other nodes and types.
std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, Value value);
/// The Const node's value behind `value`, or null.
const Constant* constant_of(const Graph& graph, Value value);

}  // namespace terroir::ir
