#include "ir/base/code_file.hpp"

#include <link.h>

#include <cstdint>
#include <filesystem>

namespace terroir {
namespace {

struct Search {
  uintptr_t code;
  std::string found;
};

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || search.code - (object->dlpi_addr + part.p_vaddr) >= part.p_memsz) continue;
    // The loader has no name for the program.
    search.found = *object->dlpi_name != '\0' ? object->dlpi_name : "/proc/self/exe";
    return 1;
  }
  return 0;
}

}  // namespace

std::string file_of_code(const void* code) {
  Search search{reinterpret_cast<uintptr_t>(code), {}};
  ::dl_iterate_phdr(&look_at, &search);
  if (search.found.empty()) return {};
  std::error_code unreadable;  // the folder that the process works in
  return std::filesystem::absolute(search.found, unreadable).string();
}

}  // namespace terroir
