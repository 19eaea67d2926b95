#include <algorithm>
#include <cmath>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/pass/convert_fp32_to_fp16.hpp"

namespace terroir {
namespace {

ir::Constant halves_of(const ir::Constant& constant) {
  constexpr float kLargest = 65504;
  const int64_t count = constant.view.count();
  const auto* const from = constant.view.as<float>();
  const auto memory = std::make_shared<AlignedBuffer>(static_cast<size_t>(count) * sizeof(float16));
  auto* const to = memory->as<float16>();
  for (int64_t i = 0; i < count; ++i)
    to[i] = float16(std::isfinite(from[i]) ? std::clamp(from[i], -kLargest, kLargest) : from[i]);
  return {{element::f16, constant.view.dims, memory->data()}, memory};
}

/// Element types that are attributes.
class TypesBecomeHalves final : public ir::AttributeVisitor {
 public:
  bool any = false;

 protected:
  using Presence = ir::Presence;
  void on(const char*, bool&, Presence) override {}
  void on(const char*, int64_t&, Presence) override {}
  void on(const char*, double&, Presence) override {}
  void on(const char*, std::string&, Presence) override {}
  void on(const char*, element::Type& type, Presence) override {
    if (type != element::f32) return;
    type = element::f16;
    any = true;
  }
  void on(const char*, PartialShape&, Presence) override {}
  void on(const char*, std::vector<int64_t>&, Presence) override {}
  void on(const char*, std::vector<double>&, Presence) override {}
  void on(const char*, std::vector<std::string>&, Presence) override {}
  void on_enum(const char*, int64_t&, std::span<const std::string_view>, Presence) override {}
};

bool become_halves(ir::Graph& graph) {
  bool any = false;
  for (const ir::NodeId id : graph.nodes()) {
    ir::Node& node = graph.node(id);
    for (ir::Body& body : node.bodies) {
      if (!become_halves(*body.graph)) continue;
      ir::infer_graph(*body.graph);
      any = true;
    }
    if (node.constant) {
      if (node.constant->view.type != element::f32) continue;
      node.constant = halves_of(*node.constant);
      node.outputs.at(0).type = element::f16;
      any = true;
      continue;
    }
    std::unique_ptr<ir::Attributes> attributes = node.attributes->clone();
    TypesBecomeHalves types;
    attributes->visit(types);
    if (types.any) node.attributes = std::move(attributes);
    any |= types.any;
  }
  return any;
}

}  // namespace

bool pass::ConvertFP32ToFP16::run_on_model(const std::shared_ptr<Model>& model) {
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  std::shared_ptr<ir::Graph> graph = state.needed_graph()->clone();
  if (!become_halves(*graph)) return false;
  with_context([] { return "ConvertFP32ToFP16"; }, [&] { ir::infer_graph(*graph); });
  state.graph = std::move(graph);
  state.rewired = state.has_spare_layers = false;
  state.changed.clear();
  return true;
}

}  // namespace terroir
