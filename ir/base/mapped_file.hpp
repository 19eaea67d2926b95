// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace terroir {

class MappedFile {
 public:
  /// Maps the whole file. Throws Exception: file_not_found with the system's reason if it cannot be opened or is not a
  /// regular file; out_of_memory if it cannot be mapped. An empty file gives no data and size 0.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path) {
    return std::make_shared<const MappedFile>(path);
  }

  const void* data() const noexcept { return data_; }
  const char* chars() const noexcept { return static_cast<const char*>(data_); }
  size_t size() const noexcept { return size_; }
  const std::filesystem::path& path() const noexcept { return path_; }

  /// Says that these bytes will hardly be read again: if a mapped file holds them, the pages that they fill leave the
  /// process, and come back from the file when they are read after all. Other memory is left alone. Any thread.
  static void evict(const void* data, size_t bytes) noexcept;

 private:
  std::filesystem::path path_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace terroir
