#pragma once
// What: windows that slide over spatial axes (convolution, pooling): reading of their attributes, extents of the output
// for known and for bounded inputs, and the concrete geometry that reference kernels and plugins compute with.
// Formula: explicit, valid: out = round((in + pads - ((kernel - 1) * dilation + 1)) / stride) + 1;
//          same_*: out = ceil(in / stride), pads = max(0, (out - 1) * stride + dilated kernel - in), split in halves.
//          Backward (transposed convolution): out = stride * (in - 1) + dilated kernel - pads + output_padding.
// Edge cases: a window that does not fit into the padded input is refused. Strides, dilations, pads and kernels given
// by attributes are at most 2^31 - 1, and extents at most 2^62, so arithmetic on a resolved geometry cannot overflow.
// Source: operation pages Convolution-1, ConvolutionBackpropData-1, "Shape calculation rules for Pooling Operators".
#include <array>
#include <cstdint>
#include <terroir/dimension.hpp>
#include <terroir/partial_shape.hpp>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ops/shape/auto_pad.hpp"

namespace terroir::ops {

/// One spatial axis: the attributes that belong to it, without the extents.
struct WindowStep {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output_padding = 0;  // backward only
};

/// Attributes of all spatial axes, one entry each, validated.
struct WindowSteps {
  std::vector<WindowStep> axes;
  AutoPad auto_pad = AutoPad::explicit_pads;
  Rounding rounding = Rounding::floor;
};

/// Attribute lists as they stand in a file; an empty list (or null) is all ones (strides, dilations) or zeros (pads).
struct WindowLists {
  const std::vector<int64_t>* strides = nullptr;
  const std::vector<int64_t>* dilations = nullptr;
  const std::vector<int64_t>* pads_begin = nullptr;
  const std::vector<int64_t>* pads_end = nullptr;
  const std::vector<int64_t>* output_padding = nullptr;
  AutoPad auto_pad = AutoPad::explicit_pads;
  Rounding rounding = Rounding::floor;
};

/// Checks lengths and ranges for `spatial_rank` axes; Exception that names the attribute and the entry.
WindowSteps read_window(const WindowLists& lists, size_t spatial_rank);

/// `values` for `rank` axes: `fallback` for each if empty. Exception unless there are `rank` of them, each within
/// [minimum, 2^31 - 1].
std::vector<int64_t> per_axis(const char* name, const std::vector<int64_t>& values, size_t rank, int64_t fallback,
                              int64_t minimum);

/// One spatial axis with everything known; pads are those in effect, after auto_pad.
struct WindowAxis {
  int64_t input = 1;
  int64_t kernel = 1;
  int64_t output = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  /// Distance between the first and the last element under the window, plus one.
  int64_t dilated_kernel() const { return (kernel - 1) * dilation + 1; }
  /// Input position under kernel element 0 of output `o`; negative inside the padding at the beginning.
  int64_t origin(int64_t o) const { return o * stride - pad_begin; }
  /// The kernel elements k in [first, last) for which origin + k * dilation lies inside the input.
  struct KernelRange {
    int64_t first;
    int64_t last;
  };
  KernelRange inside(int64_t o) const;
};

/// Forward: the axis of a convolution or pooling. `axis` is for the text of an Exception.
WindowAxis resolve_window(int64_t input, int64_t kernel, const WindowStep& step, AutoPad auto_pad, Rounding rounding,
                          size_t axis);
/// As resolve_window for extents of which only bounds may be known; only the extent of the output.
Dimension window_output(const Dimension& input, const Dimension& kernel, const WindowStep& step, AutoPad auto_pad,
                        Rounding rounding, size_t axis);

/// Backward without an `output_shape` input: auto_pad other than explicit means no pads.
WindowAxis resolve_backward_window(int64_t input, int64_t kernel, const WindowStep& step, AutoPad auto_pad,
                                   size_t axis);
/// Backward with the output extent given: pads follow from it. An output longer than the window reaches is not padded;
/// its tail gets no contributions.
WindowAxis resolve_backward_window_to(int64_t output, int64_t input, int64_t kernel, const WindowStep& step,
                                      AutoPad auto_pad);
/// The same with the pads of `step`, whatever they leave: an output that ends before the window does is cut there.
WindowAxis resolve_backward_window_cut(int64_t output, int64_t input, int64_t kernel, const WindowStep& step,
                                       size_t axis);
Dimension backward_window_output(const Dimension& input, const Dimension& kernel, const WindowStep& step,
                                 AutoPad auto_pad, size_t axis);

/// The axes with leading ones, so that a loop over three axes serves 1-D, 2-D and 3-D windows.
std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes);

}  // namespace terroir::ops
