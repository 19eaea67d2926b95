#include "runtime/parallel/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace terroir::parallel {

namespace {

std::atomic<uint32_t> forks_until_now{0};

}  // namespace

int this_process() noexcept { return getpid(); }

uint32_t forks() noexcept {
  static const int counts =
      pthread_atfork(nullptr, nullptr, [] { forks_until_now.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(counts);
  return forks_until_now.load(std::memory_order_relaxed);
}

}  // namespace terroir::parallel
