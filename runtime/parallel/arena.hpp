// Threads of one stream, and the loop they share. The only door to TBB.
//
// What: parallel_for(n, body) runs body(0) ... body(n-1), each once, on at most threads() threads; the caller is one of
//       them. The caller of parallel_for decides the number of tasks, from the shapes alone, so results do not depend
//       on the number of threads; only who runs a task, and when, does.
// How: see loop.hpp for who takes which task, team.hpp for the helpers. With an executor of the user's, that one
//      provides the threads, the calling one included or not.
// Threads: any number of threads may call parallel_for of one arena; the second one at a time, and a loop inside a
//          task, run on their calling thread alone.
// Cost: about 1 us for 2 threads when the helpers are spinning, tens of us for the first loop after a pause. No
//       allocation unless a helper is enlisted.
// Edge cases: n <= 0 does nothing. The first exception that leaves a task is thrown again by parallel_for, and tasks
//             that have not begun are skipped. TERROIR_BACKWARDS=1 runs every loop on the calling thread, last task
//             first, to show tasks that depend on each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/base/function_ref.hpp"

namespace terroir {
class TaskExecutor;
}

namespace terroir::parallel {

class Team;

class Arena {
 public:
  /// At most `threads` threads (values below 1 count as 1), including the calling one. `cpus`: by helper, where it
  /// stays, beginning with an entry for the caller, which is not bound; empty: anywhere.
  explicit Arena(int threads, std::vector<std::vector<int>> cpus = {});
  /// The same on the threads of an executor; null: on the runtime's own.
  Arena(int threads, std::shared_ptr<TaskExecutor> executor);
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;
  ~Arena();

  int threads() const noexcept { return threads_; }

  void parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) const;
  /// The same with body(task, slot): slots are below threads(), and tasks that run at once have different ones, so each
  /// slot may have memory of its own.
  void parallel_for_slots(int64_t tasks, FunctionRef<void(int64_t task, int64_t slot)> body) const;

 private:
  int threads_;
  std::shared_ptr<Team> team_;  // null for one thread; shared with enlisted helpers, which may outlive the arena
  std::shared_ptr<TaskExecutor> executor_;
};

}  // namespace terroir::parallel
