#include "ops/rewrites/crop_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "ir/base/mapped_file.hpp"
#include "ir/base/returned_memory.hpp"
#include "ops/defs/convolution/convolution.hpp"
#include "ops/rewrites/convolutions.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

/// Whether some window has an element of the image under this tap.
bool meets_image(const WindowAxis& axis, int64_t tap) {
  const int64_t at = tap * axis.dilation - axis.pad_begin;  // of the first window
  const int64_t window = at < 0 ? (axis.stride - 1 - at) / axis.stride : 0;
  return window < axis.output && at + window * axis.stride < axis.input;
}

/// `axis` without its taps at either end that never do; the first one of those that stay. As many windows see the same
/// elements. Pads are not negative: a tap stays where the next one begins inside of the image.
int64_t crop_axis(WindowAxis& axis) {
  int64_t first = 0, end = axis.kernel;
  while (first < end && !meets_image(axis, first)) ++first;
  if (first == end) return 0;  // only pads: rare, and there is no kernel without taps
  while (!meets_image(axis, end - 1)) --end;
  const int64_t most = axis.kernel;
  first = std::min(first, axis.pad_begin / axis.dilation);
  if (first == 0 && end == most) return 0;
  axis.pad_begin -= first * axis.dilation;
  const auto pad_end = [&] {
    return (axis.output - 1) * axis.stride + axis.dilated_kernel() - axis.input - axis.pad_begin;
  };
  const auto fits = [&] { return pad_end() > -axis.stride; };
  axis.kernel = end - first;
  while (!fits() && axis.kernel < most - first) ++axis.kernel;
  axis.pad_end = std::max<int64_t>(pad_end(), 0);
  if (axis.kernel == 1) axis.dilation = 1;
  if (axis.output == 1 && pad_end() >= 0) axis.stride = 1;
  return first;
}

struct CroppedForm {
  const ir::Constant* weights;
  size_t rank;  // of the kernel
  KernelPart part;
  ConvolutionAttrs attrs;
};

/// What is left of a convolution that has taps to lose.
std::optional<CroppedForm> cropped_form(const ir::Graph& graph, const ir::Node& node) {
  const PartialShape& data = graph.port(node.inputs[0]).shape;
  const ir::Constant* weights = ir::constant_of(graph, node.inputs[1]);
  if (!weights || weights->view.type.bitwidth() % 8 != 0 || weights->view.type == element::string ||
      weights->view.count() == 0 || data.rank().is_dynamic())
    return std::nullopt;
  CroppedForm found{weights, data.size() - 2, {}, node.attrs<ConvolutionAttrs>()};
  ConvolutionAttrs& attrs = found.attrs;
  const WindowSteps steps = read_window(attrs.window(), found.rank);
  const bool explicit_pads = attrs.auto_pad == AutoPad::explicit_pads;
  std::array<WindowAxis, 3> axes;
  bool less = false;
  for (size_t i = 0; i < found.rank; ++i) {
    const Dimension& extent = data[static_cast<std::ptrdiff_t>(2 + i)];
    const WindowStep& step = steps.axes[i];
    const int64_t kernel = weights->view.dims[weights->view.dims.size() - found.rank + i];
    found.part.count[i] = kernel;
    if (extent.is_static() && extent.get_length() > 0) {
      axes[i] = resolve_window(extent.get_length(), kernel, step, steps.auto_pad, steps.rounding, i);
      found.part.first[i] = crop_axis(axes[i]);
      found.part.count[i] = axes[i].kernel;
      less |= axes[i].kernel < kernel;
    } else if (explicit_pads) {
      axes[i] = {1, kernel, 1, step.stride, step.dilation, step.pad_begin, step.pad_end};
    } else {
      return std::nullopt;  // its pads are not known
    }
  }
  if (!less) return std::nullopt;
  attrs.auto_pad = AutoPad::explicit_pads;
  for (auto* const values : {&attrs.strides, &attrs.dilations, &attrs.pads_begin, &attrs.pads_end})
    values->resize(found.rank);
  for (size_t i = 0; i < found.rank; ++i) {
    attrs.strides[i] = axes[i].stride;
    attrs.dilations[i] = axes[i].dilation;
    attrs.pads_begin[i] = axes[i].pad_begin;
    attrs.pads_end[i] = axes[i].pad_end;
  }
  return found;
}

/// A copy of those taps of `weights`, whose last `rank` axes are the kernel.
ir::Constant cropped_kernel(const ir::Constant& weights, size_t rank, const KernelPart& part) {
  const ir::TensorView& from = weights.view;
  ir::Dims dims = from.dims;
  const size_t outer = dims.size() - rank;
  // As three axes, of which the first ones may be missing.
  std::array<int64_t, 3> extent{1, 1, 1}, first{}, count{1, 1, 1};
  for (size_t i = 0; i < rank; ++i) {
    extent[3 - rank + i] = std::exchange(dims[outer + i], part.count[i]);
    first[3 - rank + i] = part.first[i];
    count[3 - rank + i] = part.count[i];
  }
  ir::TensorView to{from.type, std::move(dims), nullptr};
  auto buffer = allocate_returned(to.bytes());
  to.data = buffer.get();
  const int64_t size = from.type.bitwidth() / 8, kernels = from.count() / (extent[0] * extent[1] * extent[2]);
  const auto* src = static_cast<const char*>(from.data);
  auto* dst = static_cast<char*>(buffer.get());
  const auto row = static_cast<size_t>(count[2] * size);
  for (int64_t k = 0; k < kernels; ++k)
    for (int64_t d = first[0]; d < first[0] + count[0]; ++d)
      for (int64_t h = first[1]; h < first[1] + count[1]; ++h, dst += row)
        std::memcpy(dst, src + (((k * extent[0] + d) * extent[1] + h) * extent[2] + first[2]) * size, row);
  MappedFile::evict(from.data, from.bytes());
  return {std::move(to), std::move(buffer)};
}

}  // namespace

ir::Constant CroppedKernels::get(const ir::Constant& weights, size_t rank, const KernelPart& part) {
  const std::lock_guard lock(mutex_);
  entries_.remove_if([](const Entry& entry) { return entry.owner.expired(); });
  for (const Entry& entry : entries_)
    if (entry.weights.data == weights.view.data && entry.weights.dims == weights.view.dims &&
        entry.weights.type == weights.view.type && entry.part == part)
      return entry.cropped;
  return entries_.emplace_back(Entry{weights.view, weights.owner, part, cropped_kernel(weights, rank, part)}).cropped;
}

ir::Pass crop_kernels(const ir::OpRegistry& registry, CroppedKernels* known) {
  const ir::OpSchema& constant = registry.get(ir::kConstType, "opset1");
  return {"crop_kernels", [&constant, known](const ir::Graph& graph, ir::Patch& patch) {
            CroppedKernels own;  // layers may share weights
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (!is_convolution(node)) continue;
              auto found = cropped_form(graph, node);
              if (!found) continue;
              ir::Constant taps = (known ? *known : own).get(*found->weights, found->rank, found->part);
              const ir::Value weights = patch.add_constant(constant, node.name + "/kernel", std::move(taps));
              patch.replace({id, 0}, patch.add(*node.schema, ir::make_attributes_of(std::move(found->attrs)),
                                               {node.inputs[0], weights}, {id}));
            }
          }};
}

}  // namespace terroir::ops
