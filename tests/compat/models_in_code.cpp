// A program of OpenVINO's C++ API that makes a small network in code, writes, reads, compiles and runs it:
// main FOLDER.
#include <openvino/op/group_normalization.hpp>
#include <openvino/op/util/attr_types.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset13.hpp>
#include <openvino/pass/serialize.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace ov;

namespace {

std::vector<float> weights(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 37) % 101) / 101.0f - 0.5f;
  return values;
}

std::shared_ptr<opset13::Constant> constant(const Shape& shape) {
  const std::vector<float> values = weights(shape_size(shape));
  return std::make_shared<opset13::Constant>(element::Type_t::f32, shape, values.data());
}

std::shared_ptr<ov::Model> digits() {
  const std::vector<ptrdiff_t> none{0, 0};
  auto image = std::make_shared<ov::opset13::Parameter>(ov::element::Type_t::f32, ov::Shape({1, 1, 12, 12}));
  auto convolution =
      std::make_shared<opset13::Convolution>(image->output(0), constant({4, 1, 5, 5})->output(0), Strides({1, 1}),
                                             CoordinateDiff(none), CoordinateDiff(none), Strides({1, 1}));
  auto biased = std::make_shared<opset13::Add>(convolution->output(0), constant({1, 4, 1, 1})->output(0));
  auto pooled = std::make_shared<opset13::MaxPool>(biased->output(0), Strides{2, 2}, Strides{1, 1}, Shape{0, 0},
                                                   Shape{0, 0}, Shape{2, 2}, op::RoundingType::CEIL);
  auto flat = opset13::Constant::create(element::i64, Shape{2}, {0, -1});
  auto rows = std::make_shared<opset13::Reshape>(pooled->output(0), flat->output(0), true);
  auto product = std::make_shared<opset13::MatMul>(rows, constant({10, 64}), false, true);
  auto positive = std::make_shared<opset13::Relu>(product);
  auto probability = std::make_shared<opset13::Softmax>(positive->output(0), 1);
  probability->get_output_tensor(0).set_names({"probability"});
  auto result = std::make_shared<opset13::Result>(probability->output(0));
  return std::make_shared<ov::Model>(result, ov::ParameterVector{image}, "digits");
}

std::vector<float> run(ov::Core& core, const std::shared_ptr<ov::Model>& model) {
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  ov::InferRequest request = compiled.create_infer_request();
  ov::Tensor input = request.get_input_tensor();
  const std::vector<float> values = weights(input.get_size());
  std::copy(values.begin(), values.end(), input.data<float>());
  request.infer();
  const ov::Tensor output = request.get_tensor("probability");
  return {output.data<const float>(), output.data<const float>() + output.get_size()};
}

/// As tools that look at models do.
void check_attributes(const std::shared_ptr<ov::Model>& model) {
  int known = 0;
  for (const std::shared_ptr<ov::Node>& node : model->get_ordered_ops()) {
    if (auto convolution = ov::as_type_ptr<ov::op::v1::Convolution>(node)) {
      ++known;
      const ov::Strides& strides = convolution->get_strides();
      OPENVINO_ASSERT(strides == (ov::Strides{1, 1}) && convolution->get_auto_pad() == ov::op::PadType::EXPLICIT,
                      "strides");
    } else if (auto pool = ov::as_type<ov::op::v8::MaxPool>(node.get())) {
      ++known;
      OPENVINO_ASSERT(
          pool->get_kernel() == (ov::Shape{2, 2}) && pool->get_rounding_type() == ov::op::RoundingType::CEIL,
          "the window of ", pool->get_friendly_name());
    } else if (const auto product = ov::as_type<const ov::op::v0::MatMul>(node.get())) {
      ++known;
      OPENVINO_ASSERT(!product->get_transpose_a() && product->get_transpose_b(), "transposed operands");
    }
  }
  OPENVINO_ASSERT(known == 3, "layers of ", known, " classes are known");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " FOLDER");
    std::cout << ov::get_openvino_version() << std::endl;
    ov::Core core;
    std::shared_ptr<ov::Model> model = digits();
    OPENVINO_ASSERT(model->inputs().size() == 1 && model->outputs().size() == 1, "inputs or outputs are wrong");
    OPENVINO_ASSERT(model->output().get_shape() == (ov::Shape{1, 10}), "the shape is ", model->output().get_shape());
    for (const std::shared_ptr<ov::Node>& node : model->get_ordered_ops()) {
      std::cout << node->get_type_info().name << " " << node->get_friendly_name() << std::endl;
    }
    check_attributes(model);
    const std::vector<float> first = run(core, model);
    float sum = 0;
    for (const float probability : first) sum += probability;
    OPENVINO_ASSERT(std::abs(sum - 1) < 1e-5f, "probabilities add up to ", sum);

    const std::string path = std::string(argv[1]) + "/digits.xml";
    ov::pass::Serialize(path, std::string(argv[1]) + "/digits.bin").run_on_model(model);
    OPENVINO_ASSERT(run(core, core.read_model(path)) == first, "the model that was read gives other results");
    check_attributes(core.read_model(path));

    bool refused = false;
    try {
      std::make_shared<opset13::MatMul>(constant({2, 3}), constant({2, 3}));
    } catch (const ov::Exception& error) {
      refused = true;
      std::cout << error.what() << std::endl;
    }
    OPENVINO_ASSERT(refused, "a product of matrices that do not fit was made");
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
