// Names, order, shapes and layouts of inputs and outputs; conversions that nobody asked for; post-processing.
#include <sstream>

#include "tests/preprocess/pipeline.hpp"

namespace terroir::preprocess {
namespace {

using Names = std::unordered_set<std::string>;

/// image[1,3,4,6] * scale[1] -> "out", scale -> "copy"
std::shared_ptr<Model> two_inputs() {
  ModelBuilder b("two");
  auto image = b.parameter(element::f32, {1, 3, 4, 6}, "image");
  const auto scale = b.parameter(element::f32, {1}, "scale");
  image.add_names({"picture"});
  b.result(b.op("Multiply", "opset1", {image, scale}, {}, "product"), "out");
  b.result(b.op("Negative", "opset1", {scale}, {}, "minus"), "copy");
  return b.build();
}

TEST(PreprocessPorts, NothingToDoChangesNothing) {
  const auto model = two_inputs();
  const auto before = model->get_ops().size();
  EXPECT_EQ(PrePostProcessor(model).build(), model);
  EXPECT_EQ(model->get_ops().size(), before);
  EXPECT_EQ(model->input(0).get_names(), (Names{"image", "picture"}));
}

TEST(PreprocessPorts, AreFoundByNameIndexOrAlone) {
  PrePostProcessor p(two_inputs());
  EXPECT_EQ(&p.input("picture"), &p.input(0));
  EXPECT_EQ(&p.input("scale"), &p.input(1));
  EXPECT_EQ(&p.output("copy"), &p.output(1));
  PrePostProcessor single(negative(element::f32, {1}));
  EXPECT_EQ(&single.input(), &single.input("data"));
  EXPECT_EQ(&single.output(), &single.output("out"));
  EXPECT_NE(&single.input().tensor(), nullptr);
}

TEST(PreprocessPorts, KeepTheirNamesAndHandles) {
  const auto model = two_inputs();
  const auto image = model->input("image");
  PrePostProcessor p(model);
  p.input("image").tensor().set_element_type(element::u8);
  p.output("out").tensor().set_element_type(element::f16);
  p.build();
  EXPECT_EQ(model->input(0), image);
  EXPECT_EQ(image.get_element_type(), element::u8);
  EXPECT_EQ(image.get_names(), (Names{"image", "picture"}));
  EXPECT_EQ(image.get_node()->get_friendly_name(), "image");
  EXPECT_EQ(model->output(0).get_element_type(), element::f16);
  EXPECT_TRUE(model->output(0).get_names().count("out"));
  EXPECT_TRUE(model->output(0).get_names().count("product"));
  EXPECT_EQ(model->output(1).get_element_type(), element::f32);
}

TEST(PreprocessPorts, PlanesTakeThePlaceOfTheInput) {
  const auto model = two_inputs();
  PrePostProcessor p(model);
  p.input("image").tensor().set_element_type(element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input("image").model().set_layout("NCHW");
  p.input("image").preprocess().convert_color(ColorFormat::RGB);
  p.input("scale").tensor().set_element_type(element::i32);
  p.build();
  ASSERT_EQ(model->inputs().size(), 3u);
  EXPECT_EQ(model->input(0).get_names(), (Names{"image/y", "picture/y"}));
  EXPECT_EQ(model->input(1).get_names(), (Names{"image/uv", "picture/uv"}));
  EXPECT_EQ(model->input(2).get_names(), (Names{"scale"}));
  EXPECT_EQ(model->input(1).get_node()->get_friendly_name(), "image/uv");
  EXPECT_EQ(model->input("image/y").get_partial_shape(), (PartialShape{1, 4, 6, 1}));
  EXPECT_EQ(model->input("image/uv").get_partial_shape(), (PartialShape{1, 2, 3, 2}));
  EXPECT_EQ(model->input(2).get_element_type(), element::i32);
}

TEST(PreprocessPorts, PlanesWithoutSubNamesHaveNoTensorNames) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::u8).set_color_format(ColorFormat::I420_THREE_PLANES);
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_color(ColorFormat::RGB);
  p.build();
  ASSERT_EQ(model->inputs().size(), 3u);
  for (const auto& input : model->inputs()) EXPECT_TRUE(input.get_names().empty());
  EXPECT_EQ(model->input(2).get_partial_shape(), (PartialShape{1, 2, 3, 1}));
}

TEST(PreprocessPorts, TheProgramsLayoutIsToldFromTheModels) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  layout::set_layout(model->input(), "NCHW");
  PrePostProcessor p(model);
  p.input().preprocess().convert_layout({0, 3, 1, 2}).mean({1.f, 2.f, 3.f});
  p.build();
  EXPECT_EQ(layout::get_layout(model->input()), Layout("NHWC"));
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 4, 6, 3}));
}

TEST(PreprocessPorts, TheModelsLayoutIsToldFromTheSteps) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().tensor().set_layout("NHWC");
  p.input().preprocess().convert_layout("NCHW").resize(ResizeAlgorithm::RESIZE_LINEAR);
  p.input().tensor().set_spatial_static_shape(8, 12);
  p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 8, 12, 3}));
}

TEST(PreprocessPorts, SetFromATensor) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  const Tensor photo(element::u8, {1, 30, 40, 3});
  PrePostProcessor p(model);
  p.input().tensor().set_from(photo).set_layout("NHWC").set_memory_type("");
  p.input().model().set_layout("NCHW");
  p.input().preprocess().resize(ResizeAlgorithm::RESIZE_NEAREST);
  p.build();
  EXPECT_EQ(model->input().get_element_type(), element::u8);
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{1, 30, 40, 3}));
}

TEST(PreprocessPorts, ShapesOfADynamicModelStayDynamic) {
  const auto model = negative(element::f32, {-1, 3, -1, -1});
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::u8).set_layout("NHWC");
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_element_type(element::f32).mean({1.f, 2.f, 3.f});
  p.build();
  EXPECT_EQ(model->input().get_partial_shape(), (PartialShape{-1, -1, -1, 3}));
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{-1, 3, -1, -1}));
  for (const size_t size : {size_t{2}, size_t{5}}) {
    const Tensor x = random_bytes({size, size + 1, size + 2, 3});
    expect_steps(
        model, {x}, {size, 3, size + 1, size + 2},
        [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, h, w, c) - static_cast<double>(c + 1); }, 0);
  }
}

TEST(PreprocessPorts, AKnownSizeMakesADynamicModelStatic) {
  const auto model = negative(element::f32, {1, 3, -1, -1});
  PrePostProcessor p(model);
  p.input().tensor().set_layout("NCHW").set_spatial_static_shape(5, 7);
  p.build();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{1, 3, 5, 7}));
}

TEST(PreprocessPorts, AModelWithoutLayers) {
  ModelBuilder b;
  b.result(b.parameter(element::f32, {2, 3}, "data"));
  const auto model = b.build();
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::i32);
  p.output().tensor().set_element_type(element::i64);
  p.build();
  EXPECT_EQ(model->input().get_names(), (Names{"data"}));
  Core core;
  CompiledModel compiled = core.compile_model(model, "CPU");
  const Tensor out = test::infer(compiled, {tensor_of<int32_t>(element::i32, {2, 3}, {1, -2, 3, -4, 5, -6})}).at(0);
  EXPECT_EQ(out.data<int64_t>()[5], -6);
}

TEST(PreprocessPorts, AModelThatWasCompiledBeforeStaysAsItWas) {
  const auto model = negative(element::f32, {1, 2});
  Core core;
  CompiledModel compiled = core.compile_model(model, "CPU");
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::u8);
  p.build();
  EXPECT_EQ(compiled.input().get_element_type(), element::f32);
  EXPECT_EQ(test::infer(compiled, {tensor_of<float>(element::f32, {1, 2}, {1, 2})}).at(0).data<float>()[1], -2);
}

TEST(PreprocessPorts, SurvivesSerialisation) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::u8).set_layout("NHWC").set_spatial_dynamic_shape();
  p.input().model().set_layout("NCHW");
  p.input().preprocess().resize(ResizeAlgorithm::RESIZE_CUBIC).convert_element_type().mean({1.f, 2.f, 3.f});
  p.build();
  const std::string xml = testing::TempDir() + "preprocessed.xml";
  serialize(model, xml);
  Core core;
  const auto read = core.read_model(xml);
  EXPECT_EQ(layout::get_layout(read->input()), Layout("NHWC"));
  const Tensor x = random_bytes({1, 9, 5, 3});
  CompiledModel a = core.compile_model(model, "CPU"), b = core.compile_model(read, "CPU");
  const Tensor expected = test::infer(a, {x}).at(0), actual = test::infer(b, {x}).at(0);
  EXPECT_TRUE(std::equal(expected.data<float>(), expected.data<float>() + expected.get_size(), actual.data<float>()));
}

// ---- outputs

TEST(PostprocessSteps, TypeLayoutClampAndLayersOfOnesOwn) {
  const auto model = negative(element::f32, {1, 3, 4, 5});
  PrePostProcessor p(model);
  p.output().model().set_layout("NCHW");
  p.output().postprocess().clamp(-1, 1).convert_layout().custom([](const Output<Node>& x) {
    ModelBuilder b(x);
    return b.op("Add", "opset1", {x, b.constant(element::f32, Shape{}, {2.f})});
  });
  p.output().tensor().set_layout("NHWC").set_element_type(element::f16);
  p.build();
  EXPECT_EQ(layout::get_layout(model->output()), Layout("NHWC"));
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{1, 4, 5, 3}));
  EXPECT_TRUE(model->output().get_names().count("out"));
  const Tensor x = random_floats({1, 3, 4, 5});
  Core core;
  for (const char* device : {"INTERPRETER", "CPU"}) {
    CompiledModel compiled = core.compile_model(model, device);
    const Tensor out = test::infer(compiled, {x}).at(0);
    ASSERT_EQ(out.get_element_type(), element::f16);
    for (size_t h = 0; h < 4; ++h)
      for (size_t w = 0; w < 5; ++w)
        for (size_t c = 0; c < 3; ++c)
          EXPECT_NEAR(static_cast<float>(out.data<float16>()[(h * 5 + w) * 3 + c]),
                      std::clamp(-at(x, 0, c, h, w), -1.0, 1.0) + 2, 2e-3)
              << device;
  }
}

TEST(PostprocessSteps, LayoutByOrderAndType) {
  const auto model = negative(element::f32, {2, 3});
  layout::set_layout(model->output(), "NC");
  PrePostProcessor p(model);
  p.output()
      .postprocess()
      .convert_layout({1, 0})
      .convert_layout(std::vector<uint64_t>{})
      .convert_element_type(element::i32);
  p.build();
  EXPECT_EQ(model->output().get_partial_shape(), (PartialShape{3, 2}));
  EXPECT_EQ(layout::get_layout(model->output()), Layout("CN"));
  Core core;
  CompiledModel compiled = core.compile_model(model, "CPU");
  const Tensor out = test::infer(compiled, {tensor_of<float>(element::f32, {2, 3}, {1, 2, 3, 4, 5, 6})}).at(0);
  EXPECT_EQ(out.data<int32_t>()[1], -4);
}

TEST(PostprocessSteps, ColorsBackAndForth) {
  for (const ColorFormat to : {ColorFormat::BGR, ColorFormat::RGB}) {
    const auto model = negative(element::f32, {1, 3, 2, 2});
    PrePostProcessor p(model);
    p.output().model().set_layout("NCHW").set_color_format(ColorFormat::RGB);
    p.output().postprocess().convert_color(to);
    const Tensor x = random_floats({1, 3, 2, 2});
    expect_steps(
        p.build(), {x}, {1, 3, 2, 2},
        [&](size_t n, size_t c, size_t h, size_t w) { return at(x, n, to == ColorFormat::RGB ? c : 2 - c, h, w); }, 0);
  }
}

TEST(PostprocessSteps, ALayerWithoutTensorNamesIsStillFoundByItsOwn) {
  ModelBuilder b;
  auto minus = b.op("Negative", "opset1", {b.parameter(element::f32, {4}, "data")}, {}, "minus");
  minus.set_names({});
  b.result(minus);
  const auto model = b.build();
  PrePostProcessor p(model);
  p.output("minus").tensor().set_element_type(element::i32);
  p.build();
  EXPECT_EQ(model->output("minus").get_element_type(), element::i32);
}

TEST(PostprocessSteps, TheOutputKeepsItsRuntimeInformation) {
  const auto model = two_inputs();
  model->output("out").get_rt_info()["of the tensor"] = "value";
  model->get_results().at(0)->get_rt_info()["of the layer"] = "value";
  layout::set_layout(model->output("out"), "NCHW");
  PrePostProcessor p(model);
  p.output("out").tensor().set_element_type(element::f16).set_layout("NHWC");
  p.build();
  EXPECT_EQ(model->output("out").get_rt_info().at("of the tensor").as<std::string>(), "value");
  EXPECT_EQ(model->get_results().at(0)->get_rt_info().at("of the layer").as<std::string>(), "value");
  EXPECT_EQ(layout::get_layout(model->output("out")), Layout("NHWC"));
}

TEST(PostprocessSteps, OneOfTwoOutputsOfOneValue) {
  ModelBuilder b;
  const auto minus = b.op("Negative", "opset1", {b.parameter(element::f32, {2}, "data")}, {}, "minus");
  b.result(minus);
  b.result(minus);
  const auto model = b.build();
  PrePostProcessor p(model);
  p.output(1).tensor().set_element_type(element::i32);
  p.build();
  EXPECT_EQ(model->output(0).get_element_type(), element::f32);
  EXPECT_EQ(model->output(1).get_element_type(), element::i32);
}

// ---- what build() would do, in words

TEST(PreprocessDump, NamesTensorsStepsAndErrors) {
  const auto model = negative(element::f32, {1, 3, 4, 6});
  PrePostProcessor p(model);
  p.input().tensor().set_element_type(element::u8).set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input().model().set_layout("NCHW");
  p.input().preprocess().convert_color(ColorFormat::RGB).convert_element_type(element::f32).mean({1.f, 2.f, 3.f});
  p.output().tensor().set_element_type(element::f16);
  std::ostringstream text;
  text << p;
  EXPECT_EQ(text.str(),
            "Input \"data\" (color NV12 (multi-plane)):\n"
            "    2 user's tensors expected for each plane:\n"
            "       0: data/y [1,4,6,1], [N,H,W,C], u8\n"
            "       1: data/uv [1,2,3,2], [N,H,W,C], u8\n"
            "    Model's expected tensor: [1,3,4,6], [N,C,H,W], f32\n"
            "    Pre-processing steps (3):\n"
            "      convert color (RGB): ([1,4,6,1], [N,H,W,C], u8, NV12 (multi-plane)) -> "
            "([1,4,6,3], [N,H,W,C], u8, RGB)\n"
            "      convert type (f32): ([1,4,6,3], [N,H,W,C], u8, RGB) -> ([1,4,6,3], [N,H,W,C], f32, RGB)\n"
            "      mean (1,2,3): ([1,4,6,3], [N,H,W,C], f32, RGB) -> ([1,4,6,3], [N,H,W,C], f32, RGB)\n"
            "    Implicit pre-processing steps (1):\n"
            "      convert layout [N,C,H,W]: ([1,4,6,3], [N,H,W,C], f32, RGB) -> ([1,3,4,6], [N,C,H,W], f32, RGB)\n"
            "Output \"minus, out\":\n"
            "    Model's data tensor: [1,3,4,6], <no layout>, f32\n"
            "    Post-processing implicit steps (1):\n"
            "      convert type (f16): ([1,3,4,6], <no layout>, f32) -> ([1,3,4,6], <no layout>, f16)\n"
            "    User's output tensor: [1,3,4,6], <no layout>, f16\n");
  EXPECT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->get_ops().size(), 3u);

  std::ostringstream nothing;
  nothing << PrePostProcessor(model);
  EXPECT_EQ(nothing.str(), "");

  p.input().preprocess().mean({1.f, 2.f});
  std::ostringstream wrong;
  wrong << p;
  EXPECT_NE(
      wrong.str().find("Error occurred: input 'data': step 4, mean (1,2): expected one value, or one for each of 3"),
      std::string::npos)
      << wrong.str();
}

}  // namespace
}  // namespace terroir::preprocess
