// Images in files and in tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <terroir/terroir.hpp>

namespace samples {

/// Pixels row by row, three bytes each: red, green, blue.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  uint8_t* pixel(int x, int y) {
    return rgb.data() + (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
  }
};

/// JPEG, PNG, BMP, PPM ... Throws std::runtime_error that names the file.
Image load_image(const std::string& path);
/// Throws std::runtime_error that names the file.
void save_png(const Image& image, const std::string& path);
/// Linear interpolation, with averaging when the image gets smaller.
Image resize(const Image& image, int width, int height);

/// Makes photos of the size of `image` the only input of the model: u8[N,height,width,3], red, green, blue. Resizing,
/// the order blue, green, red (or one channel of brightness), the model's layout and element type become part of the
/// model. Extents that are not known become 1 for the batch and those of the image. Throws std::runtime_error if the
/// input cannot be an image.
void take_photos(const std::shared_ptr<terroir::Model>& model, const Image& image);

/// The image as such an input, the same for every position of the batch.
terroir::Tensor photo_tensor(const Image& image, const terroir::Output<const terroir::Node>& input);

/// One image as a sample of a tensor of `type` at `destination`: values 0..255 in the order blue, green, red, or one
/// channel of brightness, by rows; channels outermost or innermost. Throws std::runtime_error for another number of
/// channels or a type that cannot hold such values.
void put_image(const Image& image, const terroir::element::Type& type, size_t channels, bool channels_last,
               void* destination);

}  // namespace samples
