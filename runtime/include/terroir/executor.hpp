// Bring your own threads: what computes an inference, and what runs asynchronous ones.
//
// Use: class Mine : public terroir::TaskExecutor { ... };
//      core.set_executor(std::make_shared<Mine>());                                  // for all devices, or
//      core.compile_model(model, "CPU", terroir::task_executor(std::make_shared<Mine>()));  // for one compiled model
// With an executor of yours the runtime starts no thread for the inferences of the compiled model and pins none; the
// results are the same bits as always. run_on_caller() needs no thread at all.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>

#include "terroir/export.hpp"
#include "terroir/properties.hpp"

namespace terroir {

/// Runs tasks. Threads: every function is called from several threads at once.
class TERROIR_API TaskExecutor {
 public:
  /// The body of a loop; a borrowed function, valid until run() returns. It does not throw.
  class Task {
   public:
    using Function = void (*)(void* context, int64_t index);
    Task(Function function, void* context) : function_(function), context_(context) {}
    void operator()(int64_t index) const { function_(context_, index); }

   private:
    Function function_;
    void* context_;
  };

  virtual ~TaskExecutor();

  /// How many tasks it can run at the same time, the calling thread included; at least 1. Asked when a model is
  /// compiled: it takes the place of the number of CPUs in what hints, streams and INFERENCE_NUM_THREADS come down to.
  virtual int concurrency() const noexcept = 0;

  /// Calls task(i) for i from 0 to count - 1, each at most once, in any order and threads, and returns when the calls
  /// it began have returned. Each call takes what the others left of the loop: those that no thread is free to begin
  /// may be left out, and must not be waited for where a job of start() calls run(). `count` is at most concurrency().
  /// An inference has dozens to thousands of such loops, microseconds apart. Throwing leaves out what is not begun.
  virtual void run(int64_t count, const Task& task) = 0;

  /// Runs `job`, an inference of InferRequest::start_async(), now or later, in any thread. By default in the calling
  /// one, so that start_async() returns when the inference has ended; what the callback of an inference starts, runs
  /// when the callback has returned. A callback that waits for an inference runs that itself unless it has begun.
  /// `job` does not throw.
  virtual void start(std::function<void()> job);
};

/// An executor without threads: everything runs in the thread that calls infer() or start_async(). infer() then makes
/// no system call, and none of its threads sleeps or wakes another; for inputs of known shapes it allocates nothing
/// either, once it has run.
TERROIR_API std::shared_ptr<TaskExecutor> run_on_caller();

/// As texts: "CALLER" is run_on_caller(), "DEFAULT" (or null) the runtime's own threads; executors of yours print as
/// "CUSTOM" and cannot be read. Throws Exception (parse_error).
TERROIR_API std::ostream& operator<<(std::ostream& out, const std::shared_ptr<TaskExecutor>& executor);
TERROIR_API std::istream& operator>>(std::istream& in, std::shared_ptr<TaskExecutor>& executor);

/// What runs the tasks of a compiled model.
inline constexpr Property<std::shared_ptr<TaskExecutor>> task_executor{"TASK_EXECUTOR"};

}  // namespace terroir
