#include "terroir/op/framework_node.hpp"

#include <algorithm>
#include <forward_list>
#include <mutex>
#include <utility>
#include <vector>

#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"
#include "runtime/api/draft.hpp"
#include "runtime/api/framework_node.hpp"
#include "runtime/api/model_ends.hpp"

namespace terroir {
namespace {

struct FrameworkAttrs {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<ir::PortType> outputs;  // what the program says they are: no file has it as an attribute
  template <class V>
  void visit(V& visitor) {
    for (auto& [name, text] : texts) visitor(name.c_str(), text);
  }
};

void infer_framework_node(ir::InferContext& context) {
  const auto& outputs = context.attrs<FrameworkAttrs>().outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    context.set_output(static_cast<int>(i), outputs[i].type, outputs[i].shape);
}

/// It lives as long as the process: graphs point to it.
const ir::OpSchema& schema_of(const std::string& type, const std::string& opset) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::forward_list<ir::OpSchema>;
  if (type.empty()) return schema_of("FrameworkNode", "util");
  const std::lock_guard lock(mutex);
  for (const ir::OpSchema& schema : known)
    if (schema.type == type && schema.opset == opset) return schema;
  ir::OpSchema& schema = known.emplace_front();
  schema.type = type;
  schema.opset = opset;
  schema.arity = {0, ir::kVariadic, ir::kVariadic};
  schema.make_attributes = &ir::make_attributes<FrameworkAttrs>;
  schema.infer = &infer_framework_node;
  schema.flags.pure = false;
  return schema;
}

ir::Node& writable_node(const Node& layer) {
  return detail::NodeAccess::state(layer)->writable().node(detail::NodeAccess::id(layer));
}

/// Changes the attributes, a copy of which others may have.
template <typename Change>
void change(const Node& layer, const Change& how) {
  ir::Node& node = writable_node(layer);
  FrameworkAttrs attrs = ir::attributes_as<FrameworkAttrs>(*node.attributes);
  how(node, attrs);
  node.outputs.resize(attrs.outputs.size());
  for (size_t i = 0; i < attrs.outputs.size(); ++i) {
    node.outputs[i].type = attrs.outputs[i].type;
    node.outputs[i].shape = attrs.outputs[i].shape;
  }
  node.attributes = ir::make_attributes_of(std::move(attrs));
  detail::GraphState& state = *detail::NodeAccess::state(layer);
  state.rewired = true;
  state.changed.insert(detail::NodeAccess::id(layer));
}

}  // namespace

namespace detail {

bool is_framework_node(const ir::OpSchema& schema) { return schema.infer == &infer_framework_node; }

void require_known_layers(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    for (const ir::Body& body : node.bodies) require_known_layers(*body.graph);
    if (node.is("ExecutionNode"))
      throw_error(ErrorCode::unsupported, "'", graph.name(),
                  "' is a runtime model, which shows what a compiled one does; compile the model that it was made of");
    if (is_framework_node(*node.schema))
      throw_error(ErrorCode::not_implemented, node.describe(), ": nothing says how a ", node.schema->type,
                  " is computed; replace the layer, or give Core::add_extension() its class and read the model again");
  }
}

}  // namespace detail

namespace op::util {

FrameworkNode::FrameworkNode(const OutputVector& inputs, size_t output_size)
    : Node(terroir::detail::make_open_layer(schema_of({}, {}), inputs)) {
  set_output_size(output_size);
}

FrameworkNodeAttrs FrameworkNode::get_attrs() const {
  const ir::Node& node = terroir::detail::NodeAccess::node(*this);
  FrameworkNodeAttrs attrs;
  if (node.schema != &schema_of({}, {})) {
    attrs.set_type_name(node.schema->type);
    attrs.set_opset_name(node.schema->opset);
  }
  for (const auto& [name, text] : ir::attributes_as<FrameworkAttrs>(*node.attributes).texts) attrs[name] = text;
  return attrs;
}

void FrameworkNode::set_attrs(const FrameworkNodeAttrs& attrs) {
  change(*this, [&](ir::Node& node, FrameworkAttrs& own) {
    node.schema = &schema_of(attrs.get_type_name(), attrs.get_opset_name());
    own.texts.assign(attrs.begin(), attrs.end());
    std::sort(own.texts.begin(), own.texts.end());
  });
}

void FrameworkNode::set_output_size(size_t outputs) {
  change(*this, [&](ir::Node&, FrameworkAttrs& own) { own.outputs.resize(outputs); });
}

void FrameworkNode::set_output_type(size_t output, const element::Type& type, const PartialShape& shape) {
  change(*this, [&](ir::Node&, FrameworkAttrs& own) {
    if (own.outputs.size() <= output) own.outputs.resize(output + 1);
    own.outputs[output] = {type, shape};
  });
}

}  // namespace op::util
}  // namespace terroir
