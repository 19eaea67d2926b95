#include "plugins/cpu/passes/explain_steps.hpp"

#include <algorithm>
#include <cstdio>

#include "ir/base/error.hpp"

namespace terroir::cpu {
namespace {

class Explainer {
 public:
  Explainer(const ir::Graph& graph, const Decisions& decisions, const std::vector<ir::NodeId>& nodes,
            const std::vector<Step>& steps)
      : graph_(graph), decisions_(decisions) {
    for (size_t i = 0; i < nodes.size(); ++i) kernels_[nodes[i]] = steps[i].kernel;
  }

  std::string explain(ir::NodeId id, const Step& step) const {
    const ir::Node& node = graph_.node(id);
    if (node.is(kReorderType)) return reorder(node, step);
    if (node.is(ir::kResultType)) return "computed elsewhere: also read there, or a part or a view of something";
    const std::string& rejected = decisions_.at(id).rejected;
    if (step.is_reference && rejected.empty()) return "no other implementation of " + node.schema->display_name();
    if (step.is_reference || step.kernel.starts_with("threaded:")) return rejected;
    if (node.is("Concat")) return parts(step);
    if (step.kernel.find("+pack") != std::string::npos)
      return "packs its weights in every inference: they are known at run time only";
    return {};
  }

 private:
  /// "pool5 (f32_max_pool_nchw__avx2)"; ends of the model by their part.
  std::string name_of(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (node.is(ir::kParameterType)) return "the model's input " + node.name;
    if (node.is(ir::kResultType)) return "the model's output " + node.name;
    const auto kernel = kernels_.find(id);
    return node.name + " (" + (kernel != kernels_.end() ? kernel->second : decisions_.at(id).impl->name) + ")";
  }

  std::string reorder(const ir::Node& node, const Step& step) const {
    const auto& attrs = node.attrs<ReorderAttrs>();
    std::string wanted_by;
    const std::vector<ir::Use>& uses = graph_.uses({node.id, 0});
    constexpr size_t kNamed = 2;
    for (size_t i = 0; i < std::min(kNamed, uses.size()); ++i) wanted_by += (i > 0 ? ", " : "") + name_of(uses[i].node);
    if (uses.size() > kNamed) wanted_by += concat(" and ", uses.size() - kNamed, " more");
    char cost[32];
    std::snprintf(cost, sizeof cost, "%.4f", decisions_.at(node.id).choice.cost * 1e-6);
    return concat(step.bytes, " bytes, estimated ", cost, " ms on one thread: ", wanted_by,
                  uses.size() > 1 ? " want " : " wants ", attrs.to.name(), ", ", name_of(node.inputs[0].node),
                  " gives ", attrs.from.name());
  }

  static std::string parts(const Step& step) {
    const auto copied = std::count_if(step.inputs.begin(), step.inputs.end(),
                                      [](const Slot& slot) { return slot.kind != Slot::Kind::none; });
    return concat("copies ", copied, " of ", step.inputs.size(), " parts, ", step.bytes, " bytes read and written");
  }

  const ir::Graph& graph_;
  const Decisions& decisions_;
  std::map<ir::NodeId, std::string> kernels_;
};

}  // namespace

void explain_steps(const ir::Graph& graph, const Decisions& decisions, const std::vector<ir::NodeId>& nodes,
                   std::vector<Step>& steps) {
  const Explainer explainer(graph, decisions, nodes, steps);
  for (size_t i = 0; i < steps.size(); ++i) steps[i].details = explainer.explain(nodes[i], steps[i]);
}

}  // namespace terroir::cpu
