#pragma once
// What: element types on both sides of the boundary. Texts (std::string elements) do not cross it.
#include "terroir/element_type.hpp"
#include "terroir/extension_abi.h"

namespace terroir::custom {

/// TERROIR_DYNAMIC for element::dynamic. Exception (unsupported) for element::string.
terroir_element to_abi(element::Type type);
/// Exception (invalid_argument) for a number that is no type.
element::Type from_abi(terroir_element type);

}  // namespace terroir::custom
