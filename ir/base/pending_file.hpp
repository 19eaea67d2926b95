#pragma once
// What: a file that takes its name when it is complete: until then it lies beside it under another one, and nobody ever
// sees half of it. On failure, and without rename(), what was there stays. Links stay links, to the new file; rights
// and owner are those of the file before. Devices, pipes and what a process has open are written as they are. Threads:
// several processes may write the same file; the last one's stays.
// Cost: parts that are written together reach the system in one call, which lets it keep them in pages of megabytes;
// these are mapped many at a time by whoever maps the file later.
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace terroir {

class PendingFile {
 public:
  /// All throw Exception (file_not_found) with the system's reason.
  explicit PendingFile(std::filesystem::path path);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void write(const void* data, size_t size);
  /// One after the other.
  void write(std::span<const std::string_view> parts);
  /// Says of the complete file that it was last modified some seconds ago: every later change gives it another time,
  /// however coarse the system's clock is. What cannot have a time keeps its own.
  void set_time_back();
  void close();
  void rename();

 private:
  /// What is collected, then `parts`.
  void put(std::span<const std::string_view> parts);
  [[noreturn]] void fail() const;

  std::filesystem::path path_, temporary_;
  bool in_place_;
  int descriptor_ = -1;
  std::string collected_;  // small writes
  size_t offset_ = 0;      // of what the system has
  size_t step_;            // what it is given at once
  std::chrono::nanoseconds slow_{0};
  bool done_ = false;
};

}  // namespace terroir
