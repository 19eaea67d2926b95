#pragma once
// What: the layout pass. assign_layouts chooses for every node an implementation and layouts; insert_reorders puts a
// copy between every producer and the consumers that want another layout, one shared copy per wanted layout.
#include <map>
#include <vector>

#include "ir/pass/pass_manager.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {

/// What was decided for a node.
struct Decision {
  const Impl* impl = nullptr;
  LayoutChoice choice;
  std::string rejected;  // reasons of better implementations that refused, for profiles; empty when there are none
};
using Decisions = std::map<ir::NodeId, Decision>;

/// How: candidates of every node come from Impl::propose. The total of their costs and of the reorders between them (a
/// copy per value and wanted layout, shared by its consumers) is minimised by descent: a first choice in topological
/// order, then rounds in which each node takes its best candidate given all others, until none changes. Where no node
/// gains alone, connected ones may together: then regions of nodes that could all have another kind of layout (plain,
/// channels last, in blocks) move at once, with the layers that run slower then and without, and the rounds go on.
/// Deterministic: ties go to the earlier candidate. Model inputs and outputs are plain. `accuracy`, `reader`: see
/// NodeContext.
Decisions assign_layouts(const ir::Graph& graph, Isa isa, WeightsCache& weights, bool accuracy = false,
                         ConstantReader* reader = nullptr);

/// Inserts Reorder nodes where the decisions disagree, and records decisions for them.
void insert_reorders(ir::Graph& graph, Decisions& decisions, const CpuOps& ops);

/// Estimated nanoseconds, on one thread, of a reorder of a value: a step of its own, a read and a write; next to
/// nothing where both layouts are the same bytes.
double reorder_ns(const ir::OutputPort& port, const Layout& from, const Layout& to);

/// The layout in which a value is produced.
const Layout& layout_of(const Decisions& decisions, ir::Value value);

/// What implementations are told about a node; layouts are plain.
NodeContext make_context(const ir::Graph& graph, const ir::Node& node, Isa isa, WeightsCache& weights);

}  // namespace terroir::cpu
