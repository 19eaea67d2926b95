#include "runtime/parallel/team.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>

#include "runtime/parallel/cpus.hpp"
#include "runtime/parallel/process.hpp"
#include "runtime/parallel/wake.hpp"

#if !defined(TERROIR_PLAIN_THREADS)
#include <tbb/info.h>
#include <tbb/task_arena.h>
#endif

namespace terroir::parallel {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kIdleSpin = std::chrono::microseconds(100);
// Parts of a large layer end so far apart where one core is slower; to sleep and to be woken costs some 30 us.
constexpr auto kEndSpin = std::chrono::microseconds(250);

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The gate: epoch (32 bits), slots (15), helpers inside (16), open (1).
constexpr uint64_t kOpen = 1;
constexpr uint64_t kOneInside = 2;
constexpr int kSlotsShift = 17;
constexpr int kEpochShift = 32;
constexpr uint64_t inside(uint64_t gate) { return (gate >> 1) & 0xffff; }
constexpr int slots_of(uint64_t gate) { return static_cast<int>((gate >> kSlotsShift) & 0x7fff); }
constexpr uint32_t epoch_of(uint64_t gate) { return static_cast<uint32_t>(gate >> kEpochShift); }

}  // namespace

#if !defined(TERROIR_PLAIN_THREADS)
class Team::Workers {
 public:
  /// Never destroyed: a worker may come late.
  static Workers& all() {
    static auto* const workers = new Workers;
    return *workers;
  }

  void add(std::shared_ptr<Team> team, int slot) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(team), slot});
    if (at_work_ == kMost) return;
    try {
      arena_.enqueue([this] { work(); });
    } catch (...) {
      waiting_.pop_back();
      throw;
    }
    ++at_work_;
  }

  void take_back(const Team& team) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.team.get() == &team; });
  }

 private:
  struct Waiting {
    std::shared_ptr<Team> team;
    int slot;
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (; !waiting_.empty(); lock.lock()) {
      const Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      first.team->help(first.slot);
    }
    --at_work_;
  }

  // Asking for more than TBB has makes it print a warning.
  const int kMost = std::max(tbb::info::default_concurrency() - 1, 1);
  tbb::task_arena arena_{kMost, 0};  // callers of loops never enter it
  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  int at_work_ = 0;
};
#endif

Team::Team(int threads, std::vector<std::vector<int>> cpus)
    : enlisted_(static_cast<size_t>(threads)), cpus_(std::move(cpus)), forks_(forks()) {
  cpus_.resize(static_cast<size_t>(threads));
#if defined(TERROIR_PLAIN_THREADS)
  own_threads_ = true;
#else
  own_threads_ = workers_are_lost();
  for (const std::vector<int>& of_slot : cpus_) own_threads_ = own_threads_ || !of_slot.empty();
#endif
}

void Team::dismiss() {
  stop_.store(true, std::memory_order_relaxed);
#if !defined(TERROIR_PLAIN_THREADS)
  if (!own_threads_ && forks_ == forks()) Workers::all().take_back(*this);
#endif
  if (!own_threads_) return;
  // Release: whoever sees this gate sees stop_.
  gate_.fetch_add(uint64_t{1} << kEpochShift, std::memory_order_release);
  gate_.notify_all();
  if (forks_ != forks()) return begin_anew();  // with no thread to wait for
  for (std::thread& thread : threads_) thread.join();
}

void Team::begin_anew() {
  forks_ = forks();
  own_threads_ = own_threads_ || workers_are_lost();
  static_cast<void>(new std::vector<std::thread>(std::move(threads_)));  // those of the parent: no one may join them
  threads_.clear();
  for (Flag& enlisted : enlisted_) enlisted.value.store(false, std::memory_order_relaxed);
  gate_.store(uint64_t{epoch_} << kEpochShift, std::memory_order_relaxed);
}

void Team::run(int64_t tasks, const LoopBody& body) {
  if (busy_.exchange(true, std::memory_order_acquire)) return run_serially(tasks, body);
  if (forks_ != forks()) begin_anew();
  const int slots = static_cast<int>(std::min<int64_t>(static_cast<int64_t>(enlisted_.size()), tasks));
  Loop loop(tasks, slots, body);
  loop_ = &loop;
  // Release: the loop is complete before a helper can enter.
  gate_.store(uint64_t{++epoch_} << kEpochShift | static_cast<uint64_t>(slots) << kSlotsShift | kOpen,
              std::memory_order_release);
  if (own_threads_) gate_.notify_all();
  for (int slot = 1; slot < slots; ++slot) {
    std::atomic<bool>& enlisted = enlisted_[static_cast<size_t>(slot)].value;
    // Only the caller sets this flag and busy_ makes the caller one, so looking first and setting then is no race.
    if (!enlisted.load(std::memory_order_acquire)) {
      enlisted.store(true, std::memory_order_relaxed);
      enlist(slot);
    }
  }
  loop.run(0);
  wait_for_helpers();
  busy_.store(false, std::memory_order_release);
  loop.rethrow();
}

void Team::wait_for_helpers() noexcept {
  // No task is left to begin. Acquire: what the helpers wrote is visible after the last one has left.
  uint64_t gate = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  if (inside(gate) == 0) return;
  for (const auto start = Clock::now(); inside(gate) != 0; gate = gate_.load(std::memory_order_acquire)) {
    for (int i = 0; i < 32 && inside(gate) != 0; ++i, gate = gate_.load(std::memory_order_acquire)) pause();
    if (inside(gate) != 0 && Clock::now() - start > kEndSpin) gate_.wait(gate, std::memory_order_acquire);
  }
}

void Team::leave() noexcept {
  const uint64_t before = gate_.fetch_sub(kOneInside, std::memory_order_release);
  // The caller may sleep. Nothing is touched after this that ends with the loop: the gate is the team's.
  if ((before & kOpen) == 0 && inside(before) == 1) gate_.notify_all();
}

void Team::enlist(int slot) noexcept {
  try {
#if !defined(TERROIR_PLAIN_THREADS)
    if (!own_threads_) {
      note_workers();
      return Workers::all().add(shared_from_this(), slot);
    }
#endif
    threads_.emplace_back([this, slot] { help(slot); });
  } catch (...) {  // no memory or no thread to be had: the loop, which is open by now, goes on without
    enlisted_[static_cast<size_t>(slot)].value.store(false, std::memory_order_relaxed);
  }
}

// Serves loops until there was none for a while; a thread of its own then sleeps until there is one.
void Team::help(int slot) noexcept {
  const ThreadBinding binding(cpus_[static_cast<size_t>(slot)]);
  uint32_t served = 0;
  auto idle_since = Clock::now();
  for (unsigned round = 0;; ++round) {
    // The gate first: the one that this round may sleep at is from before the end, or stop_ is set here.
    uint64_t gate = gate_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) break;
    if ((gate & kOpen) != 0 && epoch_of(gate) != served && slot < slots_of(gate)) {
      if (!gate_.compare_exchange_strong(gate, gate + kOneInside, std::memory_order_acq_rel)) continue;
      served = epoch_of(gate);
      loop_->run(slot);
      leave();
      idle_since = Clock::now();
      continue;
    }
    pause();
    if (round % 64 != 0) continue;
    const auto idle = Clock::now() - idle_since;
    if (idle > kIdleSpin) {
      if (!own_threads_) break;
      gate_.wait(gate, std::memory_order_relaxed);
      idle_since = Clock::now();
    } else if (idle > kIdleSpin / 4) {
      std::this_thread::yield();
    }
  }
  // A loop that opens just now goes on without this helper; the next one enlists it again.
  enlisted_[static_cast<size_t>(slot)].value.store(false, std::memory_order_release);
}

}  // namespace terroir::parallel
