// Every error of pre- and post-processing, its code and what its text says.
#include <limits>

#include "tests/preprocess/pipeline.hpp"
#include "tests/support/caught.hpp"

namespace terroir::preprocess {
namespace {

using Setup = std::function<void(PrePostProcessor&)>;

void expect_error(const Exception& error, ErrorCode code, const std::vector<std::string>& texts) {
  EXPECT_EQ(error.code(), code) << error.what();
  for (const std::string& text : texts)
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
}

/// build() of a model with an input [1,3,4,6] fails with this text and leaves the model as it was.
void expect_refused(const Setup& setup, const std::vector<std::string>& texts,
                    ErrorCode code = ErrorCode::invalid_argument) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  setup(p);
  expect_error(caught([&] { p.build(); }), code, texts);
  EXPECT_EQ(model->get_ops().size(), 3u);
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 3, 4, 6}));
  EXPECT_EQ(model->input().get_element_type(), element::f32);
  EXPECT_EQ(model->input().get_any_name(), "data");
}

/// A function that records a step refuses by itself.
void expect_refused_at_once(const Setup& setup, const std::vector<std::string>& texts,
                            ErrorCode code = ErrorCode::invalid_argument) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 6}));
  expect_error(caught([&] { setup(p); }), code, texts);
}

TEST(PreprocessErrors, TheModelAndItsPorts) {
  expect_error(caught([] { PrePostProcessor p(nullptr); }), ErrorCode::invalid_argument, {"null pointer"});
  ModelBuilder b;
  const auto x = b.parameter(element::f32, {1}, "a"), y = b.parameter(element::f32, {1}, "b");
  b.result(x), b.result(y);
  PrePostProcessor p(b.build());
  expect_error(caught([&] { p.input(); }), ErrorCode::invalid_argument, {"2 inputs", "'a', 'b'"});
  expect_error(caught([&] { p.output(); }), ErrorCode::invalid_argument, {"2 outputs"});
  expect_error(caught([&] { p.input("c"); }), ErrorCode::not_found, {"no input 'c'", "'a', 'b'"});
  expect_error(caught([&] { p.output("c"); }), ErrorCode::not_found, {"no output 'c'"});
  expect_error(caught([&] { p.input(2); }), ErrorCode::not_found, {"no input 2"});
  expect_error(caught([&] { p.output(2); }), ErrorCode::not_found, {"no output 2"});
  p.build();
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument, {"build() has been called"});
  expect_error(caught([&] { p.input(0); }), ErrorCode::invalid_argument, {"build() has been called"});
}

TEST(PreprocessErrors, MovedFrom) {
  PrePostProcessor p(negative(element::f32, {1, 3, 4, 6}));
  const InputInfo input(std::move(p.input()));
  expect_error(caught([&] { p.input().tensor(); }), ErrorCode::invalid_argument, {"the InputInfo was moved from"});
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument, {"the InputInfo was moved from"});
  const OutputInfo output(std::move(p.output()));
  expect_error(caught([&] { p.output().tensor(); }), ErrorCode::invalid_argument, {"the OutputInfo was moved from"});
  const PrePostProcessor to(std::move(p));
  expect_error(caught([&] { p.input(); }), ErrorCode::invalid_argument, {"the PrePostProcessor was moved from"});
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument, {"the PrePostProcessor was moved from"});
}

TEST(PreprocessErrors, AModelThatGotAnotherOutput) {
  const auto model = negative(element::f32, {1});
  PrePostProcessor p(model);
  model->add_output("data");
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument, {"have changed"});
}

TEST(PreprocessErrors, WhatTheTensorIs) {
  expect_refused_at_once([](auto& p) { p.input().tensor().set_memory_type("GPU_SURFACE"); },
                         {"'GPU_SURFACE'", "leave this call out"}, ErrorCode::unsupported);
  expect_refused_at_once([](auto& p) { p.input().tensor().set_shape({1}).set_spatial_dynamic_shape(); },
                         {"set_spatial_dynamic_shape() cannot be combined with set_shape()"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_shape({1}).set_spatial_static_shape(1, 1); },
                         {"set_spatial_static_shape() cannot be combined"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_spatial_dynamic_shape().set_shape({1}); },
                         {"set_shape() cannot be combined"});
  expect_refused_at_once(
      [](auto& p) { p.input().tensor().set_spatial_dynamic_shape().set_from(Tensor(element::f32, {1})); },
      {"set_from() cannot be combined"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_from(Tensor()); }, {});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_spatial_static_shape(size_t{1} << 40, 1); },
                         {"the height 1099511627776 is too large"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_spatial_static_shape(0, 60); },
                         {"set_spatial_static_shape: height and width must be positive, got 0 and 60"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_color_format(ColorFormat::RGB, {"a"}); },
                         {"RGB takes no names of planes, got 1"});
  expect_refused_at_once([](auto& p) { p.input().tensor().set_color_format(ColorFormat::NV12_TWO_PLANES, {"a"}); },
                         {"2 names of planes or none, got 1"});
  expect_refused([](auto& p) { p.input().tensor().set_layout("NCW"); }, {"input 'data'", "does not fit"});
  expect_refused([](auto& p) { p.input().tensor().set_spatial_dynamic_shape(); },
                 {"the layout is not set, so it has no axis 'H'", "set_layout()"});
}

TEST(PreprocessErrors, Planes) {
  const auto camera = [](PrePostProcessor& p, ColorFormat format) -> PreProcessSteps& {
    p.input().tensor().set_element_type(element::u8).set_color_format(format);
    p.input().model().set_layout("NCHW");
    return p.input().preprocess();
  };
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES); },
                 {"input 'data'", "NV12 (multi-plane)", "add a step convert_color()"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_SINGLE_PLANE); },
                 {"NV12 (single plane)", "add a step convert_color()"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).mean(1.f); },
                 {"step 1, mean (1)", "cannot compute with an image of 2 planes", "put convert_color"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::I420_THREE_PLANES).resize(ResizeAlgorithm::RESIZE_LINEAR); },
                 {"cannot resize an image of 3 planes"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).convert_layout("NCHW"); },
                 {"cannot convert the layout of an image of 2 planes"});
  expect_refused(
      [&](auto& p) {
        camera(p, ColorFormat::NV12_TWO_PLANES).convert_layout({0, 3, 1, 2});
      },
      {"cannot convert the layout of an image of 2 planes"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).clamp(0, 1); }, {"cannot clamp"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).crop({0}, {1}); }, {"cannot crop"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).reverse_channels(); },
                 {"cannot reverse the channels of"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).pad({0}, {0}, 0.f, PaddingMode::EDGE); },
                 {"cannot pad"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).custom([](const auto& x) { return x; }); },
                 {"cannot take a step of your own with"});
  expect_refused([&](auto& p) { camera(p, ColorFormat::NV12_TWO_PLANES).convert_color(ColorFormat::RGBX); },
                 {"NV12 (multi-plane) image cannot be converted to RGBX", "RGB, BGR and GRAY"});
  expect_refused(
      [&](auto& p) {
        camera(p, ColorFormat::NV12_SINGLE_PLANE).convert_color(ColorFormat::RGB);
        p.input().tensor().set_layout("NCHW");
      },
      {"layout [N,H,W,C]", "got the layout [N,C,H,W]"});
  expect_refused(
      [&](auto& p) {
        camera(p, ColorFormat::NV12_SINGLE_PLANE).convert_color(ColorFormat::RGB);
        p.input().tensor().set_spatial_static_shape(5, 6);
      },
      {"the height of an image of shape [1,5,6,3] must be even"});
}

TEST(PreprocessErrors, NamesOfPlanesThatAreTaken) {
  ModelBuilder b;
  b.result(b.op("Negative", "opset1", {b.parameter(element::f32, {1, 3, 4, 6}, "data")}, {}, "data/y"));
  PrePostProcessor p(b.build());
  p.input().tensor().set_element_type(element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_color(ColorFormat::RGB);
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument,
               {"a tensor 'data/y' already", "other sub-names"});
}

TEST(PreprocessErrors, Colors) {
  expect_refused([](auto& p) { p.input().preprocess().convert_color(ColorFormat::RGB); },
                 {"step 1, convert color (RGB)", "say tensor().set_color_format()"});
  const auto from = [](PrePostProcessor& p, ColorFormat format) -> PreProcessSteps& {
    p.input().tensor().set_color_format(format);
    p.input().model().set_layout("NCHW");
    return p.input().preprocess();
  };
  expect_refused([&](auto& p) { from(p, ColorFormat::GRAY).convert_color(ColorFormat::RGB); },
                 {"a GRAY image cannot be converted to RGB", "it has no colours"});
  expect_refused([&](auto& p) { from(p, ColorFormat::RGB).convert_color(ColorFormat::BGRX); }, {"RGB, BGR and GRAY"});
  expect_refused([&](auto& p) { from(p, ColorFormat::RGBX); }, {"would be an image in RGBX", "convert_color()"});
  expect_refused(
      [&](auto& p) {
        from(p, ColorFormat::RGB).crop({0, 0, 0, 0}, {1, 4, 6, 2}).convert_color(ColorFormat::GRAY);
      },
      {"step 2", "expected three channels (axis 3), got the shape [1,4,6,2]"});
  expect_refused([&](auto& p) { from(p, ColorFormat::RGB).convert_color(ColorFormat::GRAY); },
                 {"the steps end in the shape [1,1,4,6]"}, ErrorCode::shape_mismatch);
  expect_refused([](auto& p) { p.input().preprocess().reverse_channels(); }, {"no axis 'C'"});
}

TEST(PreprocessErrors, Arithmetic) {
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_element_type(element::u8);
        p.input().preprocess().scale(2.f);
      },
      {"input 'data': step 1, scale (2)", "elements of type u8", "put convert_element_type(element::f32) before"});
  expect_refused([](auto& p) { p.input().preprocess().mean({1.f, 2.f, 3.f}); }, {"no axis 'C'", "set_layout()"});
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_layout("NCHW");
        p.input().preprocess().clamp(0, 1).mean({1.f, 2.f});
      },
      {"step 2, mean (1,2)", "each of 3 channels (axis 1 of [1,3,4,6], layout [N,C,H,W]), got 2"});
  expect_refused([](auto& p) { p.input().preprocess().clamp(2, 1); }, {"lower limit 2 is above the upper one 1"});
  const float nan = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
  expect_refused_at_once([](auto& p) { p.input().preprocess().scale(0); },
                         {"scale: expected finite values other than 0, got (0)"});
  expect_refused_at_once([&](auto& p) { p.input().preprocess().scale({1, nan, 2}); }, {"other than 0, got (1,nan,2)"});
  expect_refused_at_once([&](auto& p) { p.input().preprocess().mean(nan); },
                         {"mean: expected finite values, got (nan"});
  expect_refused_at_once([&](auto& p) { p.input().preprocess().mean({0, endless}); }, {"got (0,inf)"});
  expect_refused_at_once([](auto& p) { p.input().preprocess().mean(std::vector<float>()); },
                         {"mean: expected finite values, got ()"});
  PrePostProcessor unknown(negative(element::f32, PartialShape::dynamic()));
  unknown.input().tensor().set_layout("NCHW");
  unknown.input().preprocess().mean({1.f, 2.f});
  expect_error(caught([&] { unknown.build(); }), ErrorCode::invalid_argument, {"the rank is unknown", "set_shape()"});
}

TEST(PreprocessErrors, ElementTypes) {
  ModelBuilder b;
  b.result(b.op("Negative", "opset1", {b.parameter(element::dynamic, {1, 3}, "data")}));
  const auto model = b.build();
  PrePostProcessor p(model);
  p.input().preprocess().convert_element_type(element::f32);
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument,
               {"the element type to convert from is not known"});
  PrePostProcessor q(model);
  q.input().tensor().set_element_type(element::u8);
  q.input().preprocess().convert_element_type();
  expect_error(caught([&] { q.build(); }), ErrorCode::invalid_argument, {"no element type to convert to"});
  expect_refused([](auto& r) { r.output().postprocess().convert_element_type(); },
                 {"output 'minus': step 1", "tensor().set_element_type()"});
}

TEST(PreprocessErrors, Resize) {
  expect_refused_at_once([](auto& p) { p.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR, 0, 5); },
                         {"must be positive, got 0 and 5"});
  expect_refused_at_once(
      [](auto& p) { p.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR, 1, size_t{1} << 33); },
      {"the width 8589934592 is too large"});
  expect_refused([](auto& p) { p.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR); }, {"no axis 'H'"});
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_layout("NCHW");
        p.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR, 8, 8);
      },
      {"the steps end in the shape [1,3,8,8], the model's input has [1,3,4,6]"}, ErrorCode::shape_mismatch);
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_layout("NCHW");
        p.input().preprocess().crop({0, 0, 2, 0}, {1, 3, 2, 6}).resize(ResizeAlgorithm::RESIZE_LINEAR);
      },
      {"step 2, resize", "an image of shape [1,3,0,6] has no pixels to resize"});
  PrePostProcessor p(negative(element::f32, {1, 3, -1, 6}));
  p.input().tensor().set_layout("NCHW");
  p.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR);
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument,
               {"axis 'H' of the model's input of shape [1,3,?,6] has no fixed extent", "resize(algorithm, height"});
}

TEST(PreprocessErrors, CropAndPad) {
  expect_refused_at_once(
      [](auto& p) {
        p.input().preprocess().crop({0}, {1, 2});
      },
      {"begin [0] and end [1,2] must have the same number"});
  expect_refused(
      [](auto& p) {
        p.input().preprocess().crop({0, 0, 0, 0, 0}, {1, 1, 1, 1, 1});
      },
      {"at most 4 axes", "got 5"});
  expect_refused(
      [](auto& p) {
        p.input().preprocess().pad({0, 0}, {0, 0, 0, 0}, 0.f, PaddingMode::CONSTANT);
      },
      {"as many numbers as the shape [1,3,4,6] has axes", "got 2 and 4"});
  expect_refused(
      [](auto& p) {
        p.input().preprocess().pad({0, 0, 0, 0}, {0, 0, 0, 0}, std::vector<float>{1, 2}, PaddingMode::CONSTANT);
      },
      {"expected one value to pad with, got 2"});
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_element_type(element::i32);
        p.input().preprocess().pad({0, 0, 0, 0}, {0, 0, 0, 0}, 1.f, PaddingMode::CONSTANT);
      },
      {"elements of type i32"});
}

TEST(PreprocessErrors, Layouts) {
  const auto between = [](const char* tensor, const char* model) {
    return [=](PrePostProcessor& p) {
      p.input().tensor().set_layout(tensor);
      p.input().model().set_layout(model);
    };
  };
  expect_refused(between("NHWD", "NCHW"), {"input 'data'", "is in only one of the layouts [N,C,H,W] and [N,H,W,D]"});
  expect_refused(between("HWD", "NCHW"), {"the layout [N,C,H,W] has no axis 'D', but [H,W,D] has"});
  expect_refused(between("HW?", "NCHW"), {"every axis needs a name", "[H,W,?]"});
  expect_refused(between("NCHWD", "NCHW"), {"rank 4"});
  expect_refused(
      [](auto& p) {
        p.input().preprocess().convert_layout({0, 3, 3, 2});
      },
      {"expected every axis from 0 to 3 once, got [0,3,3,2]"});
  expect_refused([](auto& p) { p.input().preprocess().convert_layout({0, 2, 1}); }, {"the order [0,2,1] has 3 axes"});
  expect_refused(
      [](auto& p) {
        p.input().tensor().set_layout("N...C");
        p.input().preprocess().convert_layout({0, 3, 1, 2});
      },
      {"the layout [N,...,C] cannot follow the order [0,3,1,2]"});
  PrePostProcessor unknown(negative(element::f32, PartialShape::dynamic()));
  unknown.input().tensor().set_layout("N...C");
  unknown.input().model().set_layout("NC...");
  expect_error(caught([&] { unknown.build(); }), ErrorCode::invalid_argument,
               {"cannot be told while the rank is unknown"});
}

TEST(PreprocessErrors, LayersOfOnesOwn) {
  expect_refused([](auto& p) { p.input().preprocess().custom({}); }, {"step 1, custom", "function to call is empty"});
  expect_refused([](auto& p) { p.input().preprocess().custom([](const auto&) { return Output<Node>(); }); },
                 {"of a layer of the same model", "ModelBuilder(node)"});
  expect_refused(
      [](auto& p) { p.input().preprocess().custom([](const auto&) { return negative(element::f32, {1})->input(); }); },
      {"of a layer of the same model"});
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().preprocess().custom([&](const auto&) { return model->output(); });
  expect_error(caught([&] { p.build(); }), ErrorCode::invalid_argument, {"an output of the model cannot be"});
}

TEST(PreprocessErrors, BuildersThatExtendAModel) {
  const auto model = negative(element::f32, {1});
  expect_error(caught([] { ModelBuilder b{Output<Node>()}; }), ErrorCode::invalid_argument, {"is empty"});
  ModelBuilder b(model->input());
  expect_error(caught([&] { b.build(); }), ErrorCode::invalid_argument, {"ModelBuilder::build()"});
  expect_error(caught([&] { b.parameter(element::f32, {1}); }), ErrorCode::invalid_argument, {"::parameter()"});
  expect_error(caught([&] { b.result(model->input()); }), ErrorCode::invalid_argument, {"::result()"});
  expect_error(caught([&] { b.op("Negative", "opset1", {model->input()}, {}, "minus"); }), ErrorCode::invalid_argument,
               {"'minus' already"});
}

TEST(PreprocessErrors, Outputs) {
  expect_refused([](auto& p) { p.output().postprocess().convert_color(ColorFormat::RGB); },
                 {"output 'minus': step 1", "model().set_color_format()"});
  expect_refused(
      [](auto& p) {
        p.output().model().set_color_format(ColorFormat::RGB).set_layout("NCHW");
        p.output().postprocess().convert_color(ColorFormat::GRAY);
      },
      {"outputs go from RGB to BGR and back"});
  expect_refused(
      [](auto& p) {
        p.output().model().set_layout("NCHW");
        p.output().tensor().set_layout("NHW");
      },
      {"output 'minus'", "the layout [N,H,W] does not fit a tensor of rank 4"});
  expect_refused([](auto& p) { p.output().postprocess().convert_layout({0, 1}); }, {});
}

TEST(PreprocessErrors, MayBeMended) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().preprocess().mean({1.f, 2.f, 3.f});
  EXPECT_THROW(p.build(), Exception);
  p.input().tensor().set_layout("NCHW");
  EXPECT_EQ(p.build(), model);
}

}  // namespace
}  // namespace terroir::preprocess
