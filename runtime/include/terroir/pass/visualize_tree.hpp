// A picture of a model, as Graphviz reads it.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "terroir/exception.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {
namespace pass {

/// Writes the layers and what they read as a text in the language of dot: "model.dot" as it is named, of other names
/// ("model.svg") with ".dot" behind; `dot -Tsvg model.svg.dot -o model.svg` draws it. The model stays as it is. Throws
/// Exception (file_not_found) if the file cannot be written.
class VisualizeTree : public ModelPass {
 public:
  /// Changes the properties of a layer's box: "label", "shape" ... are "name=value" texts.
  using node_modifiers_t = std::function<void(const Node& layer, std::vector<std::string>& properties)>;

  explicit VisualizeTree(std::string file_name, node_modifiers_t modifiers = nullptr, bool /*dot_only*/ = false)
      : file_name_(std::move(file_name)), modifiers_(std::move(modifiers)) {}

  bool run_on_model(const std::shared_ptr<Model>& model) override {
    const std::string extension = ".dot";
    const bool named = file_name_.size() >= extension.size() &&
                       file_name_.compare(file_name_.size() - extension.size(), extension.size(), extension) == 0;
    const std::string path = named ? file_name_ : file_name_ + extension;
    std::ofstream out(path);
    out << text_of(*model);
    out.close();
    if (!out) throw Exception(ErrorCode::file_not_found, "cannot write '" + path + "'");
    return false;
  }

 private:
  std::string text_of(const Model& model) const {
    std::ostringstream out;
    out << "digraph " << quoted(model.get_friendly_name()) << " {\n";
    const NodeVector layers = model.get_ordered_ops();
    for (const auto& layer : layers) {
      std::ostringstream label;
      label << layer->get_type_name() << "\n" << layer->get_friendly_name();
      for (size_t i = 0; i < layer->get_output_size(); ++i)
        label << "\n" << layer->get_output_element_type(i) << layer->get_output_partial_shape(i);
      std::vector<std::string> properties{"shape=box", "label=" + quoted(label.str())};
      if (modifiers_) modifiers_(*layer, properties);
      out << "  " << quoted(layer->get_name()) << " [";
      for (size_t i = 0; i < properties.size(); ++i) out << (i == 0 ? "" : ", ") << properties[i];
      out << "];\n";
    }
    for (const auto& layer : layers) {
      for (const Output<Node>& source : layer->input_values())
        out << "  " << quoted(source.get_node()->get_name()) << " -> " << quoted(layer->get_name()) << " [label=\""
            << source.get_index() << "\"];\n";
    }
    out << "}\n";
    return out.str();
  }

  static std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      if (c == '\n') {
        result += "\\n";
      } else {
        result += c;
      }
    }
    return result + '"';
  }

  std::string file_name_;
  node_modifiers_t modifiers_;
};

}  // namespace pass
}  // namespace terroir
