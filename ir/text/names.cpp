#include "ir/text/names.hpp"

#include <cctype>
#include <unordered_map>

#include "ir/base/error.hpp"
#include "ir/graph/order.hpp"

namespace terroir::ir {
namespace {

bool is_plain(const std::string& name) {
  if (name.empty()) return false;
  for (const char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("_/.:-").find(c) == std::string_view::npos)
      return false;
  return true;
}

bool is_connected(const Graph& graph) {
  for (NodeId id : graph.nodes())
    for (const Value& input : graph.node(id).inputs)
      if (input.node == NodeId::none || !graph.contains(input.node)) return false;
  return true;
}

}  // namespace

std::vector<NodeId> printing_order(const Graph& graph) {
  try {
    if (is_connected(graph)) return topological_order(graph);
  } catch (const Exception&) {
    // A cycle: such graphs are printed to find out why.
  }
  return graph.nodes();
}

PrintNames::PrintNames(const Graph& graph, const std::vector<NodeId>& order) : graph_(graph), names_(graph.id_bound()) {
  std::unordered_map<std::string, int> seen;
  for (NodeId id : order) {
    const std::string& name = graph.node(id).name;
    const int count = ++seen[name];
    std::string& text = names_[index_of(id)];
    text = "%" + (is_plain(name) ? name : quoted(name));
    if (count > 1) text += "#" + std::to_string(count);
  }
}

std::string PrintNames::node(NodeId id) const {
  if (id == NodeId::none || index_of(id) >= names_.size()) return "%none";
  return names_[index_of(id)];
}

std::string PrintNames::value(Value value) const {
  std::string text = node(value.node);
  const bool single = graph_.contains(value.node) && graph_.node(value.node).outputs.size() <= 1 && value.output == 0;
  return single ? text : text + "." + std::to_string(value.output);
}

std::string quoted(const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20) {
      result += "\\x";
      result += kHex[byte >> 4];
      result += kHex[byte & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace terroir::ir
