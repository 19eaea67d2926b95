// Memory between two inaccessible pages: to read or write one byte too far is a crash, not luck.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace terroir::testing {

// Whole pages, with what they held when somebody gave them back: these are kept for the next who wants as many. To map
// new ones takes longer than most runs of a kernel here.
class GuardedPages {
 public:
  explicit GuardedPages(size_t bytes) : bytes_((bytes + page() - 1) / page() * page()) {
    const std::lock_guard lock(kept().mutex);
    if (const auto found = kept().free.find(bytes_); found != kept().free.end()) {
      begin_ = found->second;
      kept().free.erase(found);
      kept().bytes -= bytes_;
      return;
    }
    void* const base = mmap(nullptr, bytes_ + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<uint8_t*>(base) + page();
    if (mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  GuardedPages(const GuardedPages&) = delete;
  GuardedPages& operator=(const GuardedPages&) = delete;
  ~GuardedPages() {
    const std::lock_guard lock(kept().mutex);
    if (kept().bytes + bytes_ > kMostKept) {
      munmap(begin_ - page(), bytes_ + 2 * page());
      return;
    }
    kept().free.emplace(bytes_, begin_);
    kept().bytes += bytes_;
  }

  uint8_t* begin() const { return begin_; }
  uint8_t* end() const { return begin_ + bytes_; }

 private:
  static constexpr size_t kMostKept = size_t{64} << 20;

  struct Kept {
    std::mutex mutex;
    std::multimap<size_t, uint8_t*> free;  // by bytes
    size_t bytes = 0;
  };
  static Kept& kept() {
    static auto* const all = new Kept;  // outlives whoever gives pages back at the end
    return *all;
  }
  static size_t page() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
  }

  size_t bytes_;
  uint8_t* begin_;
};

}  // namespace terroir::testing
