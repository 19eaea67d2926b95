#include <map>

#include "plugins/cpu/passes/layouts.hpp"

namespace terroir::cpu {

void insert_reorders(ir::Graph& graph, Decisions& decisions, const CpuOps& ops) {
  const Impl* reorder_impl = impls_for(ops.reorder()).front();
  for (ir::NodeId id : graph.nodes()) {
    for (size_t output = 0; output < graph.node(id).outputs.size(); ++output) {
      const ir::Value value{id, static_cast<int32_t>(output)};
      const Layout produced = layout_of(decisions, value);
      std::map<std::string, ir::Value> copies;  // by name of the wanted layout
      const std::vector<ir::Use> uses = graph.uses(value);
      for (const ir::Use& use : uses) {
        const auto& wanted = decisions.at(use.node).choice.inputs.at(static_cast<size_t>(use.input));
        if (!wanted || *wanted == produced) continue;
        auto copy = copies.find(wanted->name());
        if (copy == copies.end()) {
          const ir::Node& producer = graph.node(id);
          const ir::NodeId added =
              graph.add(ops.reorder(), producer.name + "/" + produced.name() + "_to_" + wanted->name(),
                        ir::make_attributes_of(ReorderAttrs{produced, *wanted}), {value});
          ir::Node& node = graph.node(added);
          node.origin = graph.node(id).origin;
          node.outputs[0].type = graph.port(value).type;
          node.outputs[0].shape = graph.port(value).shape;
          LayoutChoice choice;
          choice.inputs = {produced};
          choice.outputs = {*wanted};
          choice.cost = reorder_ns(node.outputs[0], produced, *wanted);
          const TensorDesc from{node.outputs[0].type, ir::to_dims(node.outputs[0].shape.to_shape()), produced};
          if (same_memory(from, {from.type, from.dims, *wanted})) choice.view_of = 0;
          decisions[added] = {reorder_impl, std::move(choice), {}};
          copy = copies.emplace(wanted->name(), ir::Value{added, 0}).first;
        }
        graph.set_input(use, copy->second);
      }
    }
  }
}

}  // namespace terroir::cpu
