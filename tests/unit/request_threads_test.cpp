// Whose threads run asynchronous inferences, and who ends what they held: executors that join their threads, and
// processes that fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "terroir/extension.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

std::shared_ptr<Model> square_of(const Shape& shape) {
  ModelBuilder builder("square");
  const auto x = builder.parameter(element::f32, shape, "x");
  builder.result(builder.op("Multiply", "opset1", {x, x}, {}, "square"), "y");
  return builder.build();
}

void fill(InferRequest& request, float value) {
  const Tensor input = request.get_input_tensor();
  std::fill_n(input.data<float>(), input.get_size(), value);
}
float last_of(InferRequest& request) {
  const Tensor output = request.get_output_tensor();
  return output.data<const float>()[output.get_size() - 1];
}

/// A thread that ends with the object, as pools of threads have them. It keeps a job for a while after it has run.
class OneThread final : public TaskExecutor {
 public:
  ~OneThread() override {
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->stop = true;
    }
    queue_->changed.notify_all();
    if (thread_.get_id() != std::this_thread::get_id()) {
      thread_.join();
    } else {  // the fault that is looked for: join() would end the program
      thread_.detach();
    }
  }
  int concurrency() const noexcept override { return 1; }
  void run(int64_t count, const Task& task) override {
    for (int64_t i = 0; i < count; ++i) task(i);
  }
  void start(std::function<void()> job) override {
    {
      const std::lock_guard lock(queue_->mutex);
      queue_->jobs.push_back(std::move(job));
    }
    queue_->changed.notify_all();
  }

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    bool stop = false;
  };
  static void work(Queue& queue) {
    std::unique_lock lock(queue.mutex);
    while (true) {
      queue.changed.wait(lock, [&] { return queue.stop || !queue.jobs.empty(); });
      if (queue.jobs.empty()) return;
      std::function<void()> job = std::move(queue.jobs.front());
      queue.jobs.pop_front();
      lock.unlock();
      job();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      job = nullptr;
      lock.lock();
    }
  }

  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::thread thread_{[queue = queue_] { work(*queue); }};
};

TEST(RequestThreads, AnExecutorEndsWithTheLastHandle) {
  for (const bool waits : {true, false}) {
    auto executor = std::make_shared<OneThread>();
    const std::weak_ptr<OneThread> still_there = executor;
    {
      InferRequest request =
          Core().compile_model(square_of({4}), "CPU", task_executor(std::move(executor))).create_infer_request();
      fill(request, 3);
      request.start_async();
      if (waits) {
        request.wait();
        EXPECT_EQ(last_of(request), 9);
      }
    }
    EXPECT_TRUE(still_there.expired()) << "what is left of a job ends it later, in the thread that it joins";
  }
}

#if !defined(__SANITIZE_THREAD__)
/// What the child of a fork() makes of it, as its exit code; killed after a while.
int in_a_child(const std::function<bool()>& succeeds) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool well = false;
    try {
      well = succeeds();
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
    }
    _exit(well ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(RequestThreads, AChildOfForkRunsWhatTheParentCompiled) {
  for (const AnyMap& properties : {AnyMap{inference_num_threads(2)}, AnyMap{num_streams(2)},
                                   AnyMap{inference_num_threads(2), hint::enable_cpu_pinning(true)}}) {
    auto request = std::make_unique<InferRequest>(
        Core().compile_model(square_of({1000, 1000}), "CPU", properties).create_infer_request());
    fill(*request, 2);
    request->infer();
    request->start_async();
    request->wait();
    const int status = in_a_child([&] {
      fill(*request, 3);
      request->start_async();
      request->wait();
      const bool first = last_of(*request) == 9;
      fill(*request, 4);
      request->infer();
      const bool second = last_of(*request) == 16;
      request.reset();
      return first && second;
    });
    EXPECT_EQ(status, 0);
    request->start_async();
    request->wait();
    EXPECT_EQ(last_of(*request), 4) << "the parent goes on";
  }
}

std::atomic<bool> hold{false}, held{false};

/// A copy that takes as long as `hold` says.
struct Held : extension::Layer {
  static constexpr const char* type = "Held";
  void infer(extension::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  void compute(const extension::Run& run) const {
    for (held = true; hold;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::copy_n(run.input(0).data<const float>(), run.input(0).count(), run.output(0).data<float>());
  }
};

TEST(RequestThreads, AChildOfForkDoesNotWaitForWhatTheParentRuns) {
  Core core;
  core.add_extension(extension::extension_of<Held>("held"));
  ModelBuilder builder(core);
  builder.result(builder.op("Held", "extension", {builder.parameter(element::f32, {2}, "x")}), "y");
  const auto model = builder.build();
  for (const bool async : {false, true}) {
    CompiledModel compiled = core.compile_model(model, "CPU", num_streams(1));
    std::vector<InferRequest> requests;
    for (int i = 0; i < 3; ++i) fill(requests.emplace_back(compiled.create_infer_request()), static_cast<float>(i));
    auto &idle = requests[0], &busy = requests[1], &next = requests[2];
    hold = true;
    held = false;
    std::thread runs([&] {
      if (!async) return busy.infer();
      busy.start_async();
      busy.wait();
    });
    while (!held) std::this_thread::yield();
    std::thread waits_for_the_stream([&] { next.infer(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int status = in_a_child([&] {
      hold = false;
      idle.infer();
      bool well = last_of(idle) == 0;
      for (int i = 0; i < 3; ++i) {
        idle.start_async();
        idle.wait();
      }
      if (async) {
        try {
          busy.wait();
          well = false;
        } catch (const Exception& error) {
          well = well && std::string(error.what()).find("fork()") != std::string::npos;
        }
      }
      requests.clear();
      compiled = {};
      return well;
    });
    EXPECT_EQ(status, 0) << async;
    hold = false;
    runs.join();
    waits_for_the_stream.join();
    EXPECT_EQ(last_of(busy), 1);
    EXPECT_EQ(last_of(next), 2);
  }
}

TEST(RequestThreads, AChildOfForkMayEndWhatItDoesNotUse) {
  auto request = std::make_unique<InferRequest>(Core().compile_model(square_of({4}), "CPU").create_infer_request());
  request->start_async();
  request->wait();
  EXPECT_EQ(in_a_child([&] {
              request.reset();
              return true;
            }),
            0);
}
#endif

}  // namespace
}  // namespace terroir
