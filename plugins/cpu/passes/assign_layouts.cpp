#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/graph/order.hpp"
#include "plugins/cpu/passes/layouts.hpp"

namespace terroir::cpu {
namespace {

constexpr int kMaxRounds = 20;

/// Families of layouts in which a node may have all that it reads and writes.
enum class Kind { plain, channels_last, blocked };
constexpr Kind kKinds[] = {Kind::plain, Kind::channels_last, Kind::blocked};

/// Which nodes move together: also those that run slower then, or only those that do not care.
enum class Reach { all, indifferent };

bool is_of(const Layout& layout, Kind kind) {
  switch (kind) {
    case Kind::plain:
      return layout.is_plain();
    case Kind::channels_last:
      return layout.is_channels_last();
    case Kind::blocked:
      return layout.channel_block() > 0;
  }
  return false;
}

/// Of a view, such as a Transpose that moves nothing, what it reads: there the family ends at no cost.
bool is_of(const LayoutChoice& choice, Kind kind) {
  return std::all_of(choice.inputs.begin(), choice.inputs.end(),
                     [kind](const auto& layout) { return !layout || is_of(*layout, kind); }) &&
         (choice.view_of >= 0 || std::all_of(choice.outputs.begin(), choice.outputs.end(),
                                             [kind](const Layout& layout) { return is_of(layout, kind); }));
}

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
  std::vector<ir::Value> reads;  // an input read twice is one value with one set of copies
  const LayoutChoice& choice() const { return candidates[chosen].choice; }
};

class LayoutSearch {
 public:
  LayoutSearch(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy, ConstantReader* reader)
      : graph_(graph), order_(ir::topological_order(graph)), options_(graph.id_bound()) {
    for (ir::NodeId id : order_) {
      NodeContext context = make_context(graph_, graph_.node(id), isa, weights);
      context.accuracy = accuracy;
      context.reader = reader;
      collect(context);
    }
  }

  void search() {
    for (ir::NodeId id : order_) choose_best(id);
    descend();
    for (int round = 0; round < kMaxRounds; ++round) {
      bool moved = false;
      for (const Kind kind : kKinds)
        for (const Reach reach : {Reach::all, Reach::indifferent})
          for (const std::vector<ir::NodeId>& region : regions(kind, reach)) moved |= move(region, kind);
      if (!moved) break;
      descend();
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
  struct Copy {
    Layout from, to;
    double cost;
  };
  struct Wish {
    Layout layout;
    size_t readers;  // that have chosen
  };
  struct Traffic {
    std::vector<Wish> wishes;
    std::vector<Copy> copies;  // what they cost
  };

  void collect(const NodeContext& context) {
    const ir::Node& node = context.node;
    Options& options = options_[ir::index_of(node.id)];
    std::unordered_set<ir::Value> known;
    for (const ir::Value& input : node.inputs)
      if (known.insert(input).second) options.reads.push_back(input);
    for (const Impl* impl : impls_for(*node.schema)) {
      Proposal proposal = impl->propose(context);
      if (const auto* reject = std::get_if<Reject>(&proposal)) {
        const std::string why = std::string(impl->name) + ": " + reject->reason;
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
    const auto found = traffic_.find(value);
    if (found == traffic_.end()) return 0;
    double cost = 0;
    for (const Wish& wish : found->second.wishes)
      if (wish.layout != produced) cost += copy_cost(value, found->second.copies, produced, wish.layout);
    return cost;
  }

  /// Counts the layouts in which a node's present choice wants its inputs, or no longer does: values may have thousands
  /// of readers, which want the same few.
  void count_wishes(const ir::Node& node, bool wants) {
    const LayoutChoice& choice = options_[ir::index_of(node.id)].choice();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::optional<Layout>& layout = choice.inputs.at(i);
      if (!layout || graph_.node(node.inputs[i].node).constant) continue;
      std::vector<Wish>& wishes = traffic_[node.inputs[i]].wishes;
      const auto known =
          std::find_if(wishes.begin(), wishes.end(), [&](const Wish& wish) { return wish.layout == *layout; });
      if (known == wishes.end()) {
        wishes.push_back({*layout, 1});
      } else if (wants) {
        ++known->readers;
      } else if (--known->readers == 0) {
        wishes.erase(known);
      }
    }
  }

  void choose(ir::NodeId id, size_t candidate) {
    const ir::Node& node = graph_.node(id);
    count_wishes(node, false);
    options_[ir::index_of(id)].chosen = candidate;
    count_wishes(node, true);
  }

  /// reorder_ns(), asked once: the search comes back to the same few copies again and again.
  double copy_cost(ir::Value value, std::vector<Copy>& copies, const Layout& from, const Layout& to) const {
    for (const Copy& copy : copies)
      if (copy.from == from && copy.to == to) return copy.cost;
    copies.push_back({from, to, reorder_ns(graph_.port(value), from, to)});
    return copies.back().cost;
  }

  /// Cost of a node's present choice and of all copies that it has a part in.
  double local_cost(const ir::Node& node) const {
    const Options& options = options_[ir::index_of(node.id)];
    double cost = options.choice().cost;
    for (const ir::Value& value : options.reads) cost += copies_cost(value);
    for (size_t o = 0; o < node.outputs.size(); ++o) cost += copies_cost({node.id, static_cast<int32_t>(o)});
    return cost;
  }

  void descend() {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = false;
      for (ir::NodeId id : order_) changed |= choose_best(id);
      if (!changed) break;
    }
  }

  /// The cheapest candidate of a kind; none: the number of candidates.
  size_t candidate_of(const Options& options, Kind kind) const {
    size_t best = options.candidates.size();
    for (size_t i = 0; i < options.candidates.size(); ++i) {
      if (!is_of(options.candidates[i].choice, kind)) continue;
      if (best == options.candidates.size() ||
          is_gain(options.candidates[i].choice.cost, options.candidates[best].choice.cost))
        best = i;
    }
    return best;
  }

  /// Whether a node that is not of a kind could be; where only the indifferent move, without running slower.
  bool may_move(ir::NodeId id, Kind kind, Reach reach) const {
    const Options& options = options_[ir::index_of(id)];
    if (graph_.node(id).constant || is_of(options.choice(), kind)) return false;
    const size_t candidate = candidate_of(options, kind);
    return candidate < options.candidates.size() &&
           (reach == Reach::all || !is_gain(options.choice().cost, options.candidates[candidate].choice.cost));
  }

  /// Connected nodes that may move, in topological order.
  std::vector<std::vector<ir::NodeId>> regions(Kind kind, Reach reach) const {
    std::vector<bool> open(options_.size(), false);
    for (ir::NodeId id : order_) open[ir::index_of(id)] = may_move(id, kind, reach);
    std::vector<std::vector<ir::NodeId>> found;
    std::vector<size_t> position(options_.size(), 0);
    for (size_t at = 0; at < order_.size(); ++at) position[ir::index_of(order_[at])] = at;
    for (ir::NodeId seed : order_) {
      if (!open[ir::index_of(seed)]) continue;
      std::vector<ir::NodeId> region;
      const auto take = [&](ir::NodeId id) {
        if (!open[ir::index_of(id)]) return;
        open[ir::index_of(id)] = false;
        region.push_back(id);
      };
      take(seed);
      for (size_t next = 0; next < region.size(); ++next) {
        const ir::Node& node = graph_.node(region[next]);
        for (const ir::Value& input : node.inputs) take(input.node);
        for (size_t output = 0; output < node.outputs.size(); ++output)
          for (const ir::Use& use : graph_.uses({node.id, static_cast<int32_t>(output)})) take(use.node);
      }
      std::sort(region.begin(), region.end(),
                [&](ir::NodeId a, ir::NodeId b) { return position[ir::index_of(a)] < position[ir::index_of(b)]; });
      if (region.size() > 1) found.push_back(std::move(region));
    }
    return found;
  }

  /// Cost of the present choices of some nodes and of all copies that they have a part in.
  double cost_of(const std::vector<ir::NodeId>& region) const {
    std::set<ir::Value> values;
    double cost = 0;
    for (ir::NodeId id : region) {
      const ir::Node& node = graph_.node(id);
      cost += options_[ir::index_of(id)].choice().cost;
      values.insert(node.inputs.begin(), node.inputs.end());
      for (size_t output = 0; output < node.outputs.size(); ++output) values.insert({id, static_cast<int32_t>(output)});
    }
    for (const ir::Value& value : values) cost += copies_cost(value);
    return cost;
  }

  /// Gives all nodes of a region layouts of a kind if that is cheaper.
  bool move(const std::vector<ir::NodeId>& region, Kind kind) {
    const double before = cost_of(region);
    std::vector<size_t> chosen;
    for (ir::NodeId id : region) {
      Options& options = options_[ir::index_of(id)];
      chosen.push_back(options.chosen);
      choose(id, candidate_of(options, kind));
    }
    if (is_gain(cost_of(region), before)) return true;
    for (size_t i = 0; i < region.size(); ++i) choose(region[i], chosen[i]);
    return false;
  }

  /// A real gain, so that rounding cannot make two choices alternate.
  static bool is_gain(double cost, double before) { return cost < before * (1 - 1e-9) - 1e-6; }

  bool choose_best(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    Options& options = options_[ir::index_of(id)];
    const size_t before = options.chosen;
    const bool first = !options.settled;
    if (first) count_wishes(node, true);
    options.settled = true;
    size_t best = before;
    double best_cost = local_cost(node);
    for (size_t i = 0; i < options.candidates.size(); ++i) {
      choose(id, i);
      const double cost = local_cost(node);
      if (is_gain(cost, best_cost)) {
        best = i;
        best_cost = cost;
      }
    }
    choose(id, best);
    return first || best != before;
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::vector<Options> options_;
  mutable std::unordered_map<ir::Value, Traffic> traffic_;
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

Decisions assign_layouts(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy,
                         ConstantReader* reader) {
  LayoutSearch search(graph, isa, weights, accuracy, reader);
  search.search();
  return search.take();
}

double reorder_ns(const ir::OutputPort& port, const Layout& from, const Layout& to) {
  const TensorDesc desc{port.type, ir::to_dims(port.shape.to_shape()), from};
  if (same_memory(desc, {desc.type, desc.dims, to})) return view_ns(desc);
  return copy_ns(desc);
}

const Layout& layout_of(const Decisions& decisions, ir::Value value) {
  return decisions.at(value.node).choice.outputs.at(static_cast<size_t>(value.output));
}

}  // namespace terroir::cpu
