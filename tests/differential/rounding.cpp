#include "tests/differential/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "ir/base/error.hpp"
#include "ir/graph/order.hpp"
#include "ops/run_reference.hpp"
#include "tests/differential/differences.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

constexpr double kUnit = 0x1p-23;  // of f32, in which both devices compute
// An operation may be off by this many units of its result, of the largest of its results, and of the terms it adds:
// the roundings of a thousand terms, each of half a unit either way, come to some 32 halves, which kTimesMoved makes of
// these.
constexpr double kUnitsOfElement = 16, kUnitsOfLargest = 16, kUnitsOfTerms = 2;
// The last rounding, into the type of the output.
constexpr double kUnitsOfType = 2;
constexpr int kMovedRuns = 3;
constexpr double kTimesMoved = 8;

bool rounds(const ir::Node& node, element::Type type) {
  if (!type.is_real() || type.bitwidth() < 16) return false;
  // A variable holds what an earlier inference rounded.
  return node.schema->accuracy == ir::Accuracy::rounding || node.is("ReadValue");
}

/// By node: whether what it gives depends on an operation that rounds.
std::vector<bool> rounded_nodes(const ir::Graph& graph) {
  std::vector<bool> rounded(graph.id_bound(), false);
  for (const ir::NodeId id : ir::topological_order(graph)) {
    const ir::Node& node = graph.node(id);
    bool any = !node.bodies.empty();
    for (const ir::OutputPort& port : node.outputs) any = any || rounds(node, port.type);
    for (const ir::Value input : node.inputs) any = any || rounded[ir::index_of(input.node)];
    rounded[ir::index_of(id)] = any;
  }
  return rounded;
}

std::vector<bool> rounded_results(const ir::Graph& graph) {
  const std::vector<bool> rounded = rounded_nodes(graph);
  std::vector<bool> results;
  for (const ir::NodeId id : graph.results()) results.push_back(rounded[ir::index_of(id)]);
  return results;
}

/// Operations of which every result is a sum of products of elements of their operands, or a mean; and Gelu, a product
/// with 1 + erf.
bool is_sum_of_products(const ir::Node& node) {
  static const std::set<std::string_view> kSums = {"AvgPool",
                                                   "Convolution",
                                                   "ConvolutionBackpropData",
                                                   "CumSum",
                                                   "Einsum",
                                                   "EmbeddingBagOffsets",
                                                   "EmbeddingBagOffsetsSum",
                                                   "EmbeddingBagPacked",
                                                   "EmbeddingBagPackedSum",
                                                   "EmbeddingSegmentsSum",
                                                   "Gelu",
                                                   "GroupConvolution",
                                                   "GroupConvolutionBackpropData",
                                                   "MatMul",
                                                   "ReduceMean",
                                                   "ReduceSum"};
  return kSums.contains(node.schema->type);
}

/// A tensor with every element changed; halves become f32, as they travel between nodes (constants do not).
template <class Change>
HostTensor changed(const HostTensor& tensor, const Change& change) {
  HostTensor other(tensor.type().bitwidth() == 16 ? element::f32 : tensor.type(), tensor.dims());
  for (int64_t i = 0; i < tensor.view().count(); ++i)
    set_number(other.writable(), i, change(static_cast<double>(element_at(tensor.view(), i))));
  return other;
}

/// What the operation makes of these operands.
void compute(const ir::Node& node, const Tensors& operands, const HostTensor& output) {
  const std::vector<ir::TensorView> inputs = views_of(operands);
  ir::MutableTensorView view = output.writable();
  ops::run_reference(*node.schema, {*node.attributes, inputs, {&view, 1}});
}

/// What the terms of each sum come to without their signs: the operation on operands without theirs. Infinite if finite
/// terms are too large to be added in any order; zero for other terms that are not finite.
HostTensor terms_of(const ir::Node& node, const Tensors& operands, const HostTensor& output) {
  Tensors positive;
  bool finite = true;
  for (const HostTensor& operand : operands) {
    positive.push_back(operand);
    if (!operand.type().is_real() || operand.type().bitwidth() < 16) continue;
    positive.back() = changed(operand, [&](double value) {
      finite = finite && std::isfinite(value);
      return std::fabs(value);
    });
  }
  HostTensor terms(output.type(), output.dims());
  compute(node, positive, terms);
  const ir::MutableTensorView view = terms.writable();
  for (int64_t i = 0; !finite && i < view.count(); ++i)
    if (!std::isfinite(element_at(view, i))) set_number(view, i, 0);
  return terms;
}

/// How often the node adds to what it rounded before: the length of a sequence.
double steps_of(const ir::Node& node, const HostTensor& first) {
  const bool recurs = node.is("GRUSequence") || node.is("LSTMSequence") || node.is("RNNSequence");
  return recurs ? static_cast<double>(first.dims().at(2)) : 1;
}

/// Moves every element up or down by what the operation may be off. `terms`: see terms_of(); null: it is no sum.
void shake(const ir::Node& node, double steps, const HostTensor& tensor, const HostTensor* terms, Random& random) {
  const ir::MutableTensorView view = tensor.writable();
  double largest = 0;
  for (int64_t i = 0; i < view.count(); ++i) {
    const auto value = static_cast<double>(std::fabs(element_at(view, i)));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double floor = kUnit * (node.schema->flags.elementwise ? 2 : kUnitsOfLargest * steps) * largest;
  for (int64_t i = 0; i < view.count(); ++i) {
    const auto value = static_cast<double>(element_at(view, i));
    const double added = terms ? static_cast<double>(element_at(terms->view(), i)) : 0;
    if (!std::isfinite(added)) {  // another order of the sum may end in either infinity, or in none
      set_number(view, i, NAN);
      continue;
    }
    // Not always by as much, so that the steps of a chain do not cancel out.
    const double step =
        (0.5 + random.unit() / 2) * (kUnit * (kUnitsOfElement * std::fabs(value) + kUnitsOfTerms * added) + floor);
    if (std::isfinite(value)) set_number(view, i, value + (random.chance(50) ? step : -step));
  }
}

enum class Side { above, below, either };

/// FakeQuantize of data that are as far on one side of where they are as `steady`, data that nothing has moved, may be
/// off.
void quantise_beside(const ir::Node& node, const Tensors& operands, const HostTensor& steady, const HostTensor& output,
                     Side side, Random& random) {
  double margin = 0;
  for (int64_t i = 0; i < steady.view().count(); ++i) {
    const auto by = static_cast<double>(std::fabs(element_at(operands[0].view(), i) - element_at(steady.view(), i)));
    if (std::isfinite(by)) margin = std::max(margin, kTimesMoved * by);
  }
  Tensors beside;
  for (const HostTensor& operand : operands) beside.push_back(changed(operand, [](double value) { return value; }));
  beside[0] = changed(steady, [&](double value) {
    const bool above = side == Side::above || (side == Side::either && random.chance(50));
    return above ? value + margin : value - margin;
  });
  compute(node, beside, output);
}

/// Operations that subtract a mean: what is left of nearly equal elements is what their roundings left.
bool subtracts_a_mean(const ir::Node& node) {
  return node.is("MVN") || node.is("GroupNormalization") || node.is("BatchNormInference");
}

/// Such an operation of data that are off by roundings of their own size.
void compute_moved(const ir::Node& node, const Tensors& operands, const HostTensor& output, Random& random) {
  Tensors moved;
  for (const HostTensor& operand : operands)
    moved.push_back(operand.type().is_real() ? changed(operand, [](double value) { return value; }) : operand);
  HostTensor& data = moved.at(node.is("BatchNormInference") && node.schema->opset == "opset1" ? 2 : 0);
  data = changed(data, [&](double value) {
    return value + (random.chance(50) ? 1 : -1) * kUnitsOfTerms * kUnit * std::fabs(value);
  });
  compute(node, moved, output);
}

double unit_of(element::Type type) { return type == element::f16 ? 0x1p-10 : type == element::bf16 ? 0x1p-7 : kUnit; }

}  // namespace

RoundingBounds::RoundingBounds(const interpreter::Program& program, const Tensors& inputs, const Pins& pins,
                               Random& random)
    : rounded_(rounded_results(program.graph())) {
  keep_steady(program, inputs, pins);
  for (int i = 0; i < kMovedRuns; ++i) add_moved_run(program, inputs, pins, random);
}

void RoundingBounds::keep_steady(const interpreter::Program& program, const Tensors& inputs, const Pins& pins) {
  const std::vector<bool> rounded = rounded_nodes(program.graph());
  const auto jumps = [&](const ir::Node& node) {
    return node.is("FakeQuantize") && rounded[ir::index_of(node.inputs[0].node)] &&
           node.outputs[0].type.bitwidth() <= 32;
  };
  const std::vector<ir::NodeId> nodes = program.graph().nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return jumps(program.graph().node(id)); })) return;
  Record record(program.graph(), inputs);
  program.run(views_of(inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
    if (jumps(node)) steady_.emplace(node.id, record.operands(node)[0]);
    pin(pins, node, outputs);
    record.keep(node, outputs);
    return true;
  });
}

void RoundingBounds::add_moved_run(const interpreter::Program& program, const Tensors& inputs, const Pins& pins,
                                   Random& random) {
  Record record(program.graph(), inputs);
  try {
    moved_.push_back(
        program.run(views_of(inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
          pin(pins, node, outputs);
          const bool sum = is_sum_of_products(node) && rounds(node, outputs[0].type());
          if (sum && !terms_.contains(node.id))
            terms_.emplace(node.id, terms_of(node, record.operands(node), outputs[0]));
          if (const auto steady = steady_.find(node.id); steady != steady_.end()) {
            const Side side = moved_.empty() ? Side::above : moved_.size() == 1 ? Side::below : Side::either;
            quantise_beside(node, record.operands(node), steady->second, outputs[0], side, random);
          }
          if (subtracts_a_mean(node) && rounds(node, outputs[0].type()))
            compute_moved(node, record.operands(node), outputs[0], random);
          for (const HostTensor& output : outputs)
            if (rounds(node, output.type()))
              shake(node, steps_of(node, outputs[0]), output, sum ? &terms_.at(node.id) : nullptr, random);
          record.keep(node, outputs);
          return true;
        }));
  } catch (const Exception&) {  // moved values that an operation refuses
  }
}

bool RoundingBounds::size_depends_on_rounding(size_t result, const HostTensor& expected) const {
  return std::any_of(moved_.begin(), moved_.end(),
                     [&](const Tensors& run) { return run[result].dims() != expected.dims(); });
}

std::vector<double> RoundingBounds::allowed(size_t result, const HostTensor& expected) const {
  const element::Type type = expected.type();
  if (!rounded_[result] || moved_.empty() || !type.is_real() || type.bitwidth() < 16) return {};
  const int64_t count = expected.view().count();
  std::vector<double> change(static_cast<size_t>(count)), finite_changes;
  for (int64_t i = 0; i < count; ++i) {
    double& most = change[static_cast<size_t>(i)];
    const auto value = static_cast<double>(element_at(expected.view(), i));
    for (const Tensors& run : moved_) {
      const auto moved_value = static_cast<double>(element_at(run[result].view(), i));
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
  for (int64_t i = 0; i < count; ++i) {
    double& most = change[static_cast<size_t>(i)];
    const double last = kUnitsOfType * unit_of(type) * std::fabs(static_cast<double>(element_at(expected.view(), i)));
    most = kTimesMoved * most + typical + (std::isfinite(last) ? last : 0);
  }
  return change;
}

std::string RoundingBounds::beyond(size_t result, const HostTensor& expected, const HostTensor& actual) const {
  if (expected.type() != actual.type() || expected.dims() != actual.dims() || !rounded_[result] || moved_.empty())
    return difference_in_values(expected, actual);
  if (size_depends_on_rounding(result, expected)) return {};
  const std::vector<double> bounds = allowed(result, expected);
  const int64_t count = expected.view().count();
  if (static_cast<int64_t>(bounds.size()) != count) return difference_in_values(expected, actual);
  int64_t wrong = 0, worst = -1;
  double worst_excess = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto want = static_cast<double>(element_at(expected.view(), i)),
               got = static_cast<double>(element_at(actual.view(), i));
    const double bound = bounds[static_cast<size_t>(i)];
    if (want == got || (std::isnan(want) && std::isnan(got)) || std::isinf(bound)) continue;
    const double off = std::fabs(want - got);
    if (off <= bound) continue;
    ++wrong;
    const double excess = std::isnan(off) ? INFINITY : off / std::max(bound, 1e-300);
    if (worst < 0 || excess > worst_excess) worst = i, worst_excess = excess;
  }
  if (wrong == 0) return {};
  return concat(wrong, " of ", count, " elements differ; worst is ", worst, ": ", element_text(actual.view(), worst),
                ", expected ", element_text(expected.view(), worst), ", rounding explains ",
                bounds[static_cast<size_t>(worst)]);
}

}  // namespace terroir::test
