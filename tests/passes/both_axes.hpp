#pragma once
// What: attribute texts that say the same of height and width.
#include <cstdint>
#include <string>

namespace terroir::test {

inline std::string both_axes(int64_t value) { return std::to_string(value) + "," + std::to_string(value); }

}  // namespace terroir::test
