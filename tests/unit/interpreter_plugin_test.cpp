#include "plugins/interpreter/plugin.hpp"

#include <gtest/gtest.h>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"

namespace terroir::interpreter {
namespace {

class Binder final : public plugin::OutputBinder {
 public:
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    if (buffers.size() <= index) buffers.resize(index + 1);
    buffers[index].resize(ir::byte_size(type, ir::element_count(dims)));
    return buffers[index].data();
  }
  std::vector<std::vector<char>> buffers;
};

std::shared_ptr<const ir::Graph> relu_graph() {
  const auto op = [](const char* type) -> const ir::OpSchema& { return ops::builtin_registry().get(type, "opset1"); };
  auto graph = std::make_shared<ir::Graph>("tiny");
  ir::ParameterAttrs attrs;
  attrs.shape = PartialShape{2};
  attrs.element_type = element::f32;
  const ir::NodeId data = graph->add(op("Parameter"), "data", ir::make_attributes_of(attrs));
  const ir::NodeId relu = graph->add(op("ReLU"), "act", nullptr, {{data, 0}});
  graph->add(op("Result"), "out", nullptr, {{relu, 0}});
  ir::infer_graph(*graph);
  return graph;
}

TEST(InterpreterPlugin, CompilesRunsAndProfiles) {
  plugin::PluginRegistry registry;
  plugin::register_builtin_plugins(registry);
  const plugin::Plugin& device = registry.get("INTERPRETER");
  const auto graph = relu_graph();
  EXPECT_EQ(device.supported_layers(*graph), (std::vector<std::string>{"data", "act", "out"}));
  plugin::Config config;
  config.profiling = true;
  const auto compiled = device.compile(graph, config);
  EXPECT_EQ(compiled->inputs().at(0).node_name, "data");
  const auto request = compiled->create_request();
  const float values[] = {-1, 2};
  const ir::TensorView input{element::f32, {2}, values};
  Binder binder;
  const parallel::Arena arena(1);
  std::atomic<bool> cancelled{false};
  request->infer({&input, 1}, binder, {arena, cancelled});
  ASSERT_EQ(binder.buffers.size(), 1u);
  const auto* output = reinterpret_cast<const float*>(binder.buffers[0].data());
  EXPECT_EQ(output[0], 0.f);
  EXPECT_EQ(output[1], 2.f);
  const auto profile = request->profiling();
  ASSERT_EQ(profile.size(), 2u);
  EXPECT_EQ(profile[0].node_name, "act");
  EXPECT_EQ(profile[0].exec_type, "ref_f32");
  EXPECT_EQ(profile[0].status, ProfilingInfo::Status::EXECUTED);
}

TEST(InterpreterPlugin, StopsWhenCancelled) {
  const auto compiled = make_plugin()->compile(relu_graph(), {});
  const auto request = compiled->create_request();
  const float values[] = {-1, 2};
  const ir::TensorView input{element::f32, {2}, values};
  Binder binder;
  const parallel::Arena arena(1);
  std::atomic<bool> cancelled{true};
  request->infer({&input, 1}, binder, {arena, cancelled});
  EXPECT_TRUE(binder.buffers.empty());
}

}  // namespace
}  // namespace terroir::interpreter
