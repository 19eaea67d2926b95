#pragma once
// What: a file that takes its name when it is complete: until then it lies beside it under another one, and nobody ever
// sees half of it. On failure, and without rename(), what was there stays. Links stay links, to the new file; rights
// and owner are those of the file before. Devices, pipes and what a process has open are written as they are. Threads:
// several processes may write the same file; the last one's stays.
#include <filesystem>
#include <fstream>

namespace terroir {

class PendingFile {
 public:
  /// All throw Exception (file_not_found) with the system's reason.
  explicit PendingFile(std::filesystem::path path);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void write(const void* data, size_t size);
  void close();
  void rename();

 private:
  void check() const;

  std::filesystem::path path_, temporary_;
  bool in_place_;
  std::ofstream stream_;
  bool done_ = false;
};

}  // namespace terroir
