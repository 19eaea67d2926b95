#pragma once
// What: a small network made in code, for tests of what happens around a model.
#include <random>
#include <string>
#include <vector>

#include "terroir/terroir.hpp"

namespace terroir {

inline std::vector<float> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> all(count);
  for (float& value : all) value = values(random);
  return all;
}

/// Convolutions (one of them by Winograd's algorithm), a chain of elementwise operations, a product with weights.
inline std::shared_ptr<Model> network(const PartialShape& input = {1, 3, 40, 40}, int64_t channels = 64) {
  ModelBuilder b("network");
  auto x = b.parameter(element::f32, input, "image");
  const auto convolve = [&](const Output<Node>& from, int64_t in, int64_t out, int64_t size, unsigned seed) {
    const Shape shape{static_cast<size_t>(out), static_cast<size_t>(in), static_cast<size_t>(size),
                      static_cast<size_t>(size)};
    const auto weights = b.constant(element::f32, shape, noise(shape_size(shape), seed));
    const auto bias =
        b.constant(element::f32, Shape{1, static_cast<size_t>(out), 1, 1}, noise(static_cast<size_t>(out), seed + 1));
    const std::string pads = size == 3 ? "1,1" : "0,0";
    const auto sum = b.op("Convolution", "opset1", {from, weights},
                          {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", pads}, {"pads_end", pads}}, "");
    return b.op("ReLU", "opset1", {b.op("Add", "opset1", {sum, bias}, {}, "")}, {}, "");
  };
  x = convolve(x, 3, channels, 3, 1);
  x = convolve(x, channels, channels, 3, 3);
  x = convolve(x, channels, 20, 1, 5);
  const auto axes = b.constant(element::i64, Shape{2}, std::vector<int64_t>{2, 3});
  x = b.op("ReduceMean", "opset1", {x, axes}, {{"keep_dims", "false"}}, "");
  x = b.op("MatMul", "opset1", {x, b.constant(element::f32, Shape{20, 7}, noise(140, 7))}, {}, "");
  b.result(b.op("SoftMax", "opset8", {x}, {{"axis", "1"}}, "scores"), "scores");
  return b.build();
}

/// count := count + step, from 10 on; the result is the new count.
inline std::shared_ptr<Model> counter() {
  ModelBuilder b("counter");
  const auto step = b.parameter(element::f32, {1}, "step");
  const auto start = b.constant(element::f32, Shape{1}, {10.f});
  const auto before = b.op("ReadValue", "opset3", {start}, {{"variable_id", "count"}}, "read");
  const auto after = b.op("Add", "opset1", {before, step}, {}, "sum");
  b.result(b.op("Assign", "opset3", {after}, {{"variable_id", "count"}}, "write"));
  return b.build();
}

}  // namespace terroir
