// CompiledModel::get_runtime_model() of the CPU device, and the file that viewers open.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

std::string info(const Node& node, const std::string& key) { return node.get_rt_info().at(key).as<std::string>(); }

/// Execution nodes by the layer they come from.
std::map<std::string, std::shared_ptr<Node>> by_name(const Model& model) {
  std::map<std::string, std::shared_ptr<Node>> nodes;
  for (const auto& node : model.get_ops()) nodes[node->get_friendly_name()] = node;
  return nodes;
}

// data[n,8,8,8] -> conv 3x3 (16) -> relu -> mean over pixels -> prob
std::shared_ptr<Model> small_network(Dimension batch) {
  ModelBuilder b("small network");
  const auto x = b.parameter(element::f32, {batch, 8, 8, 8}, "data");
  const auto w = b.constant(element::f32, Shape{16, 8, 3, 3}, {0.01f}, "weights");
  const auto y = b.op("Convolution", "opset1", {x, w},
                      {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, "conv");
  const auto axes = b.constant(element::i64, Shape{2}, {2, 3});
  const auto r = b.op("ReLU", "opset1", {y}, {}, "relu");
  b.result(b.op("ReduceMean", "opset1", {r, axes}, {{"keep_dims", false}}, "mean"), "prob");
  return b.build();
}

TEST(RuntimeModel, TellsWhatRunsAndWhy) {
  Core core;
  CompiledModel compiled = core.compile_model(small_network(1), "CPU", enable_profiling(true));
  std::shared_ptr<const Model> model = compiled.get_runtime_model();
  EXPECT_EQ(model->get_friendly_name(), "small network");
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->input().get_any_name(), "data");
  EXPECT_EQ(model->output().get_names().count("prob"), 1u);
  EXPECT_EQ(model->output().get_shape(), (Shape{1, 16}));
  std::set<int> orders;
  for (const auto& node : model->get_ops()) {
    for (const char* key :
         {"layerType", "originalLayersNames", "primitiveType", "outputPrecisions", "runtimePrecision", "execTimeMcs"}) {
      EXPECT_EQ(node->get_rt_info().count(key), 1u) << *node << ' ' << key;
    }
    EXPECT_TRUE(orders.insert(node->get_rt_info().at("execOrder").as<int>()).second);
    for (const auto& input : node->input_values()) {
      EXPECT_LT(std::stoi(info(*input.get_node(), "execOrder")), std::stoi(info(*node, "execOrder")));
    }
  }
  EXPECT_EQ(*orders.rbegin(), static_cast<int>(orders.size()) - 1);
  auto nodes = by_name(*model);
  ASSERT_EQ(nodes.count("conv"), 1u);
  const Node& conv = *nodes.at("conv");
  EXPECT_STREQ(conv.get_type_name(), "ExecutionNode");
  EXPECT_EQ(info(conv, "layerType"), "Convolution");
  EXPECT_EQ(info(conv, "originalLayersNames"), "conv,relu");  // fused
  EXPECT_NE(info(conv, "primitiveType").find("conv"), std::string::npos);
  EXPECT_EQ(info(conv, "outputPrecisions"), "f32");
  EXPECT_FALSE(info(conv, "outputLayouts").empty());
  EXPECT_EQ(info(conv, "execTimeMcs"), "not_executed");
  EXPECT_EQ(conv.get_output_shape(0), (Shape{1, 16, 8, 8}));
  EXPECT_EQ(info(*nodes.at("data"), "layerType"), "Input");

  compiled.create_infer_request().infer();
  nodes = by_name(*compiled.get_runtime_model());
  EXPECT_GE(std::stoi(info(*nodes.at("conv"), "execTimeMcs")), 0);
}

TEST(RuntimeModel, OfUnknownExtentsIsThatOfTheLastInference) {
  CompiledModel compiled = Core().compile_model(small_network(-1), "CPU");
  auto nodes = by_name(*compiled.get_runtime_model());
  EXPECT_EQ(info(*nodes.at("conv"), "primitiveType"), "not planned yet");
  EXPECT_EQ(nodes.at("conv")->get_output_partial_shape(0), (PartialShape{-1, 16, 8, 8}));
  InferRequest request = compiled.create_infer_request();
  for (const size_t batch : {3, 2}) {
    request.set_input_tensor(Tensor(element::f32, {batch, 8, 8, 8}));
    request.infer();
    nodes = by_name(*compiled.get_runtime_model());
    EXPECT_EQ(nodes.at("conv")->get_output_shape(0), (Shape{batch, 16, 8, 8}));
    EXPECT_NE(info(*nodes.at("conv"), "primitiveType"), "not planned yet");
  }
}

TEST(RuntimeModel, GoesOnBehindSizesThatDependOnData) {
  ModelBuilder b("selection");
  const auto x = b.parameter(element::f32, {6}, "x");
  const auto where =
      b.op("NonZero", "opset3", {b.op("ReLU", "opset1", {x}, {}, "relu")}, {{"output_type", "i64"}}, "where");
  b.result(b.op("Convert", "opset1", {where}, {{"destination_type", "f32"}}, "numbers"), "places");
  b.result(b.op("Exp", "opset1", {x}, {}, "exp"), "exps");
  CompiledModel compiled = Core().compile_model(b.build(), "CPU");
  for (int run = 0; run < 2; ++run) {
    const auto model = compiled.get_runtime_model();
    ASSERT_EQ(model->outputs().size(), 2u);
    EXPECT_EQ(model->output(0).get_names().count("places"), 1u);
    const auto nodes = by_name(*model);
    EXPECT_EQ(info(*nodes.at("where"), "primitiveType"), "ref");
    EXPECT_EQ(info(*nodes.at("numbers"), "primitiveType") == "not planned yet", run == 0);
    EXPECT_EQ(nodes.at("numbers")->input_value(0).get_node()->get_friendly_name(), "where");
    EXPECT_EQ(model->get_results()[1]->input_value(0).get_node()->get_friendly_name(), "exp");
    InferRequest request = compiled.create_infer_request();
    const float data[6] = {1, 0, -1, 2, 0, 3};
    request.set_input_tensor(Tensor(element::f32, {6}, data));
    request.infer();
  }
}

TEST(RuntimeModel, ShowsConstantResultsAndState) {
  ModelBuilder b("ends");
  const auto x = b.parameter(element::f32, {2}, "x");
  b.result(b.constant(element::f32, Shape{1}, {7.f}, "seven"));
  const auto before = b.op("ReadValue", "opset6", {},
                           {{"variable_id", "sum"}, {"variable_type", "f32"}, {"variable_shape", "[2]"}}, "read");
  b.result(b.op("Assign", "opset6", {b.op("Add", "opset1", {before, x}, {}, "add")}, {{"variable_id", "sum"}}, "w"));
  const auto model = Core().compile_model(b.build(), "CPU").get_runtime_model();
  EXPECT_EQ(info(*model->get_results()[0]->input_value(0).get_node(), "layerType"), "Constant");
  EXPECT_EQ(by_name(*model).count("add"), 1u);
}

// A copy is the program's own, and the C API hands out nothing else: what it does with models must not end the process.
TEST(RuntimeModel, KeepsWhatItShowsWhateverIsDoneWithIt) {
  CompiledModel compiled = Core().compile_model(small_network(1), "CPU");
  const std::shared_ptr<Model> copy = compiled.get_runtime_model()->clone();
  copy->validate_nodes_and_infer_types();
  copy->reshape(PartialShape{5, 8, 8, 8});
  EXPECT_EQ(copy->input().get_shape(), (Shape{5, 8, 8, 8}));
  EXPECT_EQ(copy->output().get_shape(), (Shape{1, 16}));
  EXPECT_EQ(by_name(*copy).at("conv")->get_output_element_type(0), element::f32);
  TensorVector outputs(1);
  EXPECT_THROW(copy->evaluate(outputs, {Tensor(element::f32, {5, 8, 8, 8})}), Exception);
  EXPECT_THROW(Core().compile_model(copy, "CPU"), Exception);
}

TEST(RuntimeModel, IsWrittenAsViewersExpectIt) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("terroir_runtime_model_" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = (dir / "exec.xml").string();
  serialize(Core().compile_model(small_network(1), "CPU").get_runtime_model(), path);
  std::ifstream file(path);
  const std::string xml{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(xml.find("name=\"conv\" type=\"Convolution\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("originalLayersNames=\"conv,relu\""), std::string::npos);
  EXPECT_NE(xml.find("execTimeMcs=\"not_executed\""), std::string::npos);
  EXPECT_NE(xml.find("type=\"Input\""), std::string::npos);
  EXPECT_NE(xml.find("<edge from-layer="), std::string::npos);
  EXPECT_EQ(xml.find("ExecutionNode"), std::string::npos);
  EXPECT_EQ(xml.find("version=\"\""), std::string::npos);
  EXPECT_EQ(xml.find("layerType"), std::string::npos);
  // For viewers only.
  EXPECT_THROW(Core().read_model(path), Exception);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace terroir
