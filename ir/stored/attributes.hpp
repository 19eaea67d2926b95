#pragma once
// What: attributes as bytes and back: every value that `visit` shows, with its type in front.
// Edge cases: read_attributes() throws Exception (parse_error) for bytes of another type or out of an enumeration's
// range. Attributes whose visit() shows texts made for people do not come back; see NodeCodec.
#include <memory>

#include "ir/base/byte_stream.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::ir {

void store_attributes(const Attributes& attributes, ByteWriter& to);
std::unique_ptr<Attributes> load_attributes(const OpSchema& schema, ByteReader& from);

void store_shape(const PartialShape& shape, ByteWriter& to);
PartialShape load_shape(ByteReader& from);
void store_type(element::Type type, ByteWriter& to);
element::Type load_type(ByteReader& from);

}  // namespace terroir::ir
