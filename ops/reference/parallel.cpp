#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {

void parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) {
  const auto* const lent = LentThreads::current();
  if (lent && tasks > 1) return (*lent)(tasks, body);
  for (int64_t task = 0; task < tasks; ++task) body(task);
}

}  // namespace terroir::ops::reference
