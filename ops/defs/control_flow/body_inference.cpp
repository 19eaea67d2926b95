#include "ops/defs/control_flow/body_inference.hpp"

#include <algorithm>

#include "ir/graph/infer.hpp"

namespace terroir::ops {
namespace {

using ir::Body;
using ir::BodyPortMap;
using ir::Graph;
using ir::InferContext;
using ir::NodeId;
using ir::PortType;

bool operator==(const PortType& a, const PortType& b) { return a.type == b.type && a.shape == b.shape; }

size_t normalized_axis(InferContext& ctx, int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  ctx.require(axis >= -count && axis < count, "axis ", axis, " is out of range for rank ", rank);
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

/// What a Parameter of the body receives from outside; nothing for the iteration counter.
std::optional<PortType> fed(InferContext& ctx, const BodyPortMap::Input& input) {
  if (input.current_iteration) return std::nullopt;
  const auto port = static_cast<int>(input.external_port);
  ctx.require(port >= 0 && port < ctx.input_count(), "the body is fed from input ", input.external_port, " of ",
              ctx.input_count());
  PortType type{ctx.type(port), ctx.shape(port)};
  if (input.axis && type.shape.rank().is_static()) {
    const size_t axis = normalized_axis(ctx, *input.axis, type.shape.size());
    type.shape[static_cast<std::ptrdiff_t>(axis)] = Dimension(input.part_size);
  }
  return type;
}

/// What the value that comes back as this Result is before the first iteration; nothing if it is not carried.
std::optional<PortType> initial_type(InferContext& ctx, const BodyPortMap& ports, NodeId result) {
  for (const auto& edge : ports.back_edges)
    for (const auto& input : ports.inputs)
      if (edge.result == result && edge.parameter == input.parameter) return fed(ctx, input);
  return std::nullopt;
}

PortType recorded(const Graph& graph, ir::Value value) {
  const ir::OutputPort& port = graph.port(value);
  return {port.type, port.shape};
}

PortType recorded(const Graph& graph, NodeId id) { return recorded(graph, ir::Value{id, 0}); }

std::vector<PortType> results_of(const Graph& graph, const BodyPortMap& ports) {
  std::vector<PortType> types;
  for (const auto& output : ports.outputs) types.push_back(recorded(graph, output.result));
  return types;
}

/// The body inferred for what comes in; null: it fits as it is.
std::unique_ptr<Graph> refitted(InferContext& ctx, const Body& body) {
  std::vector<std::pair<NodeId, PortType>> wanted;
  for (const auto& input : body.ports.inputs) {
    const auto type = fed(ctx, input);
    if (!type) continue;
    const element::Type declared = recorded(*body.graph, input.parameter).type;
    ctx.require(declared == type->type || declared.is_dynamic() || type->type.is_dynamic(), "input ",
                input.external_port, " is of type ", type->type, ", but ", body.graph->node(input.parameter).describe(),
                ", which takes it in the body, of type ", declared, ": put a Convert before one of them");
    wanted.emplace_back(input.parameter, *type);
  }
  std::vector<PortType*> wanted_by_node(body.graph->id_bound(), nullptr);
  for (auto& [id, type] : wanted) wanted_by_node[ir::index_of(id)] = &type;
  const auto carries_on = [&](const Graph& graph) {  // true: every carried value comes back as it went in
    bool stable = true;
    for (const auto& edge : body.ports.back_edges) {
      PortType* type = wanted_by_node[ir::index_of(edge.parameter)];
      ctx.require(type != nullptr, graph.node(edge.parameter).describe(), " is carried but has no initial value");
      const PortType next = generalized(ctx, *type, recorded(graph, edge.result));
      stable = stable && next == *type;
      *type = next;
    }
    return stable;
  };
  // The usual case: the body as it was read fits.
  const bool fits = std::all_of(wanted.begin(), wanted.end(),
                                [&](const auto& entry) { return recorded(*body.graph, entry.first) == entry.second; });
  if (fits && carries_on(*body.graph)) return nullptr;
  auto copy = body.graph->clone();
  // Each round that is not the last makes at least one extent, rank or type of a carried value unknown.
  while (true) {
    for (const auto& [id, type] : wanted) {
      ir::ParameterAttrs attrs;
      attrs.element_type = type.type;
      attrs.shape = type.shape;
      copy->node(id).attributes = ir::make_attributes_of(attrs);
    }
    ir::infer_graph(*copy);
    if (carries_on(*copy)) return copy;
  }
}

}  // namespace

PortType generalized(InferContext& ctx, const PortType& a, const PortType& b) {
  PortType result;
  ctx.require(element::Type::merge(result.type, a.type, b.type), "the element types ", a.type, " and ", b.type,
              " contradict each other");
  if (a.shape.rank().is_dynamic() || b.shape.rank().is_dynamic() || a.shape.size() != b.shape.size()) return result;
  std::vector<Dimension> dims;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    dims.push_back(a.shape[axis] == b.shape[axis] ? a.shape[axis] : Dimension::dynamic());
  }
  result.shape = PartialShape(std::move(dims));
  return result;
}

std::vector<PortType> infer_body(InferContext& ctx, const Body& body) {
  const auto copy = refitted(ctx, body);
  return results_of(copy ? *copy : *body.graph, body.ports);
}

void fit_bodies(Graph& graph, NodeId id) {
  ir::Node& node = graph.node(id);
  std::vector<PortType> inputs;
  for (const ir::Value input : node.inputs) inputs.push_back(recorded(graph, input));
  InferContext ctx(*node.schema, *node.attributes, inputs);
  for (PortType& input : inputs) input.shape = PartialShape::dynamic();
  InferContext any_shapes(*node.schema, *node.attributes, std::move(inputs));
  for (Body& body : node.bodies) {
    std::unique_ptr<Graph> fitted;
    try {
      fitted = refitted(ctx, body);
    } catch (const Exception&) {
      fitted = refitted(any_shapes, body);
    }
    if (fitted) body.graph = std::move(fitted);
  }
}

size_t output_count(const InferContext& ctx, const Body& body) {
  std::vector<bool> set;
  for (const auto& output : body.ports.outputs) {
    if (output.external_port < 0) continue;
    const auto port = static_cast<size_t>(output.external_port);
    set.resize(std::max(set.size(), port + 1));
    ctx.require(!set[port], "output ", port, " is set twice by the ", body.role, ": map one Result to it");
    set[port] = true;
  }
  for (size_t i = 0; i < set.size(); ++i)
    ctx.require(set[i], "output ", i, " is not set by the ", body.role, ": map a Result to it");
  return set.size();
}

void set_outputs(InferContext& ctx, const Body& body, const std::vector<PortType>& results,
                 const Dimension& iterations) {
  output_count(ctx, body);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& output = body.ports.outputs[i];
    if (output.external_port < 0) continue;
    PortType type = results[i];
    if (!output.axis && iterations.get_min_length() == 0) {
      if (const auto initial = initial_type(ctx, body.ports, output.result)) {
        type = generalized(ctx, *initial, type);
        if (iterations.is_static()) type.shape = initial->shape;
      }
    }
    if (output.axis && type.shape.rank().is_static()) {
      if (type.shape.size() == 0) type.shape = PartialShape{1};  // scalars make a line
      const size_t axis = normalized_axis(ctx, *output.axis, type.shape.size());
      // The parts are joined as they are, whatever part_size says of them.
      type.shape[static_cast<std::ptrdiff_t>(axis)] *= iterations;
    }
    ctx.set_output(static_cast<int>(output.external_port), type.type, type.shape);
  }
}

}  // namespace terroir::ops
