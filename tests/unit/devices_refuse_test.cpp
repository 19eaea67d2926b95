// What models and inputs the devices refuse, and that they say which layer, why and what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "ir/base/machine_memory.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/caught.hpp"

namespace terroir {
namespace {

constexpr const char* kDevices[] = {"CPU", "INTERPRETER"};

void expect_text(const Exception& error, ErrorCode code, const std::string& pattern) {
  EXPECT_STREQ(to_string(error.code()), to_string(code)) << error.what();
  EXPECT_TRUE(std::regex_search(error.what(), std::regex(pattern))) << error.what() << "\nlacks " << pattern;
}

template <typename T>
Tensor tensor_of(const element::Type& type, const Shape& shape, std::initializer_list<T> values) {
  Tensor tensor(type, shape);
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

std::shared_ptr<Model> negative(const element::Type& type, const PartialShape& shape) {
  ModelBuilder b("negative");
  b.result(b.op("Negative", "opset1", {b.parameter(type, shape, "data")}, {}, "minus"), "out");
  return b.build();
}

TEST(DevicesRefuse, PiecesOfNothingThatAddUpToSomething) {
  ModelBuilder b("split");
  const auto data = b.parameter(element::f32, {-1, 2}, "data"), lengths = b.parameter(element::i64, {2}, "lengths");
  const auto axis = b.constant(element::i64, Shape{}, {int64_t{0}});
  const auto pieces = b.op("VariadicSplit", "opset1", {data, axis, lengths}, {}, "pieces");
  for (const auto& piece : pieces.get_node()->outputs()) b.result(piece);
  const auto model = b.build();
  for (const char* device : kDevices) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    request.set_input_tensor(0, Tensor(element::f32, {0, 2}));
    request.set_input_tensor(1, tensor_of<int64_t>(element::i64, {2}, {1, 2}));
    expect_text(caught([&] { request.infer(); }), ErrorCode::invalid_argument,
                "'pieces': split_lengths .1,2. add up to 3, but the extent of the axis is 0");
    request.set_input_tensor(1, tensor_of<int64_t>(element::i64, {2}, {0, -1}));
    EXPECT_NO_THROW(request.infer());
    EXPECT_EQ(request.get_output_tensor(1).get_shape(), (Shape{0, 2}));
  }
}

TEST(DevicesRefuse, TheLargestOfNothing) {
  ModelBuilder b("pool");
  const auto data = b.parameter(element::f32, {-1, -1, -1, -1}, "data");
  const auto pool =
      b.op("AdaptiveMaxPool", "opset8", {data, b.constant(element::i64, Shape{2}, {int64_t{2}, int64_t{2}})},
           {{"index_element_type", "i64"}}, "pool");
  for (const auto& output : pool.get_node()->outputs()) b.result(output);
  const auto model = b.build();
  for (const char* device : kDevices) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    request.set_input_tensor(Tensor(element::f32, {1, 2, 0, 3}));
    expect_text(caught([&] { request.infer(); }), ErrorCode::invalid_argument,
                "'pool': data of shape .1,2,0,3. has no maximum");
  }
}

TEST(DevicesRefuse, InputsOfUnknownTypes) {
  const auto model = negative(element::dynamic, {2});
  for (const PartialShape& shape : {PartialShape{2}, PartialShape{-1}})
    expect_text(caught([&] { Core().compile_model(negative(element::dynamic, shape), "CPU"); }),
                ErrorCode::invalid_argument, "Parameter 'data': the element type of this input is not known; set it");
  preprocess::PrePostProcessor processor(model);
  processor.input().tensor().set_element_type(element::f32);
  EXPECT_NO_THROW(Core().compile_model(processor.build(), "CPU").create_infer_request().infer());
}

TEST(DevicesRefuse, RuntimeModels) {
  const auto shown = Core().compile_model(negative(element::f32, {2}), "CPU").get_runtime_model();
  for (const char* device : kDevices)
    expect_text(caught([&] { Core().compile_model(shown, device); }), ErrorCode::unsupported,
                "'negative' is a runtime model.*compile the model that it was made of");
}

TEST(DevicesRefuse, MoreMemoryThanThereIs) {
  ModelBuilder b("tiles");
  const auto times = b.parameter(element::i64, {1}, "times");
  b.result(b.op("Tile", "opset1", {b.constant(element::f32, Shape{1}, {1.f}), times}, {}, "tile"));
  const auto model = b.build();
  for (const char* device : kDevices) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    request.set_input_tensor(tensor_of<int64_t>(element::i64, {1}, {int64_t{1} << 50}));
    expect_text(caught([&] { request.infer(); }), ErrorCode::out_of_memory,
                std::string("running 'tiles' on ") + device + " .smaller inputs and fewer requests.*: .*'tile'");
  }
}

TEST(DevicesRefuse, TablesThatFillTheMachine) {
  if (ir::machine_memory() >> 36 != 0) GTEST_SKIP() << "this machine has room for them";
  constexpr int64_t kWidth = int64_t{1} << 30;
  ModelBuilder resizing("resizing");
  const auto image = resizing.parameter(element::u8, {1, 1, 1, 1}, "image");
  resizing.result(resizing.op("Interpolate", "opset11",
                              {image, resizing.constant(element::i64, Shape{2}, {int64_t{1}, kWidth}),
                               resizing.constant(element::i64, Shape{2}, {int64_t{2}, int64_t{3}})},
                              {{"mode", "linear"}, {"shape_calculation_mode", "sizes"}}, "resize"));
  expect_text(caught([&] { Core().compile_model(resizing.build(), "CPU"); }), ErrorCode::out_of_memory,
              "Interpolate 'resize': the table of a resized axis of 1073741824 entries");
}

}  // namespace
}  // namespace terroir
