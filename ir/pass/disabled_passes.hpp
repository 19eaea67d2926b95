#pragma once
// What: the switch TERROIR_DISABLE_PASS=a,b, passes that are left out.
#include <string>

namespace terroir::ir {

/// The names as they were set, separated by commas. What is kept of a compiled model depends on them.
std::string disabled_passes();

}  // namespace terroir::ir
