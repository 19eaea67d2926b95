#pragma once
// What: how a reference kernel shares out items that do not depend on each other. It stays the obvious loop: who runs
// it may lend threads to it, and nobody has to.
//   const LentThreads lend(loop);  // the CPU plugin, around a reference
//   parallel_for(n, body);         // inside of it
// Threads: a loan holds for calls of the lending thread alone, so a loop inside of a task is serial.
#include <cstdint>

#include "ir/base/function_ref.hpp"
#include "ops/reference/lent.hpp"

namespace terroir::ops::reference {

/// Runs body(0) ... body(tasks - 1), each once, in any order, perhaps several at a time. Who splits work into tasks
/// does so by the shapes alone, so results never depend on the threads. The first exception of a task comes out.
void parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body);

/// Tasks of `per_task` items: body(begin, end) for ranges that cover 0 ... items.
template <class Body>
void parallel_ranges(int64_t items, int64_t per_task, Body&& body) {
  parallel_for((items + per_task - 1) / per_task, [&](int64_t task) {
    const int64_t begin = task * per_task;
    body(begin, begin + per_task < items ? begin + per_task : items);
  });
}

/// Runs body(0) ... body(tasks - 1) as parallel_for().
using LentThreads = Lent<FunctionRef<void(int64_t tasks, FunctionRef<void(int64_t)> body)>>;

}  // namespace terroir::ops::reference
