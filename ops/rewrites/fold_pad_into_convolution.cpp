#include <algorithm>
#include <optional>

#include "ir/schema/infer_context.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/movement/pad.hpp"
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
std::optional<ConvolutionAttrs> widened(ConvolutionAttrs attrs, const Border& border) {
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

}  // namespace

ir::Pass fold_pad_into_convolution() {
  return {"fold_pad_into_convolution", [](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& conv = graph.node(id);
              if (!is_convolution(conv)) continue;
              const ir::Node& pad = graph.node(conv.inputs[0].node);
              const auto border = zero_border(graph, pad);
              if (!border) continue;
              auto attrs = widened(conv.attrs<ConvolutionAttrs>(), *border);
              if (!attrs) continue;
              patch.replace({id, 0}, patch.add(*conv.schema, ir::make_attributes_of(std::move(*attrs)),
                                               {pad.inputs[0], conv.inputs[1]}, {id, pad.id}));
            }
          }};
}

}  // namespace terroir::ops
