#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/mapped_file.hpp"
#include "ir/base/returned_memory.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/rewrites/channel_constants.hpp"
#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// x + bias, (x * scale) + bias or (x conv weights) + bias. A depthwise convolution of one tap is a scale as well,
/// which others see of it once extents are known.
struct Branch {
  ir::Value x;
  const ir::Node* convolution = nullptr;
  const float* scale = nullptr;
  const float* bias = nullptr;
  std::vector<ir::NodeId> nodes{};
  std::vector<ir::NodeId> bias_nodes{};

  bool is_scale() const { return scale || !convolution; }
};

/// The operand of a node of two that is not a constant per channel, and that constant.
struct PerChannel {
  ir::Value other;
  const float* constant;
};
std::optional<PerChannel> per_channel(const ir::Graph& graph, const ir::Node& node, int64_t channels, size_t rank) {
  if (ir::broadcasts_from_an_axis(*node.attributes)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const PartialShape& shape = graph.port(node.inputs[i]).shape;
    if (shape.rank().is_dynamic() || shape.size() != rank || shape[1] != Dimension(channels)) continue;
    if (const float* constant = constant_per_channel(graph, node.inputs[1 - i], channels, rank))
      return PerChannel{node.inputs[i], constant};
  }
  return std::nullopt;
}

const ir::TensorView& weights_of(const ir::Graph& graph, const ir::Node& convolution) {
  return ir::constant_of(graph, convolution.inputs[1])->view;
}

/// Whether each channel has a kernel of its own.
bool is_depthwise(const ir::TensorView& weights, size_t rank) {
  return weights.dims.size() == rank + 1 && weights.dims[1] == 1 && weights.dims[2] == 1;
}

/// What makes `value`, if nothing else reads it.
std::optional<Branch> branch_of(const ir::Graph& graph, ir::Value value, int64_t channels, size_t rank) {
  if (graph.uses(value).size() != 1) return std::nullopt;
  Branch found;
  const ir::Node* node = &graph.node(value.node);
  if (node->is("Add")) {
    const auto add = per_channel(graph, *node, channels, rank);
    if (!add || graph.uses(add->other).size() != 1) return std::nullopt;
    found.bias = add->constant;
    found.bias_nodes = {node->id};
    node = &graph.node(add->other.node);
  }
  found.nodes = {node->id};
  if (is_convolution(*node)) {
    const ir::Constant* weights = ir::constant_of(graph, node->inputs[1]);
    if (!weights || weights->view.type != element::f32 || weights->view.count() == 0 ||
        graph.port(node->inputs[0]).shape.rank().is_dynamic())
      return std::nullopt;
    found.convolution = node;
    found.x = node->inputs[0];
    if (is_depthwise(weights->view, rank) && weights->view.count() == weights->view.dims[0] &&
        one_tap_sees_each_element(node->attrs<ConvolutionAttrs>()))
      found.scale = weights->view.as<float>();
    return found;
  }
  if (!node->is("Multiply")) return std::nullopt;
  const auto multiply = per_channel(graph, *node, channels, rank);
  if (!multiply) return std::nullopt;
  found.scale = multiply->constant;
  found.x = multiply->other;
  return found;
}

/// Of one axis, of a known extent or not.
struct Windows {
  int64_t taps, stride, dilation, pad_begin;
  int64_t output;  // where that is known, else how far windows may begin beyond the last element
};

std::optional<Windows> windows_of(const ConvolutionAttrs& attrs, const WindowStep& step, const Dimension& extent,
                                  int64_t kernel, size_t axis) {
  if (extent.is_static()) {
    if (extent.get_length() == 0) return std::nullopt;
    const WindowAxis w = resolve_window(extent.get_length(), kernel, step, attrs.auto_pad, Rounding::floor, axis);
    return Windows{kernel, w.output == 1 ? 1 : w.stride, w.dilation, w.pad_begin, w.output};
  }
  WindowStep padded = step;
  if (attrs.auto_pad != AutoPad::explicit_pads) {
    // Pads that do not follow from the extent.
    if (attrs.auto_pad != AutoPad::valid && step.stride != 1) return std::nullopt;
    const WindowAxis w = resolve_window(kernel * step.dilation, kernel, step, attrs.auto_pad, Rounding::floor, axis);
    padded.pad_begin = w.pad_begin;
    padded.pad_end = w.pad_end;
  }
  const int64_t reach = (kernel - 1) * step.dilation;
  return Windows{kernel, step.stride, step.dilation, padded.pad_begin, padded.pad_begin + padded.pad_end - reach};
}

/// Of one axis: the taps of a small kernel among those of a large one.
struct Place {
  int64_t taps = 1, first = 0, step = 0, of_large = 1;
};

std::optional<Place> place_of(const Windows& small, const Windows& large) {
  const int64_t dilation = large.taps == 1 ? 1 : large.dilation, apart = small.taps == 1 ? 0 : small.dilation;
  const int64_t shift = large.pad_begin - small.pad_begin;
  if (small.stride != large.stride || small.output != large.output || shift < 0 || shift % dilation != 0 ||
      apart % dilation != 0)
    return std::nullopt;
  const Place place{small.taps, shift / dilation, apart / dilation, large.taps};
  return place.first + (place.taps - 1) * place.step < large.taps ? std::optional(place) : std::nullopt;
}

/// Where the kernel of `small`, or the one tap of a scale, lies in that of `large`; as three axes, of which the first
/// ones may be missing.
std::optional<std::array<Place, 3>> places_of(const ir::Graph& graph, const Branch& small, const Branch& large) {
  const PartialShape& data = graph.port(large.x).shape;
  const size_t rank = data.size() - 2;
  const auto windows = [&](const Branch& branch, size_t axis) -> std::optional<Windows> {
    const Dimension& extent = data[static_cast<std::ptrdiff_t>(2 + axis)];
    static const ConvolutionAttrs kOneTap;
    if (branch.is_scale()) return windows_of(kOneTap, {}, extent, 1, axis);
    const auto& attrs = branch.convolution->attrs<ConvolutionAttrs>();
    const ir::Dims& dims = weights_of(graph, *branch.convolution).dims;
    return windows_of(attrs, read_window(attrs.window(), rank).axes[axis], extent, dims[dims.size() - rank + axis],
                      axis);
  };
  std::array<Place, 3> places;
  for (size_t i = 0; i < rank; ++i) {
    const auto of_small = windows(small, i), of_large = windows(large, i);
    if (!of_small || !of_large) return std::nullopt;
    const auto place = place_of(*of_small, *of_large);
    if (!place) return std::nullopt;
    places[3 - rank + i] = *place;
  }
  return places;
}

/// Whether they are sums over the same channels.
bool have_same_channels(const ir::Graph& graph, const Branch& small, const Branch& large, size_t rank) {
  const ir::Dims& dims = weights_of(graph, *large.convolution).dims;
  if (small.is_scale()) {
    const size_t outputs = dims.size() - rank;  // and then the inputs, [G, O/G, I/G, k] or [O, I, k]
    return graph.port(large.x).shape[1] == large.convolution->outputs[0].shape[1] && dims[outputs] == dims[outputs + 1];
  }
  const ir::Dims& others = weights_of(graph, *small.convolution).dims;
  return small.convolution->schema->type == large.convolution->schema->type &&
         std::equal(dims.begin(), dims.end() - static_cast<std::ptrdiff_t>(rank - 2), others.begin(),
                    others.end() - static_cast<std::ptrdiff_t>(rank - 2));
}

/// The weights of `large` with those of `small` added; empty where a sum is not finite, though results may be.
std::optional<ir::Constant> merged(const ir::Graph& graph, const Branch& small, const Branch& large,
                                   const std::array<Place, 3>& places) {
  const ir::TensorView& from = weights_of(graph, *large.convolution);
  auto buffer = allocate_returned(from.bytes());
  auto* const dst = static_cast<float*>(buffer.get());
  std::memcpy(dst, from.data, from.bytes());
  const auto& [d, h, w] = places;
  const int64_t taps = d.of_large * h.of_large * w.of_large, kernels = from.count() / taps;
  bool finite = true;
  const auto add = [&](int64_t kernel, int64_t z, int64_t y, int64_t x, float value) {
    float& sum = dst[((kernel * d.of_large + d.first + z * d.step) * h.of_large + h.first + y * h.step) * w.of_large +
                     w.first + x * w.step];
    sum += value;
    finite &= std::isfinite(sum);
  };
  if (!small.is_scale()) {
    const ir::TensorView& others = weights_of(graph, *small.convolution);
    const auto* src = others.as<float>();
    for (int64_t kernel = 0; kernel < kernels; ++kernel)
      for (int64_t z = 0; z < d.taps; ++z)
        for (int64_t y = 0; y < h.taps; ++y)
          for (int64_t x = 0; x < w.taps; ++x) add(kernel, z, y, x, *src++);
    MappedFile::evict(others.data, others.bytes());
  } else {
    const int64_t channels = large.convolution->outputs[0].shape[1].get_length(), inputs = kernels / channels;
    for (int64_t c = 0; c < channels; ++c) add(c * inputs + c % inputs, 0, 0, 0, small.scale ? small.scale[c] : 1.0f);
  }
  MappedFile::evict(from.data, from.bytes());
  if (!finite) return std::nullopt;
  return ir::Constant{{element::f32, from.dims, dst}, buffer};
}

/// A constant per channel that is the sum of these, of which one may be null: `missing`. Both null: none, as where a
/// sum is not finite.
std::optional<ir::Constant> sum_per_channel(const float* a, const float* b, float missing, int64_t channels,
                                            size_t rank) {
  if (!a && !b) return std::nullopt;
  ir::Dims dims(rank, 1);
  dims[1] = channels;
  auto buffer = allocate_returned(static_cast<size_t>(channels) * sizeof(float));
  auto* const dst = static_cast<float*>(buffer.get());
  bool finite = true;
  for (int64_t c = 0; c < channels; ++c) {
    dst[c] = (a ? a[c] : missing) + (b ? b[c] : missing);
    finite &= std::isfinite(dst[c]);
  }
  if (!finite) return std::nullopt;
  return ir::Constant{{element::f32, std::move(dims), dst}, buffer};
}

/// Whether the scale is none, which remove_no_ops() sees of a Multiply.
bool is_identity(const Branch& branch, int64_t channels) {
  return branch.is_scale() &&
         (!branch.scale || std::all_of(branch.scale, branch.scale + channels, [](float s) { return s == 1.0f; }));
}

struct Merge {
  Branch large, small;
  ir::Constant weights;  // or the scale
  std::optional<ir::Constant> bias;
};

std::optional<Merge> match(const ir::Graph& graph, const ir::Node& add) {
  if (!add.is("Add") || add.outputs[0].type != element::f32 || ir::broadcasts_from_an_axis(*add.attributes))
    return std::nullopt;
  const PartialShape& shape = add.outputs[0].shape;
  if (shape.rank().is_dynamic() || shape.size() < 3 || shape[1].is_dynamic()) return std::nullopt;
  const int64_t channels = shape[1].get_length();
  for (size_t side = 0; side < 2; ++side) {
    auto large = branch_of(graph, add.inputs[side], channels, shape.size());
    // What takes the place of the sum has its type.
    if (!large || graph.port({large->nodes[0], 0}).shape != shape) continue;
    auto small = branch_of(graph, add.inputs[1 - side], channels, shape.size());
    if (!small && add.inputs[1 - side] == large->x) small = Branch{large->x};
    if (!small || small->x != large->x) continue;
    // Weights of quantised layers would be no multiples of one step any more.
    if (graph.node(large->x.node).is("FakeQuantize")) continue;
    auto bias = sum_per_channel(large->bias, small->bias, 0, channels, shape.size());
    if (!bias && (large->bias || small->bias)) continue;  // not finite
    if (!large->convolution) {
      auto scale = sum_per_channel(large->scale, small->scale, 1, channels, shape.size());
      if (!small->is_scale() || small->convolution || !scale) continue;
      return Merge{std::move(*large), std::move(*small), std::move(*scale), std::move(bias)};
    }
    // Of dense convolutions it is less to add their input to the result.
    if (is_identity(*small, channels) && !is_depthwise(weights_of(graph, *large->convolution), shape.size())) continue;
    if (!have_same_channels(graph, *small, *large, shape.size())) continue;
    const auto places = places_of(graph, *small, *large);
    if (!places) continue;
    auto weights = merged(graph, *small, *large, *places);
    if (weights) return Merge{std::move(*large), std::move(*small), std::move(*weights), std::move(bias)};
  }
  return std::nullopt;
}

}  // namespace

ir::Pass merge_convolutions(const ir::OpRegistry& registry) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  const ir::OpSchema& add_schema = registry.get("Add", "opset1");
  return {"merge_convolutions", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              auto found = match(graph, graph.node(id));
              if (!found) continue;
              std::vector<ir::NodeId> products, sums;
              for (const Branch* branch : {&found->large, &found->small}) {
                products.insert(products.end(), branch->nodes.begin(), branch->nodes.end());
                sums.insert(sums.end(), branch->bias_nodes.begin(), branch->bias_nodes.end());
              }
              sums.push_back(id);
              const ir::Node& product = graph.node(products[0]);
              if (!found->bias) products.insert(products.end(), sums.begin(), sums.end());
              const ir::Value weights =
                  patch.add_constant(constant, product.name + "/merged_weights", std::move(found->weights));
              ir::Value result = patch.add(*product.schema, product.attributes->clone(), {found->large.x, weights},
                                           std::move(products));
              if (found->bias) {
                const ir::Value bias =
                    patch.add_constant(constant, product.name + "/merged_bias", std::move(*found->bias));
                result = patch.add(add_schema, nullptr, {result, bias}, std::move(sums));
              }
              patch.replace({id, 0}, result);
            }
          }};
}

}  // namespace terroir::ops
