#pragma once
// What: models with variables of f32 on every device, for tests: requests that keep their state.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/plugin.hpp"
#include "plugins/interpreter/plugin.hpp"
#include "runtime/plugin/variables.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

using Floats = std::vector<float>;

inline HostTensor floats(const ir::Dims& dims, const Floats& values) {
  HostTensor tensor(element::f32, dims);
  std::copy(values.begin(), values.end(), tensor.writable().as<float>());
  return tensor;
}

inline Floats values_of(const ir::TensorView& view) { return {view.as<float>(), view.as<float>() + view.count()}; }

/// A device whose last output is of floats.
class Device {
 public:
  Device(const plugin::Plugin& plugin, const ir::Graph& graph)
      : compiled_(plugin::compile_with_variables(plugin, graph.clone(), {})), request_(compiled_->create_request()) {}

  Floats infer(const std::vector<HostTensor>& inputs) {
    struct Binder final : plugin::OutputBinder {
      HostTensor tensor;
      void* bind(size_t, element::Type type, const ir::Dims& dims) override {
        tensor = HostTensor(type, dims);
        return tensor.writable().data;
      }
    } output;
    std::vector<ir::TensorView> views;
    for (const HostTensor& input : inputs) views.push_back(input.view());
    const std::atomic<bool> cancelled{false};
    request_->infer(views, output, {parallel::Arena(1), cancelled});
    return values_of(output.tensor.view());
  }
  plugin::RequestState& request() { return *request_; }

 private:
  std::shared_ptr<const plugin::CompiledGraph> compiled_;
  std::unique_ptr<plugin::RequestState> request_;
};

template <class Check>
void on_every_device(const ir::Graph& graph, Check check) {
  const std::unique_ptr<plugin::Plugin> plugins[] = {cpu::make_cpu_plugin(), interpreter::make_plugin()};
  for (const auto& plugin : plugins) {
    SCOPED_TRACE(plugin->device_name());
    Device device(*plugin, graph);
    check(device);
  }
}

inline ir::Value read(GraphMaker& m, const std::vector<ir::Value>& initial, const char* name = "v") {
  return m.op("ReadValue", initial, {{"variable_id", name}, {"variable_type", "f32"}, {"variable_shape", "1"}}, "read",
              "opset6");
}

inline ir::Value assign(GraphMaker& m, ir::Value value, const char* name = "v") {
  return m.op("Assign", {value}, {{"variable_id", name}}, "assign", "opset6");
}

}  // namespace terroir::test
