#pragma once
// What: the file that code in this process comes from.
// Edge cases: code that was made as the process runs comes from none.
#include <string>

namespace terroir {

/// The program or library that `code` lies in, as this process finds it; empty if it lies in none.
std::string file_of_code(const void* code);

}  // namespace terroir
