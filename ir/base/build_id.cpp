#include "ir/base/build_id.hpp"

#include <cstdint>
#include <cstring>

#include "ir/base/loaded_object.hpp"

namespace terroir {
namespace {

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

std::string id_of_this_code() {
  const std::optional<LoadedObject> object = loaded_object_of(reinterpret_cast<const void*>(&id_of_this_code));
  if (!object) return {};
  std::string id;
  for (int i = 0; i < object->info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->info.dlpi_phdr[i];
    const uintptr_t begin = object->info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_NOTE) id += id_among(reinterpret_cast<const char*>(begin), part.p_memsz);
  }
  return id.empty() ? "code of " + std::to_string(object->part_bytes) + " bytes" : id;
}

}  // namespace

const std::string& build_id() {
  static const std::string id = TERROIR_VERSION " " + id_of_this_code();
  return id;
}

}  // namespace terroir
