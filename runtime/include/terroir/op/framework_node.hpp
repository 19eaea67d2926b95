// Layers that nobody knows: what stands for an operation of a framework until a pass of the program replaces it.
//
// What: a layer with a type, a set and attributes that are texts, and outputs whose types and shapes the program says.
//       It is copied and written like any other layer, under its type and set; without a type as "FrameworkNode" of
//       "util". Nothing computes it: compile_model(), evaluate() and reading a file that has it throw an Exception.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "terroir/export.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace util {

class FrameworkNodeAttrs {
 public:
  using attrs_t = std::unordered_map<std::string, std::string>;
  void set_opset_name(const std::string& opset_name) { opset_name_ = opset_name; }
  void set_type_name(const std::string& type_name) { type_name_ = type_name; }
  const std::string& get_opset_name() const { return opset_name_; }
  const std::string& get_type_name() const { return type_name_; }
  attrs_t::iterator begin() { return attrs_.begin(); }
  attrs_t::iterator end() { return attrs_.end(); }
  attrs_t::const_iterator begin() const { return attrs_.begin(); }
  attrs_t::const_iterator end() const { return attrs_.end(); }
  attrs_t::const_iterator find(const std::string& name) const { return attrs_.find(name); }
  std::string& operator[](const std::string& name) { return attrs_[name]; }
  std::string at(const std::string& name) const { return attrs_.at(name); }
  bool operator==(const FrameworkNodeAttrs& other) const {
    return type_name_ == other.type_name_ && opset_name_ == other.opset_name_ && attrs_ == other.attrs_;
  }

 private:
  std::string type_name_, opset_name_;
  attrs_t attrs_;
};

class TERROIR_API FrameworkNode : public Node {
  TERROIR_TYPE_INFO(Node, FrameworkNode, "util")
  explicit FrameworkNode(const terroir::detail::NodeHandle& handle) : Node(handle) {}

  FrameworkNode() : FrameworkNode(OutputVector()) {}
  /// Types and shapes of the outputs are not known until set_output_type() says them.
  explicit FrameworkNode(const OutputVector& inputs, size_t output_size = 1);

  FrameworkNodeAttrs get_attrs() const;
  /// Another type, set and attributes.
  void set_attrs(const FrameworkNodeAttrs& attrs);
  void set_output_size(size_t outputs);
  void set_output_type(size_t output, const element::Type& type, const PartialShape& shape);
};

}  // namespace util
}  // namespace op
}  // namespace terroir
