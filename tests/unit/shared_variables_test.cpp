// Variables of models with state: objects that a program shares with the layers which have them.
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "terroir/graph_util.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/small_network.hpp"

namespace terroir {
namespace {

using op::util::Variable;
using op::util::VariableInfo;

/// sum = sum + x, which is at first `start`.
struct Accumulator {
  std::shared_ptr<opset6::Parameter> start = input(), x = input();
  Variable::Ptr variable = std::make_shared<Variable>(VariableInfo{PartialShape{2, 2}, element::f32, "sum"});
  std::shared_ptr<opset6::ReadValue> read = std::make_shared<opset6::ReadValue>(start, variable);
  std::shared_ptr<opset6::Add> add = std::make_shared<opset6::Add>(read, x);
  std::shared_ptr<opset6::Assign> assign = std::make_shared<opset6::Assign>(add, variable);
  std::shared_ptr<Model> model = std::make_shared<Model>(OutputVector{add}, SinkVector{assign},
                                                         ParameterVector{start, x}, op::util::VariableVector{variable});

  static std::shared_ptr<opset6::Parameter> input() {
    return std::make_shared<opset6::Parameter>(element::f32, PartialShape{2, 2});
  }
  void set_rows(int64_t rows) const {
    for (const auto& parameter : model->get_parameters()) parameter->set_partial_shape({rows, 2});
  }
  void update(int64_t rows) const { variable->update({PartialShape{rows, 2}, element::f32, "sum"}); }
};

TEST(SharedVariables, AreOneObjectForLayersAndModel) {
  const Accumulator a;
  EXPECT_EQ(a.read->get_variable(), a.variable);
  EXPECT_EQ(a.assign->get_variable(), a.variable);
  EXPECT_EQ(a.model->get_variables(), op::util::VariableVector{a.variable});
  EXPECT_EQ(a.model->get_variable_by_id("sum"), a.variable);
  const auto copy = a.model->clone();
  EXPECT_NE(copy->get_variable_by_id("sum"), a.variable);
  EXPECT_EQ(copy->get_variable_by_id("sum")->get_info(), a.variable->get_info());

  const auto counting = counter();  // nobody has made its variable
  EXPECT_EQ(counting->get_variable_by_id("count"), counting->get_variables().at(0));
}

TEST(SharedVariables, SayWhatTheModelWasReshapedTo) {
  const Accumulator a;
  a.model->reshape(std::map<size_t, PartialShape>{{0, {3, 2}}, {1, {3, 2}}}, {{"sum", PartialShape{3, 2}}});
  EXPECT_EQ(a.variable->get_info().data_shape, (PartialShape{3, 2}));
  EXPECT_EQ(a.read->get_variable()->get_info().data_shape, (PartialShape{3, 2}));
  EXPECT_EQ(a.model->output().get_shape(), (Shape{3, 2}));
}

TEST(SharedVariables, TellTheModelWhatTheProgramSays) {
  const Accumulator a;
  a.set_rows(4);
  EXPECT_THROW(a.model->validate_nodes_and_infer_types(), Exception) << "the variable is as it was";
  a.update(4);
  EXPECT_EQ(a.model->get_variables().at(0)->get_info().data_shape, (PartialShape{4, 2})) << "as the program said";
  a.model->validate_nodes_and_infer_types();
  EXPECT_EQ(a.read->get_output_shape(0), (Shape{4, 2}));
  EXPECT_EQ(a.model->output().get_shape(), (Shape{4, 2}));

  // By the variables of the model, as programs that did not make them do it.
  const auto copy = a.model->clone();
  for (const auto& variable : copy->get_variables()) {
    VariableInfo info = variable->get_info();
    info.data_shape = {5, 2};
    variable->update(info);
  }
  copy->reshape(std::map<size_t, PartialShape>{{0, {5, 2}}, {1, {5, 2}}});
  EXPECT_EQ(copy->output().get_shape(), (Shape{5, 2}));
  EXPECT_EQ(a.model->output().get_shape(), (Shape{4, 2}));
}

TEST(SharedVariables, TellWhateverUsesTheModel) {
  const Accumulator a;
  a.set_rows(1);
  a.update(1);
  EXPECT_EQ(a.model->clone()->output().get_shape(), (Shape{1, 2}));
  std::stringstream xml, bin;
  serialize(a.model, xml, bin);
  EXPECT_EQ(Core().read_model(xml.str(), Tensor(element::u8, Shape{0}))->output().get_shape(), (Shape{1, 2}));
  InferRequest request = Core().compile_model(a.model, "CPU").create_infer_request();
  for (const float expected : {3.F, 5.F}) {
    for (size_t i = 0; i < 2; ++i) {
      Tensor tensor(element::f32, {1, 2});
      std::fill_n(tensor.data<float>(), 2, static_cast<float>(i) + 1);
      request.set_input_tensor(i, tensor);
    }
    request.infer();
    EXPECT_EQ(request.get_output_tensor().data<float>()[1], expected);
  }
  a.read->validate_and_infer_types();
  EXPECT_EQ(a.read->get_output_shape(0), (Shape{1, 2}));
}

TEST(SharedVariables, MayBeCalledSomethingElse) {
  const Accumulator a;
  a.variable->update({PartialShape{2, 2}, element::f32, "total"});
  a.model->validate_nodes_and_infer_types();
  EXPECT_EQ(a.read->get_variable_id(), "total");
  EXPECT_EQ(a.assign->get_variable_id(), "total");
  EXPECT_EQ(a.model->get_variable_by_id("total"), a.variable);
}

TEST(SharedVariables, OfLayersThatAreMadeOneByOne) {
  const auto variable = std::make_shared<Variable>(VariableInfo{PartialShape{-1, 2}, element::f32, "v"});
  const auto x = Accumulator::input();
  const auto stored = std::make_shared<opset6::Assign>(x, variable);
  EXPECT_EQ(stored->get_variable(), variable);
  EXPECT_EQ(variable->get_info().data_shape, (PartialShape{-1, 2})) << "it declares nothing";
  const auto read = std::make_shared<opset6::ReadValue>(variable);  // in a draft of its own
  const auto sum = std::make_shared<opset6::Add>(x, read);
  EXPECT_EQ(read->get_variable(), variable);
  EXPECT_EQ(stored->get_variable(), variable);
  const auto other = std::make_shared<Variable>(VariableInfo{PartialShape{2, 2}, element::f32, "w"});
  read->set_variable(other);
  EXPECT_EQ(read->get_variable(), other);
  EXPECT_EQ(stored->get_variable(), variable);
  const auto copy = read->clone_with_new_inputs({});
  EXPECT_EQ(as_type_ptr<opset6::ReadValue>(copy)->get_variable(), other);
}

TEST(SharedVariables, OfOlderLayersAreWhatFlows) {
  const auto x = Accumulator::input();
  const auto read = std::make_shared<opset3::ReadValue>(x, "v");
  const auto assign = std::make_shared<opset3::Assign>(read, "v");
  const auto model = std::make_shared<Model>(OutputVector{read}, SinkVector{assign}, ParameterVector{x});
  const auto variable = model->get_variable_by_id("v");
  EXPECT_EQ(read->get_variable(), variable);
  model->reshape(PartialShape{7, 2});
  EXPECT_EQ(variable->get_info(), (VariableInfo{PartialShape{7, 2}, element::f32, "v"}));
}

// Threads that use a model which nobody changes, while one asks for its variables, which are made when asked for first.
TEST(SharedVariables, AreMadeAndReadByManyThreads) {
  constexpr size_t kVariables = 300;
  const auto x = Accumulator::input();
  SinkVector sinks;
  for (size_t i = 0; i < kVariables; ++i) {
    const std::string name = "v" + std::to_string(i);
    sinks.push_back(std::make_shared<opset3::Assign>(std::make_shared<opset3::ReadValue>(x, name), name));
  }
  const Model model(OutputVector{x}, sinks, ParameterVector{x});
  std::shared_ptr<const Model> copy;
  const auto while_asking = [&](auto use) {
    std::atomic<bool> used{false}, asked{false};
    std::thread user([&] {
      do {
        use();
        used = true;
      } while (!asked);
    });
    while (!used) std::this_thread::yield();
    const op::util::VariableVector variables = copy->get_variables();
    asked = true;
    user.join();
    EXPECT_EQ(variables.size(), kVariables);
  };
  for (int round = 0; round < 40; ++round) {
    copy = model.clone();
    while_asking([&] { EXPECT_FALSE(copy->is_dynamic()); });
    const op::util::VariableVector variables = copy->get_variables();
    while_asking([&] {
      for (const auto& variable : variables) EXPECT_EQ(variable->get_info().data_shape, (PartialShape{2, 2}));
    });
  }
  copy = model.clone();
  while_asking([&] { EXPECT_EQ(copy->clone()->output().get_shape(), (Shape{2, 2})); });
}

}  // namespace
}  // namespace terroir
