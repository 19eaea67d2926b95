// Tensors of texts on the CPU device: objects that are made and destroyed, longer than what fits the object itself.
#include <gtest/gtest.h>

#include "terroir/terroir.hpp"

namespace terroir {
namespace {

const std::vector<std::string> kTexts = {"a text that is too long for the object itself", "short", "",
                                         "another text that needs memory of its own, and more of it"};

Tensor texts(const std::vector<std::string>& values) {
  Tensor tensor(element::string, {values.size()});
  std::copy(values.begin(), values.end(), static_cast<std::string*>(tensor.data()));
  return tensor;
}

std::vector<std::string> values_of(const Tensor& tensor) {
  const auto* data = static_cast<const std::string*>(tensor.data());
  return {data, data + tensor.get_size()};
}

class Texts : public testing::TestWithParam<bool> {
 protected:
  PartialShape shape() const { return GetParam() ? PartialShape{-1} : PartialShape{4}; }

  /// All outputs, after two runs of which the first had other texts.
  static std::vector<std::vector<std::string>> run(const std::shared_ptr<Model>& model) {
    InferRequest request = Core().compile_model(model, "CPU").create_infer_request();
    for (const auto& input : {texts({"x", "y", std::string(100, 'z'), "w"}), texts(kTexts)}) {
      request.set_input_tensor(input);
      request.infer();
    }
    std::vector<std::vector<std::string>> outputs;
    for (size_t i = 0; i < model->outputs().size(); ++i) outputs.push_back(values_of(request.get_output_tensor(i)));
    return outputs;
  }
};

TEST_P(Texts, MoveThroughStepsAndToSeveralResults) {
  ModelBuilder b;
  const auto x = b.parameter(element::string, shape());
  const auto picked =
      b.op("Gather", "opset8", {x, b.constant(element::i32, Shape{2}, {3, 0}), b.constant(element::i32, Shape{}, {0})});
  const auto joined = b.op("Concat", "opset1", {picked, x}, {{"axis", 0}});
  const auto folded =
      b.op("Concat", "opset1", {b.constant(texts({kTexts[0]})), b.constant(texts({kTexts[3]}))}, {{"axis", 0}});
  const auto column =
      b.op("Reshape", "opset1", {joined, b.constant(element::i64, Shape{2}, {-1, 1})}, {{"special_zero", false}});
  for (const auto& value : {joined, joined, x, column, folded}) b.result(value);
  const std::vector<std::string> all = {kTexts[3], kTexts[0], kTexts[0], kTexts[1], kTexts[2], kTexts[3]};
  EXPECT_EQ(run(b.build()), (std::vector<std::vector<std::string>>{all, all, kTexts, all, {kTexts[0], kTexts[3]}}));
}

TEST_P(Texts, ComeFromOperationsWhoseSizesDependOnThem) {
  ModelBuilder b;
  const auto x = b.parameter(element::string, shape());
  const auto twice = b.op("Concat", "opset1", {x, x}, {{"axis", 0}});
  const auto unique = b.op("Unique", "opset10", {twice}, {{"sorted", true}});
  b.result(b.op("Concat", "opset1", {unique, x}, {{"axis", 0}}));
  EXPECT_EQ(run(b.build()).at(0), (std::vector<std::string>{kTexts[2], kTexts[0], kTexts[3], kTexts[1], kTexts[0],
                                                            kTexts[1], kTexts[2], kTexts[3]}));
}

TEST_P(Texts, AreComparedAndChosen) {
  ModelBuilder b;
  const auto x = b.parameter(element::string, shape());
  const auto one = b.constant(texts({kTexts[0]}));
  const auto equal = b.op("Equal", "opset1", {x, one}), below = b.op("Less", "opset1", {x, one});
  b.result(b.op("Select", "opset1", {equal, b.constant(texts({"same"})), x}));
  b.result(b.op("Select", "opset1", {below, b.constant(texts({"below"})), x}));
  EXPECT_EQ(run(b.build()), (std::vector<std::vector<std::string>>{{"same", kTexts[1], kTexts[2], kTexts[3]},
                                                                   {kTexts[0], kTexts[1], "below", kTexts[3]}}));
}

INSTANTIATE_TEST_SUITE_P(StaticAndDynamic, Texts, testing::Bool());

}  // namespace
}  // namespace terroir
