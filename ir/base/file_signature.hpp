#pragma once
// What: what tells a file from all others and from itself before and after a change, without reading it.
// Edge cases: times of files are coarse (milliseconds on most systems, two seconds on some): of a file that was changed
// a moment ago a further change may not show. Who remembers something of a file asks settled() first. What is written
// through a shared mapping gets its time when the system notices, as for every tool that goes by times.
#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace terroir {

struct FileSignature {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0, changed = 0;  // nanoseconds since 1970

  auto operator<=>(const FileSignature&) const = default;

  static FileSignature of(const struct stat& status);
  /// Nothing when there is no such file.
  static std::optional<FileSignature> of(const std::filesystem::path& path);

  /// Whether every change from now on gives another signature.
  bool settled() const;
  /// The same of a file that was whole before its time was set back (PendingFile::set_time_back): who writes to it
  /// cannot help giving it a present one.
  bool time_was_set_back() const;
};

}  // namespace terroir
