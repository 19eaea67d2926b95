#pragma once
// What: a model whose output is what its steps make of its input, run on every device, and plain images to judge it by.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <terroir/terroir.hpp>
#include <vector>

#include "tests/support/model_run.hpp"
#include "tests/support/random.hpp"

namespace terroir::preprocess {

/// data -> -data
inline std::shared_ptr<Model> negative(const element::Type& type, const PartialShape& shape) {
  ModelBuilder b("negative");
  b.result(b.op("Negative", "opset1", {b.parameter(type, shape, "data")}, {}, "minus"), "out");
  return b.build();
}

template <typename T>
Tensor tensor_of(const element::Type& type, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor(type, shape);
  EXPECT_EQ(tensor.get_size(), values.size());
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

/// Bytes 0 to 255.
inline Tensor random_bytes(const Shape& shape, uint64_t seed = 1) {
  Tensor tensor(element::u8, shape);
  test::Random random(seed);
  for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<uint8_t>()[i] = static_cast<uint8_t>(random.below(256));
  return tensor;
}

/// From -2 to 2.
inline Tensor random_floats(const Shape& shape, uint64_t seed = 1) {
  Tensor tensor(element::f32, shape);
  test::Random random(seed);
  for (size_t i = 0; i < tensor.get_size(); ++i) tensor.data<float>()[i] = static_cast<float>(random.unit() * 4 - 2);
  return tensor;
}

/// Elements of a tensor of four axes of any type that the tests use.
inline double at(const Tensor& tensor, size_t a, size_t b, size_t c, size_t d) {
  const Shape& s = tensor.get_shape();
  const size_t i = ((a * s[1] + b) * s[2] + c) * s[3] + d;
  return tensor.get_element_type() == element::u8 ? tensor.data<uint8_t>()[i] : tensor.data<float>()[i];
}

/// Compares what the steps make of `inputs` on each device with expected(position) of the model's input of `shape`,
/// where the model is negative(): within `tolerance`.
inline void expect_steps(const std::shared_ptr<Model>& model, const std::vector<Tensor>& inputs, const Shape& shape,
                         const std::function<double(size_t, size_t, size_t, size_t)>& expected, double tolerance) {
  Core core;
  for (const char* device : {"INTERPRETER", "CPU"}) {
    CompiledModel compiled = core.compile_model(model, device);
    const Tensor actual = test::infer(compiled, inputs).at(0);
    ASSERT_EQ(actual.get_shape(), shape) << device;
    for (size_t a = 0; a < shape[0]; ++a)
      for (size_t b = 0; b < shape[1]; ++b)
        for (size_t c = 0; c < shape[2]; ++c)
          for (size_t d = 0; d < shape[3]; ++d)
            ASSERT_NEAR(-at(actual, a, b, c, d), expected(a, b, c, d), tolerance)
                << device << " at " << a << ' ' << b << ' ' << c << ' ' << d;
  }
}

}  // namespace terroir::preprocess
