// The threads that help the caller of a loop.
//
// How: helpers stay enlisted and spin for a short while after a loop, because consecutive loops of a network follow
//      within microseconds and waking a sleeping thread costs more than a small layer. They enter a loop through a
//      gate, one atomic word; nobody ever waits for a helper that has not entered: a late one finds the gate closed.
//      Helpers are TBB's workers, which all teams share; a team whose threads stay on certain CPUs has threads of its
//      own, since a worker would take the binding along. A team that goes takes back what no worker has begun yet: where
//      models come and go faster than busy workers look, that would pile up.
//      In a child of fork(), where TBB would wait for workers that are not there, teams have threads of their own, too.
// Oversubscription: a helper that finds no loop lets others have its CPU after some microseconds and leaves after
//      kIdleSpin. The caller of a loop spins for those helpers that are still inside of it for kEndSpin at most, then
//      it sleeps: a helper that lost its CPU to another process can then be given the caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/parallel/loop.hpp"

// ThreadSanitizer does not see the synchronisation inside TBB's library, and suppressing what it then reports would
// hide the races of our tasks too. Under it every team has threads of its own.
#if defined(__SANITIZE_THREAD__)
#define TERROIR_PLAIN_THREADS 1
#endif

namespace terroir::parallel {

class Team : public std::enable_shared_from_this<Team> {
 public:
  /// `threads` > 1, the caller of loops included. `cpus`: by slot, where the helper of that slot stays; empty:
  /// anywhere.
  Team(int threads, std::vector<std::vector<int>> cpus);

  /// One loop at a time; a second one runs on its caller alone.
  void run(int64_t tasks, const LoopBody& body);
  /// No loop will follow. Threads of its own have ended then; other helpers may leave a little later.
  void dismiss();

 private:
  struct alignas(64) Flag {
    std::atomic<bool> value{false};
  };

  /// TBB's, for all teams.
  class Workers;

  /// In a child of fork(), which has none of the helpers.
  void begin_anew();
  void enlist(int slot) noexcept;
  void help(int slot) noexcept;
  void wait_for_helpers() noexcept;
  void leave() noexcept;

  alignas(64) std::atomic<uint64_t> gate_{0};
  Loop* loop_ = nullptr;
  uint32_t epoch_ = 0;
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  std::vector<Flag> enlisted_;
  std::vector<std::vector<int>> cpus_;
  uint32_t forks_;  // of the process where its threads are
  bool own_threads_;
  std::vector<std::thread> threads_;
};

}  // namespace terroir::parallel
