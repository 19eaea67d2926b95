#pragma once
// What: hashes of files, remembered in a folder: a file that is as it was when it was last read, by its signature, is
// not read again. A hundred megabytes of weights take as long to hash as a small network takes to run.
// Layouts: one small file for each file remembered, "<hash of its path>.seen": {16 letters, signature, hash, the run of
//   the system, hash of all this}. Threads and processes: any.
// Edge cases: what is remembered is used only for the very same signature; a file changed a moment ago is not
//   remembered (FileSignature::settled) but by its writer, nor a small one, which is read as fast. Nothing here throws
//   because of the folder: what cannot be read or written is as if it had not been remembered.
#include <filesystem>
#include <optional>

#include "ir/base/file_signature.hpp"
#include "runtime/plugin/piece_hashes.hpp"

namespace terroir::plugin {

class FileHashes {
 public:
  explicit FileHashes(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::optional<Hash128> recall(const std::filesystem::path& file, const FileSignature& signature) const;
  void remember(const std::filesystem::path& file, const FileSignature& signature, const Hash128& hash) const;
  /// For who has just written the file, set its time back and read it: holds until the system starts anew, as it is
  /// not known to have reached the disk.
  void remember_written(const std::filesystem::path& file, const FileSignature& signature, const Hash128& hash) const;

  struct Content {
    FileSignature signature;
    Hash128 hash;
  };
  /// Remembered, or computed and remembered. Exception (file_not_found) when the file cannot be read.
  Content content_of(const std::filesystem::path& file, const parallel::Arena& arena) const;

 private:
  std::filesystem::path place_of(const std::filesystem::path& file) const;
  /// `run`: of the system, in which alone this holds; zero: in all.
  void keep(const std::filesystem::path& file, const FileSignature& signature, const Hash128& hash,
            const Hash128& run) const;

  std::filesystem::path folder_;
};

}  // namespace terroir::plugin
