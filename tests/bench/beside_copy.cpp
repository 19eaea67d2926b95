#include "tests/bench/beside_copy.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "plugins/cpu/isa.hpp"
#include "tests/bench/machine_peak.hpp"

namespace terroir::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Copies and fills, on all threads of an arena.
class Mover {
 public:
  Mover(Traffic traffic, const parallel::Arena& arena)
      : traffic_(traffic),
        source_(static_cast<size_t>(std::max(traffic.all() / 2, std::min(traffic.read, traffic.written))) + 1, 1),
        target_(static_cast<size_t>(std::max(traffic.all() / 2, traffic.written)) + 1, 2),
        arena_(arena) {}

  /// Reads and writes as many bytes as the operation, half and half.
  double copy() { return run(traffic_.all() / 2, 0); }
  /// Writes no fewer than it.
  double fill_rest() { return run(traffic_.read, traffic_.written - traffic_.read); }

 private:
  double run(double copied, double filled) {
    const auto start = Clock::now();
    each_part(copied,
              [&](size_t begin, size_t bytes) { std::memcpy(target_.data() + begin, source_.data() + begin, bytes); });
    each_part(filled, [&](size_t begin, size_t bytes) {
      std::memset(target_.data() + static_cast<size_t>(copied) + begin, 3, bytes);
    });
    __asm__ volatile("" ::"r"(target_.data()) : "memory");
    return seconds_since(start);
  }
  template <class Body>
  void each_part(double bytes, const Body& body) {
    const auto size = static_cast<size_t>(bytes);
    const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(size / 32768), 1, 4 * arena_.threads());
    if (size == 0) return;
    arena_.parallel_for(tasks, [&](int64_t task) {
      const size_t begin = size * static_cast<size_t>(task) / static_cast<size_t>(tasks);
      body(begin, size * static_cast<size_t>(task + 1) / static_cast<size_t>(tasks) - begin);
    });
  }

  Traffic traffic_;
  std::vector<char> source_, target_;
  const parallel::Arena& arena_;
};

/// Fetches the cache lines of rows, on all threads of an arena.
class RowFetcher {
 public:
  RowFetcher(const TableRows& rows, const parallel::Arena& arena)
      : rows_(rows), table_(static_cast<size_t>(rows.all * rows.bytes), 1), arena_(arena) {}

  double fetch() const {
    constexpr int64_t kPerTask = 64, kLine = 64, kPrime = 7919;  // visits all rows in an order that is not theirs
    const auto start = Clock::now();
    arena_.parallel_for((rows_.read + kPerTask - 1) / kPerTask, [&](int64_t task) {
      for (int64_t i = task * kPerTask; i < std::min(rows_.read, (task + 1) * kPerTask); ++i) {
        const char* row = table_.data() + i * kPrime % rows_.all * rows_.bytes;
        for (int64_t at = 0; at < rows_.bytes; at += kLine) __builtin_prefetch(row + at);
        __asm__ volatile("" ::"r"(row));  // else the loop may go, as one that does nothing
      }
    });
    return seconds_since(start);
  }

 private:
  TableRows rows_;
  std::vector<char> table_;
  const parallel::Arena& arena_;
};

/// Bytes read and written per second by a copy of half the second cache within it.
double cached_copy_rate_once() {
  static const auto bytes = static_cast<size_t>(cpu::cache_sizes().l2 / 4);
  static std::vector<char> source(bytes, 1), target(bytes, 2);
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    const auto start = Clock::now();
    std::memcpy(target.data(), source.data(), bytes);
    __asm__ volatile("" ::"r"(target.data()) : "memory");
    seconds = seconds_since(start);
  }
  return 2 * static_cast<double>(bytes) / seconds;
}

/// Rates of one thread; each only as long as is needed to be right within a percent.
struct Rates {
  double flops = 0, divisions = 0, steps = 0, cached = 0;

  explicit Rates(const Work& work) {
    const cpu::Isa isa = cpu::available_isas().back();
    if (work.vectors > 0) flops = peak_flops_once(isa, 5000);
#if defined(__x86_64__)
    if (work.quotients > 0) divisions = divisions_once(isa, 500);
#endif
    if (work.steps > 0) steps = step_rate_once(5000);
    if (work.cached > 0) cached = cached_copy_rate_once();
  }
  double seconds(const Work& work) const {
    double sum = 0;
    if (flops > 0) sum += work.vectors / (flops / 2);
    if (divisions > 0) sum += work.quotients / divisions;
    if (steps > 0) sum += work.steps / steps;
    if (cached > 0) sum += work.cached / cached;
    return sum;
  }
};

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

BesideCopy beside_copy(const std::function<double()>& operation, Traffic traffic, const Work& work,
                       const parallel::Arena& arena) {
  constexpr double kSeconds = 0.1;
  constexpr size_t kLeast = 9;
  Mover mover(traffic, arena);
  const RowFetcher fetcher(work.rows, arena);
  BesideCopy out{1e9, 1e9};
  std::vector<double> slower, explained, beyond;
  const auto start = Clock::now();
  while (slower.size() < kLeast || seconds_since(start) < kSeconds) {
    mover.copy();
    const double copied = mover.copy();
    double moved = copied;
    if (traffic.written > traffic.read) {
      mover.fill_rest();
      moved = std::max(moved, mover.fill_rest());
    }
    if (work.rows.read > 0) {
      fetcher.fetch();
      moved = std::max(moved, fetcher.fetch());
    }
    operation();
    const double operated = operation();
    const Rates rates(work);
    const double explained_by = moved + copied * work.copied / traffic.all() + rates.seconds(work) / arena.threads();
    slower.push_back(operated / copied);
    explained.push_back(explained_by / copied);
    beyond.push_back(operated / explained_by);
    out.best = std::min(out.best, operated);
    out.best_copy = std::min(out.best_copy, copied);
    out.best_peak = std::max(out.best_peak, rates.flops);
  }
  out.slower = median(slower);
  out.explained = median(explained);
  out.beyond = median(beyond);
  return out;
}

}  // namespace terroir::bench
