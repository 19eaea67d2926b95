#include "common/drawing.hpp"

#include <stb_easy_font.h>

#include <algorithm>
#include <vector>

namespace samples {
namespace {

/// Corners included; clipped.
void fill_rectangle(Image& image, int left, int top, int right, int bottom, Color color) {
  for (int y = std::max(top, 0); y <= std::min(bottom, image.height - 1); ++y) {
    for (int x = std::max(left, 0); x <= std::min(right, image.width - 1); ++x) {
      uint8_t* pixel = image.pixel(x, y);
      pixel[0] = color.red;
      pixel[1] = color.green;
      pixel[2] = color.blue;
    }
  }
}

}  // namespace

void draw_frame(Image& image, int left, int top, int right, int bottom, int thickness, Color color) {
  fill_rectangle(image, left, top, right, top + thickness - 1, color);
  fill_rectangle(image, left, bottom - thickness + 1, right, bottom, color);
  fill_rectangle(image, left, top, left + thickness - 1, bottom, color);
  fill_rectangle(image, right - thickness + 1, top, right, bottom, color);
}

void draw_label(Image& image, int left, int bottom, const std::string& text, Color text_color, Color ground) {
  constexpr int kMargin = 2;
  constexpr int kTextHeight = 9;  // of the font, descenders included
  struct Vertex {
    float x, y, z;
    uint8_t color[4];
  };
  std::string line = text;                             // the font's function takes a mutable text
  std::vector<Vertex> vertices(line.size() * 4 * 20);  // four per stroke; no letter has more than 20 strokes
  const int strokes = stb_easy_font_print(0, 0, line.data(), nullptr, vertices.data(),
                                          static_cast<int>(vertices.size() * sizeof(Vertex)));
  const int width = stb_easy_font_width(line.data()) + 2 * kMargin;
  const int height = kTextHeight + 2 * kMargin;
  left = std::max(0, std::min(left, image.width - width));
  const int top = std::max(0, std::min(bottom - height + 1, image.height - height));
  fill_rectangle(image, left, top, left + width - 1, top + height - 1, ground);
  for (int i = 0; i < strokes; ++i) {
    const Vertex& first = vertices[static_cast<size_t>(i) * 4];
    const Vertex& last = vertices[static_cast<size_t>(i) * 4 + 2];
    fill_rectangle(image, left + kMargin + static_cast<int>(first.x), top + kMargin + static_cast<int>(first.y),
                   left + kMargin + static_cast<int>(last.x) - 1, top + kMargin + static_cast<int>(last.y) - 1,
                   text_color);
  }
}

}  // namespace samples
