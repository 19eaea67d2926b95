#pragma once
// What: fills attributes from name -> text pairs in the spelling of IR files.
#include <string>
#include <utility>
#include <vector>

#include "ir/schema/attributes.hpp"

namespace terroir::test {

using AttributeTexts = std::vector<std::pair<std::string, std::string>>;

/// Exception (parse_error) for a name the struct does not have, given twice, or a text that is no value of its type.
void set_attributes(ir::Attributes& attributes, const AttributeTexts& texts);

}  // namespace terroir::test
