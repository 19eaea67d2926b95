#pragma once
// What: as much of image handling as a test of a detector needs.
#include <cstdint>
#include <string>
#include <terroir/tensor.hpp>
#include <vector>

namespace terroir::test {

/// Rows of pixels of red, green and blue.
struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

/// Any format stb_image reads. Exception (file_not_found) with its reason.
Image read_image(const std::string& path);

/// Bilinear, pixel centres at halves, edges repeated.
Image resize(const Image& image, int width, int height);

/// f32[1,3,height,width], blue first, values 0 to 255.
Tensor bgr_tensor(const Image& image);

}  // namespace terroir::test
