#include <algorithm>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/graph/order.hpp"
#include "plugins/cpu/passes/layouts.hpp"

namespace terroir::cpu {
namespace {

constexpr int kMaxRounds = 20;

struct Candidate {
  const Impl* impl;
  LayoutChoice choice;
};

/// Candidates of one node and the one chosen at present.
struct Options {
  std::vector<Candidate> candidates;
  size_t chosen = 0;
  bool settled = false;  // a choice has been made
  std::string rejected;
  const LayoutChoice& choice() const { return candidates[chosen].choice; }
};

class LayoutSearch {
 public:
  LayoutSearch(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy)
      : graph_(graph), order_(ir::topological_order(graph)), options_(graph.id_bound()) {
    for (ir::NodeId id : order_) collect(id, isa, weights, accuracy);
  }

  void descend() {
    for (ir::NodeId id : order_) choose_best(id);
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      for (ir::NodeId id : order_) changed |= choose_best(id);
      if (!changed) break;
    }
  }

  Decisions take() {
    Decisions decisions;
    for (ir::NodeId id : order_) {
      Options& options = options_[ir::index_of(id)];
      Candidate& candidate = options.candidates[options.chosen];
      decisions[id] = {candidate.impl, std::move(candidate.choice), std::move(options.rejected)};
    }
    return decisions;
  }

 private:
  void collect(ir::NodeId id, Isa isa, WeightsCache& weights, bool accuracy) {
    const ir::Node& node = graph_.node(id);
    Options& options = options_[ir::index_of(id)];
    NodeContext context = make_context(graph_, node, isa, weights);
    context.accuracy = accuracy;
    for (const Impl* impl : impls_for(*node.schema)) {
      Proposal proposal = impl->propose(context);
      if (const auto* reject = std::get_if<Reject>(&proposal)) {
        const std::string why = concat(impl->name, ": ", reject->reason);
        if (log_enabled(LogCategory::dispatch)) log_line(LogCategory::dispatch, node.describe() + ": " + why);
        options.rejected += (options.rejected.empty() ? "" : "; ") + why;
        continue;
      }
      for (LayoutChoice& choice : std::get<std::vector<LayoutChoice>>(proposal))
        options.candidates.push_back({impl, std::move(choice)});
    }
    if (options.candidates.empty()) {
      throw Exception(ErrorCode::not_implemented, node.describe() + ": the CPU plugin cannot run " +
                                                      node.schema->display_name() +
                                                      (options.rejected.empty() ? "" : ": " + options.rejected));
    }
  }

  /// Cost of the copies of one value under the present choices; consumers that have not chosen yet want nothing.
  double copies_cost(ir::Value value) const {
    const Options& producer = options_[ir::index_of(value.node)];
    if (!producer.settled || graph_.node(value.node).constant) return 0;  // constants are reordered when compiling
    const Layout& produced = producer.choice().outputs.at(static_cast<size_t>(value.output));
    std::vector<const Layout*> wanted;
    for (const ir::Use& use : graph_.uses(value)) {
      const Options& consumer = options_[ir::index_of(use.node)];
      if (!consumer.settled) continue;
      const auto& layout = consumer.choice().inputs.at(static_cast<size_t>(use.input));
      if (!layout || *layout == produced) continue;
      const bool known = std::any_of(wanted.begin(), wanted.end(), [&](const Layout* w) { return *w == *layout; });
      if (!known) wanted.push_back(&*layout);
    }
    double cost = 0;
    for (const Layout* layout : wanted) cost += reorder_ns(graph_.port(value), produced, *layout);
    return cost;
  }

  /// Cost of a node's present choice and of all copies that it has a part in.
  double local_cost(const ir::Node& node) const {
    const Options& options = options_[ir::index_of(node.id)];
    double cost = options.choice().cost;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      // An input read twice is one value with one set of copies.
      if (std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i), node.inputs[i]) ==
          node.inputs.begin() + static_cast<std::ptrdiff_t>(i))
        cost += copies_cost(node.inputs[i]);
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) cost += copies_cost({node.id, static_cast<int32_t>(o)});
    return cost;
  }

  bool choose_best(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    Options& options = options_[ir::index_of(id)];
    const size_t before = options.chosen;
    const bool first = !options.settled;
    options.settled = true;
    size_t best = before;
    double best_cost = local_cost(node);
    for (size_t i = 0; i < options.candidates.size(); ++i) {
      options.chosen = i;
      const double cost = local_cost(node);
      // A real gain, so that rounding cannot make two choices alternate.
      if (cost < best_cost * (1 - 1e-9) - 1e-6) {
        best = i;
        best_cost = cost;
      }
    }
    options.chosen = best;
    return first || best != before;
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::vector<Options> options_;
};

}  // namespace

NodeContext make_context(const ir::Graph& graph, const ir::Node& node, Isa isa, WeightsCache& weights) {
  const auto describe = [](const ir::OutputPort& port) {
    ir::Dims dims = ir::to_dims(port.shape.to_shape());
    if (dims.size() > static_cast<size_t>(kMaxRank))
      throw_error(ErrorCode::unsupported, "the CPU plugin takes tensors of at most ", kMaxRank, " axes, got ",
                  dims.size());
    const Layout plain = Layout::plain(static_cast<int>(dims.size()));
    return TensorDesc{port.type, std::move(dims), plain};
  };
  NodeContext context{node, {}, {}, {}, {}, isa, weights};
  for (const ir::Value& input : node.inputs) {
    context.inputs.push_back(describe(graph.port(input)));
    context.constants.push_back(ir::constant_of(graph, input));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    context.outputs.push_back(describe(node.outputs[i]));
    context.output_used.push_back(!graph.uses({node.id, static_cast<int32_t>(i)}).empty());
  }
  return context;
}

Decisions assign_layouts(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy) {
  LayoutSearch search(graph, isa, weights, accuracy);
  search.descend();
  return search.take();
}

double reorder_ns(const ir::OutputPort& port, const Layout& from, const Layout& to) {
  const TensorDesc desc{port.type, ir::to_dims(port.shape.to_shape()), from};
  if (same_memory(desc, {desc.type, desc.dims, to})) return 1;
  return 500 + 2 * stream_ns(static_cast<double>(ir::byte_size(desc.type, desc.count())));
}

const Layout& layout_of(const Decisions& decisions, ir::Value value) {
  return decisions.at(value.node).choice.outputs.at(static_cast<size_t>(value.output));
}

}  // namespace terroir::cpu
