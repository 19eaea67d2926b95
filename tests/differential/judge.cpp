#include "tests/differential/judge.hpp"

#include <algorithm>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "tests/differential/differences.hpp"
#include "tests/differential/pins.hpp"
#include "tests/differential/resampled.hpp"
#include "tests/differential/rounding.hpp"
#include "tests/support/device.hpp"
#include "tests/support/forced_isa.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

constexpr int kInferences = 2;

/// What a device makes of a model: results per inference, or why it refuses.
struct Run {
  std::vector<Tensors> results;
  std::optional<std::string> refusal;
};

Run run(const std::shared_ptr<const ir::Graph>& graph, const char* device, int threads, const Tensors& inputs) {
  Run run;
  try {
    plugin::Config config;
    config.threads = threads;
    config.streams = 1;
    DeviceModel model(graph, device, config);
    for (int i = 0; i < kInferences; ++i) run.results.push_back(model.infer(inputs));
  } catch (const Exception& error) {
    run.refusal = error.what();
  }
  return run;
}

/// Unknown extents in place of known ones: all, some, bounded ones, or not even the rank.
std::shared_ptr<ir::Graph> forget(const ir::Graph& graph, Random& random) {
  auto forgetful = graph.clone();
  const size_t how = random.below(8);
  for (const ir::NodeId id : forgetful->parameters()) {
    ir::Node& parameter = forgetful->node(id);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    for (Dimension& extent : attrs.shape) {
      const int64_t length = extent.get_length();
      if (how < 3 || (how < 5 && random.chance(50))) extent = Dimension::dynamic();
      if (how == 5 || how == 6) extent = Dimension(random.between(0, length), length + random.between(0, 9));
    }
    if (how == 7) attrs.shape = PartialShape::dynamic();
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  ir::infer_graph(*forgetful);
  return forgetful;
}

std::string difference_between(const Run& expected, const Run& actual) {
  if (expected.refusal && actual.refusal) return {};
  if (actual.refusal) return "it throws: " + *actual.refusal;
  if (expected.refusal) return "it does not throw: " + *expected.refusal;
  for (size_t i = 0; i < expected.results.size(); ++i)
    for (size_t j = 0; j < expected.results[i].size(); ++j)
      if (const std::string text = difference_in_bits(expected.results[i][j], actual.results[i][j]); !text.empty())
        return concat("inference ", i, ", output ", j, ": ", text);
  return {};
}

bool has_variables(const ir::Graph& graph) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return graph.node(id).is("ReadValue"); });
}

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
  const Run run = test::run(std::shared_ptr<const ir::Graph>(std::move(with_results)), "CPU", 1, inputs);
  if (run.refusal) {
    fault = "with a result for every resampled image CPU refuses the model: " + *run.refusal;
    return {};
  }
  Pins pins;
  for (size_t i = 0; i < resampled.size(); ++i) pins.emplace(resampled[i], run.results[0][before + i]);
  return pins;
}

}  // namespace

Judgement judge(const RandomModel& model, uint64_t seed, cpu::Isa isa, int threads) {
  const auto differ = [&](const std::string& text) { return Judgement{Verdict::differ, text}; };
  Random random(seed ^ 0x5eed);
  const Run expected = run(model.graph, "INTERPRETER", 1, model.inputs);
  const ForcedIsa forced(cpu::isa_name(isa));
  const Run one = run(model.graph, "CPU", 1, model.inputs);
  if (expected.refusal && one.refusal) return {Verdict::refused, *expected.refusal};
  if (one.refusal) return differ("CPU refuses what INTERPRETER runs: " + *one.refusal);
  if (expected.refusal) return differ("CPU runs what INTERPRETER refuses: " + *expected.refusal);

  const interpreter::Program program(*model.graph, interpreter::Precision::f32);
  std::string fault;
  const Pins pins = resampled_on_cpu(*model.graph, model.inputs, fault);
  const Tensors with_pins = pins.empty() ? Tensors{} : pinned(program, model.inputs, pins, fault);
  if (!fault.empty()) return differ("CPU against INTERPRETER, " + fault);
  const RoundingBounds bounds(program, model.inputs, pins, random);
  // The runs with pins are first inferences: variables are as they were set.
  const size_t judged = !pins.empty() && has_variables(*model.graph) ? 1 : expected.results.size();
  for (size_t i = 0; i < judged; ++i)
    for (size_t j = 0; j < expected.results[i].size(); ++j) {
      const HostTensor& want = pins.empty() ? expected.results[i][j] : with_pins[j];
      const std::string text = bounds.beyond(j, want, one.results[i][j]);
      if (!text.empty()) return differ(concat("CPU against INTERPRETER, inference ", i, ", output ", j, ": ", text));
    }
  if (const std::string text = difference_between(one, run(model.graph, "CPU", threads, model.inputs)); !text.empty())
    return differ(concat(threads, " threads against one, ", text));

  std::shared_ptr<ir::Graph> forgetful;
  try {
    forgetful = forget(*model.graph, random);
  } catch (const Exception& error) {
    return differ(std::string("unknown extents are refused: ") + error.what());
  }
  if (const std::string text = difference_between(one, run(forgetful, "CPU", threads, model.inputs)); !text.empty()) {
    std::string shapes;
    for (const ir::NodeId id : forgetful->parameters()) shapes += concat(" ", forgetful->port({id, 0}).shape);
    return differ(
        concat("unknown extents (", shapes.empty() ? shapes : shapes.substr(1), ") against known ones, ", text));
  }
  return {};
}

RandomModel with_fewer_outputs(const RandomModel& model, uint64_t seed, cpu::Isa isa, int threads) {
  RandomModel fewer = model;
  for (size_t at = 0; fewer.graph->results().size() > 1 && at < fewer.graph->results().size();) {
    RandomModel tried = fewer;
    tried.graph = fewer.graph->clone();
    tried.graph->erase(tried.graph->results()[at]);
    tried.graph->erase_unreachable();
    tried.inputs.clear();
    for (size_t i = 0; i < fewer.graph->parameters().size(); ++i) {
      const ir::NodeId id = fewer.graph->parameters()[i];
      if (!tried.graph->uses({id, 0}).empty())
        tried.inputs.push_back(fewer.inputs[i]);
      else
        tried.graph->erase(id);
    }
    if (judge(tried, seed, isa, threads).verdict == Verdict::differ)
      fewer = std::move(tried);
    else
      ++at;
  }
  return fewer;
}

}  // namespace terroir::test
