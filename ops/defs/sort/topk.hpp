#pragma once
// What: attributes of TopK-1, TopK-3 and TopK-11.
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class TopKMode { max, min };
enum class TopKSort { none, value, index };

struct TopKAttrs {
  int64_t axis = 0;
  TopKMode mode = TopKMode::max;
  TopKSort sort = TopKSort::none;
  element::Type index_element_type = element::i32;

  template <class V>
  void visit(V& v) {
    v("axis", axis, ir::Presence::required);
    v("mode", mode, ir::Presence::required);
    v("sort", sort, ir::Presence::required);
    v("index_element_type", index_element_type);
  }
};

/// `stable`: equal values keep their order; here they always do.
struct TopK11Attrs : TopKAttrs {
  bool stable = false;

  template <class V>
  void visit(V& v) {
    TopKAttrs::visit(v);
    v("stable", stable);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::TopKMode> {
  static constexpr std::string_view names[] = {"max", "min"};
};
template <>
struct terroir::ir::EnumSpellings<terroir::ops::TopKSort> {
  static constexpr std::string_view names[] = {"none", "value", "index"};
};
