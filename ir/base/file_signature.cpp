#include "ir/base/file_signature.hpp"

#include <algorithm>
#include <chrono>

namespace terroir {
namespace {

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

/// Whether no clock of a file system could show this time any more.
bool is_past(int64_t time) {
  constexpr std::chrono::nanoseconds kCoarsestClock = std::chrono::seconds(2);
  return std::chrono::nanoseconds(time) + kCoarsestClock < std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace

FileSignature FileSignature::of(const struct stat& status) {
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

std::optional<FileSignature> FileSignature::of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return of(status);
}

bool FileSignature::settled() const { return is_past(std::max(modified, changed)); }
bool FileSignature::time_was_set_back() const { return is_past(modified); }

}  // namespace terroir
