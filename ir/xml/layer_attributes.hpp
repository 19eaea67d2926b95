#pragma once
// What: a layer's operation and its attributes, from the texts of the file.
#include <string>
#include <vector>

#include "ir/schema/registry.hpp"
#include "ir/xml/records.hpp"

namespace terroir::ir::xml {

/// The schema of a layer, also where files place it in a set that does not define it. Exception if there is none.
const OpSchema& find_schema(const OpRegistry& registry, const LayerRecord& layer);

/// Attributes of `schema` with the values of the layer's <data>. Exception for a missing, doubled or unparsable
/// attribute, with the attribute's name, what was expected and what was found. `container` names attributes that belong
/// to the container.
/// Attributes that the operation does not know mean nothing in OpenVINO, whose operations ask for those they know:
/// their texts ("name = value") are added to `unknown`. Exception if that is null, for an operation of our own sets,
/// and for what looks like a slip of an attribute that is not given.
std::unique_ptr<Attributes> read_attributes(const OpSchema& schema, const LayerRecord& layer,
                                            std::vector<std::string>* unknown,
                                            std::initializer_list<std::string_view> container = {});

/// The text of one attribute of <data>. Exception if it is missing.
std::string_view data_text(const LayerRecord& layer, std::string_view name);

}  // namespace terroir::ir::xml
