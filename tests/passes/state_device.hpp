#pragma once
// What: models with variables of f32 on every device, for tests: requests that keep their state.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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
class Device : public DeviceModel {
 public:
  using DeviceModel::DeviceModel;

  Floats infer(const std::vector<HostTensor>& inputs) { return values_of(DeviceModel::infer(inputs).back().view()); }
};

template <class Check>
void on_every_device(const ir::Graph& graph, Check check) {
  for (const std::string& name : device_names()) {
    SCOPED_TRACE(name);
    Device device(graph.clone(), name);
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
