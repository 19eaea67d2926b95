// Outputs are the same bits for any number of threads and streams, for an image alone or anywhere in a batch, and from
// run to run. ctest runs each batch on some numbers of threads, on every number only
//   cmake --build <folder> --target determinism
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "ir/graph/graph.hpp"
#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/run.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/model_run.hpp"
#include "tests/support/scoped_variable.hpp"
#include "tests/zoo/zoo.hpp"

namespace terroir::test {
namespace {

using cpu::Plan;

constexpr size_t kImages = 3;

std::vector<unsigned char> bytes_of(const Tensor& tensor) {
  const auto* data = static_cast<const unsigned char*>(tensor.data());
  return {data, data + tensor.get_byte_size()};
}

/// FNV-1a, of 64 bits.
uint64_t hash_of(const std::vector<Tensor>& tensors) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Tensor& tensor : tensors)
    for (const unsigned char byte : bytes_of(tensor)) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

/// Empty, or where two tensors differ first, if they differ.
std::string first_difference(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual) {
  if (hash_of(expected) == hash_of(actual)) return {};
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto a = bytes_of(expected[i]), b = bytes_of(actual[i]);
    if (a.size() != b.size()) return concat("output ", i, " has another size");
    const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    if (at == static_cast<std::ptrdiff_t>(a.size())) continue;
    const size_t element = static_cast<size_t>(at) / expected[i].get_element_type().size();
    const ir::TensorView want = view_of(expected[i]), got = view_of(actual[i]);
    return concat("output ", i, " from element ", element, " of ", expected[i].get_size(),
                  " on: ", static_cast<double>(element_at(got, static_cast<int64_t>(element))), " instead of ",
                  static_cast<double>(element_at(want, static_cast<int64_t>(element))));
  }
  return "hashes";
}

/// Image `index` of an endless series, no two of the same values.
Tensor image(const element::Type& type, const Shape& shape, size_t index) {
  Tensor picked(type, shape);
  const size_t skipped = 97 * index;  // the numbers repeat after a power of two or of ten
  const Tensor series = counted_input(type, {skipped + picked.get_size()});
  std::memcpy(picked.data(), static_cast<const char*>(series.data()) + skipped * type.size(), picked.get_byte_size());
  return picked;
}

Tensor batch_of(const std::vector<Tensor>& images) {
  Shape shape = images[0].get_shape();
  shape[0] *= images.size();
  Tensor batch(images[0].get_element_type(), shape);
  for (size_t i = 0; i < images.size(); ++i)
    std::memcpy(static_cast<char*>(batch.data()) + i * images[0].get_byte_size(), images[i].data(),
                images[0].get_byte_size());
  return batch;
}

/// Outputs of one image of a batch of `count`.
std::vector<Tensor> part_of(const std::vector<Tensor>& outputs, size_t index, size_t count) {
  std::vector<Tensor> parts;
  for (const Tensor& output : outputs) {
    Shape shape = output.get_shape();
    shape[0] /= count;
    Tensor part(output.get_element_type(), shape);
    std::memcpy(part.data(), static_cast<const char*>(output.data()) + index * part.get_byte_size(),
                part.get_byte_size());
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Reshapes to a batch of 1 take any batch afterwards.
void free_batch(ir::Graph& graph) {
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    const ir::Constant* target = node.is("Reshape") ? ir::constant_of(graph, node.inputs[1]) : nullptr;
    if (!target) continue;
    std::vector<int64_t> extents = ir::to_integers(target->view);
    const bool fixed = !extents.empty() && extents[0] == 1 &&
                       std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent > 0; });
    if (!fixed) continue;
    extents[0] = -1;
    auto values = std::make_shared<std::vector<int64_t>>(extents);
    const ir::TensorView view{element::i64, {static_cast<int64_t>(values->size())}, values->data()};
    const ir::NodeId constant =
        graph.add_constant(ops::builtin_registry().get("Const", "opset1"), node.name + "/any_batch", {view, values});
    graph.set_input({id, 1}, {constant, 0});
  }
}

/// Runs plans directly: the device would not start more threads than the machine has.
class Runner {
 public:
  explicit Runner(const std::filesystem::path& xml, bool bf16 = false) : bf16_(bf16) {
    auto bin = xml;
    graph_ = ir::read_model(xml.string(), bin.replace_extension(".bin").string(), ops::builtin_registry());
    free_batch(*graph_);
    rewritten_ = cpu::rewrite_portable(*graph_);
    for (const ir::NodeId id : graph_->parameters()) {
      const ir::OutputPort& port = graph_->port({id, 0});
      types_.push_back(port.type);
      shapes_.push_back(port.shape.to_shape());
    }
  }

  std::vector<Tensor> image(size_t index) const {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < types_.size(); ++i) inputs.push_back(test::image(types_[i], shapes_[i], index));
    return inputs;
  }

  /// `runs` times; all give the same, or the test fails.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, int threads, int runs = 1) {
    std::vector<ir::Dims> dims;
    for (const Tensor& input : inputs) dims.push_back(ir::to_dims(input.get_shape()));
    cpu::CompileOptions options;
    options.isa = cpu::active_isa();
    options.bytes = cpu::active_byte_products() != cpu::ByteProducts::none;
    options.bf16 = bf16_;
    options.threads = threads;
    const parallel::Arena arena(threads);
    const std::shared_ptr<const Plan> plan =
        cpu::compile_plan(cpu::bound_graph(rewritten_->clone(), dims), weights_, options, arena);
    cpu::PlanState state(plan, arena);
    const std::atomic<bool> cancelled{false};
    std::vector<Tensor> first;
    for (int run = 0; run < runs; ++run) {
      std::vector<Tensor> outputs;
      for (const cpu::TensorDesc& output : plan->outputs) outputs.emplace_back(output.type, ir::to_shape(output.dims));
      for (size_t i = 0; i < inputs.size(); ++i) state.bind_input(i, inputs[i].data());
      for (size_t i = 0; i < outputs.size(); ++i) state.bind_output(i, outputs[i].data());
      state.run(arena, cancelled, nullptr);
      if (run == 0) first = outputs;
      EXPECT_EQ(first_difference(first, outputs), "") << "run " << run << " of " << threads << " threads";
    }
    return first;
  }

 private:
  bool bf16_;
  std::unique_ptr<ir::Graph> graph_, rewritten_;
  std::vector<element::Type> types_;
  std::vector<Shape> shapes_;
  cpu::WeightsCache weights_;
};

class Determinism : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    xml_ = zoo_model(GetParam());
    if (xml_.empty()) GTEST_SKIP() << GetParam() << " was not generated (TERROIR_ZOO_DIR)";
  }
  std::filesystem::path xml_;
};

/// Else nothing would show that an image has gone astray.
void expect_different(const std::vector<std::vector<Tensor>>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(first_difference(outputs[i], outputs[j]), "") << "images " << j << " and " << i << " give the same";
}

TEST_P(Determinism, AnyNumberOfThreads) {
  Runner runner(xml_);
  const auto inputs = runner.image(0);
  const auto one = runner.run(inputs, 1, 2);
  RecordProperty("hash", std::to_string(hash_of(one)));
  for (const int threads : {2, 3, 4, 8})
    EXPECT_EQ(first_difference(one, runner.run(inputs, threads, 2)), "") << threads << " threads instead of 1";
}

/// Which images a batch has, by place, and on how many threads it runs.
struct Batch {
  std::vector<size_t> order;
  std::vector<int> threads;
};

/// Each image has the outputs that it has alone on one thread.
void expect_same_in_batches(const std::filesystem::path& xml, const std::vector<Batch>& batches, bool bf16 = false) {
  Runner runner(xml, bf16);
  std::vector<std::vector<Tensor>> images, alone;
  for (size_t i = 0; i < kImages; ++i) {
    images.push_back(runner.image(i));
    alone.push_back(runner.run(images.back(), 1));
  }
  expect_different(alone);
  for (const auto& [order, thread_counts] : batches) {
    std::vector<Tensor> batch;
    for (size_t input = 0; input < images[0].size(); ++input) {
      std::vector<Tensor> parts;
      for (const size_t i : order) parts.push_back(images[i][input]);
      batch.push_back(batch_of(parts));
    }
    for (const int threads : thread_counts) {
      const auto outputs = runner.run(batch, threads);
      for (size_t place = 0; place < order.size(); ++place)
        EXPECT_EQ(first_difference(alone[order[place]], part_of(outputs, place, order.size())), "")
            << "image at place " << place << " of " << order.size() << ", " << threads << " threads";
    }
  }
}

TEST_P(Determinism, AnywhereInABatch) {
  expect_same_in_batches(xml_, {{{0, 1}, {1, 8}}, {{2, 1, 0}, {2, 3}}, {{1, 0, 2, 1, 0}, {4}}});
}

TEST_P(Determinism, AnyNumberOfStreams) {
  Core core;
  if (const auto reason = missing_device(core, "CPU"); !reason.empty()) GTEST_SKIP() << reason;
  const auto model = core.read_model(xml_.string());
  std::vector<std::vector<Tensor>> images(kImages), alone;
  for (size_t i = 0; i < kImages; ++i)
    for (const auto& port : model->inputs()) images[i].push_back(image(port.get_element_type(), port.get_shape(), i));
  for (const int streams : {1, 2, 4}) {
    CompiledModel compiled = core.compile_model(model, "CPU", num_streams(streams));
    if (alone.empty()) {
      for (const auto& inputs : images) alone.push_back(infer(compiled, inputs));
      expect_different(alone);
    }
    // Twice as many requests as run at once; neighbours have different images.
    std::vector<InferRequest> requests;
    for (size_t i = 0; i < 2 * static_cast<size_t>(streams); ++i) {
      requests.push_back(compiled.create_infer_request());
      for (size_t input = 0; input < compiled.inputs().size(); ++input)
        requests.back().set_input_tensor(input, images[i % kImages][input]);
    }
    for (InferRequest& request : requests) request.start_async();
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].wait();
      std::vector<Tensor> outputs;
      for (size_t output = 0; output < compiled.outputs().size(); ++output)
        outputs.push_back(requests[i].get_output_tensor(output));
      EXPECT_EQ(first_difference(alone[i % kImages], outputs), "") << "request " << i << ", " << streams << " streams";
    }
  }
}

class DeterminismInBf16 : public Determinism {
  void SetUp() override {
    if (!WithBf16::is_available()) GTEST_SKIP() << "no products of bf16";
    Determinism::SetUp();
  }
  WithBf16 kernels_;
};

TEST_P(DeterminismInBf16, AnywhereInABatchOnAnyNumberOfThreads) {
  expect_same_in_batches(xml_, {{{2, 1, 0}, {2, 3}}, {{1, 0}, {1, 8}}}, true);
}

/// Every batch on every number of threads: minutes on a small machine; not in ctest.
class WholeDeterminism : public Determinism {};

TEST_P(WholeDeterminism, AnywhereInABatch) {
  const std::vector<int> threads = {1, 2, 3, 4, 8};
  expect_same_in_batches(xml_, {{{0, 1}, threads}, {{2, 1, 0}, threads}, {{1, 0, 2, 1, 0}, threads}});
}

const auto kModels = testing::Values("bert_base", "densenet121", "efficientnet_b0", "mobilenet_v2",
                                     "mobilenet_v3_large", "quartznet", "resnet50", "resnext50", "squeezenet", "unet",
                                     "unet3d", "yolo", "mobilenet_v2-int8", "squeezenet-int8");
INSTANTIATE_TEST_SUITE_P(All, Determinism, kModels, name_of_test);
INSTANTIATE_TEST_SUITE_P(All, WholeDeterminism, kModels, name_of_test);
INSTANTIATE_TEST_SUITE_P(All, DeterminismInBf16, kModels, name_of_test);

}  // namespace
}  // namespace terroir::test
