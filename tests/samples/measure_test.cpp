// How often and in which order requests run.
#include "samples/benchmark_app/measure.hpp"

#include <gtest/gtest.h>

namespace benchmark_app {
namespace {

using terroir::Shape;
using terroir::Tensor;
namespace element = terroir::element;

/// Requests of a model that returns what it reads, and feeds that hold their numbers.
class Measure : public testing::Test {
 protected:
  Measure() {
    terroir::ModelBuilder builder;
    builder.result(builder.op("Abs", "opset1", {builder.parameter(element::f32, "[?,1]")}));
    compiled_ = core_.compile_model(builder.build(), "INTERPRETER");
    for (size_t i = 0; i < 3; ++i) {
      const Tensor tensor(element::f32, Shape{i + 1, 1});
      std::fill_n(tensor.data<float>(), tensor.get_size(), static_cast<float>(i));
      feeds_.push_back({{tensor}, i, i + 1});
    }
  }
  void make_requests(size_t count) {
    for (size_t r = 0; r < count; ++r) {
      requests_.push_back(compiled_.create_infer_request());
      set_inputs(requests_.back(), feeds_[r]);
    }
  }
  static std::vector<size_t> sets(const Measurement& measurement) {
    std::vector<size_t> result;
    for (const Inference& inference : measurement.inferences) result.push_back(inference.shape_set);
    return result;
  }

  terroir::Core core_;
  terroir::CompiledModel compiled_;
  std::vector<terroir::InferRequest> requests_;
  std::vector<Feed> feeds_;
};

TEST_F(Measure, SetsInputsInTurn) {
  make_requests(1);
  const Measurement m = measure(requests_, feeds_, {{4, 0}, false, true, 0});
  EXPECT_EQ(sets(m), (std::vector<size_t>{0, 1, 2, 0}));
  EXPECT_EQ(m.samples, 1u + 2 + 3 + 1);
  EXPECT_EQ(requests_[0].get_output_tensor().get_shape(), (Shape{1, 1}));
}

TEST_F(Measure, KeepsInputsOfRequests) {
  make_requests(2);
  const Measurement m = measure(requests_, feeds_, {{4, 0}, false, false, 0});
  EXPECT_EQ(sets(m), (std::vector<size_t>{0, 1, 0, 1}));
  EXPECT_EQ(m.samples, 6u);
  EXPECT_EQ(requests_[1].get_output_tensor().data<float>()[0], 1);
}

TEST_F(Measure, RunsAllRequestsEquallyOften) {
  make_requests(3);
  const Measurement m = measure(requests_, feeds_, {{7, 0}, true, false, 0});
  std::vector<size_t> count(3);
  for (const size_t set : sets(m)) ++count[set];
  EXPECT_EQ(m.inferences.size(), 9u);
  EXPECT_EQ(m.samples, 18u);
}

TEST_F(Measure, KeepsToTimeAndRate) {
  make_requests(2);
  for (const bool is_async : {false, true}) {
    const Measurement m = measure(requests_, feeds_, {{0, 100}, is_async, false, 100});
    EXPECT_GE(m.duration, 100);
    EXPECT_LE(static_cast<double>(m.samples), 100 * m.duration / 1000 + 4) << is_async;
  }
}

TEST_F(Measure, PassesErrorsOn) {
  make_requests(2);
  feeds_[1].tensors[0] = Tensor(element::i32, Shape{1, 1});
  EXPECT_THROW(measure(requests_, feeds_, {{4, 0}, true, true, 0}), terroir::Exception);
  EXPECT_THROW(measure(requests_, feeds_, {{4, 0}, false, true, 0}), terroir::Exception);
}

}  // namespace
}  // namespace benchmark_app
