#include "runtime/memory/arena_buffer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <chrono>

namespace terroir::memory {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

/// Ten times what clearing a huge page takes; more is spent on finding it.
constexpr auto kSlow = std::chrono::milliseconds(1);

#if defined(MADV_HUGEPAGE)
/// Whether touching the page's first byte, and so getting the page, was quick.
bool touch(std::byte* page) noexcept {
  const auto begin = std::chrono::steady_clock::now();
  *static_cast<volatile std::byte*>(page) = std::byte{};
  return std::chrono::steady_clock::now() - begin < kSlow;
}
#endif

}  // namespace

AlignedBuffer allocate_arena(size_t bytes, const parallel::Arena& arena) {
  if (bytes < 2 * kHugePage) return AlignedBuffer(bytes);
  AlignedBuffer buffer(bytes, kHugePage);  // of whole huge pages
#if defined(MADV_HUGEPAGE)
  const size_t pages = (bytes + kHugePage - 1) / kHugePage;
  // Advice only: a kernel without huge pages says EINVAL, and pages stay as they are, to be got when they are used.
  if (::madvise(buffer.data(), pages * kHugePage, MADV_HUGEPAGE) != 0) return buffer;
  std::atomic<bool> slow{false};
  arena.parallel_for(static_cast<int64_t>(pages), [&](int64_t page) {
    if (slow.load(std::memory_order_relaxed)) return;
    if (!touch(buffer.as<std::byte>() + static_cast<size_t>(page) * kHugePage))
      slow.store(true, std::memory_order_relaxed);
  });
  if (slow) static_cast<void>(::madvise(buffer.data(), pages * kHugePage, MADV_NOHUGEPAGE));
#endif
  return buffer;
}

}  // namespace terroir::memory
