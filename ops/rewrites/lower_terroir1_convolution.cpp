#include <algorithm>
#include <cstring>
#include <numeric>

#include "ir/base/aligned_buffer.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/convolution/convolution_backprop_data.hpp"
#include "ops/defs/movement/concat.hpp"
#include "ops/defs/movement/reverse.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/defs/terroir1/convolution.hpp"
#include "ops/rewrites/lower_activation.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

ir::Constant zeros(ir::Dims dims) {
  const size_t bytes = ir::byte_size(element::f32, ir::element_count(dims));
  auto buffer = std::make_shared<AlignedBuffer>(bytes);
  if (bytes > 0) std::memset(buffer->data(), 0, bytes);
  return {{element::f32, std::move(dims), buffer->data()}, buffer};
}

/// The same f32 elements, runs of `run` of them read backwards.
ir::Constant with_reversed_runs(const ir::TensorView& view, int64_t run) {
  auto buffer = std::make_shared<AlignedBuffer>(view.bytes());
  const float* src = view.as<float>();
  auto* dst = buffer->as<float>();
  for (int64_t i = 0; i < view.count(); i += run) std::reverse_copy(src + i, src + i + run, dst + i);
  return {{view.type, view.dims, buffer->data()}, buffer};
}

// Elements of a result whose zeros may be made when compiling.
constexpr size_t kMaxResult = size_t{1} << 28;

/// Whether the graph tells enough to lower the node; the rest may be known when shapes are bound.
bool is_ready(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Convolution") || node.schema->opset != "terroir1" || node.outputs[0].type != element::f32) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const PartialShape& shape = graph.port(node.inputs[i]).shape;
    if (i == 1 ? shape.is_dynamic() : shape.rank().is_dynamic()) return false;
  }
  const auto& attrs = node.attrs<FullConvolutionAttrs>();
  const bool appends = !attrs.backward() && std::any_of(attrs.output_padding.begin(), attrs.output_padding.end(),
                                                        [](int64_t padding) { return padding > 0; });
  return !appends || (node.outputs[0].shape.is_static() && shape_size(node.outputs[0].shape.to_shape()) <= kMaxResult);
}

class Lowering {
 public:
  Lowering(const ir::OpRegistry& registry, const ir::Graph& graph, const ir::Node& node, ir::Patch& patch)
      : graph_(graph),
        node_(node),
        attrs_(node.attrs<FullConvolutionAttrs>()),
        new_nodes_(registry, patch, node),
        filter_(graph.port(node.inputs[1]).shape.to_shape()),
        rank_(filter_.size()) {}

  ir::Value run() {
    ir::Value value = node_.inputs[0];
    if (attrs_.channels_last()) value = transposed(value, channels_first_order(), "channels_first");
    value = attrs_.backward() ? backward(value) : forward(value);
    if (node_.inputs.size() == 3) value = new_nodes_.add("Add", nullptr, {value, bias()}, "bias");
    value = lower_activation(new_nodes_, bind_activation(attrs_.activation, attrs_.activation_params), value);
    if (attrs_.channels_last()) value = transposed(value, channels_last_order(), "channels_last");
    return value;
  }

 private:
  using Ints = std::vector<int64_t>;

  Ints channels_first_order() const {
    Ints order(rank_);
    std::iota(order.begin() + 1, order.end(), 0);
    order[0] = 0;
    order[1] = static_cast<int64_t>(rank_) - 1;
    return order;
  }
  Ints channels_last_order() const {
    Ints order(rank_);
    std::iota(order.begin(), order.end(), 1);
    order.front() = 0;
    order.back() = 1;
    return order;
  }

  ir::Value transposed(ir::Value value, const Ints& order, const char* suffix) {
    return new_nodes_.add("Transpose", nullptr, {value, new_nodes_.integers(order, "order")}, suffix);
  }

  /// `known`: the value's elements, null where the run brings them.
  ir::Value reshaped(ir::Value value, const ir::Constant* known, const ir::Dims& dims, const char* suffix) {
    if (known) {
      ir::Constant view = *known;
      view.view.dims = dims;
      return new_nodes_.constant(std::move(view), suffix);
    }
    return new_nodes_.add("Reshape", ir::make_attributes_of(ReshapeAttrs{}),
                          {value, new_nodes_.integers(dims, "shape")}, suffix);
  }

  /// The filter as the opsets' operations want it: not flipped, groups on an axis of their own.
  ir::Value filter() {
    ir::Value value = node_.inputs[1];
    const ir::Constant* known = ir::constant_of(graph_, value);
    ir::Dims dims = ir::to_dims(filter_);
    const int64_t taps = std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
    if (attrs_.group > 1) {
      dims[0] /= attrs_.group;
      dims.insert(dims.begin(), attrs_.group);
    }
    if (attrs_.mode == ConvolutionMode::convolution && taps != 1) {
      if (known) {
        ir::Constant flipped = with_reversed_runs(known->view, taps);
        flipped.view.dims = dims;
        return new_nodes_.constant(std::move(flipped), "flipped_filter");
      }
      Ints axes(rank_ - 2);
      std::iota(axes.begin(), axes.end(), 2);
      value = new_nodes_.add("Reverse", ir::make_attributes_of(ReverseAttrs{ReverseMode::index}),
                             {value, new_nodes_.integers(axes, "axes")}, "flipped_filter");
    }
    return attrs_.group > 1 ? reshaped(value, known, dims, "grouped_filter") : value;
  }

  ir::Value bias() {
    ir::Dims dims(rank_, 1);
    dims[1] = static_cast<int64_t>(attrs_.backward() ? filter_[1] * static_cast<size_t>(attrs_.group) : filter_[0]);
    return reshaped(node_.inputs[2], ir::constant_of(graph_, node_.inputs[2]), dims, "bias_by_channel");
  }

  ir::Value forward(ir::Value data) {
    const WindowSteps steps = read_window(attrs_.window(), rank_ - 2);
    ConvolutionAttrs attrs;
    attrs.auto_pad = steps.auto_pad;
    for (const WindowStep& step : steps.axes) {
      attrs.strides.push_back(step.stride);
      attrs.dilations.push_back(step.dilation);
      attrs.pads_begin.push_back(step.pad_begin);
      attrs.pads_end.push_back(step.pad_end);
    }
    const char* type = attrs_.group > 1 ? "GroupConvolution" : "Convolution";
    ir::Value value = new_nodes_.add(type, ir::make_attributes_of(std::move(attrs)), {data, filter()}, "");
    return with_tails(value, steps);
  }

  /// Zeros behind the last element of every axis with output_padding.
  ir::Value with_tails(ir::Value value, const WindowSteps& steps) {
    ir::Dims dims;
    const PartialShape& output = node_.outputs[0].shape;
    for (size_t i = 0; i < steps.axes.size(); ++i) {
      const int64_t tail = steps.axes[i].output_padding;
      if (tail == 0) continue;
      if (dims.empty()) {
        dims = ir::to_dims(output.to_shape());
        if (attrs_.channels_last()) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
        for (size_t j = i; j < steps.axes.size(); ++j) dims[2 + j] -= steps.axes[j].output_padding;
      }
      const int64_t extent = dims[2 + i];
      dims[2 + i] = tail;
      const ir::Value zero = new_nodes_.constant(zeros(dims), "zeros");
      dims[2 + i] = extent + tail;
      value = new_nodes_.add("Concat", ir::make_attributes_of(ConcatAttrs{static_cast<int64_t>(2 + i)}), {value, zero},
                             "output_padding");
    }
    return value;
  }

  ir::Value backward(ir::Value data) {
    const WindowSteps steps = read_window(attrs_.window(), rank_ - 2);
    const bool same = steps.auto_pad == AutoPad::same_upper || steps.auto_pad == AutoPad::same_lower;
    ConvolutionBackpropDataAttrs attrs;
    for (size_t i = 0; i < steps.axes.size(); ++i) {
      WindowStep step = steps.axes[i];
      if (same && attrs_.output_shape.empty())
        step = backward_same_step(step, steps.auto_pad, static_cast<int64_t>(filter_[2 + i]), i);
      attrs.strides.push_back(step.stride);
      attrs.dilations.push_back(step.dilation);
      attrs.pads_begin.push_back(step.pad_begin);
      attrs.pads_end.push_back(step.pad_end);
      attrs.output_padding.push_back(step.output_padding);
    }
    std::vector<ir::Value> inputs = {data, filter()};
    if (!attrs_.output_shape.empty()) {
      // The opsets' operation computes its pads from this input by the same equations, where it computes any.
      inputs.push_back(new_nodes_.integers(attrs_.output_shape, "output_shape"));
      attrs.auto_pad = steps.auto_pad == AutoPad::same_upper ? AutoPad::same_upper : AutoPad::same_lower;
    }
    const char* type = attrs_.group > 1 ? "GroupConvolutionBackpropData" : "ConvolutionBackpropData";
    return new_nodes_.add(type, ir::make_attributes_of(std::move(attrs)), std::move(inputs), "");
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const FullConvolutionAttrs& attrs_;
  NewNodes new_nodes_;
  const Shape filter_;
  const size_t rank_;
};

}  // namespace

ir::Pass lower_terroir1_convolution(const ir::OpRegistry& registry) {
  return {"lower_terroir1_convolution", [&registry](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (is_ready(graph, node)) patch.replace({id, 0}, Lowering(registry, graph, node, patch).run());
            }
          }};
}

}  // namespace terroir::ops
