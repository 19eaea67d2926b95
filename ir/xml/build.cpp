#include "ir/xml/build.hpp"

#include <algorithm>
#include <iterator>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ir/xml/bodies.hpp"
#include "ir/xml/layer_attributes.hpp"
#include "ir/xml/links.hpp"
#include "ir/xml/values.hpp"

namespace terroir::ir::xml {
namespace {

/// What a port of the file claims about its tensor.
PortType declared_type(const PortRecord& port) {
  PortType declared;
  if (!port.precision.empty()) declared.type = element::Type(std::string(port.precision));
  // Without <dim> a port is a scalar or of unknown rank; the latter contradicts nothing.
  if (!port.dims.empty()) declared.shape = PartialShape(port.dims);
  return declared;
}

/// Attributes of a model that mean nothing to their operations: models that have them have them in many layers.
struct UnknownAttributes {
  std::string first;
  size_t more = 0;

  void add(const LayerRecord& layer, const OpSchema& schema, const std::string& file,
           const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (first.empty())
        first = concat(describe(layer, file), ": attribute ", text, " is unknown to ", schema.display_name());
      else
        ++more;
    }
  }
  std::string warning() const {
    return first + (more == 0 ? " and ignored" : concat(" and ignored, as are ", more, " more in this model"));
  }
};

class GraphBuilder {
 public:
  GraphBuilder(const GraphRecord& record, const BuildContext& context, UnknownAttributes& unknown)
      : record_(record), context_(context), unknown_(unknown) {}

  std::unique_ptr<Graph> run(NodeOfLayer* node_of) {
    links_ = resolve_links(record_, context_.file);
    graph_ = std::make_unique<Graph>();
    // Nodes first, links after: files need not list producers before consumers.
    nodes_.assign(record_.layers.size(), NodeId::none);
    for (size_t i = 0; i < record_.layers.size(); ++i)
      if (links_.needed[i]) add_node(i);
    for (size_t i = 0; i < record_.layers.size(); ++i)
      if (links_.needed[i]) connect(i);
    infer();
    if (node_of)
      for (size_t i = 0; i < record_.layers.size(); ++i)
        if (links_.needed[i]) node_of->emplace(record_.layers[i].id, nodes_[i]);
    return std::move(graph_);
  }

 private:
  void add_node(size_t position) {
    const LayerRecord& layer = record_.layers[position];
    try {
      const OpSchema& schema = find_schema(context_.registry, layer);
      const NodeId id = schema.type == kConstType
                            ? add_constant(schema, layer)
                            : graph_->add(schema, std::string(layer.name), attributes_of(schema, layer));
      nodes_[position] = id;
      Node& node = graph_->node(id);
      node.origin = {context_.file, layer.id, layer.line};
      node.rt_info = layer.rt_info;
      add_ports(node, layer);
      add_bodies(node, layer);
    } catch (Exception& error) {
      error.add_context(describe(layer, context_.file));
      throw;
    }
  }

  std::unique_ptr<Attributes> attributes_of(const OpSchema& schema, const LayerRecord& layer,
                                            std::initializer_list<std::string_view> container = {}) {
    std::vector<std::string> unknown;
    auto attributes = read_attributes(schema, layer, context_.strict ? nullptr : &unknown, container);
    unknown_.add(layer, schema, context_.file, unknown);
    return attributes;
  }

  NodeId add_constant(const OpSchema& schema, const LayerRecord& layer) {
    const auto attributes = attributes_of(schema, layer, {"offset", "size"});
    const auto& attrs = attributes_as<ConstAttrs>(*attributes);
    if (attrs.shape.is_dynamic())
      throw_error(ErrorCode::parse_error, "attribute 'shape' of a constant must be known, got ", attrs.shape);
    Dims dims;
    for (const Dimension& d : attrs.shape) dims.push_back(d.get_length());
    Constant constant = context_.weights.constant(attrs.element_type, dims, bytes(layer, "offset"),
                                                  bytes(layer, "size"), context_.high_nibble_first);
    if (!layer.inputs.empty())
      throw_error(ErrorCode::parse_error, "a constant has no inputs, found ", layer.inputs.size());
    return graph_->add_constant(schema, std::string(layer.name), std::move(constant));
  }

  static uint64_t bytes(const LayerRecord& layer, std::string_view attribute) {
    const std::string_view text = data_text(layer, attribute);
    const auto value = parse_int(text);
    if (!value || *value < 0)
      throw_error(ErrorCode::parse_error, "attribute '", attribute, "' must be a number of bytes, got '", text, "'");
    return static_cast<uint64_t>(*value);
  }

  void add_ports(Node& node, const LayerRecord& layer) {
    const int fixed = node.schema->arity.outputs;
    if (fixed != kVariadic && layer.outputs.size() > static_cast<size_t>(fixed))
      throw_error(ErrorCode::parse_error, node.schema->display_name(), " has ", fixed, " outputs, the file gives it ",
                  layer.outputs.size(), " output ports");
    if (node.outputs.size() < layer.outputs.size()) node.outputs.resize(layer.outputs.size());
    // A Result has no output ports in files, or idle ones; in the graph its output is what it hands over.
    const bool is_result = node.schema->type == kResultType;
    for (size_t i = 0; i < layer.outputs.size() && !is_result; ++i) {
      const PortRecord& record = layer.outputs[i];
      OutputPort& port = node.outputs[i];
      with_context([&] { return "output port " + std::to_string(record.id); },
                   [&] { port.declared = declared_type(record); });
      port.names = parse_names(record.names);
      port.rt_info = record.rt_info;
    }
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      if (layer.inputs[i].rt_info.empty()) continue;
      node.input_rt_info.resize(i + 1);
      node.input_rt_info[i] = layer.inputs[i].rt_info;
    }
  }

  void add_bodies(Node& node, const LayerRecord& layer) {
    check_roles(layer, node.schema->type);
    for (const BodyRecord& record : layer.bodies) {
      NodeOfLayer node_of;
      Body body;
      body.role = record.role;
      body.graph = GraphBuilder(*record.graph, context_, unknown_).run(&node_of);
      body.ports = build_ports(layer, record, *body.graph, node_of, context_.file);
      node.bodies.push_back(std::move(body));
    }
  }

  void connect(size_t position) {
    std::vector<Value> values;
    for (const auto& input : links_.inputs[position]) values.push_back({nodes_[input->layer], input->output});
    graph_->set_inputs(nodes_[position], std::move(values));
    if (const auto names = parse_names(record_.layers[position].output_names); !names.empty())
      set_result_names(nodes_[position], names);
  }

  /// Newer files name a model's outputs at the Result, and again among the names of the tensor it takes, of which they
  /// are not (ir/graph/names.hpp). An input is called something, whatever takes it.
  void set_result_names(NodeId id, const std::vector<std::string>& names) {
    Node& node = graph_->node(id);
    if (!node.is(kResultType) || node.inputs.empty()) return;
    std::vector<std::string> others;
    auto& all = graph_->port(node.inputs[0]).names;
    std::set_difference(all.begin(), all.end(), names.begin(), names.end(), std::back_inserter(others));
    if (!others.empty() || !graph_->node(node.inputs[0].node).is(kParameterType)) all = std::move(others);
    node.outputs.at(0).names = names;
  }

  void infer() {
    KnownValues known(*graph_);
    for (NodeId id : topological_order(*graph_)) {
      const size_t count = infer_outputs(*graph_, id, known);
      const Node& node = graph_->node(id);
      if (node.outputs.size() > count)
        with_context([&] { return node.describe(); },
                     [&] {
                       throw_error(ErrorCode::parse_error, node.schema->display_name(), " has ", count,
                                   " outputs here, the file gives it ", node.outputs.size(), " output ports");
                     });
      for (size_t i = 0; i < count; ++i) compare_declared(node, i);
    }
  }

  /// Such files exist and run elsewhere, so the declaration loses, with a warning.
  void compare_declared(const Node& node, size_t output) const {
    const OutputPort& port = node.outputs[output];
    if (!port.declared) return;
    const bool types_agree = port.declared->type.compatible(port.type);
    if (types_agree && port.declared->shape.compatible(port.shape)) return;
    const std::string text = concat("output ", output, " is declared as ", port.declared->type, port.declared->shape,
                                    ", but inferred as ", port.type, port.shape);
    if (context_.strict) {
      Exception error(types_agree ? ErrorCode::shape_mismatch : ErrorCode::type_mismatch, text);
      error.add_context(node.describe());
      throw error;
    }
    if (context_.warn) context_.warn(node.describe() + ": " + text + "; the declaration is ignored");
  }

  const GraphRecord& record_;
  const BuildContext& context_;
  UnknownAttributes& unknown_;
  Links links_;
  std::unique_ptr<Graph> graph_;
  std::vector<NodeId> nodes_;  // by layer position
};

}  // namespace

std::unique_ptr<Graph> build_graph(const GraphRecord& record, const BuildContext& context) {
  UnknownAttributes unknown;
  auto graph = GraphBuilder(record, context, unknown).run(nullptr);
  if (!unknown.first.empty() && context.warn) context.warn(unknown.warning());
  return graph;
}

}  // namespace terroir::ir::xml
