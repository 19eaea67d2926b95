#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>

#include "ir/schema/infer_context.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/elementwise/activation.hpp"
#include "ops/defs/movement/pad.hpp"
#include "ops/defs/pooling/max_pool.hpp"
#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"

namespace terroir::ops {
namespace {

// Of one side of an axis: as many as operations with windows take.
constexpr int64_t kMostPads = std::numeric_limits<int32_t>::max();

/// Zeros around the spatial axes alone: their pads. Nothing else would be what a convolution sees beyond its borders.
struct Border {
  std::vector<int64_t> begin, end;
};

using Order = std::vector<int64_t>;

/// The pads of axes order[2], order[3] and so on, which must be all that there are.
bool read_pads(const ir::Graph& graph, ir::Value value, const Order& order, std::vector<int64_t>& pads) {
  const auto given = ir::constant_integers(graph, value);
  if (!given) return false;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t pad = (*given)[static_cast<size_t>(order[i])];
    if (pad < 0 || pad > (i < 2 ? 0 : kMostPads)) return false;
    if (i >= 2) pads.push_back(pad);
  }
  return true;
}

bool is_zero(const ir::Graph& graph, ir::Value value) {
  const ir::Constant* known = ir::constant_of(graph, value);
  if (!known || known->view.count() != 1) return false;
  const auto* bytes = static_cast<const uint8_t*>(known->view.data);
  return std::all_of(bytes, bytes + known->view.bytes(), [](uint8_t byte) { return byte == 0; });
}

bool adds_zeros(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Pad") && node.attrs<PadAttrs>().pad_mode == reference::PadMode::constant &&
         (node.inputs.size() <= 3 || is_zero(graph, node.inputs[3])) &&
         graph.port(node.inputs[0]).shape.rank().is_static();
}

/// As readers see it whose axis i is axis order[i] of the padded value.
std::optional<Border> border_of(const ir::Graph& graph, const ir::Node& pad, const Order& order) {
  // Of nothing but pads no kernel makes anything.
  const PartialShape& data = graph.port(pad.inputs[0]).shape;
  if (order.size() < 3 ||
      std::any_of(order.begin() + 2, order.end(), [&](int64_t axis) { return data[axis].get_min_length() < 1; }))
    return std::nullopt;
  std::optional<Border> border(std::in_place);
  if (!read_pads(graph, pad.inputs[1], order, border->begin) || !read_pads(graph, pad.inputs[2], order, border->end))
    border.reset();
  return border;
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

template <class Attrs>
std::unique_ptr<ir::Attributes> widened_maximum(const ir::Node& pool, const Border& border) {
  auto attrs = widened(pool.attrs<Attrs>(), border);
  return attrs && sees_data(*attrs) ? ir::make_attributes_of(std::move(*attrs)) : nullptr;
}

/// Products of positions, whose kernels read an image as one row; pads would take these away.
bool is_of_single_taps(const PartialShape& filter, size_t axes) {
  return filter.rank().is_static() && std::all_of(filter.end() - static_cast<std::ptrdiff_t>(axes), filter.end(),
                                                  [](const Dimension& extent) { return extent == 1; });
}

/// With these attributes the reader of the padded value can read what is padded instead; null where none would do.
std::unique_ptr<ir::Attributes> attributes_without(const ir::Graph& graph, const ir::Node& pad, const ir::Use& use,
                                                   const Border& border) {
  const ir::Node& reader = graph.node(use.node);
  if (use.input != 0) return nullptr;
  if (is_convolution(reader)) {
    if (is_of_single_taps(graph.port(reader.inputs[1]).shape, border.begin.size())) return nullptr;
    auto attrs = widened(reader.attrs<ConvolutionAttrs>(), border);
    return attrs ? ir::make_attributes_of(std::move(*attrs)) : nullptr;
  }
  if (!reader.is("MaxPool") || !has_no_sign(graph.node(pad.inputs[0].node))) return nullptr;
  if (reader.schema->opset == "opset1") return widened_maximum<MaxPool1Attrs>(reader, border);
  if (!graph.uses({reader.id, 1}).empty()) return nullptr;  // places in the data are others
  return widened_maximum<MaxPool8Attrs>(reader, border);
}

/// All of the readers or none. What is padded takes the Transpose, if there is one, before they read it.
void fold_into(std::span<const ir::Use> readers, const ir::Graph& graph, const ir::Node& pad, const ir::Node* transpose,
               const Order& order, ir::Patch& patch) {
  const auto border = border_of(graph, pad, order);
  if (!border) return;
  std::vector<std::unique_ptr<ir::Attributes>> attributes;
  for (const ir::Use& use : readers) {
    attributes.push_back(attributes_without(graph, pad, use, *border));
    if (!attributes.back()) return;
  }
  ir::Value data = pad.inputs[0];
  if (transpose) data = patch.add(*transpose->schema, nullptr, {data, transpose->inputs[1]}, {transpose->id});
  for (size_t i = 0; i < readers.size(); ++i) {
    const ir::Node& reader = graph.node(readers[i].node);
    std::vector<ir::Value> inputs = reader.inputs;
    inputs[0] = data;
    patch.replace({reader.id, 0},
                  patch.add(*reader.schema, std::move(attributes[i]), std::move(inputs), {reader.id, pad.id}));
  }
}

void fold_pad(const ir::Graph& graph, const ir::Node& pad, ir::Patch& patch) {
  Order same(graph.port(pad.inputs[0]).shape.size());
  std::iota(same.begin(), same.end(), 0);
  for (const ir::Use& use : graph.uses({pad.id, 0})) {
    const ir::Node& reader = graph.node(use.node);
    // A Transpose that somebody else reads, too, would stay beside the one of what is padded.
    if (const auto order = transpose_order(graph, reader))
      fold_into(graph.uses({reader.id, 0}), graph, pad, &reader, *order, patch);
    else
      fold_into({&use, 1}, graph, pad, nullptr, same, patch);
  }
}

}  // namespace

ir::Pass fold_pads() {
  return {"fold_pads", [](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes())
              if (const ir::Node& node = graph.node(id); adds_zeros(graph, node)) fold_pad(graph, node, patch);
          }};
}

}  // namespace terroir::ops
