#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/defs/quantization/fake_quantize.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

bool is_of_opsets(const ir::Node& node, const char* type) {
  return node.is(type) && ir::opset_number(node.schema->opset) > 0;
}

const ir::Constant* floats_of(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  return constant && constant->view.type == element::f32 && constant->view.count() > 0 ? constant : nullptr;
}

/// Constants of one number, or of as many as `dims` says, side by side.
struct SideBySide {
  ir::Dims dims;  // without leading ones

  bool add(const ir::Constant& constant) {
    ir::Dims own = constant.view.dims;
    own.erase(own.begin(), std::find_if(own.begin(), own.end(), [](int64_t n) { return n != 1; }));
    if (constant.view.count() == 1 || own == dims) return true;
    if (!dims.empty()) return false;
    dims = std::move(own);
    return true;
  }
  static float at(const ir::Constant* constant, size_t i) {
    return constant->view.as<float>()[constant->view.count() == 1 ? 0 : i];
  }
};

struct Dequantized {
  const ir::Node* quantize = nullptr;
  std::vector<ir::NodeId> nodes;  // from the last to FakeQuantize
  ir::Dims dims;
  std::vector<float> low, high;
};

std::optional<Dequantized> match_dequantized(const ir::Graph& graph, const ir::Node& multiply, size_t side) {
  const auto is_float = [](const ir::Node& node, const char* type) {
    return is_of_opsets(node, type) && node.outputs[0].type == element::f32 &&
           !ir::broadcasts_from_an_axis(*node.attributes);
  };
  if (!is_float(multiply, "Multiply")) return std::nullopt;
  Dequantized found;
  const auto producer = [&](const ir::Node& node, size_t input) -> const ir::Node& {
    found.nodes.push_back(node.id);
    return graph.node(node.inputs[input].node);
  };
  const ir::Constant* const scale = floats_of(graph, multiply.inputs[1 - side]);
  const ir::Node* node = &producer(multiply, side);
  const ir::Constant* zero = nullptr;
  if (is_float(*node, "Subtract")) {
    zero = floats_of(graph, node->inputs[1]);
    if (!zero) return std::nullopt;
    node = &producer(*node, 0);
  }
  if (!scale || !is_of_opsets(*node, "Convert")) return std::nullopt;
  const ir::Node& integers = producer(*node, 0);
  const element::Type type = integers.outputs[0].type;
  if (!is_of_opsets(integers, "Convert") || (type != element::u8 && type != element::i8)) return std::nullopt;
  const ir::Node& quantize = producer(integers, 0);
  if (!is_float(quantize, "FakeQuantize")) return std::nullopt;
  found.nodes.push_back(quantize.id);
  found.quantize = &quantize;

  const ir::Constant *low = floats_of(graph, quantize.inputs[3]), *high = floats_of(graph, quantize.inputs[4]);
  SideBySide limits;
  if (!low || !high || !limits.add(*low) || !limits.add(*high) || !limits.add(*scale) || (zero && !limits.add(*zero)))
    return std::nullopt;
  const PartialShape& x = graph.port(quantize.inputs[0]).shape;
  if (x.rank().is_dynamic() || x != multiply.outputs[0].shape || limits.dims.size() > x.size()) return std::nullopt;
  for (size_t i = 0; i < limits.dims.size(); ++i)
    if (limits.dims[i] != 1 && x[x.size() - limits.dims.size() + i] != Dimension(limits.dims[i])) return std::nullopt;

  const float least = type == element::i8 ? -128.0f : 0.0f, most = least + 255;
  const auto steps = static_cast<float>(quantize.attrs<FakeQuantizeAttrs>().levels - 1);
  const auto count = static_cast<size_t>(ir::element_count(limits.dims));
  for (size_t i = 0; i < count; ++i) {
    const float from = SideBySide::at(low, i), to = SideBySide::at(high, i), factor = SideBySide::at(scale, i),
                shift = zero ? SideBySide::at(zero, i) : 0;
    if (!(from >= least && to <= most && to - from == steps && from == std::nearbyint(from) && factor > 0))
      return std::nullopt;
    found.low.push_back((from - shift) * factor);
    found.high.push_back((to - shift) * factor);
    if (!std::isfinite(found.low.back()) || !std::isfinite(found.high.back())) return std::nullopt;
  }
  found.dims = std::move(limits.dims);
  return found;
}

ir::Constant limits_constant(const std::vector<float>& values, const ir::Dims& dims) {
  auto buffer = std::make_shared<AlignedBuffer>(values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), buffer->as<float>());
  return {{element::f32, dims, buffer->data()}, buffer};
}

}  // namespace

ir::Pass collapse_quantize_dequantize(const ir::OpRegistry& registry) {
  return {"collapse_quantize_dequantize", [&](const ir::Graph& graph, ir::Patch& patch) {
            // Readers of the same integers often dequantise them alike, each for itself.
            std::vector<std::pair<Dequantized, ir::Value>> made;
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              auto found = match_dequantized(graph, node, 0);
              if (!found) found = match_dequantized(graph, node, 1);
              if (!found) continue;
              const auto same = std::find_if(made.begin(), made.end(), [&](const auto& one) {
                const Dequantized& other = one.first;
                return other.quantize == found->quantize && other.dims == found->dims && other.low == found->low &&
                       other.high == found->high;
              });
              if (same != made.end()) {
                patch.replace({id, 0}, same->second);
                continue;
              }
              NewNodes nodes(registry, patch, node);
              std::vector<ir::Value> inputs = found->quantize->inputs;
              inputs[3] = nodes.constant(limits_constant(found->low, found->dims), "low");
              inputs[4] = nodes.constant(limits_constant(found->high, found->dims), "high");
              const ir::Value result = patch.add(*found->quantize->schema, found->quantize->attributes->clone(),
                                                 std::move(inputs), found->nodes);
              patch.replace({id, 0}, result);
              made.emplace_back(std::move(*found), result);
            }
          }};
}

}  // namespace terroir::ops
