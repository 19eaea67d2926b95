// Loops whose carried values become variables; what loops tell of themselves; models as one stream.
#include "terroir/pass/low_latency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "terroir/opsets.hpp"
#include "terroir/pass/stream_serialize.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

/// sums[i] = start + x[0] + ... + x[i], as a TensorIterator; the last sum is the second output if it is asked for.
std::shared_ptr<Model> running_sums(bool with_last, float start = 0) {
  const auto part = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 2});
  const auto sum = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 2});
  const auto next = std::make_shared<opset8::Add>(part, sum);
  const auto body = std::make_shared<Model>(OutputVector{next}, ParameterVector{part, sum}, "step");
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{-1, 2});
  const auto first = opset8::Constant::create(element::f32, Shape{1, 2}, {start});
  const auto loop = std::make_shared<opset8::TensorIterator>();
  loop->set_friendly_name("sums");
  loop->set_body(body);
  loop->set_sliced_input(part, x, 0, 1, 1, -1, 0);
  loop->set_merged_input(sum, first, next);
  OutputVector outputs{loop->get_concatenated_slices(next, 0, 1, 1, -1, 0)};
  if (with_last) outputs.push_back(loop->get_iter_value(next));
  return std::make_shared<Model>(outputs, ParameterVector{x}, "running");
}

std::vector<float> run(InferRequest& request, const std::vector<float>& rows) {
  const Tensor input(element::f32, Shape{rows.size() / 2, 2});
  std::copy(rows.begin(), rows.end(), input.data<float>());
  request.set_input_tensor(input);
  request.infer();
  const Tensor output = request.get_output_tensor(0);
  return {output.data<float>(), output.data<float>() + output.get_size()};
}

bool keep_sums(const std::shared_ptr<Model>& model, bool zeros = true) {
  pass::Manager manager;
  manager.register_pass<pass::LowLatency2>(zeros);
  return manager.run_passes(model);
}

TEST(LowLatency, GoesOnWhereTheLoopHasStopped) {
  for (const char* device : {"CPU", "INTERPRETER"}) {
    for (const bool with_last : {false, true}) {
      const auto model = running_sums(with_last);
      ASSERT_TRUE(keep_sums(model));
      ASSERT_EQ(model->get_variables().size(), 1u);
      const std::string name = model->get_variables()[0]->get_info().variable_id;
      EXPECT_EQ(name.rfind("sums/", 0), 0u) << name;
      EXPECT_EQ(name.substr(name.rfind('/')), "/variable_1") << "its input is the second";
      EXPECT_EQ(model->get_sinks().size(), 1u);
      Core core;
      InferRequest request = core.compile_model(model, device).create_infer_request();
      EXPECT_EQ(run(request, {1, 10, 2, 20}), (std::vector<float>{1, 10, 3, 30}));
      EXPECT_EQ(run(request, {3, 30}), (std::vector<float>{6, 60}));
      EXPECT_EQ(run(request, {4, 40, 5, 50}), (std::vector<float>{10, 100, 15, 150}));
      request.reset_state();
      EXPECT_EQ(run(request, {7, 70}), (std::vector<float>{7, 70}));
    }
  }
}

TEST(LowLatency, BeginsWithZerosOrWithWhatFedTheLoop) {
  Core core;
  const auto zeros = running_sums(false, 100);
  ASSERT_TRUE(keep_sums(zeros));
  InferRequest from_zero = core.compile_model(zeros, "CPU").create_infer_request();
  EXPECT_EQ(run(from_zero, {1, 2}), (std::vector<float>{1, 2}));
  const auto given = running_sums(false, 100);
  ASSERT_TRUE(keep_sums(given, false));
  InferRequest from_given = core.compile_model(given, "CPU").create_infer_request();
  EXPECT_EQ(run(from_given, {1, 2}), (std::vector<float>{101, 102}));
  EXPECT_EQ(run(from_given, {1, 2}), (std::vector<float>{102, 104}));
}

TEST(LowLatency, LoopsThatRunOnceAreTheirBody) {
  const auto model = running_sums(true, 1);
  std::shared_ptr<Node> loop;
  for (const auto& layer : model->get_ops())
    if (is_type<op::util::SubGraphOp>(layer)) loop = layer;
  model->output(0).get_tensor().set_names({"all"});
  model->reshape(PartialShape{1, 2});
  ASSERT_TRUE(keep_sums(model, false));
  for (const auto& layer : model->get_ops()) EXPECT_FALSE(is_type<op::util::SubGraphOp>(layer));
  EXPECT_EQ(model->output("all").get_shape(), (Shape{1, 2}));
  EXPECT_EQ(caught([&] { loop->get_input_size(); }).code(), ErrorCode::not_found);
  ASSERT_EQ(model->get_variables().size(), 1u);
  const auto copy = model->clone();
  Core core;
  for (const auto& made : {model, copy}) {
    InferRequest request = core.compile_model(made, "CPU").create_infer_request();
    EXPECT_EQ(run(request, {1, 2}), (std::vector<float>{2, 3}));
    EXPECT_EQ(run(request, {10, 20}), (std::vector<float>{12, 23}));
  }
}

TEST(LowLatency, ChangesNothingTwiceOrWithoutLoops) {
  const auto model = running_sums(false);
  ASSERT_TRUE(keep_sums(model));
  EXPECT_FALSE(keep_sums(model));
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  EXPECT_FALSE(keep_sums(std::make_shared<Model>(OutputVector{std::make_shared<opset8::Relu>(x)}, ParameterVector{x})));
}

TEST(LowLatency, KeepsStatesOfRecurrentLayers) {
  const auto number = [](const Shape& shape, float value) {
    return opset8::Constant::create(element::f32, shape, {value});
  };
  // states of size 1 in one direction; data [batch 1, ?, 1]
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, -1, 1});
  const auto lengths = std::make_shared<opset8::Gather>(std::make_shared<opset8::ShapeOf>(x),
                                                        opset8::Constant::create(element::i64, Shape{1}, {1}),
                                                        opset8::Constant::create(element::i64, Shape{}, {0}));
  const auto rnn = std::make_shared<opset8::RNNSequence>(x, number({1, 1, 1}, 0.5F), lengths, number({1, 1, 1}, 1),
                                                         number({1, 1, 1}, 0.25F), number({1, 1}, 0), 1,
                                                         op::RecurrentSequenceDirection::FORWARD);
  rnn->set_friendly_name("rnn");
  const auto model = std::make_shared<Model>(OutputVector{rnn->output(0)}, ParameterVector{x});
  const auto whole = model->clone();
  ASSERT_TRUE(keep_sums(model, false));
  ASSERT_EQ(model->get_variables().size(), 1u);
  EXPECT_EQ(model->get_variables()[0]->get_info().variable_id, "rnn/variable_0");
  Core core;
  const auto run_rows = [&](InferRequest& request, const std::vector<float>& rows) {
    const Tensor input(element::f32, Shape{1, rows.size(), 1});
    std::copy(rows.begin(), rows.end(), input.data<float>());
    request.set_input_tensor(input);
    request.infer();
    const Tensor output = request.get_output_tensor();
    return std::vector<float>(output.data<float>(), output.data<float>() + output.get_size());
  };
  InferRequest at_once = core.compile_model(whole, "CPU").create_infer_request();
  const std::vector<float> expected = run_rows(at_once, {1, -1, 0.5F});
  InferRequest in_parts = core.compile_model(model, "CPU").create_infer_request();
  EXPECT_EQ(run_rows(in_parts, {1}).at(0), expected[0]);
  const std::vector<float> rest = run_rows(in_parts, {-1, 0.5F});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_FLOAT_EQ(rest[0], expected[1]);
  EXPECT_FLOAT_EQ(rest[1], expected[2]);
}

TEST(LowLatency, SurvivesBeingWritten) {
  const auto model = running_sums(true);
  ASSERT_TRUE(keep_sums(model));
  std::stringstream xml;
  std::stringstream bin;
  serialize(model, xml, bin);
  Tensor weights(element::u8, Shape{bin.str().size()});
  std::memcpy(weights.data(), bin.str().data(), bin.str().size());
  Core core;
  InferRequest request = core.compile_model(core.read_model(xml.str(), weights), "CPU").create_infer_request();
  EXPECT_EQ(run(request, {1, 10}), (std::vector<float>{1, 10}));
  EXPECT_EQ(run(request, {2, 20}), (std::vector<float>{3, 30}));
}

TEST(Loops, DescribeTheirPorts) {
  const auto model = running_sums(true);
  std::shared_ptr<opset8::TensorIterator> loop;
  model->map_unordered_ops([&](Node* layer) {
    if (is_type<op::util::SubGraphOp>(layer)) loop = as_type_ptr<opset8::TensorIterator>(layer->shared_from_this());
  });
  ASSERT_NE(loop, nullptr);
  EXPECT_TRUE(is_type<op::util::MultiSubGraphOp>(loop));
  EXPECT_EQ(loop->get_internal_subgraphs_size(), 1u);
  const auto inputs = loop->get_input_descriptions();
  ASSERT_EQ(inputs.size(), 2u);
  const auto slice = as_type_ptr<op::util::MultiSubGraphOp::SliceInputDescription>(inputs[0]);
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->m_input_index, 0u);
  EXPECT_EQ(slice->m_body_parameter_index, 0u);
  EXPECT_EQ(slice->m_part_size, 1);
  EXPECT_EQ(slice->m_end, -1);
  const auto merged = as_type_ptr<op::util::MultiSubGraphOp::MergedInputDescription>(inputs[1]);
  ASSERT_NE(merged, nullptr);
  EXPECT_EQ(merged->m_body_parameter_index, 1u);
  EXPECT_EQ(merged->m_body_value_index, 0u);
  EXPECT_EQ(as_type_ptr<op::util::MultiSubGraphOp::InvariantInputDescription>(inputs[1]), nullptr);
  const auto outputs = loop->get_output_descriptions();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_TRUE(is_type<op::util::MultiSubGraphOp::ConcatOutputDescription>(outputs[0]));
  const auto last = as_type_ptr<op::util::MultiSubGraphOp::BodyOutputDescription>(outputs[1]);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->m_output_index, 1u);
  EXPECT_EQ(last->m_iteration, -1);
  EXPECT_THROW(loop->get_input_descriptions(1), Exception);

  EXPECT_EQ(loop->get_num_iterations(), -1);
  model->reshape(PartialShape{5, 2});
  EXPECT_EQ(loop->get_num_iterations(), 5);
}

TEST(Bodies, OfABranchAreToldOneByOne) {
  const auto chosen = std::make_shared<opset8::Parameter>(element::boolean, PartialShape{});
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto then_x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto else_x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto then_result = std::make_shared<opset8::Result>(std::make_shared<opset8::Relu>(then_x));
  const auto else_result = std::make_shared<opset8::Result>(std::make_shared<opset8::Exp>(else_x));
  const auto branch = std::make_shared<opset8::If>();
  branch->set_arguments(OutputVector{chosen});
  branch->set_then_body(std::make_shared<Model>(ResultVector{then_result}, ParameterVector{then_x}, "then"));
  branch->set_else_body(std::make_shared<Model>(ResultVector{else_result}, ParameterVector{else_x}, "else"));
  branch->set_input(x, then_x, else_x);
  const Output<Node> value = branch->set_output(then_result, else_result);
  EXPECT_EQ(value.get_partial_shape(), PartialShape{2});
  ASSERT_EQ(branch->get_functions().size(), 2u);
  EXPECT_EQ(branch->get_function(1)->get_friendly_name(), "else");
  EXPECT_THROW(branch->get_function(2), Exception);
  for (size_t body = 0; body < 2; ++body) {
    const auto inputs = branch->get_input_descriptions(body);
    ASSERT_EQ(inputs.size(), 1u);
    EXPECT_TRUE(is_type<op::util::MultiSubGraphOp::InvariantInputDescription>(inputs[0]));
    EXPECT_EQ(inputs[0]->m_input_index, 1u);
    EXPECT_EQ(branch->get_output_descriptions(body).at(0)->m_output_index, 0u);
  }
  const Model model(OutputVector{value}, ParameterVector{chosen, x});
  EXPECT_EQ(model.output().get_partial_shape(), PartialShape{2});
}

TEST(Loops, KnowHowOftenTheyRun) {
  const auto count = [](const Output<Node>& trips, bool begins, bool goes_on) {
    const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1});
    const auto condition = opset8::Constant::create(element::boolean, Shape{}, {goes_on});
    const auto next = std::make_shared<opset8::Relu>(x);
    const auto body = std::make_shared<Model>(OutputVector{next, condition}, ParameterVector{x});
    const opset8::Loop loop(trips, opset8::Constant::create(element::boolean, Shape{}, {begins}));
    opset8::Loop& made = const_cast<opset8::Loop&>(loop);
    made.set_function(body);
    made.set_special_body_ports({-1, 1});
    made.set_merged_input(x, std::make_shared<opset8::Parameter>(element::f32, PartialShape{1}), next);
    return loop.get_num_iterations();
  };
  const auto trips = [](int64_t number) { return opset8::Constant::create(element::i64, Shape{}, {number}); };
  EXPECT_EQ(count(trips(7), true, true), 7);
  EXPECT_EQ(count(trips(-1), true, true), -1);
  EXPECT_EQ(count(trips(7), true, false), 1);
  EXPECT_EQ(count(trips(7), false, true), 0);
  EXPECT_EQ(count(std::make_shared<opset8::Parameter>(element::i64, PartialShape{}), true, true), -1);
}

TEST(StreamSerialize, WritesHeaderDataConstantsAndModel) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2});
  const auto model = std::make_shared<Model>(
      OutputVector{std::make_shared<opset8::Multiply>(x, opset8::Constant::create(element::f32, Shape{2}, {3, 4}))},
      ParameterVector{x});
  std::stringstream stream;
  pass::StreamSerialize(stream, [](std::ostream& out) { out << "mine"; }).run_on_model(model);
  const std::string bytes = stream.str();
  pass::StreamSerialize::DataHeader header{};
  ASSERT_GE(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(bytes.substr(header.custom_data_offset, header.custom_data_size), "mine");
  ASSERT_EQ(header.model_offset + header.model_size, bytes.size());
  Tensor weights(element::u8, Shape{header.consts_size});
  std::memcpy(weights.data(), bytes.data() + header.consts_offset, header.consts_size);
  const auto read = Core().read_model(bytes.substr(header.model_offset, header.model_size), weights);
  Tensor ones(element::f32, Shape{2});
  std::fill_n(ones.data<float>(), 2, 1.F);
  TensorVector outputs;
  ASSERT_TRUE(read->evaluate(outputs, {ones}));
  EXPECT_EQ(outputs.at(0).data<float>()[1], 4);
}

}  // namespace
}  // namespace terroir
