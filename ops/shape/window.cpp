#include "ops/shape/window.hpp"

#include <algorithm>
#include <limits>

#include "ir/base/error.hpp"

namespace terroir::ops {
namespace {

// Products of an extent below 2^63 and two attributes below 2^31 fit, so no step of a formula can overflow.
__extension__ using Wide = __int128;

constexpr int64_t kMaxAttribute = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxExtent = int64_t{1} << 62;

const std::vector<int64_t> kNone;

const std::vector<int64_t>& list(const std::vector<int64_t>* values) { return values ? *values : kNone; }

int64_t checked_extent(Wide value, const char* what, size_t axis) {
  if (value > kMaxExtent)
    throw_error(ErrorCode::invalid_argument, what, " of spatial axis ", axis, " is too large; the limit is 2^62");
  return static_cast<int64_t>(value);
}

Wide dilated(Wide kernel, const WindowStep& step) { return (kernel - 1) * step.dilation + 1; }

struct Pads {
  Wide begin = 0;
  Wide end = 0;
};

Pads halves(Wide total, bool odd_at_end) {
  const Wide small = total / 2;
  return odd_at_end ? Pads{small, total - small} : Pads{total - small, small};
}

// Empty window positions are reported as 0.
Wide forward_output(Wide input, Wide kernel, const WindowStep& step, AutoPad auto_pad, Rounding rounding) {
  if (auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower)
    return (input + step.stride - 1) / step.stride;
  const bool padded = auto_pad == AutoPad::explicit_pads;
  const Wide begin = padded ? step.pad_begin : 0;
  const Wide room = input + begin + (padded ? step.pad_end : 0) - dilated(kernel, step);
  if (room < 0) return 0;
  if (rounding == Rounding::floor) return room / step.stride + 1;
  const Wide output = (room + step.stride - 1) / step.stride + 1;
  const bool begins_in_padding = (output - 1) * step.stride >= input + begin;
  return rounding == Rounding::ceil_torch && begins_in_padding && output > 1 ? output - 1 : output;
}

[[noreturn]] void refuse_window(const Dimension& input, const Dimension& kernel, const WindowStep& step,
                                AutoPad auto_pad, size_t axis) {
  const bool padded = auto_pad == AutoPad::explicit_pads;
  throw_error(ErrorCode::shape_mismatch, "the window of ", kernel, " elements with dilation ", step.dilation,
              " does not fit into spatial axis ", axis, " of extent ", input, " padded by ",
              padded ? step.pad_begin : 0, " and ", padded ? step.pad_end : 0);
}

Dimension interval(Wide low, Wide high, bool bounded) {
  const auto least = static_cast<int64_t>(std::min<Wide>(low, kMaxExtent));
  return bounded && high <= kMaxExtent ? Dimension(least, static_cast<int64_t>(high)) : Dimension(least, -1);
}

Wide backward_output(Wide input, Wide kernel, const WindowStep& step, AutoPad auto_pad) {
  const bool padded = auto_pad == AutoPad::explicit_pads;
  return (input - 1) * step.stride + dilated(kernel, step) + step.output_padding -
         (padded ? Wide{step.pad_begin} + step.pad_end : Wide{0});
}

}  // namespace

std::vector<int64_t> per_axis(const char* name, const std::vector<int64_t>& values, size_t rank, int64_t fallback,
                              int64_t minimum) {
  if (values.empty()) return std::vector<int64_t>(rank, fallback);
  if (values.size() != rank)
    throw_error(ErrorCode::invalid_argument, name, " must have one entry per spatial axis (", rank, "), got ", values);
  for (size_t i = 0; i < rank; ++i) {
    if (values[i] < minimum)
      throw_error(ErrorCode::invalid_argument, name, "[", i, "] must be ", minimum == 1 ? "positive" : "non-negative",
                  ", got ", values[i]);
    if (values[i] > kMaxAttribute)
      throw_error(ErrorCode::invalid_argument, name, "[", i, "] must be at most ", kMaxAttribute, ", got ", values[i]);
  }
  return values;
}

WindowSteps read_window(const WindowLists& lists, size_t spatial_rank) {
  const bool padded = lists.auto_pad == AutoPad::explicit_pads;
  const auto strides = per_axis("strides", list(lists.strides), spatial_rank, 1, 1);
  const auto dilations = per_axis("dilations", list(lists.dilations), spatial_rank, 1, 1);
  // Where auto_pad decides, the lists are ignored, whatever they hold.
  const auto begin = per_axis("pads_begin", padded ? list(lists.pads_begin) : kNone, spatial_rank, 0, 0);
  const auto end = per_axis("pads_end", padded ? list(lists.pads_end) : kNone, spatial_rank, 0, 0);
  const auto extra = per_axis("output_padding", list(lists.output_padding), spatial_rank, 0, 0);
  WindowSteps steps;
  steps.auto_pad = lists.auto_pad;
  steps.rounding = lists.rounding;
  for (size_t i = 0; i < spatial_rank; ++i)
    steps.axes.push_back({strides[i], dilations[i], begin[i], end[i], extra[i]});
  return steps;
}

WindowAxis::KernelRange WindowAxis::inside(int64_t o) const {
  const int64_t start = origin(o);
  const int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int64_t last = start >= input ? 0 : (input - 1 - start) / dilation + 1;
  return {std::min(first, kernel), std::max(std::min(first, kernel), std::min(last, kernel))};
}

WindowAxis resolve_window(int64_t input, int64_t kernel, const WindowStep& step, AutoPad auto_pad, Rounding rounding,
                          size_t axis) {
  if (kernel < 1)
    throw_error(ErrorCode::invalid_argument, "the kernel extent of spatial axis ", axis, " must be positive, got ",
                kernel);
  const Wide output = forward_output(input, kernel, step, auto_pad, rounding);
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  if (output == 0 && !same) refuse_window(input, kernel, step, auto_pad, axis);
  Pads pads;
  if (auto_pad == AutoPad::explicit_pads) pads = {step.pad_begin, step.pad_end};
  if (same) {
    const Wide total = (output - 1) * step.stride + dilated(kernel, step) - input;
    pads = halves(std::max<Wide>(total, 0), auto_pad == AutoPad::same_upper);
  }
  checked_extent(dilated(kernel, step), "the dilated kernel", axis);
  checked_extent(Wide{input} + pads.begin + pads.end + step.stride, "the padded input", axis);
  return {input,
          kernel,
          static_cast<int64_t>(output),
          step.stride,
          step.dilation,
          static_cast<int64_t>(pads.begin),
          static_cast<int64_t>(pads.end)};
}

Dimension window_output(const Dimension& input, const Dimension& kernel, const WindowStep& step, AutoPad auto_pad,
                        Rounding rounding, size_t axis) {
  if (input.is_static() && kernel.is_static())
    return resolve_window(input.get_length(), kernel.get_length(), step, auto_pad, rounding, axis).output;
  if (kernel.is_static() && kernel.get_length() < 1)
    throw_error(ErrorCode::invalid_argument, "the kernel extent of spatial axis ", axis, " must be positive, got ",
                kernel);
  const bool same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
  const Wide smallest_kernel = std::max<int64_t>(kernel.get_min_length(), 1);
  const Wide largest_kernel = kernel.has_upper_bound() ? std::max<int64_t>(kernel.get_max_length(), 1) : kMaxExtent;
  const Wide high =
      input.has_upper_bound() ? forward_output(input.get_max_length(), smallest_kernel, step, auto_pad, rounding) : 0;
  if (input.has_upper_bound() && high == 0 && !same) refuse_window(input, kernel, step, auto_pad, axis);
  Wide low = forward_output(input.get_min_length(), largest_kernel, step, auto_pad, rounding);
  // A window that does not fit is refused when the extents are known, so what remains has at least one position.
  if (!same) low = std::max<Wide>(low, 1);
  return interval(low, high, input.has_upper_bound());
}

WindowAxis resolve_backward_window(int64_t input, int64_t kernel, const WindowStep& step, AutoPad auto_pad,
                                   size_t axis) {
  if (kernel < 1)
    throw_error(ErrorCode::invalid_argument, "the kernel extent of spatial axis ", axis, " must be positive, got ",
                kernel);
  const Wide output = backward_output(input, kernel, step, auto_pad);
  if (output < 1)
    throw_error(ErrorCode::shape_mismatch, "pads_begin ", step.pad_begin, " and pads_end ", step.pad_end,
                " leave nothing of spatial axis ", axis, " with input extent ", input, " and kernel extent ", kernel);
  checked_extent(dilated(kernel, step), "the dilated kernel", axis);
  checked_extent(Wide{input} * step.stride + output + step.pad_begin + step.pad_end, "the output", axis);
  const bool padded = auto_pad == AutoPad::explicit_pads;
  return {input,
          kernel,
          static_cast<int64_t>(output),
          step.stride,
          step.dilation,
          padded ? step.pad_begin : 0,
          padded ? step.pad_end : 0};
}

WindowAxis resolve_backward_window_to(int64_t output, int64_t input, int64_t kernel, const WindowStep& step,
                                      AutoPad auto_pad) {
  const Wide full = (Wide{input} - 1) * step.stride + dilated(kernel, step) + step.output_padding;
  const Wide total = std::max<Wide>(full - output, 0);
  // As specified: the odd element goes to the beginning for same_upper and to the end for everything else.
  const Pads pads = halves(checked_extent(total, "the padding", 0), auto_pad != AutoPad::same_upper);
  return {input,
          kernel,
          output,
          step.stride,
          step.dilation,
          static_cast<int64_t>(pads.begin),
          static_cast<int64_t>(pads.end)};
}

WindowAxis resolve_backward_window_cut(int64_t output, int64_t input, int64_t kernel, const WindowStep& step,
                                       size_t axis) {
  checked_extent(dilated(kernel, step), "the dilated kernel", axis);
  checked_extent(Wide{input} * step.stride + output + step.pad_begin + step.pad_end, "the output", axis);
  return {input, kernel, output, step.stride, step.dilation, step.pad_begin, step.pad_end};
}

Dimension backward_window_output(const Dimension& input, const Dimension& kernel, const WindowStep& step,
                                 AutoPad auto_pad, size_t axis) {
  if (input.is_static() && kernel.is_static())
    return resolve_backward_window(input.get_length(), kernel.get_length(), step, auto_pad, axis).output;
  const bool bounded = input.has_upper_bound() && kernel.has_upper_bound();
  Wide high = 0;
  if (bounded) {
    high = backward_output(input.get_max_length(), std::max<int64_t>(kernel.get_max_length(), 1), step, auto_pad);
    if (high < 1)
      throw_error(ErrorCode::shape_mismatch, "pads_begin ", step.pad_begin, " and pads_end ", step.pad_end,
                  " leave nothing of spatial axis ", axis, " with input extent ", input, " and kernel extent ", kernel);
    high = checked_extent(high, "the output", axis);
  }
  const Wide low =
      backward_output(input.get_min_length(), std::max<int64_t>(kernel.get_min_length(), 1), step, auto_pad);
  return interval(std::max<Wide>(low, 1), high, bounded);
}

std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes) {
  std::array<WindowAxis, 3> result;
  if (axes.size() > 3) throw_error(ErrorCode::unsupported, "windows have at most 3 spatial axes, got ", axes.size());
  std::copy(axes.begin(), axes.end(), result.end() - static_cast<std::ptrdiff_t>(axes.size()));
  return result;
}

}  // namespace terroir::ops
