#include "ir/schema/attribute_text.hpp"

#include <utility>

namespace terroir::ir {

std::string attribute_text(const Attributes& attributes, std::string_view name) {
  for (AttributeText& text : to_text(attributes))
    if (text.name == name) return std::move(text.value);
  return {};
}

bool broadcasts_from_an_axis(const Attributes& attributes) {
  return attribute_text(attributes, "auto_broadcast") == "pdpd";
}

}  // namespace terroir::ir
