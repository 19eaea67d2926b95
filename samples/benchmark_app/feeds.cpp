#include "benchmark_app/feeds.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "common/image.hpp"
#include "common/npy.hpp"
#include "common/report.hpp"

using terroir::Shape;
using terroir::Tensor;

namespace benchmark_app {
namespace {

/// Fills the tensors of one input, file after file, from the first again after the last.
class Filler {
 public:
  explicit Filler(const Input& input) : input_(input) {}

  /// Whether every file has been used, at the end of a round or within it.
  bool has_used_all() const { return used_ >= input_.sources.size(); }
  bool has_files() const { return !input_.sources.empty(); }

  /// Returns the words that describe the data. `image_size`: width and height for image_info.
  std::string fill(const Tensor& tensor, uint64_t seed, const std::pair<size_t, size_t>& image_size) {
    if (input_.sources.empty()) {
      samples::fill_random(tensor, seed);
      return "random values";
    }
    const Source& source = current();
    switch (source.kind) {
      case Source::Kind::random:
        ++used_;
        if (source.range) {
          samples::fill_random(tensor, seed, *source.range);
        } else {
          samples::fill_random(tensor, seed);
        }
        return "random values" + source.text.substr(std::strlen("random"));
      case Source::Kind::image_info:
        ++used_;
        return fill_image_info(tensor, image_size);
      case Source::Kind::image:
      case Source::Kind::npy:
      case Source::Kind::bin:
        break;
    }
    return fill_from_files(tensor);
  }

 private:
  const Source& current() const { return input_.sources[used_ % input_.sources.size()]; }

  [[noreturn]] void refuse(const Source& source, const std::string& reason) const {
    throw std::runtime_error("-i: '" + source.text + "' does not fit the input '" + input_.name + "': " + reason);
  }

  std::string fill_image_info(const Tensor& tensor, const std::pair<size_t, size_t>& image_size) {
    const size_t batch = std::max<size_t>(1, input_.batch_of(tensor.get_shape()));
    const size_t row = tensor.get_size() / batch;
    if (tensor.get_element_type() != terroir::element::f32 || !input_.is_image_info() || image_size.first == 0) {
      refuse({Source::Kind::image_info, "image_info", std::nullopt},
             "it wants f32[N,2] or more columns, and one other input that is an image");
    }
    auto* values = tensor.data<float>();
    for (size_t i = 0; i < tensor.get_size(); ++i) {
      const size_t column = i % row;
      values[i] = column == 0   ? static_cast<float>(image_size.first)
                  : column == 1 ? static_cast<float>(image_size.second)
                                : 1.0f;
    }
    return "image size " + std::to_string(image_size.first) + " x " + std::to_string(image_size.second);
  }

  /// Whole tensors from one file, or a file for each sample.
  std::string fill_from_files(const Tensor& tensor) {
    const size_t batch = std::max<size_t>(1, input_.batch_of(tensor.get_shape()));
    const size_t sample_bytes = tensor.get_byte_size() / batch;
    std::string names;
    for (size_t n = 0; n < batch;) {
      const Source& source = current();
      char* destination = static_cast<char*>(tensor.data()) + n * sample_bytes;
      ++used_;
      if (!names.empty()) names += ", ";
      names += source.text;
      if (batch > 1 && input_.axis("N") != size_t{0}) refuse(source, "its batch axis is not the first one");
      if (source.kind == Source::Kind::image) {
        put_picture(source, tensor, destination);
        ++n;
        continue;
      }
      const std::vector<char> bytes =
          source.kind == Source::Kind::npy ? array_bytes(source, tensor) : file_bytes(source);
      const bool is_whole = n == 0 && bytes.size() == tensor.get_byte_size();
      if (!is_whole && bytes.size() != sample_bytes) {
        refuse(source, "it has " + std::to_string(bytes.size()) + " bytes, " + text(tensor) + " takes " +
                           std::to_string(tensor.get_byte_size()) +
                           (batch > 1 ? ", one sample " + std::to_string(sample_bytes) : ""));
      }
      std::memcpy(destination, bytes.data(), bytes.size());
      n += is_whole ? batch : 1;
    }
    return names;
  }

  static std::string text(const Tensor& tensor) {
    return tensor.get_element_type().to_string() + tensor.get_shape().to_string();
  }

  void put_picture(const Source& source, const Tensor& tensor, char* destination) const {
    const auto c = input_.axis("C"), h = input_.axis("H"), w = input_.axis("W");
    const Shape& shape = tensor.get_shape();
    const bool channels_last = c && h && w && *c > *w && *w > *h;
    const bool channels_first = c && h && w && *c < *h && *h < *w;
    if ((!channels_first && !channels_last) || input_.layout.has_name("D")) {
      refuse(source, "an image needs axes C, H and W (or H, W and C); --layout says which they are");
    }
    const samples::Image image =
        samples::resize(samples::load_image(source.text), static_cast<int>(shape[*w]), static_cast<int>(shape[*h]));
    try {
      samples::put_image(image, tensor.get_element_type(), shape[*c], channels_last, destination);
    } catch (const std::runtime_error& error) {
      refuse(source, error.what());
    }
  }

  std::vector<char> array_bytes(const Source& source, const Tensor& tensor) const {
    samples::NpyArray array = samples::load_npy(source.text);
    if (array.type.bitwidth() != tensor.get_element_type().bitwidth() ||
        (array.type != tensor.get_element_type() && array.type.is_real())) {
      refuse(source, "it has elements of " + array.type.to_string() + ", the input " +
                         tensor.get_element_type().to_string() + "; convert it, or change the input with --iop");
    }
    const Shape& whole = tensor.get_shape();
    const Shape sample(std::vector<size_t>(whole.begin() + (whole.empty() ? 0 : 1), whole.end()));
    Shape with_one = whole;
    if (!with_one.empty()) with_one[0] = 1;
    if (array.shape != whole && array.shape != sample && array.shape != with_one) {
      refuse(source, "its shape is " + array.shape.to_string() + ", not " + whole.to_string() + " or that of a sample");
    }
    return std::move(array.bytes);
  }

  std::vector<char> file_bytes(const Source& source) const {
    std::ifstream file(source.text, std::ios::binary);
    if (!file) refuse(source, "it cannot be opened");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const Input& input_;
  size_t used_ = 0;  // files
};

/// Width and height of the only input that is an image; 0 if there is none or several.
std::pair<size_t, size_t> image_size(const std::vector<Input>& inputs, const ShapeSet& shapes) {
  std::pair<size_t, size_t> size{0, 0};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_image()) continue;
    if (size.first != 0) return {0, 0};
    size = {shapes[i][*inputs[i].axis("W")], shapes[i][*inputs[i].axis("H")]};
  }
  return size;
}

}  // namespace

std::vector<Feed> make_feeds(const std::vector<Input>& inputs, const std::vector<terroir::element::Type>& types,
                             const std::vector<ShapeSet>& shape_sets, size_t least) {
  std::vector<Filler> fillers(inputs.begin(), inputs.end());
  const bool has_files = std::any_of(fillers.begin(), fillers.end(), [](const Filler& f) { return f.has_files(); });
  if (!has_files) samples::info() << "No files are given: all inputs are filled with random values\n";
  std::vector<Feed> feeds;
  const auto is_enough = [&] {
    return feeds.size() % shape_sets.size() == 0 && feeds.size() >= (has_files ? 1 : least) &&
           std::all_of(fillers.begin(), fillers.end(), [](const Filler& filler) { return filler.has_used_all(); });
  };
  while (feeds.empty() || !is_enough()) {
    const size_t set = feeds.size() % shape_sets.size();
    const ShapeSet& shapes = shape_sets[set];
    Feed feed{{}, set, batch_size(inputs, shapes)};
    const bool tells = has_files || feeds.size() < shape_sets.size();
    if (tells) samples::info() << "Test Config " << feeds.size() << '\n';
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor tensor(types[i], shapes[i]);
      const std::string data = fillers[i].fill(tensor, feeds.size() * inputs.size() + i, image_size(inputs, shapes));
      feed.tensors.push_back(tensor);
      if (tells) {
        samples::info() << "    " << inputs[i].name << "  (" << inputs[i].layout.to_string() << ", " << types[i] << ", "
                        << shapes[i] << (inputs[i].shape.is_dynamic() ? ", dyn:" : ", static")
                        << (inputs[i].shape.is_dynamic() ? inputs[i].shape.to_string() : "") << "): " << data << '\n';
      }
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

}  // namespace benchmark_app
