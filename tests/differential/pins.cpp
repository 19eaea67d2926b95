#include "tests/differential/pins.hpp"

#include <cstring>

#include "ir/base/error.hpp"
#include "tests/differential/resampled.hpp"

namespace terroir::test {

std::vector<ir::TensorView> views_of(const Tensors& tensors) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

Record::Record(const ir::Graph& graph, const Tensors& inputs) : graph_(graph) {
  for (size_t i = 0; i < inputs.size(); ++i) made_[graph.parameters()[i]] = {inputs[i]};
}

void Record::keep(const ir::Node& node, std::span<const HostTensor> outputs) {
  made_[node.id].assign(outputs.begin(), outputs.end());
}

Tensors Record::operands(const ir::Node& node) const {
  Tensors operands;
  for (const ir::Value value : node.inputs) {
    if (const ir::Constant* constant = ir::constant_of(graph_, value))
      operands.emplace_back(constant->view, nullptr);
    else
      operands.push_back(made_.at(value.node).at(static_cast<size_t>(value.output)));
  }
  return operands;
}

void pin(const Pins& pins, const ir::Node& node, std::span<const HostTensor> outputs) {
  if (const auto found = pins.find(node.id); found != pins.end() && outputs[0].view().bytes() > 0)
    std::memcpy(outputs[0].writable().data, found->second.view().data, outputs[0].view().bytes());
}

Tensors pinned(const interpreter::Program& program, const Tensors& inputs, const Pins& pins, std::string& fault) {
  Record record(program.graph(), inputs);
  return program.run(views_of(inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
    if (const auto found = pins.find(node.id); found != pins.end()) {
      fault = beyond_resampling(node, record.operands(node), found->second);
      if (!fault.empty()) {
        fault = concat("resampled by '", node.name, "': ", fault);
        return false;
      }
      pin(pins, node, outputs);
    }
    record.keep(node, outputs);
    return true;
  });
}

}  // namespace terroir::test
