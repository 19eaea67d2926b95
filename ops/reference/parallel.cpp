#include "ops/reference/parallel.hpp"

#include <utility>

namespace terroir::ops::reference {
namespace {

thread_local const LentThreads::Loop* lent = nullptr;

}  // namespace

void parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) {
  if (lent && tasks > 1) return (*lent)(tasks, body);
  for (int64_t task = 0; task < tasks; ++task) body(task);
}

LentThreads::LentThreads(const Loop& loop) : before_(std::exchange(lent, &loop)) {}
LentThreads::~LentThreads() { lent = before_; }

}  // namespace terroir::ops::reference
