#pragma once
// What: extensions: loads a shared library, or takes a descriptor of the program itself, and keeps the schemas of its
// layers for as long as the process lives.
// Errors: every one names the file. file_not_found; unsupported: no shared library, of another machine or with missing
// parts (the loader's words), without the entry point, of a newer version of extension_abi.h; invalid_argument: a
// descriptor that is wrong.
// Threads: any.
#include <memory>
#include <span>
#include <string>

#include "ir/schema/op_schema.hpp"
#include "terroir/extension_abi.h"

namespace terroir::custom {

/// The layers of the library. The same library is loaded once.
std::span<const std::shared_ptr<const ir::OpSchema>> load_extension(const std::string& path);

/// The layers of a descriptor that lives as long as the process; `source` is for people.
std::span<const std::shared_ptr<const ir::OpSchema>> adopt_extension(const terroir_extension* extension);

/// The library or extension that an operation came from; empty for our own.
std::string source_of(const ir::OpSchema& schema);

}  // namespace terroir::custom
