#pragma once
// What: the set of operations a reader, a builder or a plugin knows. Filled by explicit calls; no static initialisers.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/schema/op_schema.hpp"

namespace terroir::ir {

class OpRegistry {
 public:
  /// Takes the schema in; an already present (type, opset) is an Exception. The reference stays valid for the life of
  /// the registry and its copies, which share their schemas.
  const OpSchema& add(OpSchema schema);
  const OpSchema& add(std::shared_ptr<const OpSchema> schema);

  /// The version of `type` that the set `opset` contains: for "opsetN" the newest one introduced in sets 1..N, for
  /// other sets the exact match. Types compare case-insensitively, as they do in old files. Null when there is none.
  const OpSchema* find(std::string_view type, std::string_view opset) const;

  /// As find(), but the failure is an Exception that says what is known instead: the nearest type, or the opset that
  /// introduced this one.
  const OpSchema& get(std::string_view type, std::string_view opset) const;

  /// All schemas ordered by type, then by opset number.
  std::vector<const OpSchema*> all() const;

 private:
  // lower-case type -> versions, oldest first
  std::map<std::string, std::vector<std::shared_ptr<const OpSchema>>, std::less<>> schemas_;
};

/// The N of "opsetN", or -1 for the name of another set.
int opset_number(std::string_view opset);

}  // namespace terroir::ir
