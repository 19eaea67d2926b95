#include "ir/base/code_file.hpp"

#include <filesystem>

#include "ir/base/loaded_object.hpp"

namespace terroir {

std::string file_of_code(const void* code) {
  const std::optional<LoadedObject> object = loaded_object_of(code);
  if (!object) return {};
  // The loader has no name for the program.
  const char* name = object->info.dlpi_name;
  std::error_code unreadable;  // the folder that the process works in
  return std::filesystem::absolute(*name != '\0' ? name : "/proc/self/exe", unreadable).string();
}

}  // namespace terroir
