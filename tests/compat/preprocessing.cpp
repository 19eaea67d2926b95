// A program of OpenVINO's C++ API that classifies a small photo of bytes with a model that wants planes of floats of
// another size: main MODEL.
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset8.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

namespace {

static_assert(std::is_same_v<ov::element_type_traits<ov::element::Type_t::u8>::value_type, uint8_t>);

std::vector<float> classify(ov::Core& core, const std::shared_ptr<ov::Model>& model, const ov::Tensor& photo) {
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  ov::InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(photo);
  request.infer();
  const ov::Tensor& output = request.get_output_tensor();
  return {output.data<const float>(), output.data<const float>() + output.get_size()};
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " MODEL");
    ov::Core core;
    const ov::Shape shape = {1, 12, 12, 1};
    std::vector<unsigned char> pixels(ov::shape_size(shape));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(i * 7);
    const ov::Tensor photo(ov::element::u8, shape, pixels.data());

    std::shared_ptr<ov::Model> model = core.read_model(argv[1]);
    ov::preprocess::PrePostProcessor ppp(model);
    ov::preprocess::InputInfo& input = ppp.input();
    input.tensor().set_shape(shape).set_element_type(ov::element::u8).set_layout("NHWC");
    input.preprocess()
        .convert_element_type(ov::element::f32)
        .scale(255.0f)
        .custom([](const ov::Output<ov::Node>& node) {
          // A step made of layers in code: 1 - x.
          const auto one = ov::opset8::Constant::create(ov::element::f32, ov::Shape{}, {1.0f});
          return std::make_shared<ov::opset8::Subtract>(one, node);
        });
    input.model().set_layout("NCHW");
    ppp.output().tensor().set_element_type(ov::element::f32);
    model = ppp.build();
    OPENVINO_ASSERT(model->input().get_element_type() == ov::element::u8, "the input takes ",
                    model->input().get_element_type());
    const std::vector<float> found = classify(core, model, photo);

    // The same by hand.
    std::vector<float> plane(pixels.size());
    for (size_t i = 0; i < plane.size(); ++i) plane[i] = 1.0f - static_cast<float>(pixels[i]) / 255.0f;
    const ov::Tensor values(ov::element::f32, ov::Shape{1, 1, 12, 12}, plane.data());
    const std::vector<float> wanted = classify(core, core.read_model(argv[1]), values);
    for (size_t i = 0; i < wanted.size(); ++i) {
      OPENVINO_ASSERT(std::abs(found[i] - wanted[i]) < 1e-5f, "class ", i, ": ", found[i], ", by hand ", wanted[i]);
    }
    std::cout << "class " << std::max_element(found.begin(), found.end()) - found.begin() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
