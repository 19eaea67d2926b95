#include "ir/text/diff.hpp"

#include "ir/base/error.hpp"
#include "ir/text/constant_text.hpp"
#include "ir/text/names.hpp"

namespace terroir::ir {
namespace {

std::string text_of(const RtInfo& info) {
  std::string text;
  for (const auto& [name, fields] : info) {
    text += name + "(";
    for (const auto& [key, value] : fields) text += key + "=" + quoted(value) + " ";
    text += ") ";
  }
  return text;
}

std::string text_of(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const auto& name : names) text += (text.size() > 1 ? ", " : "") + quoted(name);
  return text + "]";
}

/// Lays one graph over the other, from the ends inwards.
class Matcher {
 public:
  Matcher(const Graph& a, const Graph& b)
      : a_(a), b_(b), partner_(a.id_bound(), NodeId::none), taken_(b.id_bound(), false) {}

  bool run() {
    if (a_.rt_info() != b_.rt_info()) return differ("the models' runtime information differs");
    if (!pair_all(a_.parameters(), b_.parameters(), "parameters") || !pair_all(a_.results(), b_.results(), "results") ||
        !pair_all(sinks(a_), sinks(b_), "sinks"))
      return false;
    while (!pending_.empty()) {
      const NodeId id = pending_.back();
      pending_.pop_back();
      if (!compare(a_.node(id), b_.node(partner_[index_of(id)]))) return false;
    }
    return true;
  }

  std::string difference;

 private:
  template <class... Parts>
  bool differ(const Parts&... parts) {
    difference = concat(parts...);
    return false;
  }

  // Ids depend on the order of addition; the topological order is what a written and read graph keeps.
  static std::vector<NodeId> sinks(const Graph& graph) {
    std::vector<bool> is_sink(graph.id_bound(), false);
    for (NodeId id : graph.sinks()) is_sink[index_of(id)] = true;
    std::vector<NodeId> ordered;
    for (NodeId id : printing_order(graph))
      if (is_sink[index_of(id)]) ordered.push_back(id);
    return ordered;
  }

  bool pair_all(const std::vector<NodeId>& a, const std::vector<NodeId>& b, const char* what) {
    if (a.size() != b.size()) return differ(a.size(), " ", what, " and ", b.size());
    for (size_t i = 0; i < a.size(); ++i)
      if (!pair(a[i], b[i])) return differ(what, " ", i, " are not the same: ", describe(a[i], b[i]));
    return true;
  }

  std::string describe(NodeId a, NodeId b) const { return a_.node(a).describe() + " and " + b_.node(b).describe(); }

  /// False if one of them already has another partner.
  bool pair(NodeId a, NodeId b) {
    NodeId& partner = partner_[index_of(a)];
    if (partner != NodeId::none) return partner == b;
    if (taken_[index_of(b)]) return false;
    partner = b;
    taken_[index_of(b)] = true;
    pending_.push_back(a);
    return true;
  }

  bool compare(const Node& a, const Node& b) {
    const std::string where = a.describe();
    if (a.schema->type != b.schema->type || a.schema->opset != b.schema->opset)
      return differ(where, ": operation ", a.schema->display_name(), " and ", b.schema->display_name());
    if (a.name != b.name) return differ(where, ": names ", quoted(a.name), " and ", quoted(b.name));
    if (!equal_attributes(a, b, where)) return false;
    if (a.rt_info != b.rt_info)
      return differ(where, ": runtime information ", text_of(a.rt_info), " and ", text_of(b.rt_info));
    if (a.inputs.size() != b.inputs.size())
      return differ(where, ": ", a.inputs.size(), " inputs and ", b.inputs.size());
    for (size_t i = 0; i < a.inputs.size(); ++i)
      if (!compare_input(a, b, i, where)) return false;
    if (a.outputs.size() != b.outputs.size())
      return differ(where, ": ", a.outputs.size(), " outputs and ", b.outputs.size());
    for (size_t i = 0; i < a.outputs.size(); ++i)
      if (!compare_output(a.outputs[i], b.outputs[i], i, where)) return false;
    if (a.constant.has_value() != b.constant.has_value())
      return differ(where, ": one has a constant value, the other none");
    if (a.constant && !same_bits(a.constant->view, b.constant->view)) return differ(where, ": constant values differ");
    return compare_bodies(a, b, where);
  }

  bool equal_attributes(const Node& a, const Node& b, const std::string& where) {
    if (ir::equal(*a.attributes, *b.attributes)) return true;
    const auto left = to_text(*a.attributes), right = to_text(*b.attributes);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
      if (left[i].name != right[i].name || left[i].value != right[i].value || left[i].empty_list != right[i].empty_list)
        return differ(where, ": attributes ", left[i].name, "=\"", left[i].value, "\" and ", right[i].name, "=\"",
                      right[i].value, "\"");
    return differ(where, ": ", left.size(), " attributes and ", right.size());
  }

  bool compare_input(const Node& a, const Node& b, size_t i, const std::string& where) {
    const Value left = a.inputs[i], right = b.inputs[i];
    if ((left.node == NodeId::none) != (right.node == NodeId::none))
      return differ(where, ": input ", i, " is connected in one of them only");
    if (left.node == NodeId::none) return true;
    if (left.output != right.output || !pair(left.node, right.node))
      return differ(where, ": input ", i, " reads output ", left.output, " of ", a_.node(left.node).describe(),
                    " and output ", right.output, " of ", b_.node(right.node).describe());
    static const RtInfo kNone;
    const auto& left_info = i < a.input_rt_info.size() ? a.input_rt_info[i] : kNone;
    const auto& right_info = i < b.input_rt_info.size() ? b.input_rt_info[i] : kNone;
    if (left_info != right_info)
      return differ(where, ": runtime information of input ", i, ": ", text_of(left_info), " and ",
                    text_of(right_info));
    return true;
  }

  bool compare_output(const OutputPort& a, const OutputPort& b, size_t i, const std::string& where) {
    if (a.type != b.type || a.shape != b.shape)
      return differ(where, ": output ", i, " is ", a.type.get_type_name(), a.shape.to_string(), " and ",
                    b.type.get_type_name(), b.shape.to_string());
    if (a.names != b.names)
      return differ(where, ": tensor names of output ", i, ": ", text_of(a.names), " and ", text_of(b.names));
    if (a.rt_info != b.rt_info)
      return differ(where, ": runtime information of output ", i, ": ", text_of(a.rt_info), " and ",
                    text_of(b.rt_info));
    return true;
  }

  bool compare_bodies(const Node& a, const Node& b, const std::string& where);

  const Graph& a_;
  const Graph& b_;
  std::vector<NodeId> partner_;  // of nodes of a, in b
  std::vector<bool> taken_;      // nodes of b that have a partner
  std::vector<NodeId> pending_;

  friend bool same_ports(const Matcher& matcher, const BodyPortMap& a, const BodyPortMap& b);
};

template <class Map>
bool same_slice(const Map& a, const Map& b) {
  return a.external_port == b.external_port && a.axis == b.axis &&
         (!a.axis || (a.start == b.start && a.end == b.end && a.stride == b.stride && a.part_size == b.part_size));
}

bool same_ports(const Matcher& matcher, const BodyPortMap& a, const BodyPortMap& b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size() ||
      a.back_edges.size() != b.back_edges.size())
    return false;
  const auto partners = [&](NodeId left, NodeId right) { return matcher.partner_[index_of(left)] == right; };
  for (size_t i = 0; i < a.inputs.size(); ++i)
    if (!same_slice(a.inputs[i], b.inputs[i]) || a.inputs[i].current_iteration != b.inputs[i].current_iteration ||
        !partners(a.inputs[i].parameter, b.inputs[i].parameter))
      return false;
  for (size_t i = 0; i < a.outputs.size(); ++i)
    if (!same_slice(a.outputs[i], b.outputs[i]) ||
        a.outputs[i].execution_condition != b.outputs[i].execution_condition ||
        !partners(a.outputs[i].result, b.outputs[i].result))
      return false;
  for (size_t i = 0; i < a.back_edges.size(); ++i)
    if (!partners(a.back_edges[i].result, b.back_edges[i].result) ||
        !partners(a.back_edges[i].parameter, b.back_edges[i].parameter))
      return false;
  return true;
}

bool Matcher::compare_bodies(const Node& a, const Node& b, const std::string& where) {
  if (a.bodies.size() != b.bodies.size()) return differ(where, ": ", a.bodies.size(), " bodies and ", b.bodies.size());
  for (size_t i = 0; i < a.bodies.size(); ++i) {
    if (a.bodies[i].role != b.bodies[i].role)
      return differ(where, ": bodies '", a.bodies[i].role, "' and '", b.bodies[i].role, "'");
    Matcher inner(*a.bodies[i].graph, *b.bodies[i].graph);
    if (!inner.run()) return differ(where, ", ", a.bodies[i].role, ": ", inner.difference);
    if (!same_ports(inner, a.bodies[i].ports, b.bodies[i].ports))
      return differ(where, ": connections of ", a.bodies[i].role, " differ");
  }
  return true;
}

}  // namespace

bool equal(const Graph& a, const Graph& b, std::string* difference) {
  Matcher matcher(a, b);
  // Bodies are not compared by name: files have no place for it.
  if (a.name() != b.name())
    matcher.difference = "names " + quoted(a.name()) + " and " + quoted(b.name());
  else if (matcher.run())
    return true;
  if (difference) *difference = matcher.difference;
  return false;
}

}  // namespace terroir::ir
