#include "common/image.hpp"

#include <stb_image.h>
#include <stb_image_resize.h>
#include <stb_image_write.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace samples {

Image load_image(const std::string& path) {
  if (!std::ifstream(path)) throw std::runtime_error("cannot open the image '" + path + "'");
  Image image;
  int channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load(path.c_str(), &image.width, &image.height, &channels, 3), &stbi_image_free);
  if (!pixels) throw std::runtime_error("cannot read the image '" + path + "': " + stbi_failure_reason());
  image.rgb.assign(pixels.get(),
                   pixels.get() + static_cast<size_t>(image.width) * static_cast<size_t>(image.height) * 3);
  return image;
}

void save_png(const Image& image, const std::string& path) {
  if (stbi_write_png(path.c_str(), image.width, image.height, 3, image.rgb.data(), image.width * 3) == 0) {
    throw std::runtime_error("cannot write the image '" + path + "'");
  }
}

Image resize(const Image& image, int width, int height) {
  Image result{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  const int done = stbir_resize_uint8_generic(image.rgb.data(), image.width, image.height, 0, result.rgb.data(), width,
                                              height, 0, 3, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                              STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
  if (done == 0) {
    throw std::runtime_error("cannot resize an image to " + std::to_string(width) + " x " + std::to_string(height));
  }
  return result;
}

namespace {

[[noreturn]] void refuse(const terroir::Output<terroir::Node>& port, const std::string& reason) {
  throw std::runtime_error("the model's input " + port.get_element_type().to_string() +
                           port.get_partial_shape().to_string() + " cannot be an image: " + reason);
}

bool may_be_channels(const terroir::Dimension& dimension) {
  return dimension.is_static() && (dimension.get_length() == 1 || dimension.get_length() == 3);
}

}  // namespace

void take_photos(const std::shared_ptr<terroir::Model>& model, const Image& image) {
  if (model->inputs().size() != 1) {
    throw std::runtime_error("the model '" + model->get_friendly_name() + "' has " +
                             std::to_string(model->inputs().size()) + " inputs; this sample feeds one image");
  }
  const auto port = model->input();
  terroir::PartialShape shape = port.get_partial_shape();
  if (shape.rank().is_dynamic() || shape.size() != 4) refuse(port, "it must have four axes");
  const terroir::Layout layout = terroir::layout::get_layout(port);
  const bool channels_last = terroir::layout::has_channels(layout)
                                 ? terroir::layout::channels_idx(layout) == 3
                                 : !may_be_channels(shape[1]) && may_be_channels(shape[3]);
  const terroir::Dimension channels = shape[channels_last ? 3 : 1];
  if (!may_be_channels(channels)) refuse(port, "it must have one or three channels");
  const int height_axis = channels_last ? 1 : 2;
  if (shape[0].is_dynamic()) shape[0] = 1;
  if (shape[height_axis].is_dynamic()) shape[height_axis] = image.height;
  if (shape[height_axis + 1].is_dynamic()) shape[height_axis + 1] = image.width;
  if (shape != port.get_partial_shape()) model->reshape(shape);

  using namespace terroir::preprocess;
  PrePostProcessor processor(model);
  InputInfo& input = processor.input();
  input.tensor()
      .set_element_type(terroir::element::u8)
      .set_layout("NHWC")
      .set_color_format(ColorFormat::RGB)
      .set_shape({shape[0], image.height, image.width, 3});
  input.model().set_layout(channels_last ? "NHWC" : "NCHW");
  // Pillow's way averages when the image gets smaller. Colours are converted where there are fewer pixels.
  input.preprocess()
      .resize(ResizeAlgorithm::RESIZE_BILINEAR_PILLOW)
      .convert_color(channels.get_length() == 3 ? ColorFormat::BGR : ColorFormat::GRAY);
  processor.build();
}

terroir::Tensor photo_tensor(const Image& image, const terroir::Output<const terroir::Node>& input) {
  terroir::Tensor tensor(input);
  uint8_t* to = tensor.data<uint8_t>();
  for (size_t n = 0; n < tensor.get_shape()[0]; ++n) to = std::copy(image.rgb.begin(), image.rgb.end(), to);
  return tensor;
}

namespace {

template <typename T>
void put(const Image& image, size_t channels, bool channels_last, void* destination) {
  const auto pixels = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  T* values = static_cast<T*>(destination);
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* rgb = image.rgb.data() + i * 3;
    for (size_t c = 0; c < channels; ++c) {
      const int value = channels == 3 ? rgb[2 - c] : (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000;
      values[channels_last ? i * channels + c : c * pixels + i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

}  // namespace

void put_image(const Image& image, const terroir::element::Type& type, size_t channels, bool channels_last,
               void* destination) {
  using terroir::element::Type_t;
  if (channels != 1 && channels != 3) {
    throw std::runtime_error("an image has one channel or three, not " + std::to_string(channels));
  }
  switch (type) {
    case Type_t::f32:
      return put<float>(image, channels, channels_last, destination);
    case Type_t::f16:
      return put<terroir::float16>(image, channels, channels_last, destination);
    case Type_t::bf16:
      return put<terroir::bfloat16>(image, channels, channels_last, destination);
    case Type_t::u8:
      return put<uint8_t>(image, channels, channels_last, destination);
    case Type_t::i32:
      return put<int32_t>(image, channels, channels_last, destination);
    case Type_t::i64:
      return put<int64_t>(image, channels, channels_last, destination);
    default:
      throw std::runtime_error("an image cannot be given as " + type.to_string() +
                               "; f32, f16, bf16, u8, i32 and i64 can");
  }
}

}  // namespace samples
