#include "runtime/parallel/wake.hpp"

#include <algorithm>
#include <atomic>

#include "runtime/parallel/process.hpp"

// See team.hpp: without TBB every team has threads of its own.
#if !defined(__SANITIZE_THREAD__)
#include <tbb/info.h>
#include <tbb/task_arena.h>
#endif

namespace terroir::parallel {

namespace {

std::atomic<int64_t> forks_of_workers{-1};  // none yet

}  // namespace

void note_workers() noexcept {
  int64_t none = -1;
  forks_of_workers.compare_exchange_strong(none, forks(), std::memory_order_relaxed);
}

bool workers_are_lost() noexcept {
  const int64_t theirs = forks_of_workers.load(std::memory_order_relaxed);
  return theirs >= 0 && theirs != forks();
}

void wake_threads([[maybe_unused]] int threads) noexcept {
#if !defined(__SANITIZE_THREAD__)
  if (threads < 2 || workers_are_lost()) return;
  note_workers();
  try {
    const int others = std::clamp(tbb::info::default_concurrency() - 1, 1, threads - 1);
    tbb::task_arena workers(others, 0);  // its tasks may outlive it
    for (int i = 0; i < others; ++i) workers.enqueue([] {});
  } catch (...) {  // then the first loop tries it again
  }
#endif
}

}  // namespace terroir::parallel
