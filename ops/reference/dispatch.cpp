#include "ops/reference/dispatch.hpp"

#include <string>

namespace terroir::ops::reference {

void throw_unsupported_type(element::Type type, const char* op, std::initializer_list<element::Type> supported) {
  std::string known;
  for (const element::Type each : supported) known += (known.empty() ? "" : ", ") + each.get_type_name();
  throw_error(ErrorCode::unsupported, op, " is not implemented for ", type.get_type_name(), "; it is for ", known);
}

}  // namespace terroir::ops::reference
