#include "tests/conformance/sixteen_bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/error.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

constexpr int kRuns = 16;

bool is_narrow(element::Type type) { return type == element::f16 || type == element::bf16; }

/// Mantissa bits that bf16 lacks of f16.
constexpr int kStepsOfBf16 = 8;

bool are_bf16_numbers(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const auto value = static_cast<float>(element_at(tensor.view(), i));
    if (static_cast<float>(bfloat16(value)) != value) return false;
  }
  return true;
}

/// A copy with every number up by `steps` representable numbers, down, or as it was.
HostTensor moved(const ir::TensorView& view, int steps, Random& random) {
  HostTensor copy(view.type, view.dims);
  if (view.bytes() == 0) return copy;
  auto* bits = static_cast<uint16_t*>(copy.writable().data);
  std::memcpy(bits, view.data, view.bytes());
  for (int64_t i = 0; i < view.count(); ++i) {
    const unsigned magnitude = bits[i] & 0x7fffU, sign = bits[i] & 0x8000U;
    const int by = static_cast<int>(random.below(3)) - 1;
    // Zero is exact in every type.
    const auto limit = static_cast<int>(view.type == element::f16 ? 0x7bff : 0x7f7f);
    const int next = static_cast<int>(magnitude) + by * steps;
    if (magnitude == 0 || next <= 0 || next > limit) continue;
    bits[i] = static_cast<uint16_t>(sign | static_cast<unsigned>(next));
  }
  return copy;
}

void move_constants(ir::Graph& graph, int steps, Random& random) {
  for (const ir::NodeId id : graph.nodes()) {
    ir::Node& node = graph.node(id);
    if (node.constant && is_narrow(node.constant->view.type))
      node.constant = moved(node.constant->view, steps, random).to_constant();
    for (ir::Body& body : node.bodies) move_constants(*body.graph, steps, random);
  }
}

std::vector<HostTensor> run(const ir::Graph& graph, std::span<const HostTensor> inputs,
                            interpreter::Precision precision) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  return interpreter::Program(graph, precision).run(views);
}

/// The distance of neighbouring numbers.
double unit_of(long double value, bool bf16) {
  if (value == 0 || !std::isfinite(value)) return 0;
  return std::ldexp(1.0, std::ilogb(static_cast<double>(value)) - (bf16 ? 7 : 10));
}

/// Whether a recurrent layer is in the graph or in a body.
bool is_recurrent(const ir::Graph& graph) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    for (const char* prefix : {"LSTM", "GRU", "RNN"})
      if (node.schema->type.starts_with(prefix)) return true;
    return std::any_of(node.bodies.begin(), node.bodies.end(),
                       [](const ir::Body& body) { return is_recurrent(*body.graph); });
  });
}

// What the state of a recurrent layer goes through in a step, behind its products: exp, sum and quotient of a gate, two
// products and a sum of the new state, its tanh, and the product with the output gate.
constexpr double kRoundingsOfAStep = 8;

bool draws_random_numbers(const ir::Graph& graph) {
  const std::vector<ir::NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](ir::NodeId id) { return graph.node(id).schema->accuracy == ir::Accuracy::random; });
}

}  // namespace

bool has_sixteen_bit_results(const ir::Graph& graph) {
  return std::any_of(graph.results().begin(), graph.results().end(),
                     [&](ir::NodeId id) { return is_narrow(graph.node(id).outputs.at(0).type); });
}

SixteenBitSpread::SixteenBitSpread(const ir::Graph& graph, std::span<const HostTensor> inputs,
                                   std::span<const HostTensor> expected)
    : expected_(expected), spread_(expected.size()) {
  if (draws_random_numbers(graph)) return;
  const bool coarse = std::all_of(expected.begin(), expected.end(), [](const HostTensor& tensor) {
    return tensor.type() == element::f16 && are_bf16_numbers(tensor);
  });
  const int steps = coarse ? kStepsOfBf16 : 1;
  const std::vector<HostTensor> base = run(graph, inputs, interpreter::Precision::f32);
  for (size_t i = 0; i < base.size(); ++i) spread_[i].assign(static_cast<size_t>(base[i].view().count()), 0);
  Random random(0);
  for (int turn = 0; turn < kRuns; ++turn) {
    const auto copy = graph.clone();
    move_constants(*copy, steps, random);
    std::vector<HostTensor> operands;
    for (const HostTensor& input : inputs)
      operands.push_back(is_narrow(input.type()) ? moved(input.view(), steps, random) : input);
    const std::vector<HostTensor> results = run(*copy, operands, interpreter::Precision::f32);
    widen(base, results);
  }
  if (!is_recurrent(graph)) return;
  for (size_t i = 0; i < base.size(); ++i)
    for (size_t j = 0; j < spread_[i].size(); ++j)
      spread_[i][j] += kRoundingsOfAStep * unit_of(element_at(base[i].view(), static_cast<int64_t>(j)),
                                                   coarse || base[i].type() == element::bf16);
}

void SixteenBitSpread::widen(std::span<const HostTensor> base, std::span<const HostTensor> other) {
  for (size_t i = 0; i < base.size(); ++i) {
    if (!is_narrow(other[i].type()) || other[i].dims() != base[i].dims()) spread_[i].clear();
    for (size_t j = 0; j < spread_[i].size(); ++j) {
      const auto at = static_cast<int64_t>(j);
      const long double by = std::fabs(element_at(other[i].view(), at) - element_at(base[i].view(), at));
      spread_[i][j] = std::max(spread_[i][j], static_cast<double>(by));
    }
  }
}

bool SixteenBitSpread::explains(size_t index, const HostTensor& actual, Tolerance tolerance, int64_t compared) const {
  const HostTensor& expected = expected_[index];
  const std::vector<double>& spread = spread_.at(index);
  const auto count = static_cast<size_t>(compared > 0 ? compared : expected.view().count());
  if (count > spread.size() || expected.type() != actual.type() ||
      expected.view().count() < static_cast<int64_t>(count))
    return false;
  for (size_t i = 0; i < count; ++i) {
    const auto want = static_cast<double>(element_at(expected.view(), static_cast<int64_t>(i)));
    const auto got = static_cast<double>(element_at(actual.view(), static_cast<int64_t>(i)));
    const double allowed = std::max(tolerance.absolute, tolerance.relative * std::max(std::fabs(want), std::fabs(got)));
    if (want != got && !(std::fabs(want - got) <= allowed + spread[i])) return false;
  }
  return true;
}

}  // namespace terroir::test
