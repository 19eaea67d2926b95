// A program of OpenVINO's C++ API that classifies pictures of a camera, which come as bytes of NV12, by a model that
// wants planes of BGR of another size: main MODEL [WIDTHxHEIGHT]. With "-" it takes a small network of its own and
// checks the answers.
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset8.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using Picture = std::vector<unsigned char>;

/// Hands out memory that is there already, as programs of cameras do.
class BorrowedMemory {
 public:
  explicit BorrowedMemory(std::shared_ptr<unsigned char> bytes, size_t size) : bytes_(std::move(bytes)), size_(size) {}
  void* allocate(const size_t bytes, const size_t = alignof(std::max_align_t)) {
    return bytes <= size_ ? bytes_.get() : nullptr;
  }
  void deallocate(void*, const size_t, size_t = alignof(std::max_align_t)) {}
  bool is_equal(const BorrowedMemory& other) const { return other.bytes_ == bytes_; }

 private:
  std::shared_ptr<unsigned char> bytes_;
  size_t size_;
};

/// Grey stripes: brightness, then chroma that says "no colour".
Picture picture(size_t width, size_t height) {
  Picture bytes(width * height * 3 / 2, 128);
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x) bytes[y * width + x] = static_cast<unsigned char>(16 + (x / 4 * 40 + y) % 220);
  return bytes;
}

/// Means of the three planes.
std::shared_ptr<ov::Model> means() {
  const auto image = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::PartialShape{1, 3, 8, 8});
  const auto axes = ov::opset8::Constant::create(ov::element::i64, ov::Shape{2}, {2, 3});
  const auto mean = std::make_shared<ov::opset8::ReduceMean>(image, axes, false);
  return std::make_shared<ov::Model>(ov::NodeVector{mean}, ov::ParameterVector{image}, "means");
}

std::vector<float> scores_of(ov::InferRequest& request) {
  request.infer();
  const ov::Tensor output = request.get_output_tensor();
  return {output.data<float>(), output.data<float>() + output.get_size()};
}

std::vector<float> of_one_plane(ov::Core& core, const std::shared_ptr<ov::Model>& model, const std::string& device,
                                const Picture& bytes, size_t width, size_t height) {
  ov::preprocess::PrePostProcessor ppp(model);
  ppp.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ov::preprocess::ColorFormat::NV12_SINGLE_PLANE)
      .set_spatial_static_shape(height, width);
  ppp.input()
      .preprocess()
      .convert_color(ov::preprocess::ColorFormat::BGR)
      .resize(ov::preprocess::ResizeAlgorithm::RESIZE_LINEAR);
  ppp.input().model().set_layout("NCHW");
  const std::shared_ptr<ov::Model> prepared = ppp.build();
  ov::CompiledModel compiled = core.compile_model(prepared, device);
  ov::InferRequest request = compiled.create_infer_request();
  const std::shared_ptr<unsigned char> memory(new unsigned char[bytes.size()], std::default_delete<unsigned char[]>());
  std::copy(bytes.begin(), bytes.end(), memory.get());
  const ov::Shape shape{1, height * 3 / 2, width, 1};
  OPENVINO_ASSERT(compiled.input().get_shape() == shape, compiled.input().get_shape());
  const ov::Tensor input(ov::element::u8, shape, ov::Allocator(BorrowedMemory(memory, bytes.size())));
  OPENVINO_ASSERT(input.data() == memory.get(), "the bytes are not the camera's");
  const std::string input_name = prepared->get_parameters().at(0)->get_friendly_name();
  request.set_tensor(input_name, input);
  return scores_of(request);
}

std::vector<float> of_two_planes(ov::Core& core, const std::shared_ptr<ov::Model>& model, const std::string& device,
                                 Picture& bytes, size_t width, size_t height) {
  const std::string name = model->inputs().at(0).get_node()->get_friendly_name();
  ov::preprocess::PrePostProcessor ppp(model);
  ppp.input(0)
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ov::preprocess::ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_spatial_static_shape(height, width);
  ppp.input(0)
      .preprocess()
      .convert_color(ov::preprocess::ColorFormat::BGR)
      .resize(ov::preprocess::ResizeAlgorithm::RESIZE_LINEAR);
  ppp.input(0).model().set_layout("NCHW");
  ov::CompiledModel compiled = core.compile_model(ppp.build(), device);
  ov::InferRequest request = compiled.create_infer_request();
  const ov::Tensor y(ov::element::u8, {1, height, width, 1}, bytes.data());
  const ov::Tensor uv(ov::element::u8, {1, height / 2, width / 2, 2}, bytes.data() + width * height);
  request.set_tensor(name + "/y", y);
  request.set_tensor(name + "/uv", uv);
  return scores_of(request);
}

std::pair<size_t, size_t> size_of(const std::string& text) {
  const size_t delimiter = text.find('x');
  OPENVINO_ASSERT(delimiter != std::string::npos && delimiter > 0, "not WIDTHxHEIGHT: ", text);
  const std::pair<size_t, size_t> size{std::stoul(text.substr(0, delimiter)), std::stoul(text.substr(delimiter + 1))};
  OPENVINO_ASSERT(size.first > 0 && size.second > 0 && size.first % 2 == 0 && size.second % 2 == 0,
                  "width and height must be even: ", text);
  return size;
}

void check_means(const std::vector<float>& means, const Picture& bytes, size_t pixels) {
  // Where there is no colour, every plane is brightness. The model is smaller, so its mean is one of samples.
  double sum = 0;
  for (size_t i = 0; i < pixels; ++i) sum += 1.164 * (bytes[i] - 16);
  OPENVINO_ASSERT(means.size() == 3, means.size(), " planes");
  for (const float mean : means) OPENVINO_ASSERT(std::abs(mean - sum / static_cast<double>(pixels)) < 8, mean);
  OPENVINO_ASSERT(means[0] == means[1] && means[1] == means[2], "a grey picture has colours");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2 || argc == 3, "usage: ", argv[0], " MODEL|- [WIDTHxHEIGHT]");
    std::cout << ov::get_openvino_version() << std::endl;
    const std::string path = argv[1], device = "CPU";
    const auto [width, height] = size_of(argc == 3 ? argv[2] : "32x16");
    ov::Core core;
    const std::shared_ptr<ov::Model> model = path == "-" ? means() : core.read_model(path);
    OPENVINO_ASSERT(model->inputs().size() == 1 && model->outputs().size() == 1, "one input, one output");
    Picture bytes = picture(width, height);
    const std::vector<float> one = of_one_plane(core, model->clone(), device, bytes, width, height);
    const std::vector<float> two = of_two_planes(core, model->clone(), device, bytes, width, height);
    OPENVINO_ASSERT(one.size() == two.size(), "outputs of two sizes");
    for (size_t i = 0; i < one.size(); ++i)
      OPENVINO_ASSERT(one[i] == two[i], "score ", i, ": ", one[i], " of one plane, ", two[i], " of two");
    if (path == "-") check_means(one, bytes, width * height);
    std::vector<size_t> best(one.size());
    std::iota(best.begin(), best.end(), size_t{0});
    const size_t top = std::min<size_t>(10, best.size());
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(top), best.end(),
                      [&](size_t a, size_t b) { return one[a] > one[b]; });
    for (size_t i = 0; i < top; ++i) std::cout << "class " << best[i] << ": " << one[best[i]] << '\n';
  } catch (const std::exception& ex) {
    std::cerr << std::endl << "Exception occurred: " << ex.what() << std::endl << std::flush;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
