// Filling an operation's attributes from named values.
#pragma once

#include "ir/schema/attributes.hpp"
#include "ir/schema/op_schema.hpp"
#include "terroir/any.hpp"

namespace terroir::detail {

/// The attributes of `schema` with the values given. Throws Exception: not_found for an attribute the operation does
/// not have (names the nearest), invalid_argument for a missing required one or a spelling that is no enumerator,
/// parse_error for a text that is no value.
std::unique_ptr<ir::Attributes> make_attributes(const ir::OpSchema& schema, const AnyMap& values);
/// A copy of `attributes` with these values instead; throws as above.
std::unique_ptr<ir::Attributes> changed_attributes(const ir::OpSchema& schema, const ir::Attributes& attributes,
                                                   const AnyMap& values);

}  // namespace terroir::detail
