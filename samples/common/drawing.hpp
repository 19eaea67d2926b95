// Marks on images.
#pragma once

#include <string>

#include "common/image.hpp"

namespace samples {

struct Color {
  uint8_t red, green, blue;
};

/// A frame whose outer edge has these corners (both included), drawn inwards; what is outside the image is left out.
void draw_frame(Image& image, int left, int top, int right, int bottom, int thickness, Color color);
/// Small text on a filled ground, its lower left corner at (left, bottom); moved inside the image where it would leave.
void draw_label(Image& image, int left, int bottom, const std::string& text, Color text_color, Color ground);

}  // namespace samples
