#include <cmath>
#include <optional>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/base/short_memory.hpp"
#include "ir/xml/writer.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"
#include "runtime/api/graph_state.hpp"
#include "terroir/float16.hpp"
#include "terroir/serialize.hpp"

namespace terroir {

namespace {

// The elements as halves; nothing if one of them is beyond their range, or three quarters would become zeros.
template <typename T>
std::optional<ir::Constant> halves_of(const ir::Constant& constant) {
  constexpr T kLargest = 65504;
  const int64_t count = constant.view.count();
  const T* from = constant.view.as<T>();
  const auto memory = std::make_shared<AlignedBuffer>(static_cast<size_t>(count) * sizeof(float16));
  int64_t lost = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(from[i]) > kLargest && std::isfinite(from[i])) return std::nullopt;
    const float16 half(static_cast<float>(from[i]));
    lost += from[i] != 0 && static_cast<float>(half) == 0 ? 1 : 0;
    memory->as<float16>()[i] = half;
  }
  if (4 * lost >= 3 * count) return std::nullopt;
  return ir::Constant{{element::f16, constant.view.dims, memory->data()}, memory};
}

// Fewer numbers save nothing, and may be scales or limits from which shapes follow.
constexpr int64_t kFewest = 32;

// Const w  =>  Const w_compressed (f16) -> Convert w, marked as a decompression; names of tensors stay with w.
void compress(ir::Graph& graph) {
  const ir::OpRegistry& registry = ops::builtin_registry();
  for (const ir::NodeId id : graph.nodes()) {
    for (ir::Body& body : graph.node(id).bodies) compress(*body.graph);
    const auto& constant = graph.node(id).constant;
    if (!constant || constant->view.count() < kFewest) continue;
    const element::Type type = constant->view.type;
    const auto halves = type == element::f32   ? halves_of<float>(*constant)
                        : type == element::f64 ? halves_of<double>(*constant)
                                               : std::nullopt;
    if (!halves) continue;
    const std::string name = graph.node(id).name;
    const ir::NodeId small = graph.add_constant(*graph.node(id).schema, name + "_compressed", *halves);
    ops::ConvertAttrs attrs;
    attrs.destination_type = type;
    const ir::NodeId convert =
        graph.add(registry.get("Convert", "opset1"), name, ir::make_attributes_of(std::move(attrs)), {{small, 0}});
    ir::OutputPort& port = graph.node(convert).outputs.at(0);
    port.type = type;
    port.shape = graph.port({id, 0}).shape;
    graph.node(convert).rt_info["decompression"] = {{"version", "0"}};
    graph.replace_uses({id, 0}, {convert, 0});
    graph.erase(id);
  }
}

}  // namespace

void save_model(const std::shared_ptr<const Model>& model, const std::string& output_model, bool compress_to_fp16) {
  if (model == nullptr) throw_error(ErrorCode::invalid_argument, "the model is empty");
  if (!compress_to_fp16) return serialize(model, output_model);
  detail::GraphState& state = *detail::ModelAccess::state(*model);
  with_memory_for("to write the model", state.graph->name(), [&] {
    const auto graph = state.needed_graph()->clone();
    compress(*graph);
    ir::write_model(*graph, output_model);
  });
}

}  // namespace terroir
