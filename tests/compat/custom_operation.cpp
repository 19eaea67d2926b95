// A program of OpenVINO's C++ API with layers of its own, which are classes: read from a file, from a library, made in
// code, of any size, and wrong ones: main LIBRARY.
#include <openvino/core/parallel.hpp>
#include <openvino/frontend/extension.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset8.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "tests/compat/custom_layers.hpp"

namespace {

/// Keeps the positive elements: what it makes depends on data.
class Positive : public ov::op::Op {
 public:
  OPENVINO_OP("Positive");
  Positive() = default;
  Positive(const ov::Output<ov::Node>& arg) : Op({arg}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    const ov::PartialShape& shape = get_input_partial_shape(0);
    set_output_type(0, get_input_element_type(0), ov::PartialShape{ov::Dimension(0, shape[0].get_max_length())});
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& new_args) const override {
    return std::make_shared<Positive>(new_args.at(0));
  }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    std::vector<float> kept;
    for (size_t i = 0; i < inputs[0].get_size(); ++i)
      if (inputs[0].data<const float>()[i] > 0) kept.push_back(inputs[0].data<const float>()[i]);
    outputs[0].set_shape({kept.size()});
    float* const out = outputs[0].data<float>();
    ov::parallel_for(kept.size(), [&](size_t i) { out[i] = kept[i]; });
    return parallel_get_max_threads() > 0;
  }
};

std::string file(const std::string& type, const std::string& attributes) {
  const bool parts = type == "Parts";
  const std::string version = parts ? "custom" : "extension", extent = parts ? "2" : "4";
  std::string text = R"(<?xml version="1.0"?>
<net name="custom" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,4" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="one" type="Const" version="opset1"><data element_type="f32" shape="1" offset="0" size="4"/>
  <output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="2" name="mine" type=")" +
                     type + R"(" version=")" + version + R"("><data )" + attributes + R"(/>
  <input><port id="0" precision="FP32"><dim>-1</dim><dim>4</dim></port>)";
  if (parts) text += R"(<port id="1" precision="FP32"><dim>1</dim></port>)";
  text += R"(</input><output><port id="2" precision="FP32"><dim>-1</dim><dim>)" + extent + "</dim></port>";
  if (parts) text += R"(<port id="3" precision="FP32"><dim>-1</dim><dim>2</dim></port>)";
  text += R"(</output></layer>
<layer id="3" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"/></input></layer>)";
  if (parts)
    text += R"(
<layer id="4" name="z" type="Result" version="opset1"><input><port id="0" precision="FP32"/></input></layer>)";
  text += R"(</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>)";
  if (parts)
    text += R"(<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="3" to-layer="4" to-port="0"/>)";
  return text + "</edges></net>";
}

ov::Tensor weights() {
  ov::Tensor one(ov::element::u8, {4});
  *static_cast<float*>(one.data()) = 1;
  return one;
}

ov::Tensor counted(size_t rows) {
  ov::Tensor tensor(ov::element::f32, {rows, 4});
  for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = float(i);
  return tensor;
}

/// x = (left half, right half) -> right half * -3 + 3, left half * -2 + 3, in this order
void check_parts(ov::InferRequest request, size_t rows) {
  const ov::Tensor input = counted(rows);
  request.set_input_tensor(input);
  request.infer();
  for (size_t output = 0; output < 2; ++output) {
    const ov::Tensor made = request.get_output_tensor(output);
    OPENVINO_ASSERT(made.get_shape() == (ov::Shape{rows, 2}), "the shape is ", made.get_shape());
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < 2; ++i) {
        const float from = input.data<float>()[row * 4 + (output == 0 ? 2 : 0) + i];
        const float expected = from * (output == 0 ? -3.f : -2.f) + 3;
        OPENVINO_ASSERT(made.data<float>()[row * 2 + i] == expected, "output ", output, " is ",
                        made.data<float>()[row * 2 + i], ", not ", expected);
      }
  }
}

const char* const kParts = R"(factors="2,3" side="Right" shift="2" negate="true" axes="" type="f16")";

void from_file(ov::Core& core) {
  const auto identity = core.read_model(file("Identity", ""), ov::Tensor());
  ov::InferRequest request = core.compile_model(identity, "CPU").create_infer_request();
  for (size_t rows : {3, 0, 7}) {
    request.set_input_tensor(counted(rows));
    request.infer();
    const ov::Tensor output = request.get_output_tensor();
    OPENVINO_ASSERT(output.get_shape() == (ov::Shape{rows, 4}));
    for (size_t i = 0; i < output.get_size(); ++i) OPENVINO_ASSERT(output.data<float>()[i] == float(i));
  }
  const auto model = core.read_model(file("Parts", kParts), weights());
  OPENVINO_ASSERT(ov::is_type<custom::Parts>(model->get_output_op(0)->get_input_node_shared_ptr(0)));
  OPENVINO_ASSERT(model->output(1).get_partial_shape() == (ov::PartialShape{-1, 2}));
  ov::CompiledModel compiled = core.compile_model(model, "CPU");
  check_parts(compiled.create_infer_request(), 5);
  model->reshape(ov::PartialShape{6, 4});
  check_parts(core.compile_model(model, "CPU").create_infer_request(), 6);
  // Two requests at once, whose layers are the same objects.
  std::vector<std::thread> threads;
  std::vector<std::string> errors(2);
  for (std::string& error : errors)
    threads.emplace_back([&] {
      try {
        ov::InferRequest own = compiled.create_infer_request();
        for (size_t i = 0; i < 200; ++i) check_parts(own, 1 + i % 3);
      } catch (const std::exception& thrown) {
        error = thrown.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) OPENVINO_ASSERT(error.empty(), error);
}

void in_code() {
  auto input = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::PartialShape{-1, 4});
  auto one = ov::opset8::Constant::create(ov::element::f32, ov::Shape{1}, {3});
  auto parts = std::make_shared<custom::Parts>(std::make_shared<custom::Identity>(input), one,
                                               std::vector<float>{-2, -3}, custom::Side::right);
  OPENVINO_ASSERT(parts->get_output_size() == 2 && parts->output(1).get_partial_shape() == (ov::PartialShape{-1, 2}));
  parts->set_friendly_name("mine");
  auto copy = parts->clone_with_new_inputs({input, one});
  auto model =
      std::make_shared<ov::Model>(ov::OutputVector{copy->output(0), parts->output(1)}, ov::ParameterVector{input});
  OPENVINO_ASSERT(parts->get_friendly_name() == "mine" && parts->get_attributes().at("side") == "right");
  ov::Core core;  // which need not know the classes
  check_parts(core.compile_model(model, "CPU").create_infer_request(), 4);
  check_parts(core.compile_model(model->clone(), "CPU").create_infer_request(), 2);
}

void depending_on_data() {
  auto input = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::PartialShape{5});
  auto model =
      std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<Positive>(input)}, ov::ParameterVector{input});
  ov::Core core;
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  const float numbers[] = {1, -1, 2, -2, 3};
  std::copy(numbers, numbers + 5, request.get_input_tensor().data<float>());
  request.infer();
  const ov::Tensor kept = request.get_output_tensor();
  OPENVINO_ASSERT(kept.get_shape() == ov::Shape{3} && kept.data<float>()[2] == 3, kept.get_shape());
}

template <typename Action>
void expect_error(Action&& action, const std::vector<std::string>& parts) {
  std::string text;
  try {
    action();
  } catch (const ov::Exception& error) {
    text = error.what();
  }
  OPENVINO_ASSERT(!text.empty(), "there is no error that says ", parts.at(0));
  for (const std::string& part : parts)
    OPENVINO_ASSERT(text.find(part) != std::string::npos, "'", part, "' is not in: ", text);
}

void wrong_ones(ov::Core& core) {
  const auto read = [&](const char* attributes) { return core.read_model(file("Parts", attributes), weights()); };
  const auto run = [&](const char* attributes) {
    ov::InferRequest request = core.compile_model(read(attributes), "CPU").create_infer_request();
    request.set_input_tensor(counted(2));
    request.infer();
  };
  expect_error([&] { read(R"(factors="1,2,3")"); }, {"'mine'", "Parts: Check", "an extent of 4 has no 3 parts"});
  expect_error([&] { read(R"(factors="2,3" side="up")"); }, {"'mine'", "attribute 'side'", "up", "left, right"});
  expect_error([&] { read(R"(factors="2,3" shift="99999999999")"); }, {"'mine'", "attribute 'shift'", "99999999999"});
  expect_error([&] { read(R"(factors="2,x")"); }, {"'mine'", "factors"});
  expect_error([&] { run(R"(factors="2,3" name="throws")"); }, {"'mine'", "the layer is told to throw"});
  expect_error([&] { run(R"(factors="2,3" name="refused")"); }, {"'mine'", "evaluate() of Parts returns false"});
  auto input = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::PartialShape{-1, 4});
  expect_error([&] { custom::Parts(input, input, {}, custom::Side::left); }, {"Parts", "it needs a factor"});
  expect_error([&] { ov::Core().read_model(file("Identity", ""), ov::Tensor()); }, {"Identity"});
  expect_error([&] { core.add_extension(std::shared_ptr<ov::Extension>()); }, {"null"});
}

}  // namespace

int main(int argc, char** argv) try {
  OPENVINO_ASSERT(argc == 2, "main LIBRARY");
  ov::Core core;
  core.add_extension<custom::Identity>();
  core.add_extension(std::make_shared<ov::OpExtension<custom::Parts>>());
  core.add_extension(ov::OpExtension<custom::Identity>());  // the same one: nothing happens
  core.add_extension(std::make_shared<ov::frontend::OpExtension<custom::Identity>>("identity_of_a_framework"));
  from_file(core);
  ov::Core another;
  another.add_extension(argv[1]);
  from_file(another);
  in_code();
  depending_on_data();
  wrong_ones(core);
  std::cout << "layers that are classes: all is well\n";
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
