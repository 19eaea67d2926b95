#pragma once
// What: stage one of reading: XML text to records. Knows elements and attributes of the container, no operation.
// Edge cases: bodies nest up to kMaxBodyDepth; entity definitions are not expanded, so a small text stays small.
#include <functional>
#include <string>
#include <string_view>

#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

using Warn = std::function<void(const std::string&)>;

/// `file` is for messages and records only. Throws Exception: parse_error or unsupported, with the place in the file.
ModelRecord walk_model(std::string_view xml, std::string file, const Warn& warn);

}  // namespace terroir::ir::xml
