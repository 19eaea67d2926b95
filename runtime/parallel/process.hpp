// Which process this is: a child of fork() has a copy of everything but the threads of its parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace terroir::parallel {

/// A number of the calling process that none of its ancestors has. One system call.
int this_process() noexcept;

/// How many forks led from the process that asked first to this one. No system call.
uint32_t forks() noexcept;

/// Something that the threads of a process share and lock. A child of fork() gets one of its own; that of the parent
/// stays in its memory: threads that the child does not have may have locked it, or wait for it, and then it cannot
/// even be destroyed.
template <typename T>
class OfProcess {
 public:
  OfProcess() = default;
  ~OfProcess() {
    const Made* made = made_.load(std::memory_order_relaxed);
    if (made != nullptr && made->forks == forks()) delete made;
  }
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;

  /// `make` returns a std::unique_ptr<T>; several threads may call it, and one of what they make is taken.
  template <typename Make>
  T& get(const Make& make) {
    Made* made = made_.load(std::memory_order_acquire);
    if (made == nullptr || made->forks != forks()) {
      auto own = std::make_unique<Made>(Made{make(), forks()});
      if (made_.compare_exchange_strong(made, own.get())) made = own.release();
    }
    return *made->value;
  }

 private:
  struct Made {
    std::unique_ptr<T> value;
    uint32_t forks;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace terroir::parallel
