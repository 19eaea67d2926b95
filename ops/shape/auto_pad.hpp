#pragma once
// What: how a sliding window is padded and how its last step is rounded, as IR files spell it.
// Source: operation pages Convolution-1, MaxPool-14, "Shape calculation rules for Pooling Operators".
#include <string_view>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

enum class AutoPad {
  explicit_pads,  // pads_begin and pads_end as given
  same_upper,     // as much as makes the output ceil(input / stride) long; an odd element goes to the end
  same_lower,     // the odd element goes to the beginning
  valid           // none
};

enum class Rounding {
  floor,
  ceil,
  ceil_torch  // as ceil, but no window begins in the padding at the end
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::AutoPad> {
  static constexpr std::string_view names[] = {"explicit", "same_upper", "same_lower", "valid"};
};

template <>
struct terroir::ir::EnumSpellings<terroir::ops::Rounding> {
  static constexpr std::string_view names[] = {"floor", "ceil", "ceil_torch"};
};
