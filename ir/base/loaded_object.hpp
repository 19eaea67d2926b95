#pragma once
// What: the program or library of this process that an address lies in.
// Edge cases: code that was made as the process runs lies in none.
#include <link.h>

#include <cstddef>
#include <optional>

namespace terroir {

/// A program or library as the loader has put it in memory, for as long as it stays loaded.
struct LoadedObject {
  dl_phdr_info info;
  size_t part_bytes;  // of the part that was asked for: all code lies in one
};

/// The one that `code` lies in.
std::optional<LoadedObject> loaded_object_of(const void* code);

}  // namespace terroir
