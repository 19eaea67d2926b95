#include "ir/base/loaded_object.hpp"

#include <cstdint>

namespace terroir {
namespace {

struct CodeSearch {
  uintptr_t code;
  std::optional<LoadedObject> found;
};

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<CodeSearch*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || search.code - (object->dlpi_addr + part.p_vaddr) >= part.p_memsz) continue;
    search.found = LoadedObject{*object, part.p_memsz};
    return 1;
  }
  return 0;
}

}  // namespace

std::optional<LoadedObject> loaded_object_of(const void* code) {
  CodeSearch search{reinterpret_cast<uintptr_t>(code), {}};
  ::dl_iterate_phdr(&look_at, &search);
  return search.found;
}

}  // namespace terroir
