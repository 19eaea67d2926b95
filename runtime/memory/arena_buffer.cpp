#include "runtime/memory/arena_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

namespace terroir::memory {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = kHugePage;  // smaller buffers have ordinary pages

using Clock = std::chrono::steady_clock;

/// Five times what clearing a huge page takes; more is spent on finding it.
constexpr auto kQuick = std::chrono::microseconds(500);
/// What slow pages may take together. One alone says little, as a thread may have lost its processor meanwhile, and
/// every inference of a model pays for ordinary pages.
constexpr auto kPatience = std::chrono::milliseconds(10);
/// How long slow pages speak for the next ones.
constexpr auto kPause = std::chrono::seconds(1);

std::atomic<Clock::rep> spent_on_slow_pages{0};

/// Until then nobody asks for huge pages; of the whole process, because pages are the system's.
std::atomic<Clock::rep> pause_end{0};

bool pausing() noexcept { return Clock::now().time_since_epoch().count() < pause_end.load(std::memory_order_relaxed); }

#if defined(MADV_POPULATE_WRITE)
/// Pages to write to, in a third less time than the first writes to them take; `memory` starts one. False: the system
/// cannot do this, and they come with the writes. Memory that asks for huge pages gets those.
bool populate(std::byte* memory, size_t bytes) noexcept { return ::madvise(memory, bytes, MADV_POPULATE_WRITE) == 0; }

/// What ordinary pages take in the place of a huge one, the time of a few of them: 0.3 ms on most machines, but 6 ms
/// where a hypervisor follows every page of a process.
Clock::duration measure_ordinary_pages(size_t page) noexcept {
  constexpr size_t kRounds = 4, kPages = 8;
  const size_t bytes = kRounds * kPages * page;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kQuick;
  auto best = Clock::duration::max();  // a thread may lose its processor meanwhile
  for (size_t round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    if (!populate(static_cast<std::byte*>(memory) + round * kPages * page, kPages * page)) break;
    best = std::min(best, Clock::now() - start);
  }
  ::munmap(memory, bytes);
  return best == Clock::duration::max() ? kQuick : best * static_cast<Clock::rep>(kHugePage / page / kPages);
}
#endif

/// How much of a buffer lies in huge pages: the last one only if less than a third of it is beyond the end.
constexpr size_t in_huge_pages(size_t bytes) { return (bytes + kHugePage * 5 / 16) / kHugePage * kHugePage; }

#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
void ask_for_huge_pages(AlignedBuffer& buffer) noexcept {
  // Advice only: a system without huge pages refuses it, and nothing changes.
  const size_t huge = in_huge_pages(buffer.size());
  static_cast<void>(::madvise(buffer.data(), huge, MADV_HUGEPAGE));
  if (huge < buffer.size())
    static_cast<void>(::madvise(buffer.as<std::byte>() + huge, buffer.size() - huge, MADV_NOHUGEPAGE));
}
#else
void ask_for_huge_pages(AlignedBuffer&) noexcept {}
#endif

}  // namespace

AlignedBuffer allocate_large(size_t bytes) {
  if (bytes < kLarge) return AlignedBuffer(bytes);
  AlignedBuffer buffer(bytes, kHugePage);  // of whole huge pages
  if (!pausing()) ask_for_huge_pages(buffer);
  return buffer;
}

void get_pages(AlignedBuffer& buffer, size_t begin, size_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_NOHUGEPAGE)
  if (buffer.size() < kLarge) return;
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = std::min(begin + bytes, in_huge_pages(buffer.size()));
  for (size_t at = (begin + kHugePage - 1) / kHugePage * kHugePage; at < end && !pausing(); at += kHugePage) {
    const auto start = Clock::now();
    // The first ordinary page brings the huge one along.
    if (!populate(buffer.as<std::byte>() + at, page)) return;
    const auto now = Clock::now();
    if (now - start < kQuick) continue;
    static const Clock::duration ordinary = measure_ordinary_pages(page);
    if (now - start < ordinary) continue;
    const auto spent = (now - start).count();
    if (spent_on_slow_pages.fetch_add(spent, std::memory_order_relaxed) + spent < Clock::duration(kPatience).count())
      continue;
    spent_on_slow_pages.store(0, std::memory_order_relaxed);
    pause_end.store((now + kPause).time_since_epoch().count(), std::memory_order_relaxed);
    static_cast<void>(::madvise(buffer.data(), buffer.size(), MADV_NOHUGEPAGE));
  }
  if (!pausing()) return;
  const size_t first = begin / page * page, behind = std::min(begin + bytes, buffer.size());
  if (first < behind) static_cast<void>(populate(buffer.as<std::byte>() + first, behind - first));
#else
  static_cast<void>(buffer), static_cast<void>(begin), static_cast<void>(bytes);
#endif
}

void let_pages_join(AlignedBuffer& buffer) noexcept {
  if (buffer.size() >= kLarge) ask_for_huge_pages(buffer);
}

AlignedBuffer allocate_arena(size_t bytes, const parallel::Arena& arena) {
  AlignedBuffer buffer = allocate_large(bytes);
  if (bytes >= kLarge)
    arena.parallel_for(static_cast<int64_t>(in_huge_pages(bytes) / kHugePage),
                       [&](int64_t page) { get_pages(buffer, static_cast<size_t>(page) * kHugePage, kHugePage); });
  return buffer;
}

}  // namespace terroir::memory
