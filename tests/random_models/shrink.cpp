#include "tests/random_models/shrink.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/registry.hpp"

namespace terroir::test {
namespace {

const ir::OpSchema& builtin(std::string_view type) { return ops::builtin_registry().get(type, "opset1"); }

/// Without what no result needs, and the inputs that go with it. Nothing when no result is left.
std::optional<Subject> tidied(Subject subject) {
  ir::Graph& graph = *subject.graph;
  graph.erase_unreachable();
  Tensors inputs;
  const std::vector<ir::NodeId> parameters = graph.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (graph.uses({parameters[i], 0}).empty())
      graph.erase(parameters[i]);
    else
      inputs.push_back(subject.inputs[i]);
  }
  subject.inputs = std::move(inputs);
  if (graph.results().empty()) return {};
  ir::infer_graph(graph);
  return subject;
}

Subject copy_of(const Subject& subject) { return {subject.graph->clone(), subject.inputs, subject.batched}; }

bool has_data(const ir::Node& node) { return !node.inputs.empty() && !node.is(ir::kResultType); }

class Shrinker {
 public:
  Shrinker(Subject subject, const ShowsFault& shows_fault, double seconds)
      : best_(std::move(subject)),
        shows_fault_(shows_fault),
        end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000))) {}

  Subject run() {
    while (std::chrono::steady_clock::now() < end_ && (drop_results() | cut_before() | bypass() | cut_behind())) {
    }
    return std::move(best_);
  }

 private:
  /// Takes the change over if the fault stays.
  template <class Change>
  bool tried(const Change& change) {
    if (std::chrono::steady_clock::now() > end_) return false;
    try {
      Subject subject = copy_of(best_);
      if (!change(subject)) return false;
      std::optional<Subject> tidy = tidied(std::move(subject));
      if (!tidy || !shows_fault_(*tidy)) return false;
      best_ = std::move(*tidy);
      return true;
    } catch (const Exception&) {
      return false;
    }
  }

  /// Half of the results, then a quarter of them, down to one.
  bool drop_results() {
    bool any = false;
    for (size_t many = best_.graph->results().size() / 2; many > 0; many /= 2)
      for (size_t at = 0; at + many <= best_.graph->results().size() && best_.graph->results().size() > many;) {
        const bool dropped = tried([&](Subject& subject) {
          const std::vector<ir::NodeId> results = subject.graph->results();
          for (size_t i = 0; i < many; ++i) subject.graph->erase(results[at + i]);
          return true;
        });
        any = any || dropped;
        if (!dropped) at += many;
      }
    return any;
  }

  /// What the interpreter makes of a value takes its place.
  bool cut_before() {
    bool any = false;
    std::map<ir::NodeId, Tensors> made;
    const auto compute = [&] {
      made.clear();
      const interpreter::Program program(*best_.graph, interpreter::Precision::declared);
      program.run(views_of(best_.inputs), [&](const ir::Node& node, double, std::span<const HostTensor> outputs) {
        made[node.id].assign(outputs.begin(), outputs.end());
        return true;
      });
    };
    try {
      compute();
      const std::vector<ir::NodeId> order = ir::topological_order(*best_.graph);
      // From the middle on, so that much goes at once.
      std::vector<ir::NodeId> tries(order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2), order.end());
      for (auto at = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2); at != order.begin();)
        tries.push_back(*--at);
      for (const ir::NodeId id : tries) {
        if (!best_.graph->contains(id) || !has_data(best_.graph->node(id))) continue;
        for (size_t i = 0; i < best_.graph->node(id).outputs.size(); ++i) {
          const ir::Value value{id, static_cast<int32_t>(i)};
          if (!made.contains(id) || best_.graph->uses(value).empty() || only_read_by_results(value)) continue;
          if (best_.batched && !has_batch(value)) continue;
          const HostTensor& tensor = made.at(id).at(i);
          if (!tried([&](Subject& subject) {
                const ir::NodeId parameter =
                    subject.graph->add(builtin(ir::kParameterType), concat("cut_", ++cuts_),
                                       ir::make_attributes_of(ir::ParameterAttrs{
                                           PartialShape(ir::to_shape(tensor.dims())), tensor.type()}));
                ir::infer_graph(*subject.graph);
                subject.graph->replace_uses(value, {parameter, 0});
                subject.inputs.push_back(tensor);
                return true;
              }))
            continue;
          any = true;
          break;
        }
      }
    } catch (const Exception&) {  // the interpreter refuses what CPU runs
    }
    return any;
  }

  /// A layer's operand of the same type and extents takes the place of its result.
  bool bypass() {
    bool any = false;
    for (const ir::NodeId id : ir::topological_order(*best_.graph)) {
      if (!best_.graph->contains(id) || !has_data(best_.graph->node(id))) continue;
      const std::vector<ir::Value> operands = best_.graph->node(id).inputs;
      for (const ir::Value operand : operands) {
        const ir::OutputPort &to = best_.graph->port({id, 0}), &from = best_.graph->port(operand);
        if (to.type != from.type || to.shape != from.shape) continue;
        if (!tried([&](Subject& subject) {
              subject.graph->replace_uses({id, 0}, operand);
              return true;
            }))
          continue;
        any = true;
        break;
      }
    }
    return any;
  }

  /// What a layer reads becomes a result in place of a result behind it.
  bool cut_behind() {
    bool any = false;
    for (size_t at = 0; at < best_.graph->results().size(); ++at) {
      const ir::NodeId result = best_.graph->results()[at];
      const ir::Value last = best_.graph->node(result).inputs[0];
      const std::vector<ir::Value> operands = best_.graph->node(last.node).inputs;
      for (const ir::Value operand : operands) {
        const ir::Node& node = best_.graph->node(operand.node);
        if (node.inputs.empty()) continue;
        if (best_.batched && !has_batch(operand)) continue;
        if (!tried([&](Subject& subject) {
              subject.graph->set_inputs(result, {operand});
              return true;
            }))
          continue;
        any = true;
        break;
      }
    }
    return any;
  }

  bool only_read_by_results(ir::Value value) const {
    const std::vector<ir::Use>& uses = best_.graph->uses(value);
    return std::all_of(uses.begin(), uses.end(),
                       [&](const ir::Use& use) { return best_.graph->node(use.node).is(ir::kResultType); });
  }

  /// Whether axis 0 of the value, and no other, follows the batch of the inputs.
  bool has_batch(ir::Value value) const {
    std::vector<ir::Dims> single = extents_of(best_.inputs), several = single;
    for (ir::Dims& dims : single) dims.at(0) = 1;
    for (ir::Dims& dims : several) dims.at(0) = 3;
    const auto one = with_extents(*best_.graph, single), three = with_extents(*best_.graph, several);
    if (!one || !three || !one->port(value).shape.is_static() || !three->port(value).shape.is_static()) return false;
    ir::Dims a = ir::to_dims(one->port(value).shape.to_shape()), b = ir::to_dims(three->port(value).shape.to_shape());
    if (a.empty() || a[0] != 1 || b[0] != 3) return false;
    b[0] = 1;
    return a == b;
  }

  Subject best_;
  const ShowsFault& shows_fault_;
  const std::chrono::steady_clock::time_point end_;
  int cuts_ = 0;
};

}  // namespace

Subject shrunk(const Subject& subject, const ShowsFault& shows_fault, double seconds) {
  return Shrinker(copy_of(subject), shows_fault, seconds).run();
}

}  // namespace terroir::test
