// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ir/base/file_signature.hpp"

namespace terroir {

class MappedFile {
 public:
  /// Maps the whole file. Throws Exception: file_not_found with the system's reason if it cannot be opened or is not a
  /// regular file; out_of_memory if it cannot be mapped. An empty file gives no data and size 0.
  /// `Address::for_large_pages`: where the system can map the file's large pages as such, if it keeps it in some; a
  /// hundred megabytes that are read once then cost 50 page faults instead of 1600.
  enum class Address { any, for_large_pages };
  explicit MappedFile(const std::filesystem::path& path, Address address = Address::any);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path, Address address = Address::any) {
    return std::make_shared<const MappedFile>(path, address);
  }

  const void* data() const noexcept { return data_; }
  const char* chars() const noexcept { return static_cast<const char*>(data_); }
  size_t size() const noexcept { return size_; }
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Copies bytes without touching the mapping. Throws Exception (file_not_found) if the file no longer has them.
  void read(size_t offset, size_t bytes, void* to) const;
  /// As it was when the file was opened.
  const FileSignature& signature() const noexcept { return signature_; }

  struct Place {
    std::filesystem::path path;
    FileSignature signature;
    size_t offset = 0;
  };
  /// Where these bytes come from, if a mapped file holds them all. Any thread.
  static std::optional<Place> place_of(const void* data, size_t bytes);

  /// Says that these bytes will hardly be read again: if a mapped file holds them, the pages that they fill leave the
  /// process, and come back from the file when they are read after all. Other memory is left alone. Any thread.
  static void evict(const void* data, size_t bytes) noexcept;

  /// The bytes, for who looks at them once: where they lie, or, where a mapped file holds them and its pages take
  /// longer to appear than a copy, in `scratch`, which has room for them. Some hypervisors follow every page of a
  /// process: the first touch of a mapped one takes 2 us there, reading it 0.5 us. Which of the two it is on this
  /// machine is tried out once, on the first 64 KiB or more that somebody asks for. Any thread.
  static const void* fetch(const void* data, size_t bytes, void* scratch) noexcept;

 private:
  class Descriptor {
   public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();
    int number() const noexcept { return number_; }

   private:
    int number_;
  };

  /// Where a mapped file has bytes; the file stays open as long as whoever holds the bytes keeps the mapping.
  struct Source {
    int file;
    size_t offset;
  };
  static std::optional<Source> source_of(const void* data, size_t bytes) noexcept;

  std::filesystem::path path_;
  Descriptor file_;
  FileSignature signature_;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace terroir
