#include "ir/text/printer.hpp"

#include <array>
#include <charconv>

#include "ir/text/constant_text.hpp"
#include "ir/text/names.hpp"

namespace terroir::ir {
namespace {

/// Attributes as "name=value", lists in brackets.
class PrintVisitor final : public AttributeVisitor {
 public:
  std::vector<std::pair<std::string, std::string>> items;

 protected:
  void on(const char* name, bool& value, Presence) override { add(name, value ? "true" : "false"); }
  void on(const char* name, int64_t& value, Presence) override { add(name, std::to_string(value)); }
  void on(const char* name, double& value, Presence) override { add(name, number(value)); }
  void on(const char* name, std::string& value, Presence) override { add(name, ir::quoted(value)); }
  void on(const char* name, element::Type& value, Presence) override { add(name, value.get_type_name()); }
  void on(const char* name, PartialShape& value, Presence) override { add(name, value.to_string()); }
  void on(const char* name, std::vector<int64_t>& value, Presence) override {
    add(name, list(value, [](int64_t v) { return std::to_string(v); }));
  }
  void on(const char* name, std::vector<double>& value, Presence) override { add(name, list(value, number)); }
  void on(const char* name, std::vector<std::string>& value, Presence) override { add(name, list(value, quoted)); }
  void on_enum(const char* name, int64_t& index, std::span<const std::string_view> names, Presence) override {
    const auto i = static_cast<size_t>(index);
    add(name, i < names.size() ? std::string(names[i]) : std::to_string(index));
  }

 private:
  static std::string number(double value) {
    std::array<char, 64> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
  }
  template <class T, class Print>
  static std::string list(const std::vector<T>& values, Print print) {
    std::string text = "[";
    for (const T& value : values) text += (text.size() > 1 ? ", " : "") + print(value);
    return text + "]";
  }
  void add(const char* name, std::string value) { items.emplace_back(name, std::move(value)); }
};

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string take() { return std::move(text_); }

  void print(const Graph& graph, const std::string& head, const std::string& indent) {
    const auto order = printing_order(graph);
    const PrintNames names(graph, order);
    text_ += indent + head + " " + tuple(graph.parameters(), names) + " -> " + tuple(graph.results(), names) + "\n";
    for (NodeId id : order) print_node(graph, id, names, indent + "  ");
  }

 private:
  static std::string tuple(const std::vector<NodeId>& ids, const PrintNames& names) {
    std::string text = "(";
    for (NodeId id : ids) text += (text.size() > 1 ? ", " : "") + names.node(id);
    return text + ")";
  }

  void print_node(const Graph& graph, NodeId id, const PrintNames& names, const std::string& indent) {
    const Node& node = graph.node(id);
    text_ += indent + names.node(id) + " = " + node.schema->display_name() + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i) text_ += (i ? ", " : "") + names.value(node.inputs[i]);
    text_ += ")";
    if (!node.constant) {  // type and shape of a constant are its output's
      std::unique_ptr<Attributes> defaults;
      if (!options_.default_attrs) defaults = node.schema->make_attributes();
      const std::string attrs = to_text(*node.attributes, defaults.get());
      if (!attrs.empty()) text_ += " " + attrs;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text_ += i ? ", " : " : ";
      print_output(graph, {id, static_cast<int32_t>(i)});
    }
    if (node.constant) text_ += " = " + constant_text(node.constant->view, options_.max_values);
    if (options_.rt_info) text_ += rt_info(node.rt_info);
    if (options_.annotate_node) append_note(options_.annotate_node(graph, id));
    text_ += "\n";
    for (const Body& body : node.bodies) print_body(body, indent + "  ");
  }

  void print_output(const Graph& graph, Value value) {
    const OutputPort& port = graph.port(value);
    text_ += port.type.get_type_name() + port.shape.to_string();
    if (options_.annotate_value) append_note(options_.annotate_value(graph, value));
    if (options_.tensor_names && !port.names.empty()) {
      text_ += " ";
      for (size_t i = 0; i < port.names.size(); ++i) text_ += (i ? "|" : "") + quoted(port.names[i]);
    }
    if (options_.rt_info) text_ += rt_info(port.rt_info);
  }

  void print_body(const Body& body, const std::string& indent) {
    const auto order = printing_order(*body.graph);
    const PrintNames inner(*body.graph, order);
    const auto slice = [](const auto& map) {
      if (!map.axis) return std::string();
      return " axis=" + std::to_string(*map.axis) + " start=" + std::to_string(map.start) +
             " end=" + std::to_string(map.end) + " stride=" + std::to_string(map.stride) +
             " part_size=" + std::to_string(map.part_size);
    };
    for (const auto& input : body.ports.inputs) {
      const std::string from = input.current_iteration ? "iteration" : "input " + std::to_string(input.external_port);
      text_ += indent + body.role + " " + inner.node(input.parameter) + " <- " + from + slice(input) + "\n";
    }
    for (const auto& edge : body.ports.back_edges)
      text_ += indent + body.role + " " + inner.node(edge.parameter) + " <- next " + inner.node(edge.result) + "\n";
    for (const auto& output : body.ports.outputs) {
      const std::string to =
          output.execution_condition ? "condition" : "output " + std::to_string(output.external_port);
      text_ += indent + body.role + " " + inner.node(output.result) + " -> " + to + slice(output) + "\n";
    }
    print(*body.graph, body.role, indent);
  }

  static std::string rt_info(const RtInfo& info) {
    std::string text;
    for (const auto& [name, fields] : info) {
      text += " @" + name + "(";
      bool first = true;
      for (const auto& [key, value] : fields) {
        text += (first ? "" : ", ") + key + "=" + quoted(value);
        first = false;
      }
      text += ")";
    }
    return text;
  }

  void append_note(const std::string& note) {
    if (!note.empty()) text_ += " " + note;
  }

  const PrintOptions& options_;
  std::string text_;
};

}  // namespace

std::string to_text(const Attributes& attributes, const Attributes* defaults) {
  PrintVisitor visitor, default_visitor;
  attributes.inspect(visitor);
  if (defaults) defaults->inspect(default_visitor);
  std::string text;
  for (size_t i = 0; i < visitor.items.size(); ++i) {
    // A struct may visit some attributes only depending on others, so positions need not match.
    if (i < default_visitor.items.size() && default_visitor.items[i] == visitor.items[i]) continue;
    text += (text.empty() ? "{" : ", ") + visitor.items[i].first + "=" + visitor.items[i].second;
  }
  return text.empty() ? text : text + "}";
}

std::string to_text(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.print(graph, "graph " + quoted(graph.name()), "");
  return printer.take();
}

}  // namespace terroir::ir
