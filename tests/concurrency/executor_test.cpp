// Executors of the user's: the same bits on other threads, and none at all.
#include "terroir/executor.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <new>
#include <stdexcept>
#include <terroir/terroir.hpp>
#include <thread>

#include "runtime/api/graph_state.hpp"
#include "runtime/parallel/arena.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/pool.hpp"

namespace terroir::test {
namespace {

/// Claims four threads, and makes only some of the calls, in its own order.
class Odd final : public TaskExecutor {
 public:
  int concurrency() const noexcept override { return 4; }
  void run(int64_t count, const Task& task) override {
    for (int64_t i = count - 1; i >= 0; i -= 2) task(i);
  }
};

class Idle final : public TaskExecutor {
 public:
  int concurrency() const noexcept override { return 3; }
  void run(int64_t, const Task&) override {}
};

/// Throws when it has made some of the calls.
class Overloaded final : public TaskExecutor {
 public:
  int concurrency() const noexcept override { return 4; }
  void run(int64_t count, const Task& task) override {
    for (int64_t i = 0; i < count / 2; ++i) task(i);
    throw std::bad_alloc();
  }
};

/// Throws out of start(): before the job has begun, when it has ended, or while it runs, which it does until failed is
/// set.
class FailsToStart final : public TaskExecutor {
 public:
  enum When { before, afterwards, meanwhile };
  explicit FailsToStart(When when) : when_(when) {}
  ~FailsToStart() override {
    if (thread_.joinable()) thread_.join();
  }
  int concurrency() const noexcept override { return 2; }
  void run(int64_t count, const Task& task) override {
    if (waits_.exchange(false)) {
      begun_.set_value();
      failed.get_future().wait();
    }
    for (int64_t i = 0; i < count; ++i) task(i);
  }
  void start(std::function<void()> job) override {
    if (when_ == afterwards) job();
    if (when_ == meanwhile) {
      waits_ = true;
      thread_ = std::thread(std::move(job));
      begun_.get_future().wait();
    }
    throw std::runtime_error("the executor is full");
  }
  std::promise<void> failed;

 private:
  When when_;
  std::atomic<bool> waits_{false};
  std::promise<void> begun_;
  std::thread thread_;
};

/// A pool cannot be ended by a thread of its own, whose last job has it until that is destroyed.
void wait_for_jobs_of(const std::shared_ptr<TaskExecutor>& executor) {
  while (executor.use_count() > 1) std::this_thread::yield();
}

std::shared_ptr<Model> convnet() {
  GraphMaker m;
  auto x = m.op("ReLU", {m.conv(m.input({1, 3, 30, 30}), 20, 3, 1, 2)});
  auto y = m.op("HSwish", {m.op("Add", {m.depthwise(x, 3, 2), m.random({1, 20, 1, 1}, 3)})});
  auto mean = m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "false"}});
  m.result(m.op("SoftMax", {m.op("MatMul", {mean, m.random({20, 100}, 6)})}, {{"axis", "1"}}, "", "opset1"));
  m.result(m.op("Add", {m.conv(y, 20, 1, 5), x}));
  return detail::ModelAccess::make(m.graph().clone());
}

Tensor input_of(const CompiledModel& compiled) {
  Tensor tensor(element::f32, compiled.input().get_shape());
  for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return tensor;
}

/// The bytes of all outputs.
std::string outputs_of(InferRequest& request) {
  std::string bytes;
  for (size_t i = 0; i < request.get_compiled_model().outputs().size(); ++i) {
    const Tensor tensor = request.get_output_tensor(i);
    bytes.append(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
  }
  return bytes;
}

std::string run_with(const AnyMap& properties, bool async = false) {
  CompiledModel compiled = Core().compile_model(convnet(), "CPU", properties);
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(input_of(compiled));
  if (async) {
    request.start_async();
    request.wait();
  } else {
    request.infer();
  }
  return outputs_of(request);
}

TEST(Executor, TheSameBitsOnAnyThreads) {
  const std::string expected = run_with({inference_num_threads(1)});
  ASSERT_FALSE(expected.empty());
  const auto pool = std::make_shared<Pool>(3);
  const std::pair<const char*, std::shared_ptr<TaskExecutor>> executors[] = {
      {"the runtime's", nullptr},
      {"caller", run_on_caller()},
      {"pool", pool},
      {"odd", std::make_shared<Odd>()},
      {"idle", std::make_shared<Idle>()},
      {"overloaded", std::make_shared<Overloaded>()}};
  for (const auto& [name, each] : executors) {
    for (const bool async : {false, true}) {
      EXPECT_TRUE(run_with({task_executor(each)}, async) == expected) << name << (async ? ", async" : "");
      EXPECT_TRUE(run_with({task_executor(each), num_streams(2)}, async) == expected) << name << ", 2 streams";
    }
  }
  EXPECT_GT(pool->loops, 0);
}

TEST(Executor, ComputesConstantsOfTheModel) {
  const auto loops = [](bool quantized) {
    GraphMaker m;
    auto weights = m.random({300, 1000}, 1);
    if (quantized)
      weights = m.op("FakeQuantize", {weights, m.scalar(-1), m.scalar(1), m.scalar(-1), m.scalar(1)},
                     {{"levels", "255"}}, "", "opset1");
    m.result(m.op("Add", {m.input({300, 1000}), weights}));
    const auto pool = std::make_shared<Pool>(2);
    Core().compile_model(detail::ModelAccess::make(m.graph().clone()), "CPU", {task_executor(pool)});
    return pool->loops.load();
  };
  EXPECT_GT(loops(true), loops(false));
}

TEST(Executor, ItsConcurrencyTakesThePlaceOfTheCpus) {
  Core core;
  core.set_executor(std::make_shared<Pool>(6));
  const auto settled = [&](const AnyMap& properties) {
    const CompiledModel compiled = core.compile_model(convnet(), "CPU", properties);
    return std::tuple(compiled.get_property(num_streams).num, compiled.get_property(inference_num_threads),
                      compiled.get_property(optimal_number_of_infer_requests));
  };
  EXPECT_EQ(settled({}), std::tuple(1, 6, 1u));
  EXPECT_EQ(settled({inference_num_threads(4)}), std::tuple(1, 4, 1u));
  EXPECT_EQ(settled({{"PERFORMANCE_HINT", "THROUGHPUT"}}), std::tuple(6, 6, 6u));
  EXPECT_EQ(settled({{"PERFORMANCE_HINT", "THROUGHPUT"}, hint::num_requests(2)}), std::tuple(2, 6, 2u));
  EXPECT_EQ(settled({{"TASK_EXECUTOR", "CALLER"}}), std::tuple(1, 1, 1u));
  core.set_executor(nullptr);
  EXPECT_EQ(settled({{"INFERENCE_NUM_THREADS", 1}}), std::tuple(1, 1, 1u));
}

TEST(Executor, IsAPropertyThatPrintsAndReads) {
  Core core;
  EXPECT_EQ(core.get_property("CPU", "TASK_EXECUTOR").as<std::string>(), "DEFAULT");
  const auto mine = std::make_shared<Odd>();
  core.set_executor(mine);
  EXPECT_EQ(core.get_property("CPU", task_executor), mine);
  EXPECT_EQ(core.get_property("CPU", "TASK_EXECUTOR").as<std::string>(), "CUSTOM");
  core.set_property("CPU", {{"TASK_EXECUTOR", "CALLER"}});
  EXPECT_EQ(core.get_property("CPU", task_executor)->concurrency(), 1);
  EXPECT_EQ(core.get_property("CPU", "TASK_EXECUTOR").as<std::string>(), "CALLER");
  EXPECT_THROW(core.set_property("CPU", {{"TASK_EXECUTOR", "CUSTOM"}}), Exception);
  core.set_property("CPU", {{"TASK_EXECUTOR", "DEFAULT"}});
  EXPECT_EQ(core.get_property("CPU", task_executor), nullptr);
}

TEST(Executor, AsynchronousInferencesRunWhereItSays) {
  const auto thread_of_callback = [](const std::shared_ptr<TaskExecutor>& each) {
    InferRequest request = Core().compile_model(convnet(), "CPU", task_executor(each)).create_infer_request();
    std::thread::id thread;
    request.set_callback([&](std::exception_ptr error) {
      EXPECT_EQ(error, nullptr);
      thread = std::this_thread::get_id();
    });
    request.start_async();
    request.wait();
    return thread;
  };
  EXPECT_EQ(thread_of_callback(run_on_caller()), std::this_thread::get_id());
  EXPECT_NE(thread_of_callback(std::make_shared<Pool>(2)), std::this_thread::get_id());
}

TEST(Executor, CallbacksStartTheNextInferenceForAsLongAsTheyLike) {
  ModelBuilder b("tiny");
  b.result(b.op("ReLU", "opset1", {b.parameter(element::f32, {1}, "x")}));
  InferRequest request = Core().compile_model(b.build(), "CPU", task_executor(run_on_caller())).create_infer_request();
  int runs = 0;
  request.set_callback([&](std::exception_ptr) {
    if (++runs < 50000) request.start_async();
  });
  request.start_async();
  request.wait();
  EXPECT_EQ(runs, 50000);
  request.set_callback({});
}

// A job that waits for another one may be what keeps the executor from beginning that.
TEST(Executor, CallbacksMayWaitForWhatTheyStart) {
  const Tensor input = input_of(Core().compile_model(convnet(), "CPU"));
  const auto check = [&](const std::shared_ptr<TaskExecutor>& executor, const std::shared_ptr<TaskExecutor>& other) {
    CompiledModel compiled = Core().compile_model(convnet(), "CPU", task_executor(executor));
    CompiledModel of_other = Core().compile_model(convnet(), "CPU", task_executor(other));
    InferRequest request = compiled.create_infer_request();
    InferRequest others[] = {compiled.create_infer_request(), of_other.create_infer_request()};
    for (InferRequest* each : {&request, &others[0], &others[1]}) each->set_input_tensor(input);
    int runs = 0;
    std::promise<void> ended;  // wait() may come when the last run is already one that a callback has begun
    request.set_callback([&](std::exception_ptr) {
      const bool outermost = ++runs == 1;
      if (runs > 3) return;
      for (InferRequest* each : {&request, &others[0], &others[1]}) {
        each->start_async();
        EXPECT_TRUE(each->wait_for(std::chrono::seconds(20)));
      }
      if (outermost) ended.set_value();
    });
    request.start_async();
    request.wait();
    ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(runs, 4);
    for (InferRequest& each : others) EXPECT_EQ(outputs_of(each), outputs_of(request));
  };
  check(run_on_caller(), run_on_caller());  // two objects, one queue
  check(std::make_shared<Odd>(), run_on_caller());
  const std::shared_ptr<TaskExecutor> one_thread = std::make_shared<Pool>(2);
  check(one_thread, one_thread);
  wait_for_jobs_of(one_thread);
}

TEST(Executor, CallbacksThatWaitMayDropTheLastHandle) {
  const std::shared_ptr<TaskExecutor> pool = std::make_shared<Pool>(2);
  for (const auto& executor : {std::shared_ptr<TaskExecutor>(), run_on_caller(), pool}) {
    auto request = std::make_unique<InferRequest>(
        Core().compile_model(convnet(), "CPU", task_executor(executor)).create_infer_request());
    std::promise<void> ended;
    int runs = 0;
    request->set_callback([&](std::exception_ptr) {
      if (++runs > 1) return request.reset();
      request->start_async();
      EXPECT_TRUE(request->wait_for(std::chrono::seconds(20)));
      ended.set_value();
    });
    request->start_async();
    ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(request, nullptr);
  }
  wait_for_jobs_of(pool);
}

TEST(Executor, ThatFailsToStartAJobHasItOrHasItNot) {
  const std::string expected = run_with({inference_num_threads(1)});
  for (const auto when : {FailsToStart::before, FailsToStart::afterwards, FailsToStart::meanwhile}) {
    const auto executor = std::make_shared<FailsToStart>(when);
    CompiledModel compiled = Core().compile_model(convnet(), "CPU", task_executor(executor));
    InferRequest request = compiled.create_infer_request();
    request.set_input_tensor(input_of(compiled));
    int runs = 0;
    request.set_callback([&](std::exception_ptr) { ++runs; });
    if (when == FailsToStart::before) {
      EXPECT_THROW(request.start_async(), std::runtime_error);
      request.infer();
    } else {
      request.start_async();
      executor->failed.set_value();
      request.wait();
    }
    EXPECT_EQ(runs, when == FailsToStart::before ? 0 : 1);
    EXPECT_EQ(outputs_of(request), expected);
  }
}

TEST(Executor, ExceptionsOfTasksReachTheCaller) {
  for (const std::shared_ptr<TaskExecutor>& each :
       {run_on_caller(), std::shared_ptr<TaskExecutor>(std::make_shared<Pool>(3)),
        std::shared_ptr<TaskExecutor>(std::make_shared<Idle>()),
        std::shared_ptr<TaskExecutor>(std::make_shared<Overloaded>())}) {
    const parallel::Arena arena(each->concurrency(), each);
    EXPECT_THROW(arena.parallel_for(50,
                                    [](int64_t i) {
                                      if (i == 31) throw std::runtime_error("x");
                                    }),
                 std::runtime_error);
    std::atomic<int> tasks{0};
    arena.parallel_for(50, [&](int64_t) { ++tasks; });
    EXPECT_EQ(tasks, 50);
  }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they make system calls of their own

/// From here on any system call but the one that ends the process kills it with SIGSYS.
void forbid_system_calls() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::exit(77);
  }
}

bool can_forbid_system_calls() { return prctl(PR_GET_SECCOMP) >= 0; }

TEST(ExecutorDeathTest, NoSystemCallOnTheCallersThread) {
  if (!can_forbid_system_calls()) GTEST_SKIP() << "the system has no filters of system calls";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        forbid_system_calls();
        static_cast<void>(getppid());
        _exit(0);
      },
      testing::KilledBySignal(SIGSYS), "")
      << "the test cannot fail";
  EXPECT_EXIT(
      {
        CompiledModel compiled = Core().compile_model(convnet(), "CPU", task_executor(run_on_caller()));
        InferRequest request = compiled.create_infer_request();
        request.set_input_tensor(input_of(compiled));
        request.infer();
        request.infer();
        const std::string expected = outputs_of(request);
        const Tensor output = request.get_output_tensor(0);
        std::memset(output.data(), 0, output.get_byte_size());
        forbid_system_calls();
        for (int i = 0; i < 10; ++i) request.infer();
        _exit(std::memcmp(output.data(), expected.data(), output.get_byte_size()) == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

int threads_after_running(const AnyMap& properties) {
  for (const bool async : {false, true}) static_cast<void>(run_with(properties, async));
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

TEST(ExecutorDeathTest, NoThreadIsStartedForTheCallers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(threads_after_running({task_executor(run_on_caller())})), testing::ExitedWithCode(1), "");
  const AnyMap streams{task_executor(run_on_caller()), num_streams(3)};
  EXPECT_EXIT(std::exit(threads_after_running(streams)), testing::ExitedWithCode(1), "");
}

#endif

}  // namespace
}  // namespace terroir::test
