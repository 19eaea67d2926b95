#include "runtime/parallel/arena.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

// ThreadSanitizer does not see the synchronisation inside TBB's library, and suppressing what it then reports would
// hide the races of our tasks too. Under it the same team is manned by plain threads.
#if defined(__SANITIZE_THREAD__)
#define TERROIR_PLAIN_THREADS 1
#else
#include <tbb/info.h>
#include <tbb/task_arena.h>
#endif

namespace terroir::parallel {

namespace {

constexpr int kMaxSlots = 256;
constexpr auto kIdleSpin = std::chrono::microseconds(100);

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool backwards() {
  static const bool value = [] {
    const char* text = std::getenv("TERROIR_BACKWARDS");
    return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
  }();
  return value;
}

thread_local bool inside_task = false;

void run_serially(int64_t tasks, const FunctionRef<void(int64_t)>& body) {
  if (backwards()) {
    for (int64_t i = tasks; i-- > 0;) body(i);
  } else {
    for (int64_t i = 0; i < tasks; ++i) body(i);
  }
}

// The tasks of one slot that nobody has begun: [next, end).
struct alignas(64) Range {
  int64_t next;  // accessed as an atomic; plain here, so that unused slots of a Job cost nothing
  int64_t end;
};

// One loop, on the stack of its caller.
struct Job {
  Job(int64_t tasks, int slot_count, FunctionRef<void(int64_t)> function) : body(function), slots(slot_count) {
    for (int s = 0; s < slots; ++s) {
      // tasks * s may overflow for absurd task counts; the split by quotient and remainder does not.
      const int64_t quotient = tasks / slots;
      const int64_t remainder = tasks % slots;
      ranges[s].next = quotient * s + std::min<int64_t>(s, remainder);
      ranges[s].end = quotient * (s + 1) + std::min<int64_t>(s + 1, remainder);
    }
  }

  // Own tasks first, then those of the other slots.
  void run(int slot) noexcept {
    inside_task = true;
    try {
      for (int k = 0; k < slots; ++k) {
        Range& range = ranges[slot + k < slots ? slot + k : slot + k - slots];
        std::atomic_ref<int64_t> next(range.next);
        // Relaxed: who takes a task only needs to be alone with it; the gate orders everything else.
        while (next.load(std::memory_order_relaxed) < range.end && !failed.load(std::memory_order_relaxed)) {
          const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
          if (task >= range.end) break;
          body(task);
        }
      }
    } catch (...) {
      if (!failed.exchange(true, std::memory_order_relaxed)) error = std::current_exception();
    }
    inside_task = false;
  }

  FunctionRef<void(int64_t)> body;
  int slots;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by the one who set `failed`; read after the gate has closed
  Range ranges[kMaxSlots];
};

// The gate through which helpers enter a loop, one word: epoch (32 bits), slots (15), helpers inside (16), open (1).
constexpr uint64_t kOpen = 1;
constexpr uint64_t kOneInside = 2;
constexpr int kSlotsShift = 17;
constexpr int kEpochShift = 32;
constexpr uint64_t inside(uint64_t gate) { return (gate >> 1) & 0xffff; }
constexpr int slots_of(uint64_t gate) { return static_cast<int>((gate >> kSlotsShift) & 0x7fff); }
constexpr uint32_t epoch_of(uint64_t gate) { return static_cast<uint32_t>(gate >> kEpochShift); }

}  // namespace

class Arena::Team : public std::enable_shared_from_this<Team> {
 public:
  explicit Team(int threads)
      : enlisted_(static_cast<size_t>(threads))
#if !defined(TERROIR_PLAIN_THREADS)
        ,
        // The caller never enters this arena. Asking for more workers than TBB has makes it print a warning.
        workers_(std::clamp(tbb::info::default_concurrency() - 1, 1, threads - 1), 0)
#endif
  {
  }

  void dismiss() {
    stop_.store(true, std::memory_order_relaxed);
#if defined(TERROIR_PLAIN_THREADS)
    gate_.fetch_add(uint64_t{1} << kEpochShift, std::memory_order_release);
    gate_.notify_all();
    for (std::thread& thread : plain_threads_) thread.join();
#endif
  }

  void run(int64_t tasks, const FunctionRef<void(int64_t)>& body) {
    if (busy_.exchange(true, std::memory_order_acquire)) return run_serially(tasks, body);
    const int slots = static_cast<int>(std::min<int64_t>(static_cast<int64_t>(enlisted_.size()), tasks));
    Job job(tasks, slots, body);
    job_ = &job;
    // Release: the job is complete before a helper can enter.
    gate_.store(uint64_t{++epoch_} << kEpochShift | static_cast<uint64_t>(slots) << kSlotsShift | kOpen,
                std::memory_order_release);
#if defined(TERROIR_PLAIN_THREADS)
    gate_.notify_all();
#endif
    for (int slot = 1; slot < slots; ++slot) {
      std::atomic<bool>& enlisted = enlisted_[static_cast<size_t>(slot)].value;
      // Only the caller sets this flag and busy_ makes the caller one, so looking first and setting then is no race.
      if (!enlisted.load(std::memory_order_acquire)) {
        enlisted.store(true, std::memory_order_relaxed);
        enlist(slot);
      }
    }
    job.run(0);
    // No task is left to begin. Acquire: what the helpers wrote is visible after the last one has left.
    uint64_t gate = gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; inside(gate) != 0; gate = gate_.load(std::memory_order_acquire)) {
      if (++spins < 4096) {
        pause();
      } else {
        std::this_thread::yield();  // the helper may have lost its core; ours may be the one it waits for
      }
    }
    busy_.store(false, std::memory_order_release);
    if (job.failed.load(std::memory_order_relaxed)) std::rethrow_exception(job.error);
  }

 private:
  struct alignas(64) Flag {
    std::atomic<bool> value{false};
  };

  void enlist(int slot) noexcept {
    try {
#if defined(TERROIR_PLAIN_THREADS)
      plain_threads_.emplace_back([this, slot] { help(slot); });
#else
      workers_.enqueue([team = shared_from_this(), slot] { team->help(slot); });
#endif
    } catch (...) {  // no memory or no thread to be had: the loop, which is open by now, goes on without
      enlisted_[static_cast<size_t>(slot)].value.store(false, std::memory_order_relaxed);
    }
  }

  // Serves loops until there was none for a while.
  void help(int slot) noexcept {
    uint32_t served = 0;
    auto idle_since = std::chrono::steady_clock::now();
    for (unsigned round = 0; !stop_.load(std::memory_order_relaxed); ++round) {
      uint64_t gate = gate_.load(std::memory_order_relaxed);
      if ((gate & kOpen) != 0 && epoch_of(gate) != served && slot < slots_of(gate)) {
        if (!gate_.compare_exchange_strong(gate, gate + kOneInside, std::memory_order_acq_rel)) continue;
        served = epoch_of(gate);
        job_->run(slot);
        gate_.fetch_sub(kOneInside, std::memory_order_release);
        idle_since = std::chrono::steady_clock::now();
        continue;
      }
      pause();
      if (round % 64 == 0) {
        const auto idle = std::chrono::steady_clock::now() - idle_since;
        if (idle > kIdleSpin) {
#if defined(TERROIR_PLAIN_THREADS)
          gate_.wait(gate, std::memory_order_relaxed);
          idle_since = std::chrono::steady_clock::now();
          continue;
#else
          break;
#endif
        }
        if (idle > kIdleSpin / 4) std::this_thread::yield();
      }
    }
    // A loop that opens just now goes on without this helper; the next one enlists it again.
    enlisted_[static_cast<size_t>(slot)].value.store(false, std::memory_order_release);
  }

  alignas(64) std::atomic<uint64_t> gate_{0};
  Job* job_ = nullptr;
  uint32_t epoch_ = 0;
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  std::vector<Flag> enlisted_;
#if defined(TERROIR_PLAIN_THREADS)
  std::vector<std::thread> plain_threads_;
#else
  tbb::task_arena workers_;
#endif
};

Arena::Arena(int threads) : threads_(std::clamp(threads, 1, kMaxSlots)) {
  if (threads_ > 1) team_ = std::make_shared<Team>(threads_);
}

Arena::Arena(Arena&& other) noexcept : threads_(other.threads_), team_(std::move(other.team_)) { other.threads_ = 1; }

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(threads_, other.threads_);
  std::swap(team_, other.team_);
  return *this;
}

Arena::~Arena() {
  if (team_) team_->dismiss();
}

void Arena::parallel_for(int64_t tasks, FunctionRef<void(int64_t)> body) const {
  if (tasks <= 0) return;
  if (tasks == 1 || team_ == nullptr || inside_task || backwards()) return run_serially(tasks, body);
  team_->run(tasks, body);
}

}  // namespace terroir::parallel
