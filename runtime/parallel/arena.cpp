#include "runtime/parallel/arena.hpp"

#include <algorithm>

#include "runtime/parallel/loop.hpp"
#include "runtime/parallel/team.hpp"
#include "terroir/executor.hpp"

namespace terroir::parallel {

Arena::Arena(int threads, std::vector<std::vector<int>> cpus) : threads_(std::clamp(threads, 1, kMaxSlots)) {
  if (threads_ > 1) team_ = std::make_shared<Team>(threads_, std::move(cpus));
}

Arena::Arena(int threads, std::shared_ptr<TaskExecutor> executor) : Arena(executor == nullptr ? threads : 1) {
  threads_ = std::clamp(threads, 1, kMaxSlots);
  executor_ = std::move(executor);
}

Arena::Arena(Arena&& other) noexcept
    : threads_(other.threads_), team_(std::move(other.team_)), executor_(std::move(other.executor_)) {
  other.threads_ = 1;
}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(threads_, other.threads_);
  std::swap(team_, other.team_);
  std::swap(executor_, other.executor_);
  return *this;
}

Arena::~Arena() {
  if (team_) team_->dismiss();
}

void Arena::parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) const {
  parallel_for_slots(tasks, [&](int64_t task, int64_t) { body(task); });
}

void Arena::parallel_for_slots(int64_t tasks, FunctionRef<void(int64_t task, int64_t slot)> body) const {
  if (tasks <= 0) return;
  if (tasks == 1 || threads_ == 1 || inside_task()) return run_serially(tasks, body);
  if (team_) return team_->run(tasks, body);
  Loop loop(tasks, static_cast<int>(std::min<int64_t>(threads_, tasks)), body);
  const auto run_slot = [](void* context, int64_t slot) { static_cast<Loop*>(context)->run(static_cast<int>(slot)); };
  try {
    executor_->run(loop.slots(), {run_slot, &loop});
  } catch (...) {  // nothing of it is of the loop, whose exceptions rethrow() throws
  }
  loop.run(0);  // what an executor that made no call left over
  loop.rethrow();
}

}  // namespace terroir::parallel
