// Runtime information as the public API tells it.
#pragma once

#include "ir/graph/graph.hpp"
#include "terroir/any.hpp"

namespace terroir::detail {

/// Names -> texts, or maps of texts where there are several.
inline AnyMap to_any_map(const ir::RtInfo& info) {
  AnyMap map;
  for (const auto& [name, fields] : info) {
    if (fields.size() == 1 && fields.begin()->first.empty()) {
      map.emplace(name, fields.begin()->second);
      continue;
    }
    AnyMap inner;
    for (const auto& [key, value] : fields) inner.emplace(key, value);
    map.emplace(name, inner);
  }
  return map;
}

}  // namespace terroir::detail
