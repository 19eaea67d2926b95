// What fills the elements that padding adds.
#pragma once

namespace terroir {
namespace op {

enum class PadMode {
  CONSTANT,  ///< one value
  EDGE,      ///< the nearest element
  REFLECT,   ///< the elements mirrored at the edge, which itself is not repeated
  SYMMETRIC  ///< the elements mirrored, the edge repeated
};

}  // namespace op
}  // namespace terroir
