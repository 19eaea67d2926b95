#include "plugins/cpu/stored_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/base/zero_pages.hpp"
#include "ir/stored/attributes.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/passes/build_plan.hpp"
#include "plugins/cpu/stored_nodes.hpp"

namespace terroir::cpu {
namespace {

/// Where the constants that are not stored seem to lie: one after the other, each with an address of its own.
class Absent {
 public:
  explicit Absent(const PlanSource& source) {
    // What another node reads as well is stored.
    std::set<ConstantIdentity> read;
    for (const ir::NodeId id : source.graph->nodes())
      if (const auto& constant = source.graph->node(id).constant; constant && !source.gone.contains(id))
        read.insert(identity_of(*constant));
    for (const ir::NodeId id : source.gone)
      if (const ir::Constant& constant = *source.graph->node(id).constant; !read.contains(identity_of(constant)))
        place(constant);
  }
  std::optional<size_t> find(const ir::Constant& constant) const {
    const auto known = places_.find(identity_of(constant));
    return known == places_.end() ? std::nullopt : std::optional(known->second);
  }
  size_t bytes() const { return bytes_; }

 private:
  void place(const ir::Constant& constant) {
    if (places_.emplace(identity_of(constant), bytes_).second)
      bytes_ += (constant.view.bytes() + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

  std::map<ConstantIdentity, size_t> places_;
  size_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<const PlanSource> keep_source(std::unique_ptr<ir::Graph> graph, Decisions decisions,
                                              const std::vector<ir::NodeId>& only_packed) {
  for (const ir::NodeId id : only_packed) graph->node(id).constant->owner = nullptr;
  return std::make_shared<PlanSource>(
      PlanSource{std::move(graph), std::move(decisions), {only_packed.begin(), only_packed.end()}});
}

void store_plan(const PlanSource& source, const WeightsCache& weights, plugin::ArchiveWriter& archive) {
  const Absent absent(source);
  ByteWriter& to = archive.content();
  to.put(static_cast<uint64_t>(absent.bytes()));
  const auto store_constant = [&](const ir::Constant& constant, ByteWriter& out) {
    const std::optional<size_t> place = absent.find(constant);
    out.put(static_cast<uint8_t>(place.has_value()));
    if (!place) return archive.store_constant(constant, out);
    ir::store_type(constant.view.type, out);
    out.numbers(constant.view.dims);
    out.put(static_cast<uint64_t>(*place));
  };
  const CpuNodeCodec codec(ops::builtin_registry());
  ir::store_graph(*source.graph, codec, store_constant, to);

  std::map<ConstantIdentity, uint32_t> node_of;  // the position of a Const node
  uint32_t position = 0;
  for (const ir::NodeId id : source.graph->nodes()) {
    store_decision(source.decisions.at(id), to);
    if (const auto& constant = source.graph->node(id).constant) node_of.emplace(identity_of(*constant), position);
    ++position;
  }
  std::vector<StoredWeights> packed = weights.stored();  // by address, which is another one in every process
  const auto place_of = [&](const StoredWeights& one) {
    return std::tuple(node_of.at(one.constant), one.key, one.with ? node_of.at(*one.with) : 0);
  };
  std::sort(packed.begin(), packed.end(),
            [&](const StoredWeights& a, const StoredWeights& b) { return place_of(a) < place_of(b); });
  to.list(packed, [&](const StoredWeights& one) {
    to.put(node_of.at(one.constant));
    to.put(static_cast<uint8_t>(one.with.has_value()));
    if (one.with) to.put(node_of.at(*one.with));
    to.text(one.key);
    to.put(archive.add(one.packed, one.bytes));
  });
}

std::unique_ptr<Plan> load_plan(plugin::Archive& archive, const ir::OpRegistry& operations, WeightsCache& weights,
                                const CompileOptions& options) {
  ByteReader& from = archive.content();
  const auto zeros = std::make_shared<const ZeroPages>(from.take<uint64_t>());
  const auto load_constant = [&](ByteReader& in) {
    if (!in.flag()) return archive.load_constant(in);
    const element::Type type = ir::load_type(in);
    ir::Constant constant{{type, in.numbers<int64_t>(), nullptr}, zeros};
    const auto at = in.take<uint64_t>();
    ByteReader::require(type != element::string && at <= zeros->size() && constant.view.bytes() <= zeros->size() - at);
    constant.view.data = zeros->data() + at;
    return constant;
  };
  const CpuNodeCodec codec(operations);
  auto graph = ir::load_graph(codec, load_constant, from);
  Decisions decisions;
  for (const ir::NodeId id : graph->nodes()) {
    require_operands(*graph, graph->node(id));
    decisions.emplace(id, load_decision(graph->node(id), from));
  }
  const auto constant = [&] {
    const ir::Node& node = graph->node(static_cast<ir::NodeId>(from.index(graph->node_count())));
    ByteReader::require(node.constant.has_value());
    return identity_of(*node.constant);
  };
  const std::vector<StoredWeights> packed = from.list([&] {
    StoredWeights one;
    one.constant = constant();
    if (from.flag()) one.with = constant();
    one.key = from.text();
    const plugin::Piece piece = archive.piece(from.take<uint32_t>());
    one.packed = piece.data;
    one.bytes = piece.bytes;
    return one;
  });
  ByteReader::require(from.done());
  weights.take_from(packed, archive.owner());
  weights.expect(*graph);
  auto plan = build_plan(*graph, decisions, options.isa, weights, options.threads);
  look_ahead(*plan, options.threads);
  plan->source = keep_source(std::move(graph), std::move(decisions), plan->only_packed);
  return plan;
}

}  // namespace terroir::cpu
