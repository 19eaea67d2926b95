// For devices without kernels for such groups; those of the CPU plugin take them as they are, in half the time.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "ir/base/aligned_buffer.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/defs/convolution/convolution_backprop_data.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

using Ints = std::vector<int64_t>;

// Groups of whole blocks of the widest kernels have transposed kernels of their own.
constexpr int64_t kWholeBlock = 16;

// Zeros for each weight of a dilated kernel beyond which filling it up costs more than it gains.
constexpr int64_t kMaxZeros = 16;
// Of the new filter; with strides far beyond the kernel it grows with the stride in each axis.
constexpr int64_t kMaxFilterElements = int64_t{1} << 26;

/// One spatial axis: output o = stride * q + r is the forward convolution of phase r at q, whose tap j reads the input
/// at q - pad_begin + j and has the weight of tap `kernel_tap(r, j)`. Negative pads: inputs that nothing reads.
struct Phases {
  int64_t stride = 1, dilation = 1, kernel = 1, offset = 0, last_tap = 0;
  int64_t taps = 1, positions = 1, pad_begin = 0, pad_end = 0, input = 1, output = 1;

  int64_t cut_begin() const { return std::max<int64_t>(0, -pad_begin); }
  int64_t cut_end() const { return std::max<int64_t>(0, -pad_end); }

  /// Empty where nothing is left of the input.
  static std::optional<Phases> of(const WindowAxis& axis) {
    Phases p;
    p.stride = axis.stride;
    p.dilation = axis.dilation;
    p.kernel = axis.kernel;
    p.input = axis.input;
    p.output = axis.output;
    // o + pad = stride * i + k: with o + pad = stride * (q + whole) + offset + r, taps of one residue follow each
    // other.
    const int64_t whole = axis.pad_begin / axis.stride;
    p.offset = axis.pad_begin % axis.stride;
    p.last_tap = (axis.dilated_kernel() + axis.stride - 1) / axis.stride - 1;
    p.taps = p.last_tap + 1 + (p.offset != 0 ? 1 : 0);
    p.positions = (axis.output + axis.stride - 1) / axis.stride;
    p.pad_begin = p.last_tap - whole;
    p.pad_end = p.positions - axis.input - p.pad_begin + p.taps - 1;
    return p.cut_begin() + p.cut_end() < p.input ? std::optional(p) : std::nullopt;
  }

  /// -1: the weight is zero.
  int64_t kernel_tap(int64_t phase, int64_t tap) const {
    const int64_t carried = phase + offset >= stride ? 1 : 0;
    const int64_t distance = phase + offset - carried * stride + stride * (last_tap + carried - tap);
    if (distance < 0 || distance % dilation != 0 || distance / dilation >= kernel) return -1;
    return distance / dilation;
  }
};

class Decomposition {
 public:
  Decomposition(ConvGeometry geometry, std::vector<Phases> axes) : g_(std::move(geometry)), axes_(std::move(axes)) {
    for (const Phases& axis : axes_) {
      strides_.push_back(axis.stride);
      taps_.push_back(axis.taps);
    }
  }

  int64_t phases() const { return product(strides_); }

  /// [G, I, O, kernel] -> [G, O * phases, I, taps].
  ir::Constant filter(const ir::TensorView& wei) const {
    const int64_t taps = product(taps_), kernel = wei.count() / (g_.groups * g_.in_channels * g_.out_channels);
    ir::Dims dims = {g_.groups, g_.out_channels * phases(), g_.in_channels};
    dims.insert(dims.end(), taps_.begin(), taps_.end());
    const size_t bytes = ir::byte_size(element::f32, ir::element_count(dims));
    auto buffer = std::make_shared<AlignedBuffer>(bytes);
    const float* src = wei.as<float>();
    auto* dst = buffer->as<float>();
    for (int64_t group = 0; group < g_.groups; ++group)
      for (int64_t o = 0; o < g_.out_channels; ++o)
        for (int64_t phase = 0; phase < phases(); ++phase)
          for (int64_t i = 0; i < g_.in_channels; ++i)
            for (int64_t tap = 0; tap < taps; ++tap) {
              const int64_t from = kernel_element(phase, tap);
              const float* weights = src + ((group * g_.in_channels + i) * g_.out_channels + o) * kernel;
              *dst++ = from < 0 ? 0.0f : weights[from];
            }
    return {{element::f32, std::move(dims), buffer->data()}, buffer};
  }

  ConvolutionAttrs attributes() const {
    ConvolutionAttrs attrs;
    attrs.strides = attrs.dilations = Ints(axes_.size(), 1);
    for (const Phases& axis : axes_) {
      attrs.pads_begin.push_back(std::max<int64_t>(0, axis.pad_begin));
      attrs.pads_end.push_back(std::max<int64_t>(0, axis.pad_end));
    }
    return attrs;
  }

  /// The inputs that are read.
  ir::Value cut_input(NewNodes& nodes, ir::Value value) const {
    for (size_t i = 0; i < axes_.size(); ++i)
      value = cut(nodes, value, i, axes_[i].cut_begin(), axes_[i].cut_end(), axes_[i].input);
    return value;
  }

  /// [N, O * phases, positions] -> [N, O, output].
  ir::Value interleaved(NewNodes& nodes, ir::Value value) const {
    const int64_t channels = g_.groups * g_.out_channels;
    const size_t rank = axes_.size();
    ir::Dims split = {g_.batch, channels}, joined = split;
    split.insert(split.end(), strides_.begin(), strides_.end());
    Ints order = {0, 1};
    for (size_t i = 0; i < rank; ++i) {
      split.push_back(axes_[i].positions);
      joined.push_back(axes_[i].positions * axes_[i].stride);
      order.push_back(static_cast<int64_t>(2 + rank + i));
      order.push_back(static_cast<int64_t>(2 + i));
    }
    value = reshaped(nodes, value, split);
    value = nodes.add("Transpose", nullptr, {value, nodes.integers(order, "order")}, "phases");
    value = reshaped(nodes, value, joined);
    for (size_t i = 0; i < rank; ++i) value = cut(nodes, value, i, 0, joined[2 + i] - axes_[i].output, joined[2 + i]);
    return value;
  }

 private:
  static int64_t product(const Ints& values) {
    return std::accumulate(values.begin(), values.end(), int64_t{1}, std::multiplies<>());
  }

  static ir::Value reshaped(NewNodes& nodes, ir::Value value, const ir::Dims& dims) {
    return nodes.add("Reshape", ir::make_attributes_of(ReshapeAttrs{}), {value, nodes.integers(dims, "shape")},
                     "phases");
  }

  /// Spatial axis `i` of `extent` without its first and last elements.
  static ir::Value cut(NewNodes& nodes, ir::Value value, size_t i, int64_t first, int64_t last, int64_t extent) {
    if (first == 0 && last == 0) return value;
    Ints lengths = {extent - first - last};
    if (first > 0) lengths.insert(lengths.begin(), first);
    if (last > 0) lengths.push_back(last);
    const ir::Value parts = nodes.add(
        "VariadicSplit", nullptr,
        {value, nodes.integers({static_cast<int64_t>(2 + i)}, "axis"), nodes.integers(lengths, "lengths")}, "cut");
    return ir::Patch::output(parts, first > 0 ? 1 : 0);
  }

  /// Place in the original kernel, of a phase and a tap numbered row by row; -1: none.
  int64_t kernel_element(int64_t phase, int64_t tap) const {
    int64_t element = 0, stride = 1;
    for (size_t i = axes_.size(); i-- > 0;) {
      const int64_t at = axes_[i].kernel_tap(phase % strides_[i], tap % taps_[i]);
      if (at < 0) return -1;
      element += at * stride;
      stride *= axes_[i].kernel;
      phase /= strides_[i];
      tap /= taps_[i];
    }
    return element;
  }

  ConvGeometry g_;
  std::vector<Phases> axes_;
  Ints strides_, taps_;
};

std::optional<Decomposition> decomposition_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("GroupConvolutionBackpropData") || ir::opset_number(node.schema->opset) < 0) return std::nullopt;
  const ir::OutputPort &data = graph.port(node.inputs[0]), &output = node.outputs[0];
  const ir::Constant* wei = ir::constant_of(graph, node.inputs[1]);
  if (!wei || wei->view.type != element::f32 || wei->view.count() == 0 || output.type != element::f32 ||
      data.shape.is_dynamic() || output.shape.is_dynamic() || shape_size(output.shape.to_shape()) == 0)
    return std::nullopt;
  const ir::Dims out = ir::to_dims(output.shape.to_shape());
  const Ints extents(out.begin() + 2, out.end());
  ConvGeometry geometry =
      conv_backprop_geometry(node.attrs<ConvolutionBackpropDataAttrs>(), ir::to_dims(data.shape.to_shape()),
                             wei->view.dims, true, node.inputs.size() == 3 ? &extents : nullptr);
  if (geometry.in_channels % kWholeBlock == 0 && geometry.out_channels % kWholeBlock == 0) return std::nullopt;
  std::vector<Phases> axes;
  int64_t zeros = 1;
  double elements = static_cast<double>(geometry.groups) * static_cast<double>(geometry.in_channels) *
                    static_cast<double>(geometry.out_channels);
  for (const WindowAxis& axis : geometry.axes) {
    const auto phases = Phases::of(axis);
    zeros *= std::min(axis.dilated_kernel() / axis.kernel, kMaxZeros + 1);
    if (!phases || zeros > kMaxZeros) return std::nullopt;
    elements *= static_cast<double>(phases->stride) * static_cast<double>(phases->taps);
    axes.push_back(*phases);
  }
  if (elements > static_cast<double>(kMaxFilterElements)) return std::nullopt;
  return Decomposition(std::move(geometry), std::move(axes));
}

}  // namespace

ir::Pass decompose_group_backprop(const ir::OpRegistry& registry) {
  return {"decompose_group_backprop", [&registry](const ir::Graph& graph, ir::Patch& patch) {
            for (ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              const auto decomposition = decomposition_of(graph, node);
              if (!decomposition) continue;
              NewNodes nodes(registry, patch, node);
              const ir::Constant* wei = ir::constant_of(graph, node.inputs[1]);
              const ir::Value data = decomposition->cut_input(nodes, node.inputs[0]);
              ir::Value value =
                  nodes.add("GroupConvolution", ir::make_attributes_of(decomposition->attributes()),
                            {data, nodes.constant(decomposition->filter(wei->view), "phases_filter")}, "");
              if (decomposition->phases() > 1) value = decomposition->interleaved(nodes, value);
              patch.replace({id, 0}, value);
            }
          }};
}

}  // namespace terroir::ops
