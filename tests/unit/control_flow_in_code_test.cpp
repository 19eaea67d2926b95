// If, Loop and TensorIterator made in code (terroir/op/control_flow.hpp), on both devices.
#include <gtest/gtest.h>

#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/file_tree.hpp"
#include "tests/unit/error_parts.hpp"
#include "tests/unit/float_tensors.hpp"
#include "tests/unit/layer_text.hpp"

namespace terroir {
namespace {

using op::v0::Constant;
using op::v0::Parameter;
using op::v0::Result;
using op::v1::Add;
using op::v1::Multiply;
using Values = std::vector<float>;

std::shared_ptr<Constant> truth(bool value) { return Constant::create(element::boolean, Shape{}, {value}); }

Tensor condition(bool value) {
  const Tensor made(element::boolean, Shape{});
  *made.data<bool>() = value;
  return made;
}

class ControlFlowInCode : public FileTree {
 protected:
  /// All outputs of the model, the same from both devices, and from the model when it is written and read again.
  std::vector<Values> run(const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs) const {
    const std::string file = (root_ / "model.xml").string();
    save_model(model, file, false);
    Core core;
    std::vector<Values> outputs;
    for (const auto& each : {model, core.read_model(file)}) {
      for (const char* device : {"INTERPRETER", "CPU"}) {
        InferRequest request = core.compile_model(each, device).create_infer_request();
        for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
        request.infer();
        std::vector<Values> found;
        for (size_t i = 0; i < model->get_output_size(); ++i) {
          const Tensor tensor = request.get_output_tensor(i);
          found.emplace_back(tensor.data<float>(), tensor.data<float>() + tensor.get_size());
        }
        if (outputs.empty()) outputs = found;
        EXPECT_EQ(found, outputs) << device;
      }
    }
    return outputs;
  }
};

/// x * 2 or x + y.
struct Branches {
  std::shared_ptr<Parameter> chosen = input({}, element::boolean), x = input({2}), y = input({2});
  std::shared_ptr<Parameter> then_x = input({2}), else_x = input({2}), else_y = input({2});
  std::shared_ptr<Result> then_result = std::make_shared<Result>(std::make_shared<Multiply>(then_x, real(2)));
  std::shared_ptr<Result> else_result = std::make_shared<Result>(std::make_shared<Add>(else_x, else_y));
  std::shared_ptr<Model> then_body =
      std::make_shared<Model>(ResultVector{then_result}, ParameterVector{then_x}, "then");
  std::shared_ptr<Model> else_body =
      std::make_shared<Model>(ResultVector{else_result}, ParameterVector{else_x, else_y}, "else");
  std::shared_ptr<op::v8::If> layer = std::make_shared<op::v8::If>(chosen);
};

TEST_F(ControlFlowInCode, IfRunsOneOfItsBodies) {
  Branches b;
  b.layer->set_then_body(b.then_body);
  b.layer->set_else_body(b.else_body);
  b.layer->set_input(b.x, b.then_x, b.else_x);
  b.layer->set_input(b.y, nullptr, b.else_y);
  const Output<Node> output = b.layer->set_output(b.then_result, b.else_result);
  EXPECT_EQ(output.get_partial_shape(), PartialShape({2}));
  EXPECT_EQ(output.get_element_type(), element::f32);
  const auto sum = std::make_shared<Add>(output, real(1));
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{b.chosen, b.x, b.y}, "choice");
  const Tensor x = floats({2}, {1, 2}), y = floats({2}, {10, 20});
  EXPECT_EQ(run(model, {condition(true), x, y}), (std::vector<Values>{{3, 5}}));
  EXPECT_EQ(run(model, {condition(false), x, y}), (std::vector<Values>{{12, 23}}));
  EXPECT_EQ(b.layer->get_then_body()->get_parameters().size(), 1u);
  EXPECT_EQ(b.layer->get_else_body()->get_parameters().size(), 2u);
  EXPECT_EQ(opset13::If::get_type_info_static(), b.layer->get_type_info());
}

/// One iteration: next = sum + x * iteration; goes on while the iteration is below a limit.
struct Step {
  explicit Step(int64_t limit) {
    const auto factor = std::make_shared<op::v0::Convert>(iteration, element::f32);
    next = std::make_shared<Add>(sum, std::make_shared<Multiply>(x, factor));
    goes_on = std::make_shared<op::v1::Less>(iteration, Constant::create(element::i64, Shape{}, {limit}));
    body = std::make_shared<Model>(OutputVector{next, goes_on}, ParameterVector{iteration, x, sum}, "step");
  }
  std::shared_ptr<Parameter> iteration = input({}, element::i64), x = input({1, 2}), sum = input({1, 2});
  std::shared_ptr<Node> next, goes_on;
  std::shared_ptr<Model> body;
};

TEST_F(ControlFlowInCode, LoopCarriesSlicesAndConcatenates) {
  const auto data = input({4, 2});
  const auto start = input({1, 2});
  for (const int64_t limit : {9, 2}) {
    const Step step(limit);
    const auto loop = std::make_shared<op::v5::Loop>(Constant::create(element::i64, Shape{}, {4}), truth(true));
    loop->set_function(step.body);
    loop->set_special_body_ports({0, 1});
    EXPECT_EQ(loop->get_special_body_ports().current_iteration_input_idx, 0);
    EXPECT_EQ(loop->get_special_body_ports().body_condition_output_idx, 1);
    loop->set_sliced_input(step.x, data, 0, 1, 1, -1, 0);
    loop->set_merged_input(step.sum, start, step.next);
    const Output<Node> last = loop->get_iter_value(step.next);
    const Output<Node> all = loop->get_concatenated_slices(step.next, 0, 1, 1, -1, 0);
    EXPECT_EQ(last.get_partial_shape(), PartialShape({1, 2}));
    EXPECT_EQ(all.get_partial_shape(), PartialShape({{1, 4}, 2})) << "the condition may end it";
    const auto model = std::make_shared<Model>(OutputVector{last, all}, ParameterVector{data, start}, "sums");
    const std::vector<Values> found =
        run(model, {floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), floats({1, 2}, {100, 200})});
    const Values sums{100, 200, 103, 204, 113, 216, 134, 240};
    const size_t iterations = limit == 9 ? 4 : 3;
    EXPECT_EQ(found.at(0), Values(sums.begin() + static_cast<std::ptrdiff_t>(iterations) * 2 - 2,
                                  sums.begin() + static_cast<std::ptrdiff_t>(iterations) * 2));
    EXPECT_EQ(found.at(1), Values(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(iterations) * 2));
  }
}

TEST_F(ControlFlowInCode, TensorIteratorGoesBackwardsOverAnUnknownExtent) {
  const auto data = input({2, -1}), scale = input({1});
  const auto x = input({2, 1}), sum = input({2, 1}), factor = input({1});
  const auto next = std::make_shared<Add>(sum, std::make_shared<Multiply>(x, factor));
  const auto body = std::make_shared<Model>(OutputVector{next}, ParameterVector{x, sum, factor}, "body");
  const auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(body);
  iterator->set_sliced_input(x, data, -1, -1, 1, 0, 1);
  iterator->set_merged_input(sum, Constant::create(element::f32, Shape{2, 1}, {0.0f, 0.0f}), next);
  const Output<Node> before = iterator->get_iter_value(next);
  iterator->set_invariant_input(factor, scale);
  const Output<Node> all = iterator->get_concatenated_slices(next, -1, -1, 1, 0, 1);
  EXPECT_EQ(all.get_partial_shape(), PartialShape({2, -1}));
  const auto model = std::make_shared<Model>(OutputVector{before, all}, ParameterVector{data, scale}, "suffix sums");
  const std::vector<Values> found = run(model, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({1}, {10})});
  EXPECT_EQ(found.at(0), (Values{60, 150}));
  EXPECT_EQ(found.at(1), (Values{60, 50, 30, 150, 110, 60}));
}

TEST_F(ControlFlowInCode, LayersBehindGetTheShapesThatAreKnownLast) {
  const auto data = input({3, 2});
  const auto x = input(PartialShape::dynamic()), again = input(PartialShape::dynamic());
  const auto next = std::make_shared<Add>(x, again);
  const auto body = std::make_shared<Model>(OutputVector{next}, ParameterVector{x, again}, "body");
  const auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(body);
  iterator->set_invariant_input(x, data);
  const auto relu = std::make_shared<op::v0::Relu>(iterator->get_iter_value(next));
  EXPECT_TRUE(relu->get_output_partial_shape(0).is_dynamic());
  iterator->set_invariant_input(again, data);
  EXPECT_EQ(iterator->get_output_partial_shape(0), PartialShape({3, 2}));
  const Model model(OutputVector{relu}, ParameterVector{data}, "late");
  EXPECT_EQ(model.output().get_partial_shape(), PartialShape({3, 2}));
}

TEST_F(ControlFlowInCode, WrongPartsAreRefusedAndChangeNothing) {
  Branches b;
  EXPECT_EQ(code_of([&] { b.layer->set_input(b.x, b.then_x, b.else_x); }), ErrorCode::invalid_argument) << "no body";
  EXPECT_EQ(code_of([&] { b.layer->set_then_body(nullptr); }), ErrorCode::invalid_argument);
  b.layer->set_then_body(b.then_body);
  EXPECT_EQ(code_of([&] { b.layer->set_then_body(b.then_body); }), ErrorCode::invalid_argument) << "twice";
  b.layer->set_else_body(b.else_body);
  EXPECT_EQ(code_of([&] { b.layer->set_input(b.x, nullptr, nullptr); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { b.layer->set_input(b.x, b.else_x, b.then_x); }), ErrorCode::invalid_argument) << "mixed up";
  EXPECT_EQ(code_of([&] { b.layer->set_output(b.else_result, b.then_result); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { b.layer->set_output(nullptr, b.else_result); }), ErrorCode::invalid_argument);
  b.layer->set_input(b.x, b.then_x, b.else_x);
  EXPECT_EQ(code_of([&] { b.layer->set_input(b.x, b.then_x, nullptr); }), ErrorCode::invalid_argument) << "fed twice";
  const Output<Node> output = b.layer->set_output(b.then_result, b.else_result);
  const ParameterVector parameters{b.chosen, b.x, b.y};
  const Exception not_fed = caught([&] { Model(OutputVector{output}, parameters, "not fed"); });
  EXPECT_EQ(not_fed.code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string(not_fed.what()).find("not fed"), std::string::npos) << not_fed.what();
  // An input that the body cannot have is taken away again.
  const size_t inputs = b.layer->get_input_size();
  EXPECT_ANY_THROW(b.layer->set_input(input({7}), nullptr, b.else_y));
  EXPECT_EQ(b.layer->get_input_size(), inputs);
  b.layer->set_input(b.y, nullptr, b.else_y);
  const Model model(OutputVector{output}, parameters, "fed");
  EXPECT_EQ(code_of([&] { b.layer->set_input(b.x, b.then_x, nullptr); }), ErrorCode::invalid_argument) << "in a model";
}

TEST_F(ControlFlowInCode, WrongPartsOfALoopAreRefused) {
  const Step step(9);
  const auto loop = std::make_shared<op::v5::Loop>(Constant::create(element::i64, Shape{}, {4}), truth(true));
  loop->set_function(step.body);
  EXPECT_EQ(code_of([&] { loop->set_special_body_ports({3, 0}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { loop->set_special_body_ports({-1, 2}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { loop->get_iter_value(step.next, 2); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { loop->get_iter_value(step.sum); }), ErrorCode::invalid_argument) << "no result";
  EXPECT_EQ(code_of([&] { loop->get_iter_value(Output<Node>()); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] {
              loop->set_sliced_input(step.x, input({4, 2}), 0, 0, 1, -1, 0);
            }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { loop->set_merged_input(step.sum, input({1, 2}), step.x); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { loop->set_invariant_input(input({1, 2}), input({1, 2})); }), ErrorCode::invalid_argument);
}

// Their kernels end a plan, so they are none of its steps.
TEST_F(ControlFlowInCode, ProfilesTellLayersOfOneNameInTwoBodiesApart) {
  const auto indices = [](const Output<Node>& of) {
    auto layer = std::make_shared<op::v3::NonZero>(of, element::i64);
    layer->set_friendly_name("indices");
    return layer;
  };
  const auto chosen = input({}, element::boolean), x = input({4}), then_x = input({4}), else_x = input({4});
  const auto then_result = std::make_shared<Result>(indices(then_x)),
             else_result = std::make_shared<Result>(indices(else_x));
  const auto layer = std::make_shared<op::v8::If>(chosen);
  layer->set_then_body(std::make_shared<Model>(ResultVector{then_result}, ParameterVector{then_x}));
  layer->set_else_body(std::make_shared<Model>(ResultVector{else_result}, ParameterVector{else_x}));
  layer->set_input(x, then_x, else_x);
  const Output<Node> found = layer->set_output(then_result, else_result);
  const auto model =
      std::make_shared<Model>(OutputVector{found, indices(x)->output(0)}, ParameterVector{chosen, x}, "twice");
  const std::string file = (root_ / "model.xml").string();
  save_model(model, file, false);
  InferRequest request = Core().compile_model(file, "CPU", enable_profiling(true)).create_infer_request();
  request.set_input_tensor(0, condition(true));
  request.set_input_tensor(1, floats({4}, {0, 1, 0, 2}));
  request.infer();
  int runs = 0;
  for (const ProfilingInfo& info : request.get_profiling_info()) {
    if (info.node_name == "indices" && info.status == ProfilingInfo::Status::EXECUTED) ++runs;
  }
  EXPECT_EQ(runs, 2);
}

/// The identity; it cancels the inference that it is in when it is computed for the third time.
class CancelsTheThirdTime : public op::Op {
 public:
  TERROIR_OP("CancelsTheThirdTime");
  CancelsTheThirdTime() = default;
  explicit CancelsTheThirdTime(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<CancelsTheThirdTime>(inputs.at(0));
  }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    inputs[0].copy_to(outputs[0]);
    if (++times == 3) request->cancel();
    return true;
  }
  bool has_evaluate() const override { return true; }

  static inline int times = 0;
  static inline InferRequest* request = nullptr;
};

TEST_F(ControlFlowInCode, ALoopThatIsCancelledStops) {
  for (const char* device : {"INTERPRETER", "CPU"}) {
    const auto x = input({2}), in_body = input({2});
    const auto next = std::make_shared<CancelsTheThirdTime>(in_body);
    const auto condition = Constant::create(element::boolean, Shape{}, {true});
    const auto loop = std::make_shared<op::v5::Loop>(Constant::create(element::i64, Shape{}, {1000}), truth(true));
    loop->set_function(std::make_shared<Model>(OutputVector{next, condition}, ParameterVector{in_body}, "body"));
    loop->set_special_body_ports({-1, 1});
    loop->set_merged_input(in_body, x, next);
    const Output<Node> last = loop->get_iter_value(next);
    InferRequest request = Core()
                               .compile_model(std::make_shared<Model>(OutputVector{last}, ParameterVector{x}), device)
                               .create_infer_request();
    CancelsTheThirdTime::times = 0;
    CancelsTheThirdTime::request = &request;
    EXPECT_THROW(request.infer(), Cancelled) << device;
    EXPECT_EQ(CancelsTheThirdTime::times, 3) << device;
  }
}

}  // namespace
}  // namespace terroir
