#include "runtime/plugin/file_hashes.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <type_traits>

#include "ir/base/mapped_file.hpp"
#include "ir/base/pending_file.hpp"

namespace terroir::plugin {
namespace {

constexpr std::string_view kEntryLetters = "terroir seen   2";
constexpr uint64_t kSmall = uint64_t{1} << 20;

struct Entry {
  std::array<char, 16> letters{};
  FileSignature file;
  Hash128 hash;
  Hash128 run;    // of the system; zero: any
  Hash128 check;  // of all before it

  Hash128 expected_check() const { return hash128(this, offsetof(Entry, check)); }
};
static_assert(std::is_trivially_copyable_v<Entry> && kEntryLetters.size() == sizeof(Entry::letters));
static_assert(sizeof(Entry) == 16 + 5 * 8 + 3 * 16, "no gaps, whose bytes would be unset");

/// What the system calls the time since it was started; nothing where it does not say.
std::optional<Hash128> run_of_system() {
  std::ifstream stream("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!std::getline(stream, id)) return std::nullopt;
  return hash128(id);
}

}  // namespace

std::filesystem::path FileHashes::place_of(const std::filesystem::path& file) const {
  std::error_code unknown;  // then by the name as it is, with a signature that still tells files apart
  const std::filesystem::path whole = std::filesystem::absolute(file, unknown);
  return folder_ / (hash128((unknown ? file : whole).lexically_normal().string()).text() + ".seen");
}

std::optional<Hash128> FileHashes::recall(const std::filesystem::path& file, const FileSignature& signature) const {
  if (signature.bytes < kSmall) return std::nullopt;
  std::ifstream stream(place_of(file), std::ios::binary);
  Entry entry;
  stream.read(reinterpret_cast<char*>(&entry), sizeof entry);
  if (!stream || std::string_view(entry.letters.data(), entry.letters.size()) != kEntryLetters ||
      entry.check != entry.expected_check() || entry.file != signature ||
      (entry.run != Hash128() && entry.run != run_of_system()))
    return std::nullopt;
  return entry.hash;
}

void FileHashes::remember(const std::filesystem::path& file, const FileSignature& signature,
                          const Hash128& hash) const {
  if (signature.settled()) keep(file, signature, hash, Hash128());
}

void FileHashes::remember_written(const std::filesystem::path& file, const FileSignature& signature,
                                  const Hash128& hash) const {
  if (!signature.time_was_set_back()) return;
  if (const auto run = run_of_system()) keep(file, signature, hash, *run);
}

void FileHashes::keep(const std::filesystem::path& file, const FileSignature& signature, const Hash128& hash,
                      const Hash128& run) const {
  if (signature.bytes < kSmall) return;
  Entry entry;
  kEntryLetters.copy(entry.letters.data(), kEntryLetters.size());
  entry.file = signature;
  entry.hash = hash;
  entry.run = run;
  entry.check = entry.expected_check();
  try {
    std::filesystem::create_directories(folder_);
    PendingFile pending(place_of(file));
    pending.write(&entry, sizeof entry);
    pending.close();
    pending.rename();
  } catch (const std::exception&) {  // then it is read again the next time; ModelCache warns of such a folder
  }
}

FileHashes::Content FileHashes::content_of(const std::filesystem::path& file, const parallel::Arena& arena) const {
  if (const auto now = FileSignature::of(file))
    if (const auto known = recall(file, *now)) return {*now, *known};
  const MappedFile mapped(file);
  const Piece all{mapped.data(), mapped.size()};
  const Hash128 hash = hash_pieces({&all, 1}, arena).front();
  remember(file, mapped.signature(), hash);
  return {mapped.signature(), hash};
}

}  // namespace terroir::plugin
