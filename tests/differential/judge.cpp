#include "tests/differential/judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/base/packed.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/registry.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/differential/resampled.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/device.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/forced_isa.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

using Tensors = std::vector<HostTensor>;

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

/// Packed elements, a byte for each.
std::vector<uint8_t> elements_in_bytes(const HostTensor& tensor) {
  std::vector<uint8_t> elements(static_cast<size_t>(tensor.view().count()));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = ir::read_bits(static_cast<const uint8_t*>(tensor.view().data), static_cast<int64_t>(i),
                                static_cast<int>(tensor.type().bitwidth()));
  return elements;
}

std::string difference_in_bits(const HostTensor& a, const HostTensor& b) {
  if (a.type() != b.type()) return concat("element type ", b.type(), " instead of ", a.type());
  if (a.dims() != b.dims()) return concat("shape ", b.dims(), " instead of ", a.dims());
  if (a.type() == element::string) return test::difference(a.view(), b.view(), {0, 0}, -1);
  if (a.view().bytes() == 0 || std::memcmp(a.view().data, b.view().data, a.view().bytes()) == 0) return {};
  const size_t width = a.type().bitwidth() / 8;
  // Bits behind the last packed element may be anything.
  if (width == 0) return elements_in_bytes(a) == elements_in_bytes(b) ? "" : "other bits";
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < a.view().count(); ++i) {
    const auto at = static_cast<size_t>(i) * width;
    if (std::memcmp(static_cast<const char*>(a.view().data) + at, static_cast<const char*>(b.view().data) + at,
                    width) == 0)
      continue;
    if (wrong++ == 0) first = i;
  }
  if (a.type().bitwidth() == 8 && a.type().is_real()) return concat("other bits from element ", first, " on");
  return concat(wrong, " of ", a.view().count(), " elements have other bits, the first is ", first, ": ",
                element_text(b.view(), first), " instead of ", element_text(a.view(), first));
}

/// Zeros are equal, whatever their sign; so are all NaNs.
std::string difference_in_values(const HostTensor& a, const HostTensor& b) {
  const std::string bits = difference_in_bits(a, b);
  if (bits.empty() || !a.type().is_real() || a.type() != b.type() || a.dims() != b.dims()) return bits;
  return test::difference(a.view(), b.view(), {0, 0}, -1);
}

std::string difference_in_bits(const Run& expected, const Run& actual) {
  if (expected.refusal && actual.refusal) return {};
  if (actual.refusal) return "it throws: " + *actual.refusal;
  if (expected.refusal) return "it does not throw: " + *expected.refusal;
  for (size_t i = 0; i < expected.results.size(); ++i)
    for (size_t j = 0; j < expected.results[i].size(); ++j)
      if (const std::string text = difference_in_bits(expected.results[i][j], actual.results[i][j]); !text.empty())
        return concat("inference ", i, ", output ", j, ": ", text);
  return {};
}

// --- What rounding explains ---------------------------------------------------------------------------------------

constexpr double kUnit = 0x1p-23;  // of f32, in which both devices compute
// An operation may be off by this many units of its result, and, where it sums, of the largest of its results.
constexpr double kUnitsOfElement = 16, kUnitsOfLargest = 16;
// The last rounding, into the type of the output.
constexpr double kUnitsOfType = 2;
constexpr int kMovedRuns = 3;
constexpr double kTimesMoved = 8;

bool rounds(const ir::Node& node, element::Type type) {
  if (!type.is_real() || type.bitwidth() < 16) return false;
  // A variable holds what an earlier inference rounded.
  return node.schema->accuracy == ir::Accuracy::rounding || node.is("ReadValue");
}

bool has_variables(const ir::Graph& graph) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return graph.node(id).is("ReadValue"); });
}

/// By result of the graph: whether it depends on an operation that rounds.
std::vector<bool> rounded_results(const ir::Graph& graph) {
  std::vector<bool> rounded(graph.id_bound(), false);
  for (const ir::NodeId id : ir::topological_order(graph)) {
    const ir::Node& node = graph.node(id);
    bool any = !node.bodies.empty();
    for (const ir::OutputPort& port : node.outputs) any = any || rounds(node, port.type);
    for (const ir::Value input : node.inputs) any = any || rounded[ir::index_of(input.node)];
    rounded[ir::index_of(id)] = any;
  }
  std::vector<bool> results;
  for (const ir::NodeId id : graph.results()) results.push_back(rounded[ir::index_of(id)]);
  return results;
}

/// How often the node adds to what it rounded before: the length of a sequence.
double steps_of(const ir::Node& node, const HostTensor& first) {
  const bool recurs = node.is("GRUSequence") || node.is("LSTMSequence") || node.is("RNNSequence");
  return recurs ? static_cast<double>(first.dims().at(2)) : 1;
}

/// Moves every element up or down by what the operation may be off.
void shake(const ir::Node& node, double steps, const HostTensor& tensor, Random& random) {
  const ir::MutableTensorView view = tensor.writable();
  double largest = 0;
  for (int64_t i = 0; i < view.count(); ++i) {
    const auto value = static_cast<double>(std::fabs(element_at(view, i)));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double floor = kUnit * (node.schema->flags.elementwise ? 2 : kUnitsOfLargest * steps) * largest;
  for (int64_t i = 0; i < view.count(); ++i) {
    const auto value = static_cast<double>(element_at(view, i));
    // Not always by as much, so that the steps of a chain do not cancel out.
    const double step = (0.5 + random.unit() / 2) * (kUnit * kUnitsOfElement * std::fabs(value) + floor);
    if (std::isfinite(value)) set_number(view, i, value + (random.chance(50) ? step : -step));
  }
}

std::vector<ir::TensorView> views_of(const Tensors& tensors) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

/// By node: what takes the place of its result in a run of the interpreter.
using Pins = std::map<ir::NodeId, HostTensor>;

void pin(const Pins& pins, const ir::Node& node, const HostTensor& output) {
  if (const auto found = pins.find(node.id); found != pins.end() && output.view().bytes() > 0)
    std::memcpy(output.writable().data, found->second.view().data, output.view().bytes());
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

/// The results of the interpreter with the pins in their places, each of which must be one that rounding explains.
Tensors pinned(const interpreter::Program& program, const Tensors& inputs, const Pins& pins, std::string& fault) {
  const ir::Graph& graph = program.graph();
  std::map<ir::NodeId, Tensors> made;
  for (size_t i = 0; i < inputs.size(); ++i) made[graph.parameters()[i]] = {inputs[i]};
  return program.run(views_of(inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
    if (const auto found = pins.find(node.id); found != pins.end()) {
      Tensors operands;
      for (const ir::Value value : node.inputs) {
        if (const ir::Constant* constant = ir::constant_of(graph, value))
          operands.emplace_back(constant->view, nullptr);
        else
          operands.push_back(made.at(value.node).at(static_cast<size_t>(value.output)));
      }
      fault = beyond_resampling(node, operands, found->second);
      if (!fault.empty()) fault = concat("resampled by '", node.name, "': ", fault);
      pin(pins, node, outputs[0]);
    }
    made[node.id].assign(outputs.begin(), outputs.end());
    return fault.empty();
  });
}

/// The results of the interpreter with every rounded value moved; empty where that makes an operation refuse its input.
std::optional<Tensors> shaken(const interpreter::Program& program, const Tensors& inputs, const Pins& pins,
                              Random& random) {
  try {
    return program.run(views_of(inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
      if (!outputs.empty()) pin(pins, node, outputs[0]);
      for (const HostTensor& output : outputs)
        if (rounds(node, output.type())) shake(node, steps_of(node, outputs[0]), output, random);
      return true;
    });
  } catch (const Exception&) {
    return std::nullopt;
  }
}

double unit_of(element::Type type) { return type == element::f16 ? 0x1p-10 : type == element::bf16 ? 0x1p-7 : kUnit; }

std::string beyond_rounding(const HostTensor& expected, const HostTensor& actual,
                            const std::vector<const HostTensor*>& moved, bool rounded) {
  const element::Type type = expected.type();
  const bool judged = rounded && type.is_real() && type.bitwidth() >= 16;
  if (!judged || moved.empty() || expected.type() != actual.type() || expected.dims() != actual.dims())
    return difference_in_values(expected, actual);
  for (const HostTensor* other : moved)
    if (other->dims() != expected.dims()) return {};  // the size of the result depends on rounding
  const int64_t count = expected.view().count();
  std::vector<double> change(static_cast<size_t>(count));
  std::vector<double> finite_changes;
  for (int64_t i = 0; i < count; ++i) {
    double& most = change[static_cast<size_t>(i)];
    const auto value = static_cast<double>(element_at(expected.view(), i));
    for (const HostTensor* other : moved) {
      const auto moved_value = static_cast<double>(element_at(other->view(), i));
      const bool same = moved_value == value || (std::isnan(value) && std::isnan(moved_value));
      const double by = same ? 0 : std::fabs(moved_value - value);
      most = std::isnan(by) ? INFINITY : std::max(most, by);
    }
    if (std::isfinite(most)) finite_changes.push_back(most);
  }
  // What is typical of the tensor: an element may have stayed where it was by luck.
  double typical = 0;
  if (!finite_changes.empty()) {
    const auto at = finite_changes.begin() + static_cast<std::ptrdiff_t>(finite_changes.size() * 9 / 10);
    std::nth_element(finite_changes.begin(), at, finite_changes.end());
    typical = *at;
  }
  int64_t wrong = 0, worst = -1;
  double worst_excess = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto want = static_cast<double>(element_at(expected.view(), i)),
               got = static_cast<double>(element_at(actual.view(), i));
    const double allowed = kTimesMoved * change[static_cast<size_t>(i)] + typical;
    if (want == got || (std::isnan(want) && std::isnan(got)) || std::isinf(allowed)) continue;
    const double last = kUnitsOfType * unit_of(type) * std::fabs(want);
    const double off = std::fabs(want - got);
    if (off <= allowed + last) continue;
    ++wrong;
    const double excess = std::isnan(off) ? INFINITY : off / std::max(allowed + last, 1e-300);
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess;
  }
  if (wrong == 0) return {};
  return concat(wrong, " of ", count, " elements differ; worst is ", worst, ": ", element_text(actual.view(), worst),
                ", expected ", element_text(expected.view(), worst), ", rounding explains ",
                kTimesMoved * change[static_cast<size_t>(worst)] + typical);
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

  const std::vector<bool> rounded = rounded_results(*model.graph);
  std::vector<Tensors> moved;
  const interpreter::Program program(*model.graph, interpreter::Precision::f32);
  std::string fault;
  const Pins pins = resampled_on_cpu(*model.graph, model.inputs, fault);
  const Tensors with_pins = pins.empty() ? Tensors{} : pinned(program, model.inputs, pins, fault);
  if (!fault.empty()) return differ("CPU against INTERPRETER, " + fault);
  for (int i = 0; i < kMovedRuns; ++i)
    if (auto tensors = shaken(program, model.inputs, pins, random)) moved.push_back(std::move(*tensors));
  // The runs with pins are first inferences: variables are as they were set.
  const size_t judged = !pins.empty() && has_variables(*model.graph) ? 1 : expected.results.size();
  for (size_t i = 0; i < judged; ++i)
    for (size_t j = 0; j < expected.results[i].size(); ++j) {
      std::vector<const HostTensor*> others;
      for (const Tensors& tensors : moved) others.push_back(&tensors[j]);
      const HostTensor& want = pins.empty() ? expected.results[i][j] : with_pins[j];
      const std::string text = beyond_rounding(want, one.results[i][j], others, rounded[j]);
      if (!text.empty()) return differ(concat("CPU against INTERPRETER, inference ", i, ", output ", j, ": ", text));
    }
  if (const std::string text = difference_in_bits(one, run(model.graph, "CPU", threads, model.inputs)); !text.empty())
    return differ(concat(threads, " threads against one, ", text));

  std::shared_ptr<ir::Graph> forgetful;
  try {
    forgetful = forget(*model.graph, random);
  } catch (const Exception& error) {
    return differ(std::string("unknown extents are refused: ") + error.what());
  }
  if (const std::string text = difference_in_bits(one, run(forgetful, "CPU", threads, model.inputs)); !text.empty()) {
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
