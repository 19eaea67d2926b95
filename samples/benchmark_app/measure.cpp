#include "benchmark_app/measure.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "benchmark_app/progress_bar.hpp"

namespace benchmark_app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongestWait = 1e9;  // seconds; a clock counts no more than nine of these

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

/// Chooses what each inference reads, and when it may start.
class Schedule {
 public:
  Schedule(const std::vector<Feed>& feeds, const RunPlan& plan) : feeds_(feeds), plan_(plan) {}

  /// For the next inference, with this request: waits for its turn, sets its inputs, counts its samples. Returns its
  /// set of shapes.
  size_t prepare(terroir::InferRequest& request, size_t request_index) {
    if (plan_.samples_per_second > 0) {
      // No longer than the time that is given.
      const double limit = plan_.limits.milliseconds > 0 ? plan_.limits.milliseconds / 1000 : kLongestWait;
      const std::chrono::duration<double> due(
          std::min(static_cast<double>(samples_) / plan_.samples_per_second, limit));
      std::this_thread::sleep_until(start_ + std::chrono::duration_cast<Clock::duration>(due));
    }
    const Feed& feed = feeds_[(plan_.sets_inputs ? iteration_ : request_index) % feeds_.size()];
    if (plan_.sets_inputs) set_inputs(request, feed);
    ++iteration_;
    samples_ += feed.samples;
    return feed.shape_set;
  }
  uint64_t samples() const { return samples_; }
  Clock::time_point start() const { return start_; }

 private:
  const std::vector<Feed>& feeds_;
  const RunPlan& plan_;
  const Clock::time_point start_ = Clock::now();
  uint64_t iteration_ = 0, samples_ = 0;
};

/// Requests that have ended, filled by their callbacks.
class Finished {
 public:
  void add(size_t request, const Inference& inference, std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error && !error_) error_ = error;
    inferences_.push_back(inference);
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

  std::vector<Inference> inferences() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return inferences_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> requests_;
  std::vector<Inference> inferences_;
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

Measurement measure_one_by_one(std::vector<terroir::InferRequest>& requests, const std::vector<Feed>& feeds,
                               const RunPlan& plan) {
  Measurement result;
  ProgressBar bar;
  Schedule schedule(feeds, plan);
  for (double share = 0; share < 1;) {
    const size_t i = result.inferences.size() % requests.size();
    const size_t shape_set = schedule.prepare(requests[i], i);
    const auto before = Clock::now();
    requests[i].infer();
    const auto after = Clock::now();
    result.inferences.push_back({milliseconds(after - before), shape_set});
    result.duration = milliseconds(after - schedule.start());
    share = done(plan.limits, result.inferences.size(), result.duration);
    bar.show(share);
  }
  result.samples = schedule.samples();
  return result;
}

Measurement measure_together(std::vector<terroir::InferRequest>& requests, const std::vector<Feed>& feeds,
                             const RunPlan& plan) {
  struct Running {
    Clock::time_point start;
    size_t shape_set;
  };
  Finished finished;
  std::vector<Running> running(requests.size());
  const WaitForAll guard(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].set_callback([&finished, &running, i](std::exception_ptr error) {
      finished.add(i, {milliseconds(Clock::now() - running[i].start), running[i].shape_set}, error);
    });
  }

  Measurement result;
  ProgressBar bar;
  Schedule schedule(feeds, plan);
  uint64_t started = 0;
  const auto start_one = [&](size_t i) {
    running[i].shape_set = schedule.prepare(requests[i], i);
    running[i].start = Clock::now();
    requests[i].start_async();
    ++started;
  };
  for (size_t i = 0; i < requests.size(); ++i) start_one(i);
  for (uint64_t ended = 0; ended < started;) {
    const size_t i = finished.take();
    ++ended;
    result.duration = milliseconds(Clock::now() - schedule.start());
    bar.show(done(plan.limits, ended, result.duration));
    if (done(plan.limits, started, result.duration) >= 1 && started % requests.size() == 0) continue;
    requests[i].wait();  // its callback may not have returned yet
    start_one(i);
  }
  result.inferences = finished.inferences();
  result.samples = schedule.samples();
  return result;
}

}  // namespace

void set_inputs(terroir::InferRequest& request, const Feed& feed) {
  for (size_t i = 0; i < feed.tensors.size(); ++i) request.set_input_tensor(i, feed.tensors[i]);
}

Measurement measure(std::vector<terroir::InferRequest>& requests, const std::vector<Feed>& feeds, const RunPlan& plan) {
  return plan.is_async ? measure_together(requests, feeds, plan) : measure_one_by_one(requests, feeds, plan);
}

}  // namespace benchmark_app
