// What: single attributes as text, for code that knows a name, but not the operation.
#pragma once

#include <string>
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ir {

/// Empty where there is none of the name.
std::string attribute_text(const Attributes& attributes, std::string_view name);

/// Whether operands are aligned at an axis of their own (auto_broadcast="pdpd"), not at the last one.
bool broadcasts_from_an_axis(const Attributes& attributes);

}  // namespace terroir::ir
