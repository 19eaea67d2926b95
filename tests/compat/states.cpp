// A program of OpenVINO's C++ API with a model that remembers, inputs of any size, and log lines of its own:
// main FOLDER.
#include <openvino/core/log.hpp>
#include <openvino/op/util/variable.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset8.hpp>
#include <openvino/pass/make_stateful.hpp>
#include <openvino/pass/manager.hpp>

#include <cstdlib>
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace ov;

namespace {

/// sum = the sum of all rows of data that came so far; twice: 2 * sum
std::shared_ptr<ov::Model> running_sum() {
  auto input = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::PartialShape{ov::Dimension(1, 16), 1});
  auto init_const = ov::opset8::Constant::create(ov::element::f32, ov::Shape{1, 1}, {0});
  ov::op::util::VariableInfo var_info = {init_const->get_shape(), init_const->get_element_type(), "variable0"};
  auto variable = std::make_shared<ov::op::util::Variable>(var_info);
  auto read = std::make_shared<ov::opset8::ReadValue>(init_const, variable);
  auto axis = ov::opset8::Constant::create(ov::element::i64, ov::Shape{1}, {0});
  auto rows = std::make_shared<ov::opset8::ReduceSum>(input, axis, true);
  auto add = std::make_shared<ov::opset8::Add>(rows, read);
  auto save = std::make_shared<ov::opset8::Assign>(add, variable);
  auto two = ov::opset8::Constant::create(ov::element::f32, ov::Shape{1}, {2});
  auto result = std::make_shared<ov::opset8::Result>(std::make_shared<ov::opset8::Multiply>(add, two));
  input->output(0).get_tensor().set_names({"rows"});
  return std::make_shared<ov::Model>(ov::ResultVector({result}), ov::SinkVector({save}), ov::ParameterVector({input}),
                                     "running_sum");
}

void states(ov::Core& core, const std::shared_ptr<ov::Model>& model) {
  ov::CompiledModel compiled =
      core.compile_model(model, "CPU", {{ov::hint::inference_precision.name(), ov::element::f32}});
  ov::InferRequest request = compiled.create_infer_request();
  auto states = request.query_state();
  OPENVINO_ASSERT(states.size() == 1 && states[0].get_name() == "variable0", states.size(), " states");
  ov::VariableState& state = states[0];
  request.reset_state();
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  float expected = 0;
  for (size_t next = 0; next < data.size(); next += 2) {
    Tensor rows = request.get_tensor("rows");
    rows.set_shape({2, 1});
    std::memcpy(rows.data(), &data[next], 2 * sizeof(float));
    request.infer();
    expected += data[next] + data[next + 1];
    auto now = state.get_state().data<float>();
    OPENVINO_ASSERT(now[0] == expected, "the sum is ", now[0]);
    OPENVINO_ASSERT(request.get_output_tensor().data<float>()[0] == 2 * expected, "the output is wrong");
  }
  state.reset();
  Tensor five(element::f32, Shape{1, 1});
  five.data<float>()[0] = 5;
  state.set_state(five);
  Tensor one(model->input().get_element_type(), {1, 1});
  one.data<float>()[0] = 1;
  request.set_input_tensor(one);
  std::promise<float> sum;
  request.set_callback([&](std::exception_ptr error) {
    if (error) {
      sum.set_exception(error);
    } else {
      sum.set_value(request.get_output_tensor(0).data<float>()[0]);
    }
  });
  request.start_async();
  OPENVINO_ASSERT(sum.get_future().get() == 12, "the state that was set was not read");
  request.wait();
}

/// What one output gave is what an input reads next time.
void made_stateful(ov::Core& core) {
  auto x = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::Shape{2});
  auto before = std::make_shared<ov::opset8::Parameter>(ov::element::f32, ov::Shape{2});
  before->output(0).set_names({"before"});
  auto mixed = std::make_shared<ov::opset8::Add>(x, before);
  mixed->output(0).set_names({"after"});
  auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::opset8::Abs>(mixed), mixed},
                                           ov::ParameterVector{x, before});
  ov::pass::Manager manager;
  std::map<std::string, std::string> tensor_names = {{"before", "after"}};
  manager.register_pass<ov::pass::MakeStateful>(tensor_names);
  manager.run_passes(model);
  OPENVINO_ASSERT(model->inputs().size() == 1 && model->get_variables().size() == 1, "no variable was made");
  auto request = core.compile_model(model).create_infer_request();
  float values[] = {1, -1};
  request.set_input_tensor(ov::Tensor(ov::element::f32, {2}, values));
  for (int i = 1; i <= 3; ++i) {
    request.infer();
    OPENVINO_ASSERT(request.get_output_tensor().data<float>()[1] == static_cast<float>(i), "round ", i);
  }
}

void dynamic_shapes(const std::shared_ptr<ov::Model>& model) {
  OPENVINO_ASSERT(model->input(0).get_partial_shape().is_dynamic(), "the input is not dynamic");
  OPENVINO_ASSERT(model->input(0).get_partial_shape()[0].get_max_length() == 16, "no upper bound");
  const auto copy = model->clone();
  std::map<ov::Output<ov::Node>, ov::PartialShape> port_to_shape;
  for (const ov::Output<ov::Node>& input : copy->inputs()) {
    ov::PartialShape shape = input.get_partial_shape();
    shape[0] = ov::Dimension(2, 8);
    port_to_shape[input] = shape;
  }
  copy->reshape(port_to_shape);
  OPENVINO_ASSERT(copy->input().get_partial_shape() == (ov::PartialShape{{2, 8}, 1}),
                  copy->input().get_partial_shape());
  copy->reshape(ov::PartialShape{3, 1});
  OPENVINO_ASSERT(!copy->is_dynamic(), "the model is dynamic still");
  copy->reshape({{"rows", ov::PartialShape{-1, 1}}});
  OPENVINO_ASSERT(copy->is_dynamic() && model->input().get_partial_shape()[0].get_max_length() == 16, "not a copy");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " FOLDER");
    std::string log;
    ov::util::set_log_callback([&](std::string_view line) { log.append(line).push_back('\n'); });
    ov::Core core;
    const auto model = running_sum();
    dynamic_shapes(model);
    states(core, model);
    ov::save_model(model, std::string(argv[1]) + "/running_sum.xml");
    states(core, core.read_model(std::string(argv[1]) + "/running_sum.xml"));
    made_stateful(core);
    ov::util::reset_log_callback();
    OPENVINO_ASSERT(log.empty(), "there were warnings: ", log);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
