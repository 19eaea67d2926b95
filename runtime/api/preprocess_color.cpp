#include "runtime/api/preprocess_color.hpp"

#include "ir/base/error.hpp"
#include "runtime/api/layout_axes.hpp"

namespace terroir::preprocess::detail {

namespace {

constexpr std::ptrdiff_t kHeight = 1, kWidth = 2, kChannels = 3;  // of NHWC

Dimension half(const Dimension& extent, const char* what, const PartialShape& image) {
  if (extent.is_static() && extent.get_length() % 2 != 0) {
    throw_error(ErrorCode::invalid_argument, "the ", what, " of an image of shape ", image,
                " must be even, for its colours are stored for squares of four pixels");
  }
  return extent / 2;
}

}  // namespace

const char* name_of(ColorFormat format) {
  switch (format) {
    case ColorFormat::NV12_SINGLE_PLANE:
      return "NV12 (single plane)";
    case ColorFormat::NV12_TWO_PLANES:
      return "NV12 (multi-plane)";
    case ColorFormat::I420_SINGLE_PLANE:
      return "I420 (single plane)";
    case ColorFormat::I420_THREE_PLANES:
      return "I420 (multi-plane)";
    case ColorFormat::RGB:
      return "RGB";
    case ColorFormat::BGR:
      return "BGR";
    case ColorFormat::GRAY:
      return "GRAY";
    case ColorFormat::RGBX:
      return "RGBX";
    case ColorFormat::BGRX:
      return "BGRX";
    case ColorFormat::UNDEFINED:
      break;
  }
  return "unknown";
}

size_t planes_of(ColorFormat format) {
  return format == ColorFormat::NV12_TWO_PLANES ? 2 : format == ColorFormat::I420_THREE_PLANES ? 3 : 1;
}

bool has_pixels(ColorFormat format) {
  switch (format) {
    case ColorFormat::RGB:
    case ColorFormat::BGR:
    case ColorFormat::GRAY:
    case ColorFormat::RGBX:
    case ColorFormat::BGRX:
      return true;
    default:
      return false;
  }
}

PartialShape plane_shape(ColorFormat format, size_t plane, const PartialShape& image, const Layout& layout) {
  if (format == ColorFormat::UNDEFINED || format == ColorFormat::GRAY || image.rank().is_dynamic()) return image;
  PartialShape shape = image;
  if (has_pixels(format)) {
    const bool has_fourth = format == ColorFormat::RGBX || format == ColorFormat::BGRX;
    shape[terroir::detail::axis_of(layout, "C", image)] = has_fourth ? 4 : 3;
    return shape;
  }
  if (image.size() != 4 || layout != Layout("NHWC")) {
    throw_error(ErrorCode::invalid_argument, "images in ", name_of(format),
                " have the layout [N,H,W,C] and four axes, got the layout ", layout, " and the shape ", image,
                "; leave out set_layout() of the tensor, and say the layout of the model");
  }
  const Dimension half_height = half(image[kHeight], "height", image), half_width = half(image[kWidth], "width", image);
  if (planes_of(format) == 1) {
    shape[kHeight] = half_height * 3;
    shape[kChannels] = 1;
  } else if (plane == 0) {
    shape[kChannels] = 1;
  } else {
    shape[kHeight] = half_height;
    shape[kWidth] = half_width;
    shape[kChannels] = format == ColorFormat::NV12_TWO_PLANES ? 2 : 1;
  }
  return shape;
}

}  // namespace terroir::preprocess::detail
