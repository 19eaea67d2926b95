#include "tests/passes/graph_maker.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/infer_added.hpp"
#include "tests/support/pool.hpp"

namespace terroir::test {
namespace {

// Fresh memory holds 0x7f7f7f7f = 3.4e38, so that a kernel that reads what nobody wrote shows.
[[maybe_unused]] const int kPoisoned = ::mallopt(M_PERTURB, 0x80);

const ir::OpSchema& builtin(std::string_view type, const char* opset = "opset16") {
  return ops::builtin_registry().get(type, opset);
}

float uniform(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(static_cast<double>(state >> 8) / (1 << 24) * 2 - 1);
}

std::vector<float> random_values(int64_t count, uint32_t seed, float scale) {
  uint32_t state = seed * 2654435761u + 12345;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = scale * uniform(state);
  return values;
}

template <class T>
ir::Constant make_constant(element::Type type, const ir::Dims& dims, const std::vector<T>& values) {
  EXPECT_EQ(static_cast<size_t>(ir::element_count(dims)), values.size());
  auto buffer = std::make_shared<AlignedBuffer>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer->data(), values.data(), values.size() * sizeof(T));
  return {{type, dims, buffer->data()}, buffer};
}

// Where everything cancels out, what is left is the rounding of values of about 1.
constexpr double kSmallestScale = 0.01;

double largest(const ir::TensorView& tensor) {
  long double value = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) value = std::max(value, std::fabs(element_at(tensor, i)));
  return static_cast<double>(value);
}

}  // namespace

std::string GraphMaker::next_name(const std::string& type) {
  std::string name = type;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const int count = ++names_[name];
  return count == 1 ? name : name + std::to_string(count);
}

ir::Value GraphMaker::infer(ir::NodeId id) { return infer_added(graph_, id); }

ir::Value GraphMaker::input(const PartialShape& shape, element::Type type) {
  const ir::Value value = infer(
      graph_.add(builtin(ir::kParameterType), next_name("x"), ir::make_attributes_of(ir::ParameterAttrs{shape, type})));
  inputs_.push_back(value);
  return value;
}

ir::Value GraphMaker::constant(const ir::Dims& dims, const std::vector<float>& values, const std::string& name) {
  return {graph_.add_constant(builtin(ir::kConstType), name.empty() ? next_name("c") : name,
                              make_constant(element::f32, dims, values)),
          0};
}

ir::Value GraphMaker::random(const ir::Dims& dims, uint32_t seed, float scale) {
  return constant(dims, random_values(ir::element_count(dims), seed, scale));
}

ir::Value GraphMaker::integers(const std::vector<int64_t>& values) {
  return {graph_.add_constant(builtin(ir::kConstType), next_name("i"),
                              make_constant(element::i64, {static_cast<int64_t>(values.size())}, values)),
          0};
}

ir::Value GraphMaker::scalar_integer(int64_t value) {
  return {graph_.add_constant(builtin(ir::kConstType), next_name("i"),
                              make_constant(element::i64, {}, std::vector<int64_t>{value})),
          0};
}

ir::Value GraphMaker::op(const std::string& type, const std::vector<ir::Value>& inputs,
                         const AttributeTexts& attributes, const std::string& name, const char* opset) {
  const ir::OpSchema& schema = builtin(type, opset);
  auto filled = schema.make_attributes();
  set_attributes(*filled, attributes);
  return infer(graph_.add(schema, name.empty() ? next_name(type) : name, std::move(filled), inputs));
}

ir::Value GraphMaker::control(const std::string& type, const std::vector<ir::Value>& inputs,
                              std::vector<ir::Body> bodies) {
  const ir::OpSchema& schema = builtin(type);
  const ir::NodeId id = graph_.add(schema, next_name(type), schema.make_attributes(), inputs);
  graph_.node(id).bodies = std::move(bodies);
  return infer(id);
}

ir::Body GraphMaker::as_body(const std::string& role, ir::BodyPortMap ports) && {
  return {role, std::make_unique<ir::Graph>(std::move(graph_)), std::move(ports)};
}

ir::NodeId GraphMaker::result(ir::Value value) {
  return infer(graph_.add(builtin(ir::kResultType), next_name("y"), nullptr, {value})).node;
}

ir::Value GraphMaker::conv(ir::Value data, int64_t out_channels, int64_t kernel, uint32_t seed, int64_t stride) {
  const int64_t channels = dims(data)[1];
  const std::string pad = std::to_string(kernel / 2), step = std::to_string(stride);
  const ir::Value weights =
      random({out_channels, channels, kernel, kernel}, seed, 2.0f / static_cast<float>(channels * kernel * kernel + 1));
  return op("Convolution", {data, weights},
            {{"strides", step + "," + step},
             {"dilations", "1,1"},
             {"pads_begin", pad + "," + pad},
             {"pads_end", pad + "," + pad}});
}

ir::Value GraphMaker::depthwise(ir::Value data, int64_t kernel, uint32_t seed, int64_t stride) {
  const int64_t channels = dims(data)[1];
  const std::string pad = std::to_string(kernel / 2), step = std::to_string(stride);
  return op("GroupConvolution", {data, random({channels, 1, 1, kernel, kernel}, seed)},
            {{"strides", step + "," + step},
             {"dilations", "1,1"},
             {"pads_begin", pad + "," + pad},
             {"pads_end", pad + "," + pad}});
}

HostTensor random_tensor(const ir::Dims& dims, uint32_t seed, float scale) {
  HostTensor tensor(element::f32, dims);
  const std::vector<float> values = random_values(ir::element_count(dims), seed, scale);
  if (!values.empty()) std::memcpy(tensor.writable().data, values.data(), values.size() * sizeof(float));
  return tensor;
}

HostTensor integer_tensor(const ir::Dims& dims, const std::vector<int64_t>& values) {
  HostTensor tensor(element::i64, dims);
  EXPECT_EQ(static_cast<size_t>(tensor.view().count()), values.size());
  if (!values.empty()) std::memcpy(tensor.writable().data, values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

DeviceModel on_cpu(const ir::Graph& graph, int threads) {
  plugin::Config config;
  use_threads(config, threads);
  return DeviceModel(graph.clone(), "CPU", config);
}

std::vector<std::vector<HostTensor>> run_on_cpu(const ir::Graph& graph, cpu::Isa isa, int threads,
                                                std::span<const std::vector<HostTensor>> inputs) {
  const ForcedIsa forced(cpu::isa_name(isa));
  DeviceModel device = on_cpu(graph, threads);
  std::vector<std::vector<HostTensor>> results;
  for (const std::vector<HostTensor>& set : inputs) results.push_back(device.infer(set));
  return results;
}

std::string kernel_on_cpu(const ir::Graph& graph, cpu::Isa isa, std::string_view name) {
  const ForcedIsa forced(cpu::isa_name(isa));
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(graph.clone(), "CPU", config);
  std::vector<HostTensor> inputs;
  for (const plugin::PortInfo& port : device.inputs()) {
    inputs.emplace_back(port.type, ir::to_dims(port.shape.to_shape()));
    const ir::MutableTensorView view = inputs.back().writable();
    if (view.bytes() > 0) std::memset(view.data, 0, view.bytes());
  }
  device.infer(inputs);
  for (const ProfilingInfo& info : device.profile())
    if (info.node_name == name) return info.exec_type;
  return {};
}

void expect_same_as_interpreter(const ir::Graph& graph, std::span<const std::vector<HostTensor>> inputs,
                                double relative) {
  std::vector<std::vector<HostTensor>> expected;
  const interpreter::Program program(graph);
  for (const std::vector<HostTensor>& set : inputs) {
    std::vector<ir::TensorView> views;
    for (const HostTensor& input : set) views.push_back(input.view());
    expected.push_back(program.run(views));
  }
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto one = run_on_cpu(graph, isa, 1, inputs), two = run_on_cpu(graph, isa, 2, inputs);
    for (size_t run = 0; run < inputs.size(); ++run) {
      for (size_t i = 0; i < expected[run].size(); ++i) {
        SCOPED_TRACE(concat(cpu::isa_name(isa), ", run ", run, ", output ", i));
        const ir::TensorView &want = expected[run][i].view(), &got = one[run][i].view(), &other = two[run][i].view();
        ASSERT_EQ(want.type, got.type);
        ASSERT_EQ(want.dims, got.dims);
        const std::string text = difference(want, got, {0, relative * std::max(kSmallestScale, largest(want))});
        if (!text.empty()) ADD_FAILURE() << text;
        ASSERT_EQ(got.dims, other.dims);
        if (got.bytes() == 0) continue;
        EXPECT_EQ(std::memcmp(got.data, other.data, got.bytes()), 0) << "2 threads compute something else than 1";
      }
    }
  }
}

void expect_same_as_interpreter(const GraphMaker& maker, double relative) {
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : maker.inputs())
    inputs.push_back(random_tensor(maker.dims(input), static_cast<uint32_t>(inputs.size() + 1)));
  const std::vector<std::vector<HostTensor>> sets = {inputs};
  expect_same_as_interpreter(maker.graph(), sets, relative);
}

}  // namespace terroir::test
