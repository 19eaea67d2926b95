#include "benchmark_app/measure.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "benchmark_app/progress_bar.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

/// How much of the run is behind us; 1 or more: it may end.
double done(const Limits& limits, uint64_t iterations, double elapsed) {
  double least = 1;
  if (limits.iterations != 0) {
    least = std::min(least, static_cast<double>(iterations) / static_cast<double>(limits.iterations));
  }
  if (limits.milliseconds != 0) least = std::min(least, elapsed / limits.milliseconds);
  return least;
}

/// Requests that have ended, filled by their callbacks.
class Finished {
 public:
  void add(size_t request, Clock::time_point start, std::exception_ptr error) {
    const double latency = milliseconds(Clock::now() - start);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error && !error_) error_ = error;
    latencies_.push_back(latency);
    requests_.push_back(request);
    changed_.notify_one();
  }

  /// Waits for one; throws what went wrong in any.
  size_t take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !requests_.empty(); });
    if (error_) std::rethrow_exception(error_);
    const size_t request = requests_.front();
    requests_.pop_front();
    return request;
  }

  std::vector<double> latencies() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return latencies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> requests_;
  std::vector<double> latencies_;
  std::exception_ptr error_;
};

/// However the run ends, no callback may outlive what it refers to.
class WaitForAll {
 public:
  explicit WaitForAll(std::vector<terroir::InferRequest>& requests) : requests_(requests) {}
  ~WaitForAll() {
    for (terroir::InferRequest& request : requests_) {
      try {
        request.wait();
      } catch (...) {  // the callback has passed it on
      }
      request.set_callback([](std::exception_ptr) {});
    }
  }
  WaitForAll(const WaitForAll&) = delete;
  WaitForAll& operator=(const WaitForAll&) = delete;

 private:
  std::vector<terroir::InferRequest>& requests_;
};

}  // namespace

Measurement measure_sync(terroir::InferRequest& request, const Limits& limits) {
  Measurement result;
  ProgressBar bar;
  const auto start = Clock::now();
  for (double share = 0; share < 1;) {
    const auto before = Clock::now();
    request.infer();
    const auto after = Clock::now();
    result.latencies.push_back(milliseconds(after - before));
    result.duration = milliseconds(after - start);
    share = done(limits, result.latencies.size(), result.duration);
    bar.show(share);
  }
  return result;
}

Measurement measure_async(std::vector<terroir::InferRequest>& requests, const Limits& limits) {
  Finished finished;
  std::vector<Clock::time_point> starts(requests.size());
  const WaitForAll guard(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].set_callback([&finished, &starts, i](std::exception_ptr error) { finished.add(i, starts[i], error); });
  }

  Measurement result;
  ProgressBar bar;
  const auto start = Clock::now();
  uint64_t started = 0;
  for (; started < requests.size(); ++started) {
    starts[started] = Clock::now();
    requests[started].start_async();
  }
  for (uint64_t ended = 0; ended < started;) {
    const size_t i = finished.take();
    ++ended;
    result.duration = milliseconds(Clock::now() - start);
    bar.show(done(limits, ended, result.duration));
    if (done(limits, started, result.duration) >= 1 && started % requests.size() == 0) continue;
    requests[i].wait();  // its callback may not have returned yet
    starts[i] = Clock::now();
    requests[i].start_async();
    ++started;
  }
  result.latencies = finished.latencies();
  return result;
}
