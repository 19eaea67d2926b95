#include "tests/e2e/image.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#include <stb_image.h>

namespace terroir::test {

Image read_image(const std::string& path) {
  Image image;
  int channels = 0;
  stbi_uc* pixels = stbi_load(path.c_str(), &image.width, &image.height, &channels, 3);
  if (pixels == nullptr) throw_error(ErrorCode::file_not_found, path, ": ", stbi_failure_reason());
  image.rgb.assign(pixels, pixels + static_cast<size_t>(image.width) * static_cast<size_t>(image.height) * 3);
  stbi_image_free(pixels);
  return image;
}

namespace {
struct Blend {
  int low, high;
  float weight;  // of high
};

std::vector<Blend> blends(int from, int to) {
  std::vector<Blend> result;
  for (int i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * static_cast<float>(from) / static_cast<float>(to) - 0.5f;
    const float low = std::floor(at);
    const auto clamp = [&](int pixel) { return std::clamp(pixel, 0, from - 1); };
    result.push_back({clamp(static_cast<int>(low)), clamp(static_cast<int>(low) + 1), at - low});
  }
  return result;
}
}  // namespace

Image resize(const Image& image, int width, int height) {
  Image result{width, height, {}};
  result.rgb.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  const auto columns = blends(image.width, width);
  const auto pixel = [&](int x, int y, int channel) {
    return static_cast<float>(image.rgb[static_cast<size_t>((y * image.width + x) * 3 + channel)]);
  };
  for (const Blend& y : blends(image.height, height))
    for (const Blend& x : columns)
      for (int c = 0; c < 3; ++c) {
        const float top = std::lerp(pixel(x.low, y.low, c), pixel(x.high, y.low, c), x.weight);
        const float bottom = std::lerp(pixel(x.low, y.high, c), pixel(x.high, y.high, c), x.weight);
        result.rgb.push_back(static_cast<uint8_t>(std::lround(std::lerp(top, bottom, y.weight))));
      }
  return result;
}

Tensor bgr_tensor(const Image& image) {
  const auto pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  Tensor tensor(element::f32, {1, 3, static_cast<size_t>(image.height), static_cast<size_t>(image.width)});
  for (size_t c = 0; c < 3; ++c)
    for (size_t i = 0; i < pixels; ++i) tensor.data<float>()[c * pixels + i] = image.rgb[i * 3 + 2 - c];
  return tensor;
}

}  // namespace terroir::test
