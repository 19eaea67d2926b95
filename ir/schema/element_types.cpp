#include "ir/schema/element_types.hpp"

namespace terroir::ir {

std::string ElementTypes::names() const {
  std::string text;
  for (unsigned i = 0; i < 32; ++i)
    if (const auto type = static_cast<element::Type_t>(i); contains(type))
      text += (text.empty() ? "" : ", ") + element::Type(type).get_type_name();
  return text;
}

}  // namespace terroir::ir
