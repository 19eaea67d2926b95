#include "model_creation/mobilenet.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace {

using terroir::AnyMap;
using terroir::Shape;
using terroir::Tensor;
using Port = terroir::Output<terroir::Node>;
namespace element = terroir::element;

class MobileNetBuilder {
 public:
  std::shared_ptr<terroir::Model> build(int64_t size) {
    const Port data = builder_.parameter(element::f32, {1, 3, size, size}, "data");
    terroir::layout::set_layout(data, "NCHW");
    Port x = convolution("stem", normalize(data), 32, 3, 2, Activation::relu6);

    // Expansion, output channels, repetitions, first stride.
    constexpr struct {
      int64_t expansion, channels, count, stride;
    } kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int number = 0;
    for (const auto& stage : kStages) {
      for (int64_t i = 0; i < stage.count; ++i) {
        const std::string name = "block" + std::to_string(++number);
        x = inverted_residual(name, x, stage.expansion, stage.channels, i == 0 ? stage.stride : 1);
      }
    }

    x = convolution("head", x, 1280, 1, 1, Activation::relu6);
    x = classifier(x, 1000);
    builder_.result(x, "prob");
    return builder_.build();
  }

 private:
  enum class Activation { none, relu6 };

  // The mean and the inverse deviation of natural images, per channel.
  Port normalize(const Port& data) {
    const Port mean = builder_.constant(element::f32, Shape{1, 3, 1, 1}, {103.53f, 116.28f, 123.675f}, "mean");
    const Port scale = builder_.constant(element::f32, Shape{1, 3, 1, 1}, {0.017429f, 0.017507f, 0.017125f}, "scale");
    const Port centered = builder_.op("Subtract", "opset1", {data, mean}, {}, "data/centered");
    return builder_.op("Multiply", "opset1", {centered, scale}, {}, "data/normalized");
  }

  static int64_t channels_of(const Port& x) { return x.get_partial_shape()[1].get_length(); }

  Port convolution(const std::string& name, const Port& x, int64_t out, int64_t kernel, int64_t stride,
                   Activation activation) {
    const int64_t in = channels_of(x);
    const Port weights = random(name + "/weights", {out, in, kernel, kernel}, in * kernel * kernel, activation);
    return finish(name, builder_.op("Convolution", "opset1", {x, weights}, window(kernel, stride), name), activation);
  }

  Port depthwise(const std::string& name, const Port& x, int64_t stride) {
    const Port weights = random(name + "/weights", {channels_of(x), 1, 1, 3, 3}, 3 * 3, Activation::relu6);
    return finish(name, builder_.op("GroupConvolution", "opset1", {x, weights}, window(3, stride), name),
                  Activation::relu6);
  }

  static AnyMap window(int64_t kernel, int64_t stride) {
    const std::vector<int64_t> pads(2, kernel / 2);
    return {{"strides", std::vector<int64_t>(2, stride)},
            {"dilations", std::vector<int64_t>(2, 1)},
            {"pads_begin", pads},
            {"pads_end", pads}};
  }

  Port finish(const std::string& name, const Port& x, Activation activation) {
    const auto channels = static_cast<size_t>(channels_of(x));
    const auto per_channel = [&](const char* what, float value) {
      return builder_.constant(element::f32, Shape{channels}, {value}, name + "/bn/" + what);
    };
    const Port normalized = builder_.op("BatchNormInference", "opset5",
                                        {x, per_channel("gamma", 1), uniform(name + "/bn/beta", {channels_of(x)}, 0.2f),
                                         per_channel("mean", 0), per_channel("variance", 1)},
                                        {{"epsilon", 1e-5}}, name + "/bn");
    if (activation == Activation::none) return normalized;
    return builder_.op("Clamp", "opset1", {normalized}, {{"min", 0.0}, {"max", 6.0}}, name + "/relu6");
  }

  Port inverted_residual(const std::string& name, const Port& x, int64_t expansion, int64_t out, int64_t stride) {
    const int64_t in = channels_of(x);
    Port y = x;
    if (expansion != 1) y = convolution(name + "/expand", y, in * expansion, 1, 1, Activation::relu6);
    y = depthwise(name + "/depthwise", y, stride);
    y = convolution(name + "/project", y, out, 1, 1, Activation::none);
    return stride == 1 && in == out ? builder_.op("Add", "opset1", {x, y}, {}, name + "/add") : y;
  }

  Port classifier(const Port& x, int64_t classes) {
    const int64_t in = channels_of(x);
    const Port axes = builder_.constant(element::i64, Shape{2}, {2, 3}, "pool/axes");
    const Port pooled = builder_.op("ReduceMean", "opset1", {x, axes}, {{"keep_dims", false}}, "pool");
    const Port weights = random("classifier/weights", {classes, in}, in, Activation::relu6);
    const Port products =
        builder_.op("MatMul", "opset1", {pooled, weights}, {{"transpose_b", true}}, "classifier/matmul");
    const Port bias = uniform("classifier/bias", {1, classes}, 0.1f);
    const Port scores = builder_.op("Add", "opset1", {products, bias}, {}, "classifier");
    return builder_.op("SoftMax", "opset8", {scores}, {{"axis", int64_t{1}}}, "softmax");
  }

  // Uniform with the variance that keeps that of the signal: 2 / fan_in before a ReLU, which halves it, else 1 /
  // fan_in.
  Port random(const std::string& name, const std::vector<int64_t>& shape, int64_t fan_in, Activation next) {
    const double variance = (next == Activation::relu6 ? 2.0 : 1.0) / static_cast<double>(fan_in);
    return uniform(name, shape, static_cast<float>(std::sqrt(3 * variance)));
  }

  Port uniform(const std::string& name, const std::vector<int64_t>& shape, float limit) {
    const Tensor values(element::f32, Shape(shape.begin(), shape.end()));
    for (size_t i = 0; i < values.get_size(); ++i) values.data<float>()[i] = limit * next_random();
    return builder_.constant(values, name);
  }

  // -1..1: the upper bits of Knuth's 64-bit linear congruential sequence.
  float next_random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(state_ >> 32) >> 8) * 0x1p-23f;
  }

  terroir::ModelBuilder builder_{"mobilenet_v2"};
  uint64_t state_ = 2018;
};

}  // namespace

std::shared_ptr<terroir::Model> build_mobilenet(int64_t size) { return MobileNetBuilder().build(size); }
