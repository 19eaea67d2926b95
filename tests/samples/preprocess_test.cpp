// Types, means and scales on the command line become part of the model.
#include "samples/benchmark_app/preprocess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace benchmark_app {
namespace {

using terroir::Shape;
using terroir::Tensor;
namespace element = terroir::element;

/// A picture 'x' and a table 't', both negated, after what the options ask for.
std::shared_ptr<terroir::Model> preprocessed(const std::function<void(Options&)>& set) {
  terroir::ModelBuilder builder;
  const auto x = builder.parameter(element::f32, "[1,3,1,2]", "x");
  const auto t = builder.parameter(element::f32, "[1,2]", "t");
  builder.result(builder.op("Negative", "opset1", {x}), "x_out");
  builder.result(builder.op("Negative", "opset1", {t}), "t_out");
  auto model = builder.build();
  Options options;
  set(options);
  const auto inputs = describe_inputs(std::as_const(*model).inputs(), options, model.get());
  add_preprocessing(model, inputs, options);
  return model;
}

/// The first output for a picture of 10, 20 ... 60.
std::vector<float> outputs_of(const std::shared_ptr<terroir::Model>& model) {
  terroir::Core core;
  auto request = core.compile_model(model, "CPU").create_infer_request();
  const Tensor x = request.get_input_tensor(0);
  EXPECT_EQ(x.get_element_type(), element::u8);
  for (size_t i = 0; i < 6; ++i) x.data<uint8_t>()[i] = static_cast<uint8_t>(10 * (i + 1));
  request.infer();
  const Tensor y = request.get_output_tensor(0);
  return {y.data<float>(), y.data<float>() + y.get_size()};
}

element::Type input_type(const terroir::Model& model, size_t i) { return model.input(i).get_element_type(); }
element::Type output_type(const terroir::Model& model, size_t i) { return model.output(i).get_element_type(); }

TEST(Preprocess, PicturesAreBytesByDefault) {
  const auto model = preprocessed([](Options&) {});
  EXPECT_EQ(input_type(*model, 0), element::u8);
  EXPECT_EQ(input_type(*model, 1), element::f32);
  EXPECT_EQ(output_type(*model, 0), element::f32);
  EXPECT_EQ(outputs_of(model), (std::vector<float>{-10, -20, -30, -40, -50, -60}));
}

TEST(Preprocess, TypesOfAllAndByName) {
  const auto all = preprocessed([](Options& options) {
    options.input_type = "f16";
    options.output_type = "FP64";
  });
  for (const size_t i : {0, 1}) {
    EXPECT_EQ(input_type(*all, i), element::f16);
    EXPECT_EQ(output_type(*all, i), element::f64);
  }
  const auto named = preprocessed([](Options& options) {
    options.input_type = "f16";
    options.port_types = "t:i32, x_out:f16";
  });
  EXPECT_EQ(input_type(*named, 0), element::f16);
  EXPECT_EQ(input_type(*named, 1), element::i32);
  EXPECT_EQ(output_type(*named, 0), element::f16);
  EXPECT_EQ(output_type(*named, 1), element::f32);
}

TEST(Preprocess, MeanGoesBeforeScale) {
  const auto model = preprocessed([](Options& options) {
    options.scale_values = "[2,4,8]";
    options.mean_values = "x[10,20,30]";
  });
  EXPECT_EQ(outputs_of(model), (std::vector<float>{-0.0f, -5, -2.5f, -5, -2.5f, -3.75f}));
}

TEST(Preprocess, ErrorsNameTheOption) {
  const auto refused = [](const std::function<void(Options&)>& set, const std::string& text) {
    try {
      preprocessed(set);
      ADD_FAILURE() << "no error: " << text;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refused([](Options& o) { o.input_type = "f99"; }, "--ip: 'f99' is no element type");
  refused([](Options& o) { o.output_type = "dynamic"; }, "--op: 'dynamic' is no element type");
  refused([](Options& o) { o.port_types = "x"; }, "--iop: 'x' is not written as name:type");
  refused([](Options& o) { o.port_types = "y:u8"; }, "--iop: the model has no input or output 'y'");
  refused([](Options& o) { o.mean_values = "[1,b]"; }, "--mean_values: '1,b' is no list of numbers");
  refused([](Options& o) { o.scale_values = "y[1]"; }, "--scale_values: the model has no input 'y'");
  refused([](Options& o) { o.mean_values = "[1,2]"; }, "x");  // two values for three channels
}

}  // namespace
}  // namespace benchmark_app
