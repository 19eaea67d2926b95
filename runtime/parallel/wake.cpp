#include "runtime/parallel/wake.hpp"

#include <algorithm>

// See team.hpp: without TBB every team has threads of its own.
#if !defined(__SANITIZE_THREAD__)
#include <tbb/info.h>
#include <tbb/task_arena.h>
#endif

namespace terroir::parallel {

void wake_threads([[maybe_unused]] int threads) noexcept {
#if !defined(__SANITIZE_THREAD__)
  if (threads < 2) return;
  try {
    const int others = std::clamp(tbb::info::default_concurrency() - 1, 1, threads - 1);
    tbb::task_arena workers(others, 0);  // its tasks may outlive it
    for (int i = 0; i < others; ++i) workers.enqueue([] {});
  } catch (...) {  // then the first loop tries it again
  }
#endif
}

}  // namespace terroir::parallel
