// One loop on its way through several threads.
//
// How: the tasks are cut into one contiguous range per slot, the same for the same number of tasks, so a thread meets
//      its own data again in the next loop; who is done early takes tasks from the others. Nobody needs to wait for a
//      slot that has not begun: the others do its tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "ir/base/function_ref.hpp"
#include "runtime/parallel/float_control.hpp"

namespace terroir::parallel {

inline constexpr int kMaxSlots = 256;

/// Of a task, and of the slot that runs it.
using LoopBody = FunctionRef<void(int64_t task, int64_t slot)>;

/// Whether this thread is inside of a task: then a loop runs on it alone.
bool inside_task() noexcept;

/// All in slot 0.
void run_serially(int64_t tasks, const LoopBody& body);

/// Lives on the stack of the caller of the loop.
class Loop {
 public:
  Loop(int64_t tasks, int slots, LoopBody body);

  int slots() const noexcept { return slots_; }
  /// Own tasks first, then those of the other slots. Returns when no task is left to begin.
  void run(int slot) noexcept;
  /// The first exception that left a task, thrown again. To be called when every run() has returned.
  void rethrow() const;

 private:
  // The tasks of one slot that nobody has begun: [next, end).
  struct alignas(64) Range {
    int64_t next;  // accessed as an atomic; plain here, so that unused slots cost nothing
    int64_t end;
  };

  LoopBody body_;
  FloatControl control_ = FloatControl::current();  // of the caller: that of all tasks
  int slots_;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;  // written by the one who set `failed_`
  Range ranges_[kMaxSlots];
};

}  // namespace terroir::parallel
