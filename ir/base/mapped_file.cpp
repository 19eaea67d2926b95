#include "ir/base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "ir/base/error.hpp"

namespace terroir {

namespace {
/// The mappings that there are, by their first byte; evict() must not touch other memory, which would lose it.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, const MappedFile*> files;

  /// The one that holds all these bytes, or null; with the mutex held.
  const MappedFile* holding(uintptr_t begin, size_t bytes) const {
    auto it = files.upper_bound(begin);
    if (it == files.begin()) return nullptr;
    --it;
    const size_t offset = begin - it->first, size = it->second->size();
    return offset <= size && bytes <= size - offset ? it->second : nullptr;
  }
};

Mappings& mappings() {
  // Never destroyed: a static object of the user's may hold a file to the very end.
  static auto& all = *new Mappings;
  return all;
}

/// Like mmap() of a whole file. Some file systems choose such addresses themselves, others (overlays) do not.
void* map(int file, size_t bytes, MappedFile::Address address) {
  constexpr size_t kLargePage = size_t{2} << 20;
  void* const anywhere = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const auto offset = reinterpret_cast<uintptr_t>(anywhere) % kLargePage;
  if (anywhere == MAP_FAILED || address == MappedFile::Address::any || bytes < kLargePage || offset == 0)
    return anywhere;
  char* const addresses = static_cast<char*>(
      ::mmap(nullptr, bytes + kLargePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (addresses == MAP_FAILED) return anywhere;
  const size_t before = kLargePage - reinterpret_cast<uintptr_t>(addresses) % kLargePage;
  void* const there = ::mmap(addresses + before, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
  if (there == MAP_FAILED) {
    ::munmap(addresses, bytes + kLargePage);
    return anywhere;
  }
  ::munmap(anywhere, bytes);
  ::munmap(addresses, before);
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = before + (bytes + page - 1) / page * page;
  if (end < bytes + kLargePage) ::munmap(addresses + end, bytes + kLargePage - end);
  return there;
}

bool read_all(int file, size_t offset, size_t bytes, void* to) noexcept {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got > 0) done += static_cast<size_t>(got);
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
  }
  return true;
}

/// Whether reading these bytes of a file takes less time than touching the pages of a mapping of them; the best of a
/// few tries, as the system may have to get the file first.
bool reads_faster_than_it_maps(int file, size_t offset, size_t bytes, void* scratch) noexcept {
  using Clock = std::chrono::steady_clock;
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page, end = offset + bytes;
  auto mapping = Clock::duration::max(), reading = mapping;
  for (int round = 0; round < 3; ++round) {
    const auto start = Clock::now();
    if (!read_all(file, offset, bytes, scratch)) return false;  // cut short: its last pages must not be touched
    reading = std::min(reading, Clock::now() - start);
    void* const pages = ::mmap(nullptr, end - begin, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(begin));
    if (pages == MAP_FAILED) return false;
    const auto mapped = Clock::now();
    for (size_t at = 0; at < end - begin; at += page) static_cast<void>(static_cast<const volatile char*>(pages)[at]);
    mapping = std::min(mapping, Clock::now() - mapped);
    ::munmap(pages, end - begin);
  }
  return reading < mapping;
}

}  // namespace

MappedFile::Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

// Not blocking: opening a named pipe would wait for its writer before we can refuse it.
MappedFile::MappedFile(const std::filesystem::path& path, Address address)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_.number() < 0) {
    throw_error(ErrorCode::file_not_found, "cannot open '", path.string(), "': ", std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) {
    throw_error(ErrorCode::file_not_found, "cannot read '", path.string(), "': ", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw_error(ErrorCode::file_not_found, "cannot read '", path.string(), "': it is ",
                S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  signature_ = FileSignature::of(status);
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapping = map(file_.number(), size_, address);
  if (mapping == MAP_FAILED) {
    throw_error(ErrorCode::out_of_memory, "cannot map '", path.string(), "' (", size_,
                " bytes): ", std::strerror(errno));
  }
  try {
    const std::lock_guard lock(mappings().mutex);
    mappings().files.emplace(reinterpret_cast<uintptr_t>(mapping), this);
  } catch (...) {
    ::munmap(mapping, size_);
    throw;
  }
  data_ = mapping;
}

void MappedFile::read(size_t offset, size_t bytes, void* to) const {
  if (!read_all(file_.number(), offset, bytes, to))
    throw_error(ErrorCode::file_not_found, "cannot read ", bytes, " bytes of '", path_.string(), "' from ", offset,
                " on: the file became shorter after it was opened, or its disk fails");
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  {
    const std::lock_guard lock(mappings().mutex);
    mappings().files.erase(reinterpret_cast<uintptr_t>(data_));
  }
  ::munmap(data_, size_);
}

void MappedFile::evict(const void* data, size_t bytes) noexcept {
#if defined(MADV_DONTNEED)
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data);
  // Pages that the bytes share with others stay.
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
  if (first >= end) return;
  const std::lock_guard lock(mappings().mutex);
  if (mappings().holding(begin, bytes) == nullptr) return;
  static_cast<void>(::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED));
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

std::optional<MappedFile::Source> MappedFile::source_of(const void* data, size_t bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(mappings().mutex);
  const MappedFile* const holding = mappings().holding(begin, bytes);
  if (holding == nullptr) return std::nullopt;
  return Source{holding->file_.number(), begin - reinterpret_cast<uintptr_t>(holding->data_)};
}

const void* MappedFile::fetch(const void* data, size_t bytes, void* scratch) noexcept {
  constexpr size_t kEnoughToTell = size_t{64} << 10;
  static std::atomic<bool> tried{false};
  if (bytes < kEnoughToTell && !tried.load(std::memory_order_acquire)) return data;
  const auto source = source_of(data, bytes);
  if (!source) return data;
  static const bool reads = reads_faster_than_it_maps(source->file, source->offset, bytes, scratch);
  tried.store(true, std::memory_order_release);
  return reads && read_all(source->file, source->offset, bytes, scratch) ? scratch : data;
}

std::optional<MappedFile::Place> MappedFile::place_of(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const std::lock_guard lock(mappings().mutex);
  const MappedFile* file = mappings().holding(begin, bytes);
  if (file == nullptr) return std::nullopt;
  return Place{file->path_, file->signature_, begin - reinterpret_cast<uintptr_t>(file->data_)};
}

}  // namespace terroir
