#pragma once
// What: attributes of Round. Source: operation page Round-5.
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class RoundMode { half_to_even, half_away_from_zero };

struct RoundAttrs {
  RoundMode mode = RoundMode::half_to_even;

  template <class V>
  void visit(V& v) {
    v("mode", mode);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::RoundMode> {
  static constexpr std::string_view names[] = {"half_to_even", "half_away_from_zero"};
};
