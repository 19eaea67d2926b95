#pragma once
// What: a layer's operation and its attributes, from the texts of the file.
#include "ir/schema/registry.hpp"
#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

/// The schema of a layer, also where files place it in a set that does not define it. Exception if there is none.
const OpSchema& find_schema(const OpRegistry& registry, const LayerRecord& layer);

/// Attributes of `schema` with the values of the layer's <data>. Exception for an unknown, missing, doubled or
/// unparsable attribute, with the attribute's name, what was expected and what was found. `ignored` names attributes
/// that belong to the container.
std::unique_ptr<Attributes> read_attributes(const OpSchema& schema, const LayerRecord& layer,
                                            std::initializer_list<std::string_view> ignored = {});

/// The text of one attribute of <data>. Exception if it is missing.
std::string_view data_text(const LayerRecord& layer, std::string_view name);

}  // namespace terroir::ir::xml
