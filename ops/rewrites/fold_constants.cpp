#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/base/mapped_file.hpp"
#include "ir/graph/order.hpp"
#include "ops/rewrites/evaluate.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

using Folded = std::unordered_map<ir::Value, ir::Constant>;

constexpr int64_t kMaxFoldedElements = int64_t{1} << 28;

bool can_fold(const ir::Node& node) {
  if (!node.schema->flags.pure || !node.schema->reference || node.constant || !node.bodies.empty() || node.is("Result"))
    return false;
  for (const ir::OutputPort& port : node.outputs) {
    if (port.type.is_dynamic() || port.type == element::string || port.shape.is_dynamic()) return false;
    if (shape_size(port.shape.to_shape()) > static_cast<size_t>(kMaxFoldedElements)) return false;
  }
  return true;
}

/// The node's inputs as views where all are known; empty optional otherwise.
std::optional<std::vector<ir::TensorView>> known_inputs(const ir::Graph& graph, const ir::Node& node,
                                                        const Folded& folded) {
  std::vector<ir::TensorView> views;
  for (const ir::Value& input : node.inputs) {
    const ir::OutputPort& port = graph.port(input);
    if (node.is("ShapeOf") && port.shape.is_static()) {
      views.push_back({port.type, ir::to_dims(port.shape.to_shape()), nullptr});
    } else if (const ir::Constant* constant = ir::constant_of(graph, input)) {
      views.push_back(constant->view);
    } else if (auto found = folded.find(input); found != folded.end()) {
      views.push_back(found->second.view);
    } else {
      return std::nullopt;
    }
  }
  return views;
}

/// The values of nodes whose inputs are all known. Between two folded nodes they live only until the last reader has
/// been computed, and arithmetic writes over an operand: weights that are decompressed in several steps exist in one or
/// two of them at a time, not in all.
class Folding {
 public:
  Folding(const ir::Graph& graph, std::set<ir::NodeId> kept)
      : graph_(graph), kept_(std::move(kept)), is_folded_(graph.id_bound(), false) {}

  void run() {
    for (ir::NodeId id : ir::topological_order(graph_)) {
      const ir::Node& node = graph_.node(id);
      if (!can_fold(node) || node.inputs.empty() || kept_.contains(id)) continue;
      const auto inputs = known_inputs(graph_, node, folded_);
      if (!inputs) continue;
      try {
        std::vector<ir::Constant> values = evaluate(node, *inputs, memory_of_input(node));
        for (size_t i = 0; i < values.size(); ++i)
          folded_.emplace(ir::Value{id, static_cast<int32_t>(i)}, std::move(values[i]));
        is_folded_[ir::index_of(id)] = true;
        for (const ir::Value& input : node.inputs) let_go(input);
      } catch (const Exception&) {
        // Left to run time, where the error names the layer and the request that met it.
      }
    }
  }

  /// Calls replace(value, its constant) for what a node reads that is not folded itself.
  template <class Replace>
  void for_each_result(Replace replace) {
    for (ir::NodeId id : graph_.nodes())
      for (size_t output = 0; output < graph_.node(id).outputs.size(); ++output) {
        const ir::Value value{id, static_cast<int32_t>(output)};
        const auto found = folded_.find(value);
        if (found != folded_.end() && read_by_others(value)) replace(value, std::move(found->second));
      }
  }

 private:
  bool is_folded(ir::NodeId id) const { return is_folded_[ir::index_of(id)]; }

  bool read_by_others(ir::Value value) const {
    const auto& uses = graph_.uses(value);
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return !is_folded(use.node); });
  }

  /// Of an operand that nobody else reads, where its elements may become those of the node; else null. Arithmetic of
  /// f32 throws nothing when it has begun, so no node is left to run time with an operand that is lost.
  std::shared_ptr<void> memory_of_input(const ir::Node& node) const {
    if (!node.schema->flags.elementwise || node.schema->from_extension || node.inputs.size() != 2) return nullptr;
    const ir::OutputPort& output = node.outputs[0];
    for (const ir::Value& input : node.inputs) {
      const auto found = folded_.find(input);
      if (found == folded_.end() || graph_.uses(input).size() != 1 || output.type != element::f32) continue;
      const ir::TensorView& view = found->second.view;
      if (view.type == output.type && view.dims == ir::to_dims(output.shape.to_shape()))
        return std::const_pointer_cast<void>(found->second.owner);  // evaluate() has made it
    }
    return nullptr;
  }

  /// After a reader of `value` has been computed. Readers that may be folded later keep it, as others do.
  void let_go(ir::Value value) {
    if (read_by_others(value)) return;
    folded_.erase(value);
    if (const ir::Constant* constant = ir::constant_of(graph_, value))
      MappedFile::evict(constant->view.data, constant->view.bytes());
  }

  const ir::Graph& graph_;
  std::set<ir::NodeId> kept_;
  std::vector<bool> is_folded_;  // by node
  Folded folded_;
};

}  // namespace

ir::Pass fold_constants(const ir::OpRegistry& registry, KeptNodes kept) {
  const ir::OpSchema& const_schema = registry.get(ir::kConstType, "opset1");
  return {"fold_constants", [&const_schema, kept = std::move(kept)](const ir::Graph& graph, ir::Patch& patch) {
            Folding folding(graph, kept ? kept(graph) : std::set<ir::NodeId>());
            folding.run();
            folding.for_each_result([&](ir::Value value, ir::Constant constant) {
              const std::string& name = graph.node(value.node).name;
              patch.replace(value, patch.add_constant(const_schema, name, std::move(constant)));
            });
          }};
}

}  // namespace terroir::ops
