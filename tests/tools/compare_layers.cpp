// compare_layers MODEL.xml [DEVICE]: which layer goes wrong?
// For people. Runs the model on the interpreter, then on DEVICE (CPU) once for each layer, with that layer as the only
// output, so that everything before it is optimised as in the real model. Prints the layers whose outputs differ by
// more than 1e-3 of their largest value while those of all layers they read do not.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/device.hpp"
#include "tests/support/elements.hpp"

namespace {

using namespace terroir;
using namespace terroir::test;

HostTensor counted_input(const ir::OutputPort& port) {
  ir::Dims dims;
  for (const Dimension& extent : port.shape) dims.push_back(std::max<int64_t>(1, extent.get_min_length()));
  HostTensor tensor(port.type, std::move(dims));
  for (int64_t i = 0; i < tensor.view().count(); ++i)
    set_element(tensor.writable(), i,
                port.type.is_real() ? std::to_string((static_cast<double>(i * 2654435761 % 65536) / 65536 - 0.5) * 2)
                                    : std::to_string(i % 1000));
  return tensor;
}

/// The graph with one output of one node as its only result.
std::unique_ptr<ir::Graph> cut(const ir::Graph& graph, ir::Value value) {
  auto copy = graph.clone();
  const auto results = copy->results();
  for (const ir::NodeId id : results) copy->erase(id);
  copy->add(ops::builtin_registry().get("Result", "opset1"), "cut", nullptr, {value});
  copy->erase_unreachable();
  ir::infer_graph(*copy);
  return copy;
}

std::string difference_to_scale(const HostTensor& expected, const HostTensor& actual) {
  long double largest = 0;
  for (int64_t i = 0; i < expected.view().count(); ++i)
    largest = std::max(largest, std::fabs(element_at(expected.view(), i)));
  return difference(expected.view(), actual.view(), {0, 1e-3 * static_cast<double>(largest)});
}

int run(const std::string& xml, const std::string& device) {
  const auto graph = ir::read_model(xml, {}, ops::builtin_registry());
  std::vector<HostTensor> inputs;
  std::vector<ir::TensorView> views;
  for (const ir::NodeId id : graph->parameters()) inputs.push_back(counted_input(graph->port({id, 0})));
  for (const HostTensor& input : inputs) views.push_back(input.view());

  std::map<std::pair<ir::NodeId, int32_t>, HostTensor> expected;
  interpreter::Program(*graph, interpreter::Precision::f32)
      .run(views, [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
        for (size_t i = 0; i < outputs.size(); ++i) expected[{node.id, static_cast<int32_t>(i)}] = outputs[i];
        return true;
      });

  std::set<ir::NodeId> wrong;
  for (const ir::NodeId id : ir::topological_order(*graph)) {
    const ir::Node& node = graph->node(id);
    if (node.constant || node.is("Parameter") || node.is("Result") || !expected.contains({id, 0})) continue;
    const bool inherited =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::Value v) { return wrong.contains(v.node); });
    if (inherited) {
      wrong.insert(id);
      continue;
    }
    for (int32_t output = 0; output < static_cast<int32_t>(node.outputs.size()); ++output) {
      try {
        DeviceModel model(cut(*graph, {id, output}), device);
        const auto actual = model.infer(inputs);
        const std::string text = difference_to_scale(expected.at({id, output}), actual[0]);
        if (text.empty()) continue;
        std::cout << node.describe() << ", output " << output << ": " << text << std::endl;
      } catch (const Exception& error) {
        std::cout << node.describe() << ", output " << output << ": " << error.what() << std::endl;
      }
      wrong.insert(id);
    }
  }
  std::cout << (wrong.empty() ? "all layers agree" : std::to_string(wrong.size()) + " layers are affected") << '\n';
  return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " MODEL.xml [DEVICE]\n";
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? argv[2] : "CPU");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
