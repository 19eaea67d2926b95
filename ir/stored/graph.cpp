#include "ir/stored/graph.hpp"

#include "ir/stored/attributes.hpp"

namespace terroir::ir {
namespace {

constexpr uint32_t kNowhere = static_cast<uint32_t>(-1);

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const NodeCodec& codec, const StoreConstant& constant, ByteWriter& to,
              Origins origins)
      : graph_(graph),
        codec_(codec),
        constant_(constant),
        to_(to),
        origins_(origins),
        positions_(graph.id_bound(), kNowhere) {
    uint32_t position = 0;
    for (const NodeId id : graph.nodes()) positions_[index_of(id)] = position++;
  }

  void write() {
    to_.text(graph_.name());
    to_.put(graph_.ir_version());
    const std::vector<NodeId> nodes = graph_.nodes();
    to_.count(nodes.size());
    for (const NodeId id : nodes) write_node(graph_.node(id));
    for (const NodeId id : nodes) write_links(graph_.node(id));
  }

 private:
  uint32_t position(NodeId id) const { return id == NodeId::none ? kNowhere : positions_[index_of(id)]; }

  void write_node(const Node& node) {
    codec_.store_schema(*node.schema, to_);
    to_.text(node.name);
    if (node.constant)
      constant_(*node.constant, to_);
    else
      codec_.store(*node.schema, *node.attributes, to_);
    store_rt_info(node.rt_info, to_);
    const Origin origin = origins_ == Origins::stored ? node.origin : Origin();
    to_.put(static_cast<uint8_t>(origin.file == file_));
    if (origin.file != file_) to_.text(file_ = origin.file);
    to_.put(origin.layer_id);
    to_.put(origin.line);
    to_.list(node.origin_names, [this](const std::string& name) { to_.text(name); });
    to_.list(node.outputs, [this](const OutputPort& port) {
      store_type(port.type, to_);
      store_shape(port.shape, to_);
      to_.list(port.names, [this](const std::string& name) { to_.text(name); });
      store_rt_info(port.rt_info, to_);
    });
  }

  void write_links(const Node& node) {
    to_.list(node.inputs, [this](const Value& value) {
      to_.put(position(value.node));
      to_.put(value.output);
    });
    to_.list(node.input_rt_info, [this](const RtInfo& info) { store_rt_info(info, to_); });
    to_.list(node.bodies, [this](const Body& body) { write_body(body); });
  }

  void write_body(const Body& body) {
    to_.text(body.role);
    GraphWriter inner(*body.graph, codec_, constant_, to_, origins_);
    inner.write();
    const auto slicing = [this](const auto& port) {
      to_.put(port.external_port);
      to_.put(static_cast<uint8_t>(port.axis.has_value()));
      for (const int64_t number : {port.axis.value_or(0), port.start, port.end, port.stride, port.part_size})
        to_.put(number);
    };
    to_.list(body.ports.inputs, [&](const BodyPortMap::Input& input) {
      slicing(input);
      to_.put(inner.position(input.parameter));
      to_.put(static_cast<uint8_t>(input.current_iteration));
    });
    to_.list(body.ports.outputs, [&](const BodyPortMap::Output& output) {
      slicing(output);
      to_.put(inner.position(output.result));
      to_.put(static_cast<uint8_t>(output.execution_condition));
    });
    to_.list(body.ports.back_edges, [&](const BodyPortMap::BackEdge& edge) {
      to_.put(inner.position(edge.result));
      to_.put(inner.position(edge.parameter));
    });
  }

  const Graph& graph_;
  const NodeCodec& codec_;
  const StoreConstant& constant_;
  ByteWriter& to_;
  Origins origins_;
  std::vector<uint32_t> positions_;  // by id
  std::string file_;                 // of the node before
};

class GraphReader {
 public:
  GraphReader(const NodeCodec& codec, const LoadConstant& constant, ByteReader& from)
      : codec_(codec), constant_(constant), from_(from) {}

  std::unique_ptr<Graph> read(int depth) {
    ByteReader::require(depth < kMaxDepth);
    graph_ = std::make_unique<Graph>(from_.text());
    graph_->set_ir_version(from_.take<int64_t>());
    nodes_ = from_.count();
    for (size_t i = 0; i < nodes_; ++i) read_node();
    for (const NodeId id : graph_->nodes()) read_links(id, depth);
    return std::move(graph_);
  }

 private:
  // Deeper nesting is no model, but a file made to exhaust the stack.
  static constexpr int kMaxDepth = 64;

  void read_node() {
    const OpSchema& schema = codec_.load_schema(from_);
    std::string name = from_.text();
    const NodeId id = schema.type == kConstType ? graph_->add_constant(schema, std::move(name), constant_(from_))
                                                : add(schema, std::move(name));
    Node& node = graph_->node(id);
    node.rt_info = load_rt_info(from_);
    if (!from_.flag()) file_ = from_.text();
    node.origin = {file_, from_.take<int64_t>(), 0};
    node.origin.line = from_.take<int32_t>();
    node.origin_names = from_.list([this] { return from_.text(); });
    node.outputs = from_.list([this] {
      OutputPort port;
      port.type = load_type(from_);
      port.shape = load_shape(from_);
      port.names = from_.list([this] { return from_.text(); });
      port.rt_info = load_rt_info(from_);
      return port;
    });
    const int declared = schema.arity.outputs;
    ByteReader::require(declared == kVariadic || node.outputs.size() == static_cast<size_t>(declared));
  }

  NodeId add(const OpSchema& schema, std::string name) {
    auto attributes = codec_.load(schema, from_);
    return graph_->add(schema, std::move(name), std::move(attributes));
  }

  void read_links(NodeId id, int depth) {
    auto inputs = from_.list([this] {
      const NodeId source = node_id(*graph_);
      const auto output = from_.take<int32_t>();
      ByteReader::require(output >= 0 && static_cast<size_t>(output) < graph_->node(source).outputs.size());
      return Value{source, output};
    });
    const Arity& arity = graph_->node(id).schema->arity;
    ByteReader::require(inputs.size() >= static_cast<size_t>(arity.min_inputs) &&
                        (arity.max_inputs == kVariadic || inputs.size() <= static_cast<size_t>(arity.max_inputs)));
    graph_->set_inputs(id, std::move(inputs));
    graph_->node(id).input_rt_info = from_.list([this] { return load_rt_info(from_); });
    const size_t bodies = from_.count();
    for (size_t i = 0; i < bodies; ++i) graph_->node(id).bodies.push_back(read_body(graph_->node(id), depth));
  }

  NodeId node_id(const Graph& graph) { return static_cast<NodeId>(from_.index(graph.node_count())); }

  Body read_body(const Node& node, int depth) {
    Body body;
    body.role = from_.text();
    body.graph = GraphReader(codec_, constant_, from_).read(depth + 1);
    const auto slicing = [&](auto& port, size_t external) {
      port.external_port = from_.take<int64_t>();
      ByteReader::require(port.external_port >= -1 && port.external_port < static_cast<int64_t>(external));
      const bool sliced = from_.flag();
      const auto axis = from_.take<int64_t>();
      if (sliced) port.axis = axis;
      for (int64_t* number : {&port.start, &port.end, &port.stride, &port.part_size}) *number = from_.take<int64_t>();
    };
    body.ports.inputs = from_.list([&] {
      BodyPortMap::Input input;
      slicing(input, node.inputs.size());
      input.parameter = node_id(*body.graph);
      input.current_iteration = from_.flag();
      return input;
    });
    body.ports.outputs = from_.list([&] {
      BodyPortMap::Output output;
      slicing(output, node.outputs.size());
      output.result = node_id(*body.graph);
      output.execution_condition = from_.flag();
      return output;
    });
    body.ports.back_edges = from_.list([&] {
      const NodeId result = node_id(*body.graph);
      return BodyPortMap::BackEdge{result, node_id(*body.graph)};
    });
    return body;
  }

  const NodeCodec& codec_;
  const LoadConstant& constant_;
  ByteReader& from_;
  std::unique_ptr<Graph> graph_;
  size_t nodes_ = 0;
  std::string file_;
};

}  // namespace

const OpSchema& NodeCodec::schema(const std::string& type, const std::string& opset) const {
  const OpSchema* schema = registry_.find(type, opset);
  if (schema == nullptr || schema->opset != opset || schema->type != type)
    throw_error(ErrorCode::not_found, "there is no operation ", type, " of '", opset,
                "'; if a library brings it, call Core::add_extension() first");
  return *schema;
}

void NodeCodec::store(const OpSchema&, const Attributes& attributes, ByteWriter& to) const {
  store_attributes(attributes, to);
}
std::unique_ptr<Attributes> NodeCodec::load(const OpSchema& schema, ByteReader& from) const {
  return load_attributes(schema, from);
}

void NodeCodec::store_schema(const OpSchema& schema, ByteWriter& to) const {
  to.text(schema.type);
  to.text(schema.opset);
}
const OpSchema& NodeCodec::load_schema(ByteReader& from) const {
  const std::string type = from.text();
  return schema(type, from.text());
}

void store_graph(const Graph& graph, const NodeCodec& codec, const StoreConstant& constant, ByteWriter& to,
                 Origins origins) {
  GraphWriter(graph, codec, constant, to, origins).write();
}

std::unique_ptr<Graph> load_graph(const NodeCodec& codec, const LoadConstant& constant, ByteReader& from) {
  return GraphReader(codec, constant, from).read(0);
}

void store_rt_info(const RtInfo& info, ByteWriter& to) {
  to.list(info, [&to](const auto& entry) {
    to.text(entry.first);
    to.list(entry.second, [&to](const auto& field) {
      to.text(field.first);
      to.text(field.second);
    });
  });
}

RtInfo load_rt_info(ByteReader& from) {
  RtInfo info;
  const size_t entries = from.count();
  for (size_t i = 0; i < entries; ++i) {
    auto& fields = info[from.text()];
    const size_t count = from.count();
    for (size_t k = 0; k < count; ++k) {
      std::string name = from.text();
      fields[std::move(name)] = from.text();
    }
  }
  return info;
}

}  // namespace terroir::ir
