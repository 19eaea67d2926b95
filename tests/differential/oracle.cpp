#include "tests/differential/oracle.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "tests/differential/resampled.hpp"

namespace terroir::test {
namespace {

template <class Condition>
bool has_variables(const ir::Graph& graph, const Condition& condition) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
    return graph.node(id).is("ReadValue") && condition(graph.port({id, 0}));
  });
}

bool is_any(const ir::OutputPort&) { return true; }
bool is_open(const ir::OutputPort& port) { return !port.shape.is_static(); }

/// What the CPU device makes of images of integers, by node.
Pins resampled_on_cpu(const ir::Graph& graph, const Tensors& inputs, std::string& fault) {
  auto with_results = graph.clone();
  const size_t before = graph.results().size();
  std::vector<ir::NodeId> resampled;
  for (const ir::NodeId id : graph.nodes()) {
    if (!is_resampling(graph.node(id))) continue;
    resampled.push_back(id);
    with_results->add(ops::builtin_registry().get(ir::kResultType, "opset1"), concat("resampled", resampled.size()),
                      nullptr, {ir::Value{id, 0}});
  }
  if (resampled.empty()) return {};
  ir::infer_graph(*with_results);
  const Run run = test::run(std::shared_ptr<const ir::Graph>(std::move(with_results)), "CPU", config_of(1), inputs);
  if (run.refusal) {
    fault = "with a result for every resampled image CPU refuses the model: " + *run.refusal;
    return {};
  }
  Pins pins;
  for (size_t i = 0; i < resampled.size(); ++i) pins.emplace(resampled[i], run.results[0][before + i]);
  return pins;
}

}  // namespace

std::shared_ptr<const ir::Graph> first_inference(const ir::Graph& graph) {
  auto first = graph.clone();
  for (const ir::NodeId id : first->nodes()) {
    if (!first->node(id).is("ReadValue") && !first->node(id).is("Assign")) continue;
    first->replace_uses({id, 0}, ir::Value(first->node(id).inputs.at(0)));
    first->erase(id);
  }
  ir::infer_graph(*first);
  return first;
}

Oracle::Oracle(std::shared_ptr<const ir::Graph> graph, const Tensors& inputs, Random& random)
    : graph_(std::move(graph)),
      inputs_(inputs),
      random_(random),
      expected_(run(graph_, "INTERPRETER", config_of(1), inputs_)) {}

void Oracle::find_bounds() {
  // The interpreter alone does not know how large a variable may become.
  grows_ = has_variables(*graph_, is_open);
  if (grows_) first_ = first_inference(*graph_);
  program_.emplace(grows_ ? *first_ : *graph_, interpreter::Precision::f32);
  pins_ = resampled_on_cpu(*graph_, inputs_, pins_fault_);
  if (!pins_.empty()) with_pins_ = pinned(*program_, inputs_, pins_, pins_fault_);
  if (pins_fault_.empty()) bounds_.emplace(*program_, inputs_, pins_, random_);
}

std::string Oracle::fault(const Run& actual) {
  if (!bounds_ && pins_fault_.empty()) find_bounds();
  if (!pins_fault_.empty()) return pins_fault_;
  // The runs with pins are first inferences: variables are as they were set.
  const bool first_alone = grows_ || (!pins_.empty() && has_variables(*graph_, is_any));
  const size_t judged = first_alone ? 1 : expected_.results.size();
  for (size_t i = 0; i < judged; ++i)
    for (size_t j = 0; j < expected_.results[i].size(); ++j) {
      const HostTensor& want = pins_.empty() ? expected_.results[i][j] : with_pins_[j];
      const std::string text = bounds_->beyond(j, want, actual.results[i][j]);
      if (!text.empty()) return concat("inference ", i, ", output ", j, ": ", text);
    }
  return {};
}

}  // namespace terroir::test
