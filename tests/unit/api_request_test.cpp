// InferRequest against a device that does as it is told: binding, checks, asynchronous runs, errors.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <fstream>
#include <future>
#include <mutex>
#include <numeric>
#include <thread>

#include "ir/base/log.hpp"
#include "ops/registry.hpp"
#include "runtime/api/compiled_state.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

// A gate that inferences pass one by one when the test says so.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  bool blocked = false;
  int waiting = 0;
  int most_waiting = 0;
  bool fail = false;
  std::vector<int> cpus;  // where the last inference might run

  void pass(const std::atomic<bool>& cancelled) {
    std::unique_lock lock(mutex);
    cpus = parallel::affinity_mask();
    most_waiting = std::max(most_waiting, ++waiting);
    changed.notify_all();
    while (blocked && !cancelled) changed.wait_for(lock, std::chrono::milliseconds(1));
    --waiting;
  }
  void await_waiting(int count) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return waiting >= count; }));
  }
  void release() {
    const std::lock_guard lock(mutex);
    blocked = false;
    changed.notify_all();
  }
};

// Every output is input 0 plus 1, for f32.
class FakeRequest final : public plugin::RequestState {
 public:
  FakeRequest(Script& script, size_t outputs) : script_(script), outputs_(outputs) {}
  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& binder,
             const plugin::RunContext& context) override {
    std::vector<float*> memory;
    for (size_t o = 0; o < outputs_; ++o) {
      memory.push_back(static_cast<float*>(binder.bind(o, element::f32, inputs[0].dims)));
    }
    script_.pass(context.cancelled);
    if (script_.fail) throw_error(ErrorCode::general, "told to fail");
    for (float* to : memory) {
      // Output 0 is spoilt first: an input that shares its memory would be, too.
      for (int64_t i = 0; i < inputs[0].count(); ++i) to[i] = -1;
      for (int64_t i = 0; i < inputs[0].count(); ++i) to[i] = inputs[0].as<float>()[i] + 1;
    }
    last_input = inputs[0].data;
  }
  std::vector<ProfilingInfo> profiling() const override { return {ProfilingInfo{}}; }
  const void* last_input = nullptr;

 private:
  Script& script_;
  size_t outputs_;
};

class FakeCompiled final : public plugin::CompiledGraph {
 public:
  FakeCompiled(const ir::Graph& graph, const plugin::Config& config, Script& script)
      : CompiledGraph(graph, "FAKE", config, 4), script_(script) {}
  std::unique_ptr<plugin::RequestState> create_request() const override {
    return std::make_unique<FakeRequest>(script_, outputs().size());
  }

 private:
  Script& script_;
};

class RequestTest : public testing::Test {
 protected:
  // data -> Relu -> prob, and a second input that nobody reads
  std::shared_ptr<Model> model(const PartialShape& shape, bool second_input = false) {
    ModelBuilder b("fake");
    const auto x = b.parameter(element::f32, shape, "data");
    if (second_input) b.parameter(element::i32, {1}, "unused");
    b.result(b.op("ReLU", "opset1", {x}, {}, "act"), "prob");
    return b.build();
  }
  CompiledModel compile(const std::shared_ptr<Model>& model, const AnyMap& properties = {}) {
    plugin::Config config;
    config.apply(properties, "FAKE");
    return detail::RuntimeAccess::make(std::make_shared<detail::CompiledState>(
        std::make_shared<FakeCompiled>(*detail::ModelAccess::state(*model)->graph, config, script_)));
  }
  static Tensor ramp(const Shape& shape) {
    Tensor tensor(element::f32, shape);
    std::iota(tensor.data<float>(), tensor.data<float>() + tensor.get_size(), 0.f);
    return tensor;
  }
  static void expect_ramp_plus_one(const Tensor& tensor) {
    Tensor dense(element::f32, {0});
    tensor.copy_to(dense);
    for (size_t i = 0; i < dense.get_size(); ++i) {
      ASSERT_EQ(dense.data<float>()[i], static_cast<float>(i + 1)) << "at " << i;
    }
  }
  Script script_;
};

TEST_F(RequestTest, RunsOnItsOwnTensors) {
  auto compiled = compile(model({2, 3}));
  InferRequest request = compiled.create_infer_request();
  Tensor input = request.get_input_tensor();
  EXPECT_EQ(input.get_shape(), (Shape{2, 3}));
  ramp({2, 3}).copy_to(input);
  request.infer();
  expect_ramp_plus_one(request.get_output_tensor());
  EXPECT_EQ(request.get_tensor("prob"), request.get_output_tensor(0));
  EXPECT_EQ(request.get_tensor("data"), request.get_input_tensor(0));
}

TEST_F(RequestTest, UsesGivenTensorsInPlace) {
  auto compiled = compile(model({2, 3}));
  InferRequest request = compiled.create_infer_request();
  float in[6], out[6] = {};
  std::iota(in, in + 6, 0.f);
  request.set_input_tensor(Tensor(element::f32, {2, 3}, in));
  request.set_output_tensor(Tensor(element::f32, {2, 3}, out));
  request.infer();
  EXPECT_EQ(out[5], 6.f);
  EXPECT_EQ(request.get_output_tensor().data(), out);
}

TEST_F(RequestTest, TensorsAreFoundByNamePortAndIndex) {
  const auto m = model({2}, true);
  auto compiled = compile(m);
  InferRequest request = compiled.create_infer_request();
  const Tensor tensor(element::f32, {2});
  request.set_tensor(compiled.input("data"), tensor);
  EXPECT_EQ(request.get_input_tensor(0), tensor);
  EXPECT_EQ(request.get_tensor(m->input(0)), tensor);  // a port of the model it was made from
  EXPECT_EQ(request.get_tensor("data"), tensor);
  const Tensor output(element::f32, {2});
  request.set_tensor("prob", output);
  EXPECT_EQ(request.get_tensor(compiled.output()), output);
  EXPECT_EQ(request.get_tensor(m->output()), output);
  EXPECT_EQ(request.get_tensor("act"), output);  // the layer behind the output
  EXPECT_EQ(request.get_tensor(m->output().get_node()->input_value(0)), output);
  const Exception name = caught([&] { request.set_tensor("image", tensor); });
  EXPECT_EQ(name.code(), ErrorCode::not_found);
  EXPECT_STREQ(name.what(),
               "the compiled model has no input or output 'image'; inputs: 'data', 'unused'; outputs: 'act'");
  EXPECT_EQ(caught([&] { request.set_input_tensor(2, tensor); }).code(), ErrorCode::not_found);
  EXPECT_EQ(caught([&] { request.set_input_tensor(tensor); }).code(), ErrorCode::invalid_argument);
  ModelBuilder other;
  const auto stranger = other.parameter(element::f32, {2}, "stranger");
  EXPECT_EQ(caught([&] { request.get_tensor(stranger); }).code(), ErrorCode::not_found);
}

TEST_F(RequestTest, RefusesTensorsThatDoNotFitWhenTheyAreSet) {
  auto compiled = compile(model({2, Dimension(1, 4)}));
  InferRequest request = compiled.create_infer_request();
  const Exception type = caught([&] { request.set_tensor("data", Tensor(element::i32, {2, 3})); });
  EXPECT_EQ(type.code(), ErrorCode::type_mismatch);
  EXPECT_STREQ(type.what(), "input 0 'data': expected a tensor of type f32, got i32");
  const Exception shape = caught([&] { request.set_tensor("data", Tensor(element::f32, {2, 5})); });
  EXPECT_EQ(shape.code(), ErrorCode::shape_mismatch);
  EXPECT_STREQ(shape.what(),
               "input 0 'data': expected a tensor of shape [2,1..4], got [2,5]; to run other shapes, call "
               "Model::reshape() before compiling");
  EXPECT_EQ(caught([&] { request.set_tensor("data", Tensor(element::f32, {2})); }).code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(caught([&] { request.set_tensor("data", Tensor()); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { request.infer(); }).code(), ErrorCode::invalid_argument);  // no tensor for a dynamic input
  Tensor changed(element::f32, {2, 3});
  request.set_tensor("data", changed);
  changed.set_shape({2, 9});
  EXPECT_EQ(caught([&] { request.infer(); }).code(), ErrorCode::shape_mismatch);
  // A scalar, on the first run and on others.
  Tensor scalar(element::f32, {2, 3});
  InferRequest fresh = compile(model({2, 3})).create_infer_request();
  for (const bool ran : {false, true}) {
    fresh.set_tensor("data", scalar);
    if (ran) fresh.infer();
    scalar.set_shape({});
    EXPECT_EQ(caught([&] { fresh.infer(); }).code(), ErrorCode::shape_mismatch);
    scalar.set_shape({2, 3});
  }
  InferRequest fixed = compile(model({2})).create_infer_request();
  EXPECT_EQ(caught([&] { fixed.set_output_tensor(Tensor(element::f32, {3})); }).code(), ErrorCode::shape_mismatch);
}

TEST_F(RequestTest, DynamicOutputsGrowAndShrinkWithTheInput) {
  InferRequest request = compile(model({-1, 3})).create_infer_request();
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{0, 3}));
  for (const size_t n : {2, 7, 1}) {
    request.set_input_tensor(ramp({n, 3}));
    request.infer();
    EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{n, 3}));
    expect_ramp_plus_one(request.get_output_tensor());
  }
  float small[6];
  request.set_output_tensor(Tensor(element::f32, {2, 3}, small));
  request.set_input_tensor(ramp({1, 3}));
  request.infer();  // less than the memory that was given
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{1, 3}));
  EXPECT_EQ(request.get_output_tensor().data(), small);
  request.set_input_tensor(ramp({4, 3}));
  const Exception error = caught([&] { request.infer(); });
  EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
  EXPECT_NE(std::strstr(error.what(), "output 0 'act'"), nullptr) << error.what();
}

TEST_F(RequestTest, CopiesTensorsWithGaps) {
  InferRequest request = compile(model({2, 3})).create_infer_request();
  const Tensor large_in(element::f32, {4, 5}), large_out(element::f32, {4, 5});
  const Tensor in(large_in, {1, 1}, {3, 4}), out(large_out, {2, 2}, {4, 5});
  ramp({2, 3}).copy_to(in);
  request.set_input_tensor(in);
  request.set_output_tensor(out);
  for (int round = 0; round < 2; ++round) {
    request.infer();
    expect_ramp_plus_one(request.get_output_tensor());
  }
  EXPECT_EQ(large_out.data<float>()[2 * 5 + 2], 1.f);
  EXPECT_EQ(large_out.data<float>()[2 * 5 + 1], 0.f);
}

TEST_F(RequestTest, ABatchMayBeGivenImageByImage) {
  const auto m = model({-1, 3});
  layout::set_layout(m->input(), "NC");
  InferRequest request = compile(m).create_infer_request();
  std::vector<Tensor> images;
  for (size_t i = 0; i < 4; ++i) {
    images.emplace_back(element::f32, Shape{1, 3});
    std::iota(images[i].data<float>(), images[i].data<float>() + 3, static_cast<float>(3 * i));
  }
  request.set_input_tensors(images);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{4, 3}));
  expect_ramp_plus_one(request.get_output_tensor());
  // They are read anew on each run, may be regions of larger tensors, and another number of them.
  images[0].data<float>()[0] = 41;
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 42.f);
  const Tensor large = ramp({2, 3});
  request.set_tensors("data", {Tensor(large, {0, 0}, {1, 3}), Tensor(large, {1, 0}, {2, 3})});
  request.start_async();
  request.wait();
  EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{2, 3}));
  expect_ramp_plus_one(request.get_output_tensor());
  const Exception single = caught([&] { request.get_input_tensor(); });
  EXPECT_EQ(single.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(single.what(), "input 0 'data' was set as 2 tensors, there is no single one");
  request.set_input_tensor(large);  // instead of the batch
  EXPECT_EQ(request.get_input_tensor(), large);
  request.set_input_tensors(0, {large});  // one tensor is that tensor
  EXPECT_EQ(request.get_input_tensor(), large);
}

TEST_F(RequestTest, TheBatchIsTheAxisOfTheLayout) {
  const auto m = model({3, 2});
  layout::set_layout(m->input(), "CN");
  InferRequest request = compile(m).create_infer_request();
  float columns[2][3] = {{0, 2, 4}, {1, 3, 5}};
  request.set_input_tensors({Tensor(element::f32, {3, 1}, columns[0]), Tensor(element::f32, {3, 1}, columns[1])});
  request.infer();
  expect_ramp_plus_one(request.get_output_tensor());
}

TEST_F(RequestTest, RefusesBatchesThatDoNotFit) {
  const auto m = model({2, 3});
  const std::vector<Tensor> two(2, Tensor(element::f32, {1, 3}));
  {
    InferRequest request = compile(m).create_infer_request();
    const Exception error = caught([&] { request.set_input_tensors(two); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::strstr(error.what(), "set_layout()"), nullptr) << error.what();
  }
  layout::set_layout(m->input(), "N...");
  auto compiled = compile(m);
  InferRequest request = compiled.create_infer_request();
  const auto code = [&](const std::vector<Tensor>& tensors) {
    return caught([&] { request.set_input_tensors(tensors); }).code();
  };
  EXPECT_EQ(code({}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({two[0], two[0], two[0]}), ErrorCode::shape_mismatch);  // three for a batch of two
  EXPECT_EQ(code({two[0], Tensor(element::f32, {1, 4})}), ErrorCode::shape_mismatch);
  EXPECT_EQ(code({Tensor(element::f32, {2, 3}), Tensor(element::f32, {2, 3})}), ErrorCode::shape_mismatch);
  EXPECT_EQ(code({two[0], Tensor(element::i32, {1, 3})}), ErrorCode::type_mismatch);
  EXPECT_EQ(code({two[0], Tensor()}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({Tensor(element::f32, {}), Tensor(element::f32, {})}), ErrorCode::shape_mismatch);
  EXPECT_EQ(caught([&] { request.set_tensors(compiled.output(), two); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([&] { request.set_tensors("image", two); }).code(), ErrorCode::not_found);
  Tensor changing(element::f32, {1, 3});
  request.set_input_tensors({changing, two[0]});
  request.infer();
  changing.set_shape({1, 2});
  EXPECT_EQ(caught([&] { request.infer(); }).code(), ErrorCode::shape_mismatch);
}

TEST_F(RequestTest, OutputsAreNotWrittenToReadOnlyMemory) {
  InferRequest request = compile(model({2})).create_infer_request();
  const float memory[2] = {1, 2};
  request.set_input_tensor(Tensor(element::f32, {2}, memory));
  EXPECT_EQ(caught([&] { request.set_output_tensor(Tensor(element::f32, {2}, memory)); }).code(),
            ErrorCode::invalid_argument);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[1], 3.f);
}

TEST_F(RequestTest, MemoryIsReleasedOnlyBetweenInferences) {
  auto compiled = compile(model({2, 3}));
  InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(ramp({2, 3}));
  script_.blocked = true;
  request.start_async();
  script_.await_waiting(1);
  EXPECT_THROW(compiled.release_memory(), Busy);
  script_.release();
  request.wait();
  compiled.release_memory();
  { InferRequest gone = compiled.create_infer_request(); }
  compiled.release_memory();
  request.infer();
  expect_ramp_plus_one(request.get_output_tensor());
}

TEST_F(RequestTest, ACompiledModelKeepsItsProperties) {
  auto compiled = compile(model({2}));
  EXPECT_NO_THROW(compiled.set_property(AnyMap{}));
  const Exception settled = caught([&] { compiled.set_property(num_streams(2)); });
  EXPECT_EQ(settled.code(), ErrorCode::unsupported);
  EXPECT_NE(std::strstr(settled.what(), "Core::compile_model()"), nullptr);
  EXPECT_EQ(caught([&] { compiled.set_property(AnyMap{{"NUM_STREAM", 2}}); }).code(), ErrorCode::not_found);
}

TEST_F(RequestTest, AnInputMayAlsoBeTheOutput) {
  InferRequest request = compile(model({6})).create_infer_request();
  const Tensor both = ramp({6});
  request.set_input_tensor(both);
  request.set_output_tensor(both);
  request.infer();
  expect_ramp_plus_one(both);
  request.infer();
  EXPECT_EQ(both.data<float>()[0], 2.f);
}

TEST_F(RequestTest, AsynchronousRunsEndWithWait) {
  InferRequest request = compile(model({2, 3})).create_infer_request();
  EXPECT_NO_THROW(request.wait());  // nothing was started
  request.set_input_tensor(ramp({2, 3}));
  script_.blocked = true;
  request.start_async();
  EXPECT_FALSE(request.wait_for(std::chrono::milliseconds(10)));
  for (const auto& action : std::vector<std::function<void()>>{
           [&] { request.start_async(); }, [&] { request.infer(); }, [&] { request.get_output_tensor(); },
           [&] {
             request.set_input_tensor(ramp({2, 3}));
           },
           [&] { request.set_callback([](auto) {}); }, [&] { request.get_profiling_info(); }}) {
    EXPECT_THROW(action(), Busy);
  }
  script_.release();
  request.wait();
  EXPECT_TRUE(request.wait_for(std::chrono::milliseconds(0)));
  expect_ramp_plus_one(request.get_output_tensor());
}

TEST_F(RequestTest, CancelStopsARun) {
  InferRequest request = compile(model({2})).create_infer_request();
  request.cancel();  // nothing runs: no effect
  EXPECT_NO_THROW(request.infer());
  script_.blocked = true;
  request.start_async();
  script_.await_waiting(1);
  request.cancel();
  EXPECT_THROW(request.wait(), Cancelled);
  EXPECT_THROW(request.wait(), Cancelled);
  script_.release();
  EXPECT_NO_THROW(request.infer());
  EXPECT_NO_THROW(request.wait()) << "of the last inference, not of the one before";
  request.start_async();
  EXPECT_NO_THROW(request.wait());
}

TEST_F(RequestTest, ErrorsArriveWhereTheyAreAwaited) {
  InferRequest request = compile(model({2})).create_infer_request();
  script_.fail = true;
  EXPECT_STREQ(caught([&] { request.infer(); }).what(), "told to fail");
  std::promise<std::exception_ptr> seen;
  request.set_callback([&](std::exception_ptr error) { seen.set_value(error); });
  request.start_async();
  EXPECT_THROW(std::rethrow_exception(seen.get_future().get()), Exception);
  EXPECT_STREQ(caught([&] { request.wait(); }).what(), "told to fail");
  script_.fail = false;
  request.set_callback([](std::exception_ptr) { throw std::logic_error("from the callback"); });
  request.start_async();
  EXPECT_THROW(request.wait(), std::logic_error);
  request.set_callback({});
  request.start_async();
  EXPECT_NO_THROW(request.wait());
}

TEST_F(RequestTest, ACallbackMayReadWaitAndStartAgain) {
  InferRequest request = compile(model({2})).create_infer_request();
  request.set_input_tensor(ramp({2}));
  std::promise<void> finished;
  std::atomic<int> rounds{0};
  request.set_callback([&](std::exception_ptr error) {
    EXPECT_EQ(error, nullptr);
    request.wait();  // the run that has just ended
    expect_ramp_plus_one(request.get_output_tensor());
    if (++rounds < 50) {
      request.start_async();
    } else {
      finished.set_value();
    }
  });
  request.start_async();
  ASSERT_EQ(finished.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  request.wait();
  EXPECT_EQ(rounds, 50);
  request.set_callback({});
}

TEST_F(RequestTest, AsManyRunAtOnceAsThereAreStreams) {
  for (const int streams : {1, 3}) {
    auto compiled = compile(model({2}), {num_streams(streams)});
    EXPECT_EQ(compiled.get_property(num_streams), streams);
    EXPECT_EQ(compiled.get_property(optimal_number_of_infer_requests), static_cast<uint32_t>(streams));
    std::vector<InferRequest> requests;
    script_.blocked = true;
    script_.most_waiting = 0;
    for (int i = 0; i < 5; ++i) {
      requests.push_back(compiled.create_infer_request());
      requests.back().start_async();
    }
    std::thread synchronous([&] { compiled.create_infer_request().infer(); });
    script_.await_waiting(streams);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    script_.release();
    for (InferRequest& request : requests) request.wait();
    synchronous.join();
    EXPECT_EQ(script_.most_waiting, streams);
  }
}

TEST_F(RequestTest, PinnedInferencesStayOnACpuWhileTheyRun) {
  const std::vector<int> all = parallel::affinity_mask();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  std::vector<int> first;
  {
    auto pinned = compile(model({2}), {hint::enable_cpu_pinning(true), num_streams(1)});
    InferRequest request = pinned.create_infer_request();
    request.infer();
    first = script_.cpus;
    if (first == all) GTEST_SKIP() << "other processes have all cores";
    EXPECT_EQ(first.size(), 1u);
    EXPECT_EQ(parallel::affinity_mask(), all) << "the caller is not bound any more";
    request.start_async();
    request.wait();
    EXPECT_EQ(script_.cpus, first);
    auto other = compile(model({2}), {hint::enable_cpu_pinning(true), num_streams(1)});
    other.create_infer_request().infer();
    EXPECT_NE(script_.cpus, first);
    compile(model({2})).create_infer_request().infer();
    EXPECT_EQ(script_.cpus, all);
  }
  auto next = compile(model({2}), {hint::enable_cpu_pinning(true), num_streams(1)});
  next.create_infer_request().infer();
  EXPECT_TRUE(script_.cpus == first || script_.cpus == all) << "the core is free again, or another process took it";
}

TEST_F(RequestTest, TheLastHandleRemovesTheCallbackAndWaits) {
  const Tensor input = ramp({2});
  for (int round = 0; round < 20; ++round) {
    float output[2] = {};
    bool called = false;
    script_.blocked = true;
    {
      InferRequest request = compile(model({2})).create_infer_request();
      request.set_input_tensor(input);
      request.set_output_tensor(Tensor(element::f32, {2}, output));
      // The inference goes on when the callback has been removed.
      const std::shared_ptr<void> removed(nullptr, [&](void*) { script_.release(); });
      request.set_callback([&called, removed](std::exception_ptr) { called = true; });
      request.start_async();
      const InferRequest copy = request;
    }
    EXPECT_EQ(output[1], 2.f);
    EXPECT_FALSE(called);
    script_.release();
  }
}

TEST_F(RequestTest, TheLastHandleWaitsForCallbacksThatHaveBegun) {
  for (int round = 0; round < 20; ++round) {
    std::promise<void> began;
    std::atomic<int> left{0};
    {
      InferRequest request = compile(model({2})).create_infer_request();
      const std::shared_ptr<void> destroyed(nullptr, [&](void*) { ++left; });
      request.set_callback([&, destroyed](std::exception_ptr) {
        began.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++left;
      });
      request.start_async();
      began.get_future().wait();
    }
    EXPECT_EQ(left, 2) << "it has ended, and what it captured is gone";
  }
}

// The job that runs is the last owner of everything, and ends it in its own thread.
TEST_F(RequestTest, ACallbackMayDropTheLastHandle) {
  for (const bool starts_again : {false, true}) {
    for (const auto& executor : {std::shared_ptr<TaskExecutor>(), run_on_caller()}) {
      auto request =
          std::make_unique<InferRequest>(compile(model({2}), {task_executor(executor)}).create_infer_request());
      float output[2] = {};
      std::promise<float> seen;
      ramp({2}).copy_to(request->get_input_tensor());
      request->set_output_tensor(Tensor(element::f32, {2}, output));
      request->set_callback([&](std::exception_ptr) {
        std::fill(output, output + 2, 0.f);
        if (starts_again) request->start_async();
        request.reset();
        seen.set_value(output[1]);
      });
      request->start_async();
      std::future<float> value = seen.get_future();
      ASSERT_EQ(value.wait_for(std::chrono::seconds(30)), std::future_status::ready);
      EXPECT_EQ(value.get(), starts_again ? 2.f : 0.f) << "what it started has ended";
    }
  }
}

TEST_F(RequestTest, TheLastHandleLetsGoOfTheTensors) {
  const auto known = std::make_shared<int>(0);
  struct Counting {
    void* allocate(size_t bytes, size_t) { return std::malloc(bytes); }
    void deallocate(void* memory, size_t, size_t) {
      std::free(memory);
      ++*count;
    }
    bool is_equal(const Counting& other) const { return count == other.count; }
    std::shared_ptr<int> count;
  };
  for (int round = 1; round <= 20; ++round) {
    InferRequest request = compile(model({2})).create_infer_request();
    request.set_input_tensor(Tensor(element::f32, {2}, Counting{known}));
    request.start_async();
    request = {};
    EXPECT_EQ(*known, round);
  }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they need terabytes of addresses

constexpr rlim_t kStack = rlim_t{256} << 20;

/// New threads get stacks of kStack bytes, and `room` bytes of addresses may be taken beside those in use.
void leave_room_for_stacks(rlim_t room) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_setattr_default_np(&attributes);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + room;
  setrlimit(RLIMIT_AS, &limit);
}

using RequestDeathTest = RequestTest;

TEST_F(RequestDeathTest, SaysThatNoThreadCouldBeStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    InferRequest request = compile(model({2}), {num_streams(4)}).create_infer_request();
    ramp({2}).copy_to(request.get_input_tensor());
    leave_room_for_stacks(kStack / 2);
    for (int i = 0; i < 2; ++i) {
      const Exception error = caught([&] { request.start_async(); });
      EXPECT_EQ(error.code(), ErrorCode::general);
      EXPECT_NE(std::strstr(error.what(), "start_async(): no thread could be started"), nullptr) << error.what();
      request.wait();  // for nothing
    }
    request.infer();
    expect_ramp_plus_one(request.get_output_tensor());
    leave_room_for_stacks(kStack * 8);
    request.start_async();
    request.wait();
    std::exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(RequestDeathTest, RunsOnTheThreadsThatCouldBeStarted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    auto compiled = compile(model({2}), {num_streams(4)});
    std::vector<InferRequest> requests;
    for (int i = 0; i < 6; ++i) {
      requests.push_back(compiled.create_infer_request());
      ramp({2}).copy_to(requests.back().get_input_tensor());
    }
    leave_room_for_stacks(kStack + kStack / 2);
    for (InferRequest& request : requests) request.start_async();
    for (InferRequest& request : requests) {
      request.wait();
      expect_ramp_plus_one(request.get_output_tensor());
    }
    std::exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

#endif

TEST_F(RequestTest, OneLineSaysWhatWasDecidedAboutThreads) {
  std::vector<std::string> lines;
  set_log_sink([&](std::string_view line) { lines.emplace_back(line); });
  const unsigned before = set_log_categories(parse_log_categories("threads"));
  compile(model({2}), {num_streams(3)});
  set_log_categories(parse_log_categories(""));
  compile(model({2}), {num_streams(3)});
  set_log_categories(before);
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("terroir: threads: 'fake' on FAKE: "), 0u) << lines[0];
  EXPECT_NE(lines[0].find("NUM_STREAMS 3: 3 streams of 1 thread"), std::string::npos) << lines[0];
}

// Its thread is the only one that could run what it waits for.
TEST_F(RequestTest, CallbacksMayWaitForOtherRequests) {
  auto compiled = compile(model({2}), {num_streams(1)});
  std::vector<InferRequest> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(compiled.create_infer_request());
  for (InferRequest& request : requests) ramp({2}).copy_to(request.get_input_tensor());
  requests[1].set_callback([&](std::exception_ptr) {
    requests[2].start_async();
    requests[2].wait();
  });
  std::promise<void> called;
  requests[0].set_callback([&](std::exception_ptr) {
    requests[1].start_async();
    requests[2].start_async();  // not the one that is waited for
    requests[2].wait();
    requests[1].wait();
    called.set_value();
  });
  requests[0].start_async();
  ASSERT_EQ(called.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  for (InferRequest& request : requests) {
    request.wait();
    expect_ramp_plus_one(request.get_output_tensor());
  }
}

TEST_F(RequestTest, CallbacksMayPollOtherRequests) {
  auto compiled = compile(model({2}), {num_streams(1)});
  InferRequest first = compiled.create_infer_request(), second = compiled.create_infer_request();
  ramp({2}).copy_to(second.get_input_tensor());
  std::promise<bool> ended;
  first.set_callback([&](std::exception_ptr) {
    second.start_async();
    ended.set_value(second.wait_for(std::chrono::milliseconds(0)));
  });
  first.start_async();
  first.wait();
  EXPECT_TRUE(ended.get_future().get()) << "no other thread could run it";
  second.wait();
  expect_ramp_plus_one(second.get_output_tensor());
}

// Each would wait for the other for ever.
TEST_F(RequestTest, CallbacksMayDropEachOthersLastHandles) {
  for (const int streams : {2, 1}) {
    CompiledModel first = compile(model({2}), {num_streams(streams)});
    CompiledModel second = streams == 2 ? first : compile(model({2}), {num_streams(1)});
    std::unique_ptr<InferRequest> requests[2];
    std::promise<void> began[2], ended[2];
    std::future<void> has_begun[2] = {began[0].get_future(), began[1].get_future()};
    for (size_t i = 0; i < 2; ++i) {
      requests[i] = std::make_unique<InferRequest>((i == 0 ? first : second).create_infer_request());
      requests[i]->set_callback([&, i](std::exception_ptr) {
        began[i].set_value();
        has_begun[1 - i].wait();
        requests[1 - i].reset();
        ended[i].set_value();
      });
    }
    for (const auto& request : requests) request->start_async();
    for (std::promise<void>& callback : ended)
      ASSERT_EQ(callback.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  }
}

// Its only thread is in a callback that drops what waits for it.
TEST_F(RequestTest, CallbacksMayDropRequestsThatCannotBegin) {
  auto first = compile(model({2}), {num_streams(1)}), second = compile(model({2}), {num_streams(1)});
  auto dropping = std::make_unique<InferRequest>(first.create_infer_request());
  auto queued = std::make_unique<InferRequest>(second.create_infer_request());
  InferRequest holding = second.create_infer_request();
  std::promise<void> holds, may_drop, dropped, ended;
  holding.set_callback([&](std::exception_ptr) {
    holds.set_value();
    may_drop.get_future().wait();
    dropping.reset();
    ended.set_value();
  });
  dropping->set_callback([&](std::exception_ptr) {
    may_drop.set_value();
    queued.reset();
    dropped.set_value();
  });
  holding.start_async();
  holds.get_future().wait();
  queued->start_async();
  dropping->start_async();
  for (std::promise<void>* callback : {&dropped, &ended})
    ASSERT_EQ(callback->get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(RequestTest, WaitsForAsLongAsAClockCannotTell) {
  using std::chrono::milliseconds;
  InferRequest request = compile(model({2})).create_infer_request();
  script_.blocked = true;
  for (const milliseconds forever : {milliseconds::max(), milliseconds(std::chrono::hours(24 * 365 * 300))}) {
    request.start_async();
    script_.await_waiting(1);
    std::thread later([&] {
      std::this_thread::sleep_for(milliseconds(5));
      script_.release();
    });
    EXPECT_TRUE(request.wait_for(forever));
    later.join();
    request.wait();
    script_.blocked = true;
  }
  request.start_async();
  for (const milliseconds past : {milliseconds(-1), milliseconds::min()}) EXPECT_FALSE(request.wait_for(past));
  script_.release();
}

TEST_F(RequestTest, ProfilesOnlyWhenAsked) {
  InferRequest plain = compile(model({2})).create_infer_request();
  EXPECT_NE(std::strstr(caught([&] { plain.get_profiling_info(); }).what(), "PERF_COUNT"), nullptr);
  InferRequest profiled = compile(model({2}), {enable_profiling(true)}).create_infer_request();
  profiled.infer();
  EXPECT_EQ(profiled.get_profiling_info().size(), 1u);
}

TEST_F(RequestTest, CompiledModelsTellAboutThemselves) {
  auto compiled = compile(model({2}), {num_streams(2), inference_num_threads(4)});
  EXPECT_EQ(compiled.get_property(model_name), "fake");
  EXPECT_EQ(compiled.get_property(inference_num_threads), 4);
  EXPECT_EQ(compiled.get_property(execution_devices), std::vector<std::string>{"FAKE"});
  for (const PropertyName& key : compiled.get_property(supported_properties)) {
    EXPECT_FALSE(compiled.get_property(key).empty()) << key;
    EXPECT_FALSE(key.is_mutable());
  }
  const Exception error = caught([&] { compiled.get_property("NUM_STREAM"); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_NE(std::strstr(error.what(), "did you mean 'NUM_STREAMS'?"), nullptr);
  EXPECT_EQ(caught([&] { compiled.get_runtime_model(); }).code(), ErrorCode::not_implemented);
  EXPECT_EQ(compiled.input().get_any_name(), "data");
  EXPECT_EQ(compiled.output().get_shape(), (Shape{2}));
  EXPECT_EQ(compiled.create_infer_request().get_compiled_model().input(), compiled.input());
}

TEST(EmptyHandles, SayThatTheyAreEmpty) {
  EXPECT_EQ(caught([] { InferRequest().infer(); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] { static_cast<void>(CompiledModel().inputs()); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(caught([] { Output<const Node>().get_shape(); }).code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(CompiledModel());
  EXPECT_FALSE(InferRequest());
}

}  // namespace
}  // namespace terroir
