// What colour formats are: planes, their shapes, their names in texts.
#pragma once

#include "terroir/preprocess.hpp"

namespace terroir::preprocess::detail {

/// "NV12 (single plane)", "RGB" ...
const char* name_of(ColorFormat format);
size_t planes_of(ColorFormat format);
/// Whether the format is one of pixels side by side: neither unknown nor of brightness and colour apart.
bool has_pixels(ColorFormat format);

/// The shape of a plane of an image of this shape and layout. Throws Exception (invalid_argument) for brightness and
/// colour apart in another layout than NHWC or with odd extents, and for a layout without channels.
PartialShape plane_shape(ColorFormat format, size_t plane, const PartialShape& image, const Layout& layout);

}  // namespace terroir::preprocess::detail
