// Operands for layers made in code, and what became of them as a text.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "terroir/ops.hpp"

namespace terroir {

inline std::shared_ptr<op::v0::Parameter> input(const PartialShape& shape, const element::Type& type = element::f32) {
  return std::make_shared<op::v0::Parameter>(type, shape);
}
inline std::shared_ptr<op::v0::Constant> list(const std::vector<int64_t>& values) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{values.size()}, values);
}
inline std::shared_ptr<op::v0::Constant> number(int64_t value) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{}, value);
}
inline std::shared_ptr<op::v0::Constant> real(float value) {
  return std::make_shared<op::v0::Constant>(element::f32, Shape{}, value);
}

/// "[1,2,3] name=value ...": the shape of output 0 and the attributes named.
inline std::string text(const Node& node, const std::vector<std::string>& attributes = {}) {
  std::string result = node.get_output_partial_shape(0).to_string();
  const std::map<std::string, std::string> all = node.get_attributes();
  for (const std::string& name : attributes) {
    const auto found = all.find(name);
    result += " " + name + "=" + (found == all.end() ? "?" : found->second);
  }
  return result;
}

}  // namespace terroir
