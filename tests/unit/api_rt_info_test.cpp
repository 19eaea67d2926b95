// Runtime information that code writes: who sees it, how long it lives, what files get of it.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"
#include "tests/unit/read_back.hpp"

namespace terroir {
namespace {

// x[1,4] -> Relu -> Abs -> Result
struct ReluThenAbs {
  std::shared_ptr<Node> x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, 4});
  std::shared_ptr<Node> relu = std::make_shared<opset8::Relu>(x);
  std::shared_ptr<Node> abs = std::make_shared<opset8::Abs>(relu);
  std::shared_ptr<Model> model() {
    return std::make_shared<Model>(OutputVector{abs}, ParameterVector{as_type_ptr<opset8::Parameter>(x)});
  }
};

std::shared_ptr<Node> layer(const std::shared_ptr<const Model>& model, const std::string& type) {
  for (const auto& node : model->get_ops()) {
    if (node->get_type_name() == type) return node;
  }
  return nullptr;
}

std::string text_of(const std::shared_ptr<const Model>& model) {
  std::ostringstream xml, bin;
  serialize(model, xml, bin);
  return xml.str();
}

TEST(RtInfo, WhatOneHandleWritesOthersRead) {
  const auto model = ReluThenAbs().model();
  const auto one = layer(model, "Relu"), other = layer(model, "Relu");
  ASSERT_NE(one, nullptr);
  one->get_rt_info()["key"] = 5;
  EXPECT_EQ(other->get_rt_info().at("key").as<int>(), 5);
  one->output(0).get_rt_info()["port"] = "out";
  one->input(0).get_rt_info()["port"] = "in";
  const std::shared_ptr<const Node> reading = other;
  EXPECT_EQ(reading->output(0).get_rt_info().at("port").as<std::string>(), "out");
  EXPECT_EQ(reading->input(0).get_rt_info().at("port").as<std::string>(), "in");
  EXPECT_EQ(reading->get_rt_info().count("port"), 0u);
  EXPECT_EQ(&one->get_output_tensor(0).get_rt_info(), &other->output(0).get_rt_info());
  other->get_rt_info().erase("key");
  EXPECT_TRUE(reading->get_rt_info().empty());
}

TEST(RtInfo, OfAResultIsThatOfTheTensorItTakes) {
  const auto model = ReluThenAbs().model();
  model->output().get_rt_info()["key"] = 1;
  EXPECT_EQ(layer(model, "Abs")->output(0).get_rt_info().count("key"), 1u);
}

TEST(RtInfo, OfAModelIsWrittenInPlace) {
  const auto model = ReluThenAbs().model();
  model->get_rt_info()["tool"] = AnyMap{{"name", "Terroir"}, {"level", 3}};
  EXPECT_EQ(model->get_rt_info<std::string>("tool", "name"), "Terroir");
  model->set_rt_info(4, "tool", "level");
  EXPECT_EQ(model->get_rt_info().at("tool").as<AnyMap>().at("level").as<int>(), 4);
  const auto read = read_back(model);
  EXPECT_EQ(read->get_rt_info<int>("tool", "level"), 4);
  model->get_rt_info().erase("tool");
  EXPECT_FALSE(read_back(model)->has_rt_info("tool"));
}

TEST(RtInfo, OfLayersComesIntoTheModel) {
  ReluThenAbs layers;
  AnyMap& info = layers.relu->get_rt_info();
  info["before"] = 1;
  layers.relu->output(0).get_rt_info()["before"] = 2;
  const auto model = layers.model();
  EXPECT_EQ(layer(model, "Relu")->get_rt_info().at("before").as<int>(), 1);
  EXPECT_EQ(layer(model, "Relu")->output(0).get_rt_info().at("before").as<int>(), 2);
  info["after"] = 3;
  EXPECT_EQ(layer(model, "Relu")->get_rt_info().at("after").as<int>(), 3);
  // A second model of the same layers is a copy.
  const auto second = layers.model();
  info["later"] = 4;
  EXPECT_EQ(layer(second, "Relu")->get_rt_info().at("after").as<int>(), 3);
  EXPECT_EQ(layer(second, "Relu")->get_rt_info().count("later"), 0u);
}

TEST(RtInfo, OfDraftsThatMeetIsKept) {
  ReluThenAbs one, other;
  one.abs->get_rt_info()["key"] = 1;
  other.abs->get_rt_info()["key"] = 2;
  const auto sum = std::make_shared<opset8::Add>(one.abs, other.abs);
  EXPECT_EQ(one.abs->get_rt_info().at("key").as<int>(), 1);
  EXPECT_EQ(other.abs->get_rt_info().at("key").as<int>(), 2);
}

TEST(RtInfo, ClonesHaveACopyOfAllValues) {
  struct Mark {
    int number;
  };
  const auto model = ReluThenAbs().model();
  layer(model, "Relu")->get_rt_info()["mark"] = std::make_shared<Mark>(Mark{7});
  model->get_rt_info()["mark"] = std::make_shared<Mark>(Mark{8});
  const auto clone = model->clone();
  EXPECT_EQ(layer(clone, "Relu")->get_rt_info().at("mark").as<std::shared_ptr<Mark>>()->number, 7);
  EXPECT_EQ(clone->get_rt_info().at("mark").as<std::shared_ptr<Mark>>()->number, 8);
  layer(clone, "Relu")->get_rt_info()["mark"] = 1;
  EXPECT_TRUE(layer(model, "Relu")->get_rt_info().at("mark").is<std::shared_ptr<Mark>>());
}

TEST(RtInfo, StaysWhereItIsWhenTheModelChanges) {
  const auto model = ReluThenAbs().model();
  AnyMap& info = layer(model, "Relu")->get_rt_info();
  AnyMap& input = model->get_parameters()[0]->get_rt_info();
  info["key"] = input["key"] = 1;
  model->reshape(PartialShape{2, 4});
  Core().compile_model(model, "CPU");
  const auto parameter = model->get_parameters()[0];
  model->remove_parameter(parameter);
  model->add_parameters({parameter});
  EXPECT_EQ(&info, &layer(model, "Relu")->get_rt_info());
  EXPECT_EQ(&input, &model->get_parameters()[0]->get_rt_info());
  EXPECT_EQ(input.at("key").as<int>(), 1);
}

TEST(RtInfo, FilesGetRecordsAndUserData) {
  const auto model = ReluThenAbs().model();
  auto& info = layer(model, "Relu")->get_rt_info();
  info["fused_names"] = AnyMap{{"version", "0"}, {"value", "a,b"}};
  info["user_data/number"] = 3;
  info["user_datanested"] = AnyMap{{"in/ner", AnyMap{{"x", 1.5}}}, {"y", true}};
  info["mine"] = AnyMap{{"a/b", 7}, {"nested", AnyMap{{"x", 3.5}}}};
  info["__mine"] = "stays here";
  info["object"] = std::make_shared<int>(3);
  model->input().get_rt_info()["user_data_port"] = "p";
  layer(model, "Abs")->input(0).get_rt_info()["user_data_port"] = "q";
  const std::string xml = text_of(model);
  EXPECT_NE(xml.find(R"(<user_data name="/number" value="3" version="")"), std::string::npos) << xml;
  EXPECT_NE(xml.find(R"(<attribute name="fused_names" value="a,b" version="0")"), std::string::npos) << xml;
  EXPECT_NE(xml.find(R"(<custom name="a/b" value="7" />)"), std::string::npos) << xml;
  EXPECT_EQ(xml.find("stays here"), std::string::npos);
  EXPECT_EQ(xml.find("object"), std::string::npos);
  const auto read = read_back(model);
  const AnyMap& back = layer(read, "Relu")->get_rt_info();
  EXPECT_EQ(back.at("fused_names").as<AnyMap>().at("value").as<std::string>(), "a,b");
  EXPECT_EQ(back.at("user_data/number").as<int>(), 3);
  const AnyMap nested = back.at("user_datanested").as<AnyMap>();
  EXPECT_EQ(nested.at("in/ner").as<AnyMap>().at("x").as<double>(), 1.5);
  EXPECT_TRUE(nested.at("y").as<bool>());
  const AnyMap mine = back.at("mine").as<AnyMap>();
  EXPECT_EQ(mine.at("a/b").as<int>(), 7);
  EXPECT_EQ(mine.at("nested").as<AnyMap>().at("x").as<float>(), 3.5f);
  EXPECT_EQ(read->input().get_rt_info().at("user_data_port").as<std::string>(), "p");
  EXPECT_EQ(layer(read, "Abs")->input(0).get_rt_info().at("user_data_port").as<std::string>(), "q");
  EXPECT_EQ(text_of(read), xml);
}

TEST(RtInfo, WhatWasReadIsChangedAndErased) {
  const auto model = ReluThenAbs().model();
  auto& info = layer(model, "Relu")->get_rt_info();
  info["unknown_to_us"] = AnyMap{{"version", "7"}, {"of", "another"}};
  info["user_data_a"] = AnyMap{{"x", 1}, {"y", 2}};
  info["user_data_b"] = 3;
  info["mine"] = "one";
  info["gone"] = AnyMap{{"x", 1}};
  model->output().get_rt_info()["port"] = "p";
  const auto read = read_back(model);
  auto& back = layer(read, "Relu")->get_rt_info();
  back["user_data_a"] = AnyMap{{"z", 4}};
  back.erase("user_data_b");
  back["mine"] = AnyMap{{"y", 2}};
  back.erase("gone");
  const auto again = read_back(read);
  const AnyMap& last = layer(again, "Relu")->get_rt_info();
  EXPECT_EQ(last.size(), 3u);
  EXPECT_EQ(last.at("mine").as<AnyMap>().at("y").as<int>(), 2);
  EXPECT_EQ(again->output().get_rt_info().at("port").as<std::string>(), "p");
  EXPECT_EQ(last.at("unknown_to_us").as<AnyMap>().at("of").as<std::string>(), "another");
  EXPECT_EQ(last.at("user_data_a").as<AnyMap>().size(), 1u);
  EXPECT_EQ(last.at("user_data_a").as<AnyMap>().at("z").as<int>(), 4);
}

TEST(RtInfo, LayoutsAreTheSameOnBothWays) {
  const auto model = ReluThenAbs().model();
  auto& info = model->input().get_rt_info();
  layout::set_layout(model->input(), "NC");
  EXPECT_EQ(model->input().get_rt_info().at("layout").as<AnyMap>().at("layout").as<std::string>(), "[N,C]");
  info["layout"] = AnyMap{{"version", "0"}, {"layout", "[C,N]"}};
  EXPECT_EQ(layout::get_layout(model->input()), Layout("CN"));
  EXPECT_EQ(Core().compile_model(model, "CPU").input().get_rt_info().count("layout"), 1u);
  layout::set_layout(model->input(), Layout());
  EXPECT_TRUE(info.empty());
  info["layout"] = AnyMap{{"version", "0"}, {"layout", "[N,C]"}};
  preprocess::PrePostProcessor steps(model);
  steps.input().tensor().set_layout("CN");
  steps.build();
  EXPECT_EQ(model->input().get_shape(), (Shape{4, 1}));
  EXPECT_EQ(layout::get_layout(model->input()), Layout("CN"));
}

TEST(RtInfo, IsReadByManyThreads) {
  const auto compiled = Core().compile_model(ReluThenAbs().model(), "CPU");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) EXPECT_TRUE(compiled.input().get_rt_info().empty());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RtInfo, ReplacementsGetItWhenAskedFor) {
  const auto model = ReluThenAbs().model();
  const auto relu = layer(model, "Relu");
  relu->get_rt_info()["key"] = 1;
  relu->get_rt_info()["decompression"] = AnyMap{{"version", "0"}};
  const auto limit = opset8::Constant::create(element::f32, Shape{}, {0.f});
  const auto maximum = std::make_shared<opset8::Maximum>(relu->input_value(0), limit);
  replace_node(relu, maximum);
  EXPECT_TRUE(layer(model, "Maximum")->get_rt_info().empty());
  copy_runtime_info(relu, maximum);
  EXPECT_EQ(layer(model, "Maximum")->get_rt_info().at("key").as<int>(), 1);
  EXPECT_EQ(layer(model, "Maximum")->get_rt_info().count("decompression"), 0u);
  EXPECT_EQ(limit->get_rt_info().count("key"), 1u);
}

TEST(RtInfo, OfSeveralLayersKeepsWhatOneHasAndJoinsFusedNames) {
  ReluThenAbs layers;
  layers.relu->get_rt_info() = {{"a", 1}, {"both", 1}, {"fused_names", AnyMap{{"version", "0"}, {"value", "m,b"}}}};
  layers.abs->get_rt_info() = {{"b", 2}, {"both", 2}, {"fused_names", AnyMap{{"version", "0"}, {"value", "b,c"}}}};
  const auto fused = std::make_shared<opset8::Exp>(layers.x);
  fused->get_rt_info()["own"] = 3;
  copy_runtime_info({layers.relu, layers.abs}, fused);
  const AnyMap& info = fused->get_rt_info();
  EXPECT_EQ(info.size(), 4u);
  EXPECT_EQ(info.count("both"), 0u);
  EXPECT_EQ(info.at("fused_names").as<AnyMap>().at("value").as<std::string>(), "b,c,m");
  layers.relu->output(0).get_rt_info()["t"] = 1;
  copy_output_runtime_info({layers.relu->output(0)}, {fused->output(0)});
  EXPECT_EQ(fused->output(0).get_rt_info().at("t").as<int>(), 1);
}

TEST(Model, InputsGetOtherTypesAndShapes) {
  const auto model = ReluThenAbs().model();
  const auto x = model->get_parameters()[0];
  x->set_partial_shape({-1, 8});
  x->set_element_type(element::f16);
  EXPECT_EQ(x->get_partial_shape(), (PartialShape{-1, 8}));
  EXPECT_EQ(Core().compile_model(model, "CPU").output().get_partial_shape(), (PartialShape{-1, 8}));
  EXPECT_EQ(model->output().get_shape(), (Shape{1, 4}));
  model->validate_nodes_and_infer_types();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{-1, 8}));
  EXPECT_EQ(model->output().get_element_type(), element::f16);
  EXPECT_TRUE((is_type_any_of<opset8::Relu, opset8::Exp>(layer(model, "Relu"))));
  EXPECT_FALSE((is_type_any_of<opset8::Abs, opset8::Exp>(layer(model, "Relu"))));
  EXPECT_TRUE(op::util::is_parameter(x));
  EXPECT_TRUE(op::util::is_output(model->get_result()));
  EXPECT_FALSE(op::util::is_constant(x) || op::util::is_sink(x));
}

TEST(Node, IsClonedWithOtherInputs) {
  ReluThenAbs layers;
  const auto other = std::make_shared<opset8::Parameter>(element::f32, PartialShape{2, 3});
  layers.relu->set_friendly_name("first");
  const auto clone = layers.relu->clone_with_new_inputs({other});
  EXPECT_EQ(clone->get_type_info(), layers.relu->get_type_info());
  EXPECT_EQ(clone->get_shape(), (Shape{2, 3}));
  EXPECT_NE(clone->get_friendly_name(), "first");
  EXPECT_EQ(layers.relu->copy_with_new_inputs({other})->get_friendly_name(), "first");
  const auto number = opset8::Constant::create(element::i64, Shape{2}, {5, 6});
  const auto copied = as_type_ptr<opset8::Constant>(number->clone_with_new_inputs({}));
  EXPECT_EQ(copied->cast_vector<int>(), (std::vector<int>{5, 6}));
  EXPECT_EQ(copied->get_shape(), Shape{2});
  const auto parameter = other->clone_with_new_inputs({});
  EXPECT_EQ(parameter->get_shape(), (Shape{2, 3}));
  EXPECT_THROW(layers.relu->clone_with_new_inputs({}), Exception);
  // Of a layer of a model, too: the copy is no part of what is compiled until somebody reads it.
  const auto model = layers.model();
  const auto again = layer(model, "Relu")->clone_with_new_inputs({layers.x});
  EXPECT_EQ(model->get_ops().size(), 4u);
  layers.abs->set_argument(0, again);
  EXPECT_EQ(layers.abs->input_value(0), again->output(0));
  EXPECT_EQ(layers.abs->get_input_tensor(0).get_shape(), (Shape{1, 4}));
}

}  // namespace
}  // namespace terroir
