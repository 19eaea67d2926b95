#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/base/mapped_file.hpp"
#include "ir/base/returned_memory.hpp"
#include "ir/schema/attribute_text.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"

namespace terroir::ops {
namespace {

constexpr int64_t kNone = -1;

/// Which axis of a constant runs along axis `axis` of a value of `rank` axes, all others being 1; kNone: it is one
/// element. Empty for any other value.
std::optional<int64_t> channel_axis(const ir::Graph& graph, ir::Value value, int64_t channels, int64_t axis,
                                    size_t rank) {
  const ir::Constant* constant = ir::constant_of(graph, value);
  if (!constant || constant->view.dims.size() > rank || constant->view.type.bitwidth() % 8 != 0) return std::nullopt;
  if (constant->view.count() == 1) return kNone;
  const int64_t own = axis - static_cast<int64_t>(rank - constant->view.dims.size());
  const bool along =
      own >= 0 && constant->view.count() == channels && constant->view.dims[static_cast<size_t>(own)] == channels;
  return along ? std::optional(own) : std::nullopt;
}

/// A value on its way into a convolution, which nothing else reads.
struct Place {
  ir::Value value;
  int64_t axis;  // of the channels
};

/// A constant with a number per channel that stands on the way.
struct ChannelConstant {
  ir::Use use;
  int64_t axis;
};

struct Fold {
  ir::NodeId convolution, node;  // `node` goes
  size_t data;                   // which input of it stays
  // Either numbers of the channels, or the order in which it puts them.
  ir::Value scale;
  bool divides = false;
  std::vector<int64_t> order;
  std::vector<ChannelConstant> between;
};

class Search {
 public:
  Search(const ir::Graph& graph, const ir::Node& convolution) : graph_(graph), convolution_(convolution) {}

  std::optional<Fold> find() {
    const ir::Constant* weights = ir::constant_of(graph_, convolution_.inputs[1]);
    if (!weights || weights->view.type != element::f32 || weights->view.dims.size() < 3) return std::nullopt;
    channels_ = weights->view.dims[1];
    if (channels_ == 0) return std::nullopt;
    Fold fold{convolution_.id, {}, 0, {}, false, {}, {}};
    bool scales = true;  // nothing is on the way yet but Transposes
    for (std::optional<Place> place = Place{convolution_.inputs[0], 1}; place;) {
      const ir::OutputPort& port = graph_.port(place->value);
      if (port.shape.rank().is_dynamic() || port.shape[place->axis] != Dimension(channels_)) return std::nullopt;
      if (graph_.uses(place->value).size() != 1 || place->value.output != 0) return std::nullopt;
      const ir::Node& node = graph_.node(place->value.node);
      fold.node = node.id;
      if (scales && take_scale(node, *place, fold)) return fold;
      if (take_order(node, *place, fold)) return fold;
      scales = scales && node.is("Transpose");
      place = through(node, *place, fold);
    }
    return std::nullopt;
  }

 private:
  bool take_scale(const ir::Node& node, const Place& place, Fold& fold) const {
    fold.divides = node.is("Divide");
    if ((!node.is("Multiply") && !fold.divides) || node.outputs[0].type != element::f32 ||
        ir::broadcasts_from_an_axis(*node.attributes))
      return false;
    for (size_t side = 0; side < (fold.divides ? 1u : 2u); ++side) {
      const PartialShape& data = graph_.port(node.inputs[side]).shape;
      if (data != node.outputs[0].shape ||
          !channel_axis(graph_, node.inputs[1 - side], channels_, place.axis, data.size()) ||
          may_belong_elsewhere(node.inputs[side]))
        continue;
      fold.data = side;
      fold.scale = node.inputs[1 - side];
      return true;
    }
    return false;
  }

  /// Whether a node on the way to `value` may go, and leave the scale to what is before it: a convolution, perhaps
  /// behind a shift, or a normalisation.
  bool may_belong_elsewhere(ir::Value value) const {
    for (;;) {
      const ir::Node& node = graph_.node(value.node);
      if (may_be_no_op(graph_, node)) return true;
      const bool shifts = node.schema->flags.elementwise && node.inputs.size() == 2;
      if (!shifts && !node.is("Transpose")) return false;
      const bool from_second = shifts && ir::constant_of(graph_, node.inputs[0]);
      if (shifts && !from_second && !ir::constant_of(graph_, node.inputs[1])) return false;
      value = node.inputs[from_second ? 1 : 0];
    }
  }

  bool take_order(const ir::Node& node, const Place& place, Fold& fold) const {
    if (!node.is("Gather") || node.inputs.size() != 3) return false;
    const std::string batch_dims = ir::attribute_text(*node.attributes, "batch_dims");
    auto order = ir::constant_integers(graph_, node.inputs[1]);
    const auto axis = ir::constant_integers(graph_, node.inputs[2]);
    const PartialShape& data = graph_.port(node.inputs[0]).shape;
    if (!order || !axis || axis->size() != 1 || !(batch_dims.empty() || batch_dims == "0")) return false;
    if (data != node.outputs[0].shape || ir::constant_of(graph_, node.inputs[1])->view.dims.size() != 1) return false;
    if (axis->front() != place.axis && axis->front() + static_cast<int64_t>(data.size()) != place.axis) return false;
    for (int64_t& index : *order) index += index < 0 ? channels_ : 0;
    std::vector<int64_t> sorted = *order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i)) return false;
    fold.data = 0;
    fold.order = std::move(*order);
    return true;
  }

  /// What the node, which does the same to each channel but for constants of its own, makes its value from.
  std::optional<Place> through(const ir::Node& node, const Place& place, Fold& fold) const {
    if (const auto order = transpose_order(graph_, node))
      return Place{node.inputs[0], (*order)[static_cast<size_t>(place.axis)]};
    if (node.is("Interpolate")) return through_interpolate(node, place);
    // A slope of one axis runs along axis 1, wherever the channels are.
    if (!node.schema->flags.elementwise || node.outputs.size() != 1 || node.is("PReLU") ||
        ir::broadcasts_from_an_axis(*node.attributes))
      return std::nullopt;
    std::optional<Place> source;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const size_t rank = node.outputs[0].shape.size();
      if (const auto axis = channel_axis(graph_, node.inputs[i], channels_, place.axis, rank)) {
        if (*axis != kNone) fold.between.push_back({{node.id, static_cast<int32_t>(i)}, *axis});
        continue;
      }
      if (source || graph_.port(node.inputs[i]).shape != node.outputs[0].shape) return std::nullopt;
      source = Place{node.inputs[i], place.axis};
    }
    return source;
  }

  /// Resizing of other axes.
  std::optional<Place> through_interpolate(const ir::Node& node, const Place& place) const {
    if (node.inputs.size() < 3) return std::nullopt;
    const auto axes = ir::constant_integers(graph_, node.inputs.back());
    const PartialShape& data = graph_.port(node.inputs[0]).shape;
    if (!axes || data.rank().is_dynamic()) return std::nullopt;
    const auto rank = static_cast<int64_t>(data.size());
    if (std::any_of(axes->begin(), axes->end(),
                    [&](int64_t axis) { return axis == place.axis || axis + rank == place.axis; }))
      return std::nullopt;
    return Place{node.inputs[0], place.axis};
  }

  const ir::Graph& graph_;
  const ir::Node& convolution_;
  int64_t channels_ = 0;
};

/// A copy of `tensor` whose slice order[i] of the axis is slice i of it.
ir::Constant reordered(const ir::TensorView& tensor, size_t axis, const std::vector<int64_t>& order) {
  auto buffer = allocate_returned(tensor.bytes());
  size_t outer = 1, run = tensor.type.size();
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    (i < axis ? outer : run) *= i == axis ? 1 : static_cast<size_t>(tensor.dims[i]);
  const auto* src = static_cast<const std::byte*>(tensor.data);
  auto* dst = static_cast<std::byte*>(buffer.get());
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < order.size(); ++i)
      std::memcpy(dst + (o * order.size() + static_cast<size_t>(order[i])) * run, src + (o * order.size() + i) * run,
                  run);
  return {{tensor.type, tensor.dims, buffer.get()}, buffer};
}

/// Weights whose input channels are multiplied or divided by `scale`; empty where a number would not be finite.
std::optional<ir::Constant> scaled(const ir::TensorView& weights, const ir::TensorView& scale, bool divides) {
  auto buffer = allocate_returned(weights.bytes());
  const auto *src = weights.as<float>(), *factor = scale.as<float>();
  auto* dst = static_cast<float*>(buffer.get());
  const int64_t channels = weights.dims[1], rows = weights.dims[0] * channels;
  const int64_t run = rows == 0 ? 0 : weights.count() / rows;
  for (int64_t row = 0; row < rows; ++row) {
    const float by = factor[scale.count() == 1 ? 0 : row % channels];
    for (int64_t i = row * run; i < (row + 1) * run; ++i) {
      dst[i] = divides ? src[i] / by : src[i] * by;
      if (!std::isfinite(dst[i])) return std::nullopt;
    }
  }
  return ir::Constant{{element::f32, weights.dims, dst}, buffer};
}

}  // namespace

ir::Pass fold_channels_into_convolution(const ir::OpRegistry& registry) {
  const ir::OpSchema& schema = registry.get(ir::kConstType, "opset1");
  return {
      "fold_channels_into_convolution", [&schema](const ir::Graph& graph, ir::Patch& patch) {
        const auto name_of = [&](const ir::Use& use) {
          return graph.node(graph.node(use.node).inputs[static_cast<size_t>(use.input)].node).name + "/folded";
        };
        const auto view_of = [&](ir::Value value) -> const ir::TensorView& {
          return ir::constant_of(graph, value)->view;
        };
        for (const ir::NodeId id : graph.nodes()) {
          const ir::Node& convolution = graph.node(id);
          if (!convolution.is("Convolution") || ir::opset_number(convolution.schema->opset) <= 0) continue;
          const auto fold = Search(graph, convolution).find();
          if (!fold) continue;
          const ir::Use weights{id, 1};
          const ir::TensorView& before = view_of(convolution.inputs[1]);
          std::optional<ir::Constant> after = fold->order.empty() ? scaled(before, view_of(fold->scale), fold->divides)
                                                                  : reordered(before, 1, fold->order);
          if (!after) continue;
          MappedFile::evict(before.data, before.bytes());
          patch.rewire(weights, patch.add_constant(schema, name_of(weights), std::move(*after)));
          for (const ChannelConstant& operand : fold->order.empty() ? std::vector<ChannelConstant>() : fold->between) {
            const ir::TensorView& values =
                view_of(graph.node(operand.use.node).inputs[static_cast<size_t>(operand.use.input)]);
            patch.rewire(operand.use,
                         patch.add_constant(schema, name_of(operand.use),
                                            reordered(values, static_cast<size_t>(operand.axis), fold->order)));
          }
          patch.replace({fold->node, 0}, graph.node(fold->node).inputs[fold->data]);
        }
      }};
}

}  // namespace terroir::ops
