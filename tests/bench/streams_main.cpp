// What the throughput hint gives: inferences per second with its streams and requests, as a share of as many times the
// inferences per second of one thread; beside the same share for plain arithmetic, which shares nothing but the
// machine.
//
//     bench_streams MODEL.xml... [--seconds S] [--rounds N]
//
// "Of processor time" is the same share by the processor time of the process, which neighbours that take a CPU do not
// change. The measurements of a round follow each other within a second, since clock frequencies and neighbours change;
// printed is the median of the rounds, with the quartiles.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <terroir/terroir.hpp>
#include <thread>
#include <vector>

#include "plugins/cpu/isa.hpp"
#include "tests/bench/machine_peak.hpp"

namespace terroir::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Inferences per second.
struct Rate {
  double wall;       // on the clock
  double processor;  // of processor time, of all threads together
};

/// Requests that are started again and again.
class Load {
 public:
  Load(Core& core, const std::string& model, const AnyMap& properties)
      : compiled_(core.compile_model(model, "CPU", properties)),
        requests_(compiled_.get_property(optimal_number_of_infer_requests)) {
    for (InferRequest& request : requests_) {
      request = compiled_.create_infer_request();
      for (size_t i = 0; i < compiled_.inputs().size(); ++i) {
        const Tensor tensor = request.get_input_tensor(i);
        std::memset(tensor.data(), 0, tensor.get_byte_size());
      }
      request.infer();
    }
  }

  size_t streams() const { return requests_.size(); }

  /// Over about `seconds`.
  Rate rate(double seconds) {
    std::mutex mutex;
    std::condition_variable ended;
    size_t running = requests_.size();
    std::atomic<int64_t> done{0};
    const double processor_start = processor_seconds();
    const auto start = Clock::now();
    const auto end = start + Seconds(seconds);
    for (InferRequest& request : requests_) {
      request.set_callback([&](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
        ++done;
        if (Clock::now() < end) return request.start_async();
        const std::lock_guard lock(mutex);
        --running;
        ended.notify_one();
      });
    }
    for (InferRequest& request : requests_) request.start_async();
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return running == 0; });
    const Rate rate{static_cast<double>(done) / Seconds(Clock::now() - start).count(),
                    static_cast<double>(done) / (processor_seconds() - processor_start)};
    lock.unlock();
    for (InferRequest& request : requests_) request.wait();
    return rate;
  }

 private:
  CompiledModel compiled_;
  std::vector<InferRequest> requests_;
};

/// Rounds of arithmetic per second on so many threads.
double arithmetic_rate(size_t threads, double seconds) {
  std::atomic<int64_t> done{0};
  const auto start = Clock::now();
  const auto end = start + Seconds(seconds);
  const auto work = [&] {
    for (; Clock::now() < end; ++done) peak_flops_once(cpu::best_isa());
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  return static_cast<double>(done) / Seconds(Clock::now() - start).count();
}

struct Shares {
  std::vector<double> values;
  double at(double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
  }
};

void measure(Core& core, const std::string& model, double seconds, int rounds) {
  Load one(core, model, {inference_num_threads(1), num_streams(1)});
  Load many(core, model, {hint::performance_mode(hint::PerformanceMode::THROUGHPUT)});
  const auto streams = static_cast<double>(many.streams());
  double best_one = 0, best_many = 0;
  Shares hint, processor, machine;
  for (int round = 0; round < rounds; ++round) {
    const Rate before = one.rate(seconds / 2), together = many.rate(seconds), after = one.rate(seconds / 2);
    const double alone_before = arithmetic_rate(1, seconds / 4);
    const double all = arithmetic_rate(many.streams(), seconds / 2);
    const double alone_after = arithmetic_rate(1, seconds / 4);
    best_one = std::max({best_one, before.wall, after.wall});
    best_many = std::max(best_many, together.wall);
    hint.values.push_back(together.wall / (streams * (before.wall + after.wall) / 2));
    processor.values.push_back(together.processor / ((before.processor + after.processor) / 2));
    machine.values.push_back(all / (streams * (alone_before + alone_after) / 2));
  }
  std::printf("%s, %zu streams: %.1f/s, one thread %.1f/s\n", model.substr(model.rfind('/') + 1).c_str(),
              many.streams(), best_many, best_one);
  const auto print = [](const char* what, Shares& shares) {
    std::printf("    %-18s %.3f [%.3f, %.3f]\n", what, shares.at(0.5), shares.at(0.25), shares.at(0.75));
  };
  print("share", hint);
  print("of processor time", processor);
  print("arithmetic", machine);
  std::fflush(stdout);
}

}  // namespace
}  // namespace terroir::bench

int main(int argc, char** argv) try {
  CLI::App app{"What the throughput hint gives against one thread."};
  std::vector<std::string> models;
  double seconds = 0.4;
  int rounds = 25;
  app.add_option("models", models, "IR files")->required();
  app.add_option("--seconds", seconds, "of each measurement")->capture_default_str();
  app.add_option("--rounds", rounds, "of measurements")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  terroir::Core core;
  for (const std::string& model : models) terroir::bench::measure(core, model, seconds, rounds);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
