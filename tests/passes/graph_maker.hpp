#pragma once
// What: graphs made op by op for tests of passes and of the CPU device, and how the device is compared with the
// interpreter.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/interpreter/host_tensor.hpp"
#include "tests/support/attribute_setter.hpp"
#include "tests/support/device.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::test {

using interpreter::HostTensor;

/// Every op is inferred when it is added, so an error comes from the line that made it.
class GraphMaker {
 public:
  ir::Value input(const PartialShape& shape, element::Type type = element::f32);
  ir::Value constant(const ir::Dims& dims, const std::vector<float>& values, const std::string& name = {});
  /// Values in [-scale, scale) that depend on `seed` alone.
  ir::Value random(const ir::Dims& dims, uint32_t seed, float scale = 1);
  ir::Value integers(const std::vector<int64_t>& values);
  ir::Value scalar(float value) { return constant({}, {value}); }
  ir::Value scalar_integer(int64_t value);
  /// The newest version of an op. The first output; others: {value.node, i}.
  ir::Value op(const std::string& type, const std::vector<ir::Value>& inputs, const AttributeTexts& attributes = {},
               const std::string& name = {}, const char* opset = "opset16");
  /// If, Loop, TensorIterator. The first output; others: {value.node, i}.
  ir::Value control(const std::string& type, const std::vector<ir::Value>& inputs, std::vector<ir::Body> bodies);
  ir::NodeId result(ir::Value value);

  /// Convolution 2-D, "same" for odd kernels and stride 1.
  ir::Value conv(ir::Value data, int64_t out_channels, int64_t kernel, uint32_t seed, int64_t stride = 1);
  ir::Value depthwise(ir::Value data, int64_t kernel, uint32_t seed, int64_t stride = 1);

  ir::Graph& graph() { return graph_; }
  const ir::Graph& graph() const { return graph_; }
  /// The graph as the body of an op; nothing can be added any more.
  ir::Body as_body(const std::string& role, ir::BodyPortMap ports) &&;
  ir::Dims dims(ir::Value value) const { return ir::to_dims(graph_.port(value).shape.to_shape()); }
  const std::vector<ir::Value>& inputs() const { return inputs_; }

 private:
  std::string next_name(const std::string& type);
  ir::Value infer(ir::NodeId id);

  ir::Graph graph_{"g"};
  std::vector<ir::Value> inputs_;
  std::map<std::string, int> names_;
};

/// A tensor of values in [-scale, scale) that depend on `seed` alone.
HostTensor random_tensor(const ir::Dims& dims, uint32_t seed, float scale = 1);
HostTensor integer_tensor(const ir::Dims& dims, const std::vector<int64_t>& values);

/// The graph compiled for one stream of the CPU device.
DeviceModel on_cpu(const ir::Graph& graph, int threads);

/// One inference per set of inputs, one request for all. Outputs are filled with NaN before each.
std::vector<std::vector<HostTensor>> run_on_cpu(const ir::Graph& graph, cpu::Isa isa, int threads,
                                                std::span<const std::vector<HostTensor>> inputs);

/// The kernel of the layer `name`, as profiles print it, after one inference with inputs of zeros. Static shapes only;
/// empty when no such layer runs.
std::string kernel_on_cpu(const ir::Graph& graph, cpu::Isa isa, std::string_view name);

/// Runs the graph on the interpreter and, with each instruction set of this machine and with 1 and 2 threads, on the
/// CPU device. Fails where shapes differ, where an element differs by more than `relative` times the largest expected
/// magnitude, and where the number of threads changes a bit.
void expect_same_as_interpreter(const ir::Graph& graph, std::span<const std::vector<HostTensor>> inputs,
                                double relative = 2e-5);
/// With random inputs of the declared, static shapes.
void expect_same_as_interpreter(const GraphMaker& maker, double relative = 2e-5);

}  // namespace terroir::test
