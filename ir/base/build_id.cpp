#include "ir/base/build_id.hpp"

#include <link.h>

#include <cstdint>
#include <cstring>

namespace terroir {
namespace {

struct Search {
  uintptr_t code;
  std::string found;
};

/// The note of type NT_GNU_BUILD_ID among the notes of a loaded object, as hexadecimal digits.
std::string id_among(const char* notes, size_t bytes) {
  const auto padded = [](size_t n) { return (n + 3) & ~size_t{3}; };
  std::string text;
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const char* name = notes + at + sizeof note;
    const char* content = name + padded(note.n_namesz);
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (at > bytes) break;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(name, "GNU", 4) != 0) continue;
    for (size_t i = 0; i < note.n_descsz; ++i) {
      const auto byte = static_cast<unsigned char>(content[i]);
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
  }
  return text;
}

int look_at(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool ours = false;
  size_t code_bytes = 0;
  std::string id;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && search.code - begin < part.p_memsz) {
      ours = true;
      code_bytes = part.p_memsz;
    }
    if (part.p_type == PT_NOTE) id += id_among(reinterpret_cast<const char*>(begin), part.p_memsz);
  }
  if (!ours) return 0;
  search.found = id.empty() ? "code of " + std::to_string(code_bytes) + " bytes" : id;
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    Search search{reinterpret_cast<uintptr_t>(&look_at), {}};
    ::dl_iterate_phdr(&look_at, &search);
    return TERROIR_VERSION " " + search.found;
  }();
  return id;
}

}  // namespace terroir
