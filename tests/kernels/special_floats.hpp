#pragma once
// What: infinity and NaN.
#include <limits>

namespace terroir::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace terroir::testing
