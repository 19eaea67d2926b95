#pragma once
// What: extensions: loads a shared library, or takes a descriptor of the program itself, and keeps what they bring for
// as long as the process lives: the schemas of their layers, and their devices. Errors: every one names the file.
// file_not_found; unsupported: no shared library, of another machine or with missing parts (the loader's words),
// without the entry point, of a newer version of extension_abi.h; invalid_argument: a descriptor that is wrong.
// Threads: any.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ir/schema/op_schema.hpp"
#include "ir/schema/registry.hpp"
#include "runtime/extension/device.hpp"
#include "terroir/extension_abi.h"

namespace terroir::custom {

struct Extension {
  std::vector<std::shared_ptr<const ir::OpSchema>> operations;
  std::deque<Device> devices;
};

/// What the library brings. The same library is loaded once.
const Extension& load_extension(const std::string& path);

/// What a descriptor that lives as long as the process brings.
const Extension& adopt_extension(const terroir_extension* extension);

/// The library or extension that an operation came from; empty for our own.
std::string source_of(const ir::OpSchema& schema);

/// A text that changes with the operations of extensions and with the libraries, or the program, that compute them.
std::string fingerprint(const ir::OpRegistry& operations);

}  // namespace terroir::custom
