#include "ir/xml/version10.hpp"

#include "ir/base/error.hpp"
#include "ir/xml/legacy.hpp"
#include "ir/xml/weights.hpp"

namespace terroir::ir::xml {
namespace {

constexpr int kLastOpset = 8;

bool is_later_type(element::Type type) {
  switch (type) {
    case element::Type_t::u2:
    case element::Type_t::u3:
    case element::Type_t::u6:
    case element::Type_t::nf4:
    case element::Type_t::f8e4m3:
    case element::Type_t::f8e5m2:
    case element::Type_t::f8e8m0:
    case element::Type_t::f4e2m1:
    case element::Type_t::string:
      return true;
    default:
      return false;
  }
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw_error(ErrorCode::unsupported, parts..., "; write the model as version 11");
}

/// Whether a reader of the file learns, from what of the runtime information version 10 can hold, that a release before
/// 2024 wrote the 4-bit constants.
bool order_of_nibbles_is_told(const RtTree& rt_info) {
  RtTree kept;
  for (const auto& [key, tree] : rt_info.children)
    if (key == "MO_version") kept.children.emplace_back(key, tree);
  return stores_high_nibble_first(kept) && stores_high_nibble_first(rt_info);
}

void check_layer(const Node& node, bool nibbles_known) {
  if (opset_number(node.schema->opset) > kLastOpset)
    refuse("IR version 10 has operations of opset1 to opset", kLastOpset, ", not ", node.schema->display_name());
  for (const OutputPort& port : node.outputs)
    if (is_later_type(port.type)) refuse("IR version 10 has no elements of type ", port.type);
  if (node.constant && node.constant->view.type.bitwidth() == 4 && !nibbles_known)
    refuse("it is not known which release wrote these ", node.constant->view.type,
           " elements, and so in which order version 10 has them");
  if (node.is("ReadValue") && node.inputs.empty()) refuse("IR version 10 wants an initial value of every variable");
}

void check_layers(const Graph& graph, bool nibbles_known) {
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    with_context([&] { return node.describe(); },
                 [&] {
                   check_layer(node, nibbles_known);
                   for (const Body& body : node.bodies) check_layers(*body.graph, nibbles_known);
                 });
  }
}

void check_ends(const Graph& graph) {
  for (NodeId id : graph.parameters())
    with_context([&] { return graph.node(id).describe(); },
                 [&] {
                   if (graph.port({id, 0}).type == element::f16)
                     refuse("IR version 10 presents inputs of type f16 as f32: put a Convert behind an input of f32");
                 });
  for (NodeId id : graph.results())
    with_context([&] { return graph.node(id).describe(); },
                 [&] {
                   const element::Type type = graph.port(graph.node(id).inputs.at(0)).type;
                   if (const element::Type presented = v10_output_type(type); presented != type)
                     refuse("IR version 10 presents outputs of type ", type, " as ", presented,
                            ": put a Convert in front");
                 });
}

}  // namespace

std::unique_ptr<Graph> named_for_v10(const Graph& graph) {
  check_layers(graph, order_of_nibbles_is_told(graph.rt_info()));
  check_ends(graph);
  auto named = graph.clone();
  // The writer counts a layer's ports through, inputs first.
  name_v10_ends(*named, [&](Value source) {
    return static_cast<int64_t>(named->node(source.node).inputs.size()) + source.output;
  });
  return named;
}

}  // namespace terroir::ir::xml
