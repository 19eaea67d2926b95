// Mixed models, each on 4 streams, each with 8 requests that run at once from 8 threads: the bits are those of
// inferences one after the other, and memory stays where it was. `cmake --build --preset release --target concurrency`
// runs a hundred thousand inferences; with the preset tsan, under ThreadSanitizer.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <fstream>
#include <future>
#include <random>
#include <string>
#include <terroir/terroir.hpp>
#include <thread>

#include "ir/base/error.hpp"
#include "runtime/api/graph_state.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 4;
constexpr int kInputsPerModel = 5;

/// Resident bytes of this process, in MB; 0 where that cannot be known.
double resident_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

std::shared_ptr<Model> model_of(const GraphMaker& m) { return detail::ModelAccess::make(m.graph().clone()); }

std::shared_ptr<Model> convolutions() {
  GraphMaker m;
  const auto x = m.op("ReLU", {m.conv(m.input(PartialShape{1, 3, 24, 24}), 16, 3, 1, 2)});
  const auto y = m.op("HSwish", {m.op("Add", {m.depthwise(x, 3, 2), m.random({1, 16, 1, 1}, 3)})});
  const auto mean = m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "false"}});
  m.result(m.op("SoftMax", {m.op("MatMul", {mean, m.random({16, 50}, 4)})}, {{"axis", "1"}}, "", "opset1"));
  m.result(m.op("Add", {m.conv(y, 16, 1, 5), x}));
  return model_of(m);
}

/// Of any length: plans are made while others run.
std::shared_ptr<Model> sequences() {
  GraphMaker m;
  const auto x = m.input(PartialShape("1..2,1..40,12"));
  const auto y = m.op("Swish", {m.op("MatMul", {x, m.random({12, 24}, 1)})});
  const auto scores = m.op("MatMul", {y, y}, {{"transpose_b", "true"}});
  const auto weights = m.op("SoftMax", {scores}, {{"axis", "2"}}, "", "opset1");
  m.result(m.op("MVN", {m.op("MatMul", {weights, y}), m.integers({2})},
                {{"normalize_variance", "true"}, {"eps", "1e-5"}, {"eps_mode", "inside_sqrt"}}));
  return model_of(m);
}

/// The size of the second half depends on what the first computed.
std::shared_ptr<Model> selections() {
  GraphMaker m;
  const auto x = m.input(PartialShape{64});
  const auto large = m.op("Greater", {m.op("Sin", {x}), m.scalar(0.2f)});
  const auto places = m.op("NonZero", {large}, {{"output_type", "i64"}});
  const auto picked = m.op("Gather", {x, m.op("Squeeze", {places, m.integers({0})}), m.scalar_integer(0)});
  m.result(m.op("CumSum", {m.op("Exp", {picked}), m.scalar_integer(0)}));
  return model_of(m);
}

/// A loop over the rows of the input, and a variable that the request keeps.
std::shared_ptr<Model> loops() {
  GraphMaker body;
  const auto row = body.input(PartialShape{1, 8}), sum = body.input(PartialShape{1, 8});
  const auto next = body.op("Tanh", {body.op("Add", {body.op("MatMul", {row, body.random({8, 8}, 1)}), sum})});
  const ir::NodeId result = body.result(next);
  ir::BodyPortMap ports;
  ports.inputs.resize(2);
  ports.inputs[0].external_port = 0;
  ports.inputs[0].parameter = row.node;
  ports.inputs[0].axis = 0;
  ports.inputs[1].external_port = 1;
  ports.inputs[1].parameter = sum.node;
  ports.outputs.resize(2);
  ports.outputs[0].external_port = 0;
  ports.outputs[0].result = result;
  ports.outputs[0].axis = 0;
  ports.outputs[1].external_port = 1;
  ports.outputs[1].result = result;
  ports.back_edges.push_back({result, sum.node});
  GraphMaker m;
  const auto x = m.input(PartialShape{6, 8});
  const auto start = m.op("ReadValue", {m.random({1, 8}, 2)}, {{"variable_id", "sum"}}, "", "opset3");
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  const auto rows = m.control("TensorIterator", {x, start}, std::move(bodies));
  m.result(rows);
  m.result(m.op("Assign", {{rows.node, 1}}, {{"variable_id", "sum"}}, "", "opset3"));
  return model_of(m);
}

Tensor input_of(const Model& model, int which) {
  std::mt19937 random(static_cast<unsigned>(which));
  Shape shape;
  for (const Dimension& extent : model.input().get_partial_shape())
    shape.push_back(static_cast<size_t>(extent.get_min_length()) +
                    random() % static_cast<size_t>(extent.get_max_length() - extent.get_min_length() + 1));
  Tensor tensor(element::f32, shape);
  std::generate_n(tensor.data<float>(), tensor.get_size(),
                  [&] { return static_cast<float>(random() % 2001) / 1000 - 1; });
  return tensor;
}

/// Shapes and bytes of all outputs.
std::string outputs_of(InferRequest& request, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const Tensor tensor = request.get_output_tensor(i);
    bytes += concat(tensor.get_shape(), ':');
    bytes.append(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
  }
  return bytes;
}

struct Subject {
  std::string name;
  std::shared_ptr<Model> model;
  CompiledModel compiled;
  std::vector<Tensor> inputs;
  std::vector<std::string> expected;  // by input
};

std::vector<Subject> subjects() {
  using Maker = std::shared_ptr<Model> (*)();
  const std::pair<const char*, Maker> makers[] = {
      {"convolutions", convolutions}, {"sequences", sequences}, {"selections", selections}, {"loops", loops}};
  Core core;
  std::vector<Subject> all;
  for (const auto& [name, make] : makers) {
    Subject subject{name, make(), {}, {}, {}};
    CompiledModel serial = core.compile_model(subject.model, "CPU", inference_num_threads(1));
    for (int which = 0; which < kInputsPerModel; ++which) {
      subject.inputs.push_back(input_of(*subject.model, which));
      InferRequest request = serial.create_infer_request();
      request.set_input_tensor(subject.inputs.back());
      request.infer();
      subject.expected.push_back(outputs_of(request, serial.outputs().size()));
    }
    subject.compiled = core.compile_model(subject.model, "CPU", num_streams(kStreams));
    all.push_back(std::move(subject));
  }
  return all;
}

/// In the calling thread, in one of the streams', or there with a callback.
void run(InferRequest& request, unsigned way) {
  if (way % 3 == 0) return request.infer();
  if (way % 3 == 1) {
    request.start_async();
    return request.wait();
  }
  std::promise<void> called;
  request.set_callback([&](std::exception_ptr error) { error ? called.set_exception(error) : called.set_value(); });
  request.start_async();
  called.get_future().get();
  request.wait();
  request.set_callback({});
}

/// `count` inferences of all models from all threads. Returns how many gave other bits than they should.
int storm(std::vector<Subject>& all, int count, unsigned seed) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + static_cast<unsigned>(t));
      std::vector<InferRequest> requests;
      for (Subject& subject : all) requests.push_back(subject.compiled.create_infer_request());
      for (int i = 0; i < count / kThreads; ++i) {
        const size_t which = random() % all.size(), input = random() % kInputsPerModel;
        InferRequest& request = requests[which];
        request.set_input_tensor(all[which].inputs[input]);
        request.reset_state();
        run(request, random());
        if (outputs_of(request, all[which].compiled.outputs().size()) == all[which].expected[input]) continue;
        if (++wrong < 5) ADD_FAILURE() << all[which].name << ", input " << input << ": other bits than alone";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

void expect_steady(int inferences) {
  std::vector<Subject> all = subjects();
  EXPECT_EQ(storm(all, inferences / 4, 1), 0);  // plans, threads and their heaps are made
  malloc_trim(0);
  const double before = resident_megabytes();
  for (unsigned part = 2; part <= 4; ++part) EXPECT_EQ(storm(all, inferences / 4, part), 0);
  malloc_trim(0);
  const double after = resident_megabytes();
  testing::Test::RecordProperty("resident_megabytes", std::to_string(before) + " " + std::to_string(after));
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their shadows grow with what was ever touched
  // Threads come with arenas of malloc that keep some pages, by chance.
  EXPECT_LE(after - before, 4);
#endif
}

TEST(Concurrency, EightRequestsOnFourStreams) { expect_steady(4000); }
TEST(Concurrency, DISABLED_AHundredThousandInferences) { expect_steady(100000); }

/// Models come, run and go while others run.
TEST(Concurrency, ModelsComeAndGo) {
  Core core;
  const std::vector<Subject> all = subjects();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 12; ++round) {
        const Subject& subject = all[static_cast<size_t>(t + round) % all.size()];
        const AnyMap properties = round % 3 == 0   ? AnyMap{num_streams(2)}
                                  : round % 3 == 1 ? AnyMap{hint::enable_cpu_pinning(true)}
                                                   : AnyMap{task_executor(run_on_caller())};
        InferRequest request = core.compile_model(subject.model, "CPU", properties).create_infer_request();
        const auto input = static_cast<size_t>(t % kInputsPerModel);
        request.set_input_tensor(subject.inputs[input]);
        run(request, static_cast<unsigned>(t));
        EXPECT_TRUE(outputs_of(request, subject.compiled.outputs().size()) == subject.expected[input]) << subject.name;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace terroir::test
