#include "runtime/parallel/loop.hpp"

#include <cstdlib>
#include <cstring>

namespace terroir::parallel {

namespace {

thread_local bool inside = false;

bool backwards() {
  static const bool value = [] {
    const char* text = std::getenv("TERROIR_BACKWARDS");
    return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
  }();
  return value;
}

}  // namespace

bool inside_task() noexcept { return inside || backwards(); }

void run_serially(int64_t tasks, const LoopBody& body) {
  if (backwards()) {
    for (int64_t i = tasks; i-- > 0;) body(i, 0);
  } else {
    for (int64_t i = 0; i < tasks; ++i) body(i, 0);
  }
}

Loop::Loop(int64_t tasks, int slots, LoopBody body) : body_(body), slots_(slots) {
  // tasks * s may overflow for absurd task counts; the split by quotient and remainder does not.
  const int64_t quotient = tasks / slots;
  const int64_t remainder = tasks % slots;
  for (int s = 0; s < slots; ++s) {
    ranges_[s].next = quotient * s + std::min<int64_t>(s, remainder);
    ranges_[s].end = quotient * (s + 1) + std::min<int64_t>(s + 1, remainder);
  }
}

void Loop::run(int slot) noexcept {
  const FloatControlScope control(control_);
  inside = true;
  try {
    for (int k = 0; k < slots_; ++k) {
      Range& range = ranges_[slot + k < slots_ ? slot + k : slot + k - slots_];
      std::atomic_ref<int64_t> next(range.next);
      // Relaxed: who takes a task only needs to be alone with it; what starts and ends the loop orders everything else.
      while (next.load(std::memory_order_relaxed) < range.end && !failed_.load(std::memory_order_relaxed)) {
        const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
        if (task >= range.end) break;
        body_(task, slot);
      }
    }
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
  }
  inside = false;
}

void Loop::rethrow() const {
  if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(error_);
}

}  // namespace terroir::parallel
