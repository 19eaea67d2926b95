#include <algorithm>
#include <functional>
#include <optional>
#include <type_traits>

#include "ir/schema/infer_context.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/elementwise/activation.hpp"
#include "ops/defs/movement/pad.hpp"
#include "ops/defs/pooling/max_pool.hpp"
#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

// Of one side of an axis, so that sums stay far from overflow.
constexpr int64_t kMostPads = int64_t{1} << 31;

/// Zeros around the spatial axes alone: their pads. Nothing else would be what a convolution sees beyond its borders.
struct Border {
  std::vector<int64_t> begin, end;
};

std::optional<std::vector<int64_t>> spatial_pads(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* known = ir::constant_of(graph, value);
  if (!known || known->view.count() < 3) return std::nullopt;
  std::vector<int64_t> pads = ir::to_integers(known->view);
  if (pads[0] != 0 || pads[1] != 0) return std::nullopt;
  pads.erase(pads.begin(), pads.begin() + 2);
  if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad < 0 || pad > kMostPads; }))
    return std::nullopt;
  return pads;
}

bool is_zero(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* known = ir::constant_of(graph, value);
  if (!known || known->view.count() != 1) return false;
  const auto* bytes = static_cast<const uint8_t*>(known->view.data);
  return std::all_of(bytes, bytes + known->view.bytes(), [](uint8_t byte) { return byte == 0; });
}

std::optional<Border> zero_border(const ir::Graph& graph, const ir::Node& pad) {
  if (!pad.is("Pad") || pad.attrs<PadAttrs>().pad_mode != reference::PadMode::constant ||
      (pad.inputs.size() > 3 && !is_zero(graph, pad.inputs[3])))
    return std::nullopt;
  // Of nothing but pads no kernel makes anything.
  const PartialShape& data = graph.port(pad.inputs[0]).shape;
  if (data.rank().is_dynamic() || data.size() < 3 ||
      std::any_of(data.begin() + 2, data.end(), [](const Dimension& extent) { return extent.get_min_length() < 1; }))
    return std::nullopt;
  auto begin = spatial_pads(graph, pad.inputs[1]), end = spatial_pads(graph, pad.inputs[2]);
  if (!begin || !end) return std::nullopt;
  return Border{std::move(*begin), std::move(*end)};
}

/// The attributes with pads that take in the border; none where pads follow from the extents.
template <class Attrs>
std::optional<Attrs> widened(Attrs attrs, const Border& border) {
  if (attrs.auto_pad != AutoPad::explicit_pads && attrs.auto_pad != AutoPad::valid) return std::nullopt;
  const auto widen = [&](std::vector<int64_t>& own, const std::vector<int64_t>& more) {
    if (attrs.auto_pad == AutoPad::valid) own.assign(more.size(), 0);
    own.resize(more.size(), 0);
    for (size_t i = 0; i < more.size(); ++i) {
      own[i] += more[i];
      if (own[i] > kMostPads) return false;
    }
    return true;
  };
  if (!widen(attrs.pads_begin, border.begin) || !widen(attrs.pads_end, border.end)) return std::nullopt;
  attrs.auto_pad = AutoPad::explicit_pads;
  return attrs;
}

/// Nothing below 0, but NaN perhaps.
bool has_no_sign(const ir::Node& node) {
  return node.is("ReLU") || node.is("Sigmoid") || (node.is("Clamp") && node.attrs<ClampAttrs>().min >= 0);
}

/// A window of neighbours that has an element of the data wherever it stands: their maximum is not changed by zeros.
template <class Attrs>
bool sees_data(const Attrs& attrs) {
  if constexpr (std::is_same_v<Attrs, MaxPool8Attrs>) {
    if (std::any_of(attrs.dilations.begin(), attrs.dilations.end(), [](int64_t dilation) { return dilation != 1; }))
      return false;
  }
  const auto is_within = [&](const std::vector<int64_t>& pads) {
    return std::equal(pads.begin(), pads.end(), attrs.kernel.begin(), attrs.kernel.end(), std::less<>());
  };
  return attrs.rounding_type == Rounding::floor && is_within(attrs.pads_begin) && is_within(attrs.pads_end);
}

void fold_into_convolution(const ir::Node& conv, const ir::Node& pad, const Border& border, ir::Patch& patch) {
  if (auto attrs = widened(conv.attrs<ConvolutionAttrs>(), border))
    patch.replace({conv.id, 0}, patch.add(*conv.schema, ir::make_attributes_of(std::move(*attrs)),
                                          {pad.inputs[0], conv.inputs[1]}, {conv.id, pad.id}));
}

template <class Attrs>
void fold_into_maximum(const ir::Node& pool, const ir::Node& pad, const Border& border, ir::Patch& patch) {
  const auto attrs = widened(pool.attrs<Attrs>(), border);
  if (attrs && sees_data(*attrs))
    patch.replace({pool.id, 0},
                  patch.add(*pool.schema, ir::make_attributes_of(*attrs), {pad.inputs[0]}, {pool.id, pad.id}));
}

}  // namespace

ir::Pass fold_pads() {
  return {"fold_pads", [](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              const bool convolves = is_convolution(node);
              if (!convolves && !node.is("MaxPool")) continue;
              const ir::Node& pad = graph.node(node.inputs[0].node);
              const auto border = zero_border(graph, pad);
              if (!border) continue;
              if (convolves)
                fold_into_convolution(node, pad, *border, patch);
              else if (!has_no_sign(graph.node(pad.inputs[0].node)))
                continue;
              else if (node.schema->opset == "opset1")
                fold_into_maximum<MaxPool1Attrs>(node, pad, *border, patch);
              else if (graph.uses({id, 1}).empty())  // places in the data are others
                fold_into_maximum<MaxPool8Attrs>(node, pad, *border, patch);
            }
          }};
}

}  // namespace terroir::ops
