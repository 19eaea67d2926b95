#pragma once
// What: how a body record's port map becomes the BodyPortMap of its node.
#include <unordered_map>

#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

/// Layer ids of a body -> its nodes.
using NodeOfLayer = std::unordered_map<int64_t, NodeId>;

/// Exception: parse_error for references to layers or ports that are not there or of the wrong kind, for Parameters
/// that are fed twice or, being used, not at all, and for bad slices.
BodyPortMap build_ports(const LayerRecord& layer, const BodyRecord& record, const Graph& body,
                        const NodeOfLayer& node_of, const std::string& file);

/// Exception unless the layer has the bodies its type asks for.
void check_roles(const LayerRecord& layer, const std::string& type);

}  // namespace terroir::ir::xml
