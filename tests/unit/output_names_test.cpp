// Outputs of a model have tensor names of their own, which name the tensor that they take as well.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <unordered_set>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

using Names = std::unordered_set<std::string>;

/// The input itself and its Relu twice; only the tensors have names.
struct Outputs {
  std::shared_ptr<opset8::Parameter> input = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 2});
  std::shared_ptr<opset8::Relu> relu = std::make_shared<opset8::Relu>(input);
  std::shared_ptr<Model> model;

  Outputs() {
    input->set_friendly_name("x");
    input->output(0).set_names({"in"});
    relu->set_friendly_name("relu");
    relu->output(0).set_names({"relu_tensor"});
    model = std::make_shared<Model>(OutputVector{input, relu, relu}, ParameterVector{input});
  }
  void name_all() const {
    model->output(0).set_names({"itself"});
    model->output(1).set_names({"first"});
    model->output(2).set_names({"second", "third"});
  }
};

Names names_of(const std::shared_ptr<Model>& model, size_t output) { return model->output(output).get_names(); }

void expect_named(const std::shared_ptr<Model>& model) {
  EXPECT_EQ(names_of(model, 0), Names{"itself"});
  EXPECT_EQ(names_of(model, 1), Names{"first"});
  EXPECT_EQ(names_of(model, 2), (Names{"second", "third"}));
  EXPECT_EQ(model->input().get_names(), (Names{"in", "itself"}));
  EXPECT_EQ(model->get_result_index(model->output("third")), 2);
  EXPECT_EQ(model->get_result_index(model->output("first")), 1);
  EXPECT_EQ(model->get_result_index(model->output("itself")), 0);
  EXPECT_EQ(model->input("in"), model->input());
  EXPECT_EQ(model->get_results()[1]->get_input_tensor(0).get_names(),
            (Names{"relu_tensor", "first", "second", "third"}));
}

std::shared_ptr<Model> read_again(const std::shared_ptr<Model>& model) {
  std::stringstream xml;
  std::stringstream bin;
  serialize(model, xml, bin);
  return Core().read_model(xml.str(), Tensor(element::u8, Shape{0}));
}

TEST(OutputNames, AreThoseOfTheTensorUnlessTheOutputHasOwn) {
  const Outputs o;
  EXPECT_EQ(names_of(o.model, 0), Names{"in"});
  EXPECT_EQ(names_of(o.model, 1), Names{"relu_tensor"});
  EXPECT_EQ(names_of(o.model, 2), Names{"relu_tensor"});
  o.name_all();
  expect_named(o.model);
  EXPECT_EQ(o.model->output(2).get_any_name(), "second");
  EXPECT_EQ(o.model->add_output("third"), o.model->output(2)) << "it is one already";

  o.relu->output(0).set_names({"other"});
  EXPECT_EQ(names_of(o.model, 1), Names{"first"});
  o.model->output(1).set_names({});
  EXPECT_EQ(names_of(o.model, 1), (Names{"other", "second", "third"})) << "those of the tensor again";
  o.model->input().set_names({"renamed"});
  EXPECT_EQ(names_of(o.model, 0), Names{"itself"});
  EXPECT_EQ(o.model->input().get_names(), (Names{"renamed", "itself"}));
}

// The first output that takes it, unless it is another's own name.
TEST(OutputNames, OfTheTensorFindTheOutputAsWell) {
  const Outputs o;
  o.model->output(0).set_names({"itself"});
  o.model->output(1).set_names({"first"});
  o.model->output(2).set_names({"second"});
  for (const auto& model : {o.model, o.model->clone(), read_again(o.model)}) {
    EXPECT_EQ(model->get_result_index(model->output("in")), 0);
    EXPECT_EQ(model->get_result_index(model->output("relu_tensor")), 1);
    EXPECT_EQ(model->get_result_index(model->output("second")), 2);
    EXPECT_THROW(model->output("another"), Exception);
  }
  o.model->output(2).set_names({"relu_tensor"});
  EXPECT_EQ(o.model->get_result_index(o.model->output("relu_tensor")), 2);
}

TEST(OutputNames, AreAddedToThoseThatTheOutputHas) {
  const Outputs o;
  o.model->output(0).add_names({"itself"});
  EXPECT_EQ(names_of(o.model, 0), Names{"itself"}) << "the input's are the input's";
  o.model->output(1).add_names({"first"});
  EXPECT_EQ(names_of(o.model, 1), (Names{"relu_tensor", "first"}));
  EXPECT_EQ(names_of(o.model, 2), (Names{"relu_tensor", "first"})) << "it has none of its own";
}

TEST(OutputNames, AreCopiedWrittenAndRead) {
  const Outputs o;
  o.name_all();
  expect_named(o.model->clone());
  const auto read = read_again(o.model);
  expect_named(read);
  read->output(0).set_names({});
  EXPECT_EQ(read->input().get_names(), Names{"in"}) << "the output's were none of the input's";
  expect_named(read_again(read_again(o.model)));
}

TEST(OutputNames, OfFilesMayBeTheOnlyOnesOfAnInput) {
  const std::string text =
      "<net name=\"n\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"2\" element_type=\"f32\"/>"
      "<output><port id=\"0\" precision=\"FP32\" names=\"both\"><dim>2</dim></port></output></layer>"
      "<layer id=\"1\" name=\"r\" type=\"Result\" version=\"opset1\" output_names=\"both\">"
      "<input><port id=\"0\" precision=\"FP32\"><dim>2</dim></port></input></layer></layers>"
      "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/></edges></net>";
  const auto model = Core().read_model(text, Tensor(element::u8, Shape{0}));
  EXPECT_EQ(model->input("both"), model->input());
  EXPECT_EQ(model->output("both"), model->output());
  model->output().set_names({"out"});
  EXPECT_EQ(model->input().get_names(), (Names{"both", "out"}));
}

TEST(OutputNames, FindTensorsOfCompiledModels) {
  const Outputs o;
  o.name_all();
  for (const char* device : {"CPU", "INTERPRETER"}) {
    SCOPED_TRACE(device);
    Core core;
    CompiledModel compiled = core.compile_model(o.model, device);
    std::stringstream stored;
    compiled.export_model(stored);
    for (CompiledModel& one : std::vector<CompiledModel>{compiled, core.import_model(stored, device)}) {
      EXPECT_EQ(one.output(0).get_names(), Names{"itself"});
      EXPECT_EQ(one.output(1).get_names(), Names{"first"});
      EXPECT_EQ(one.output("third"), one.output(2));
      EXPECT_EQ(one.input().get_names(), (Names{"in", "itself"}));
      InferRequest request = one.create_infer_request();
      const float values[] = {-1, 2};
      std::copy_n(values, 2, request.get_tensor("in").data<float>());
      request.infer();
      EXPECT_EQ(request.get_tensor("second").data<float>()[0], 0.F);
      EXPECT_EQ(request.get_tensor(one.output("itself")).data<float>()[0], -1.F);
      EXPECT_EQ(request.get_tensor(o.model->output("first")).data<float>()[1], 2.F);
    }
  }
}

TEST(OutputNames, StayBehindSteps) {
  const Outputs o;
  o.name_all();
  preprocess::PrePostProcessor steps(o.model);
  for (size_t i = 0; i < 3; ++i) steps.output(i).tensor().set_element_type(element::u8);
  const auto model = steps.build();
  EXPECT_EQ(names_of(model, 0), Names{"itself"});
  EXPECT_EQ(names_of(model, 1), Names{"first"});
  EXPECT_EQ(names_of(model, 2), (Names{"second", "third"}));
  EXPECT_EQ(model->input().get_names(), Names{"in"}) << "it is no output any more";
  EXPECT_EQ(o.relu->output(0).get_names(), Names{"relu_tensor"});
  EXPECT_EQ(model->get_results()[1]->get_input_tensor(0).get_names(), Names{"first"});
  const auto read = read_again(model);
  EXPECT_EQ(names_of(read, 1), Names{"first"});
}

// Two outputs of one tensor that has the names: a step of the one takes none from the other.
TEST(OutputNames, OfATensorFindTheOutputBehindSteps) {
  const Outputs o;
  preprocess::PrePostProcessor steps(o.model);
  steps.output(1).tensor().set_element_type(element::u8);
  const auto model = steps.build();
  EXPECT_EQ(names_of(model, 1), Names{"relu_tensor"});
  EXPECT_EQ(names_of(model, 2), Names{"relu_tensor"});
  EXPECT_EQ(model->get_result_index(model->output("relu_tensor")), 1);
}

TEST(OutputNames, GoWithTheOutputWhenItTakesSomethingElse) {
  const Outputs o;
  o.name_all();
  const auto abs = std::make_shared<opset8::Abs>(o.input);
  o.relu->output(0).replace(abs);
  EXPECT_EQ(names_of(o.model, 1), Names{"first"});
  EXPECT_EQ(abs->output(0).get_names(), (Names{"relu_tensor", "first", "second", "third"}));
  EXPECT_TRUE(o.relu->output(0).get_names().empty());
  o.model->remove_result(o.model->get_results()[2]);
  EXPECT_EQ(abs->output(0).get_names(), (Names{"relu_tensor", "first"}));
}

}  // namespace
}  // namespace terroir
