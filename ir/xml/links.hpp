#pragma once
// What: the references between layers of one graph record: edges resolved to positions, and which layers are needed.
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

/// One output port, by position.
struct Source {
  size_t layer = 0;
  int32_t output = 0;
};

struct Links {
  std::unordered_map<int64_t, size_t> position_of;         // layer id -> position in the record
  std::vector<std::vector<std::optional<Source>>> inputs;  // by layer, by position of the input port
  std::vector<bool> needed;                                // by layer
};

/// Exception: parse_error for a doubled layer or port id, an edge to a layer or port that is not there, an input fed
/// twice, a needed layer's input that is not fed, and a graph without outputs.
Links resolve_links(const GraphRecord& record, const std::string& file);

}  // namespace terroir::ir::xml
