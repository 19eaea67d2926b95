#pragma once
// What: attributes of the layers every reader and builder must know by name: Parameter, Const, Result.
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ir {

inline constexpr std::string_view kParameterType = "Parameter";
inline constexpr std::string_view kConstType = "Const";
inline constexpr std::string_view kResultType = "Result";

/// Source: Parameter-1.
struct ParameterAttrs {
  PartialShape shape = PartialShape::dynamic();
  element::Type element_type = element::dynamic;

  template <class V>
  void visit(V& v) {
    v("shape", shape, Presence::required);
    v("element_type", element_type, Presence::required);
  }
};

/// Source: Constant-1. `offset` and `size` belong to the container, not to the graph: reader and writer handle them.
struct ConstAttrs {
  element::Type element_type = element::dynamic;
  PartialShape shape;

  template <class V>
  void visit(V& v) {
    v("element_type", element_type, Presence::required);
    v("shape", shape, Presence::required);
  }
};

}  // namespace terroir::ir
