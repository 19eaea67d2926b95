// A model whose weights lie in a file, which may be read or mapped while they are packed, and the same one with weights
// in memory: every bit of the results is the same. Weights are large enough to be packed by several tasks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "terroir/terroir.hpp"
#include "tests/support/small_network.hpp"

namespace terroir {
namespace {

struct Layer {
  const char* type;
  Shape weights;
  size_t channels;
  AnyMap attributes;
};

AnyMap window(const std::string& pads, const std::string& strides = "1,1") {
  return {{"strides", strides}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}};
}

std::shared_ptr<Model> model_of(const Layer& layer) {
  ModelBuilder b(layer.type);
  const bool product = layer.type == std::string("MatMul");
  const PartialShape input = product ? PartialShape{7, static_cast<int64_t>(layer.channels)}
                                     : PartialShape{1, static_cast<int64_t>(layer.channels), 9, 11};
  // One float in front, so that no row begins with a cache line.
  const auto x =
      b.op("Add", "opset1", {b.parameter(element::f32, input, "x"), b.constant(element::f32, Shape{1}, {0.25f})});
  const auto weights = b.constant(element::f32, layer.weights, noise(shape_size(layer.weights), 3));
  b.result(b.op("ReLU", "opset1", {b.op(layer.type, "opset1", {x, weights}, layer.attributes)}), "y");
  return b.build();
}

Tensor result_of(const std::shared_ptr<Model>& model, int threads) {
  InferRequest request = Core().compile_model(model, "CPU", inference_num_threads(threads)).create_infer_request();
  Tensor input = request.get_input_tensor();
  const std::vector<float> values = noise(input.get_size(), 4);
  std::copy(values.begin(), values.end(), input.data<float>());
  request.infer();
  return request.get_output_tensor();
}

TEST(MappedWeights, GiveTheBitsOfThoseInMemory) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("terroir_mapped_weights_" + std::to_string(::getpid()) + ".xml");
  const std::vector<Layer> layers = {
      {"Convolution", {330, 150, 3, 3}, 150, window("1,1")},
      {"Convolution", {330, 150, 3, 3}, 150, window("1,1", "2,2")},
      {"Convolution", {150, 100, 5, 5}, 100, window("2,2")},
      {"Convolution", {1030, 515, 1, 1}, 515, window("0,0")},
      {"GroupConvolution", {4, 96, 80, 3, 3}, 320, window("1,1")},
      {"GroupConvolution", {90, 7, 5, 5, 5}, 450, window("2,2")},
      {"ConvolutionBackpropData", {150, 330, 2, 2}, 150, window("0,0", "2,2")},
      {"MatMul", {1030, 515}, 515, {{"transpose_b", true}}},
      {"MatMul", {515, 1030}, 515, {}},
  };
  for (const Layer& layer : layers) {
    SCOPED_TRACE(::testing::Message() << layer.type << " with weights " << layer.weights);
    serialize(model_of(layer), path.string());
    const Tensor expected = result_of(Core().read_model(path.string(), "", enable_mmap(false)), 1);
    for (const int threads : {1, 2, 5}) {
      const Tensor got = result_of(Core().read_model(path.string()), threads);
      ASSERT_EQ(got.get_byte_size(), expected.get_byte_size());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.get_byte_size()), 0) << threads << " threads";
    }
  }
  std::filesystem::remove(path);
  std::filesystem::remove(std::filesystem::path(path).replace_extension(".bin"));
}

}  // namespace
}  // namespace terroir
