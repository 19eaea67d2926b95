#pragma once
// What: a text that changes whenever the code of this library does: the linker's build id of the library, or of the
// program that it is linked into; where there is none, the version and the size of the code.
#include <string>

namespace terroir {

const std::string& build_id();

}  // namespace terroir
