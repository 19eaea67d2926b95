// Loops in layers that are classes of the program: every position once, sums that no number of threads changes, parts
// on the threads of the inference.
#include "terroir/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

TEST(ParallelLoops, GoThroughEveryPositionOnceLastIndexFastest) {
  for (const size_t count : {0, 1, 63, 64, 65, 1000}) {
    std::vector<int> times(count, 0);
    parallel_for(count, [&](size_t i) { ++times[i]; });
    EXPECT_EQ(times, std::vector<int>(count, 1));
  }
  std::vector<int> order;
  parallel_for3d(2, 3U, size_t{2}, [&](int i, unsigned j, size_t k) {
    order.push_back(100 * i + 10 * static_cast<int>(j) + static_cast<int>(k));
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
  int all = 0;
  parallel_for6d(1, 2, 1, 3, 1, 2, [&](int, int b, int, int d, int, int f) { all += 100 * b + 10 * d + f; });
  EXPECT_EQ(all, 6 * 100 + 4 * 30 + 6);
  parallel_for2d(0, 5, [](int, int) { FAIL() << "an extent is 0"; });
}

TEST(ParallelLoops, TellBodiesThatAskWhichPartTheyAre) {
  std::vector<size_t> positions;
  int last = 0;
  parallel_for2d(10, 20, [&](int part, size_t position, int i, int j) {
    EXPECT_EQ(part, parallel_get_thread_num());
    EXPECT_LE(last, part);
    EXPECT_LT(last = part, parallel_get_max_threads());
    EXPECT_EQ(position, static_cast<size_t>(i * 20 + j));
    positions.push_back(position);
  });
  EXPECT_EQ(positions.size(), 200U);
  int parts = 0;
  parallel_nt(5, [&](int part, int of) {
    EXPECT_EQ(part, parts++);
    EXPECT_EQ(of, 5);
    int begin = 0, end = 0;
    splitter(12, of, part, begin, end);
    EXPECT_EQ(end - begin, part < 2 ? 3 : 2);
    for_1d(part, of, 12, [&](int i) { EXPECT_TRUE(begin <= i && i < end); });
  });
  EXPECT_EQ(parts, 5);
  EXPECT_EQ(parallel_get_thread_num(), 0);
}

TEST(ParallelLoops, NumbersOfThreadsAreBoundedAndThoseOfTheOutermostLoop) {
  parallel_nt(100, [&](int part, int of) {
    EXPECT_EQ(of, 100);
    EXPECT_EQ(parallel_get_thread_num(), (part * 64 + 63) / 100) << part;
  });
  parallel_for(10,
               [&](int outer, int) { parallel_for(10, [&](int) { EXPECT_EQ(parallel_get_thread_num(), outer); }); });
}

TEST(ParallelLoops, StepThroughExtents) {
  size_t i = 0, j = 0;
  EXPECT_EQ(parallel_it_init(size_t{7}, i, size_t{3}, j, size_t{4}), 0U);
  EXPECT_EQ(10 * i + j, 13U);
  EXPECT_FALSE(parallel_it_step(i, size_t{3}, j, size_t{4}));
  EXPECT_EQ(10 * i + j, 20U);
  for (int n = 0; n < 3; ++n) EXPECT_FALSE(parallel_it_step(i, size_t{3}, j, size_t{4}));
  EXPECT_TRUE(parallel_it_step(i, size_t{3}, j, size_t{4}));
  EXPECT_EQ(10 * i + j, 0U);
}

TEST(ParallelLoops, SumWhatTheyBeginWithOnce) {
  EXPECT_EQ(parallel_sum(1000, 5, [](int i) { return i; }), 499505);
  EXPECT_EQ(parallel_sum2d(3, 4, 0.5, [](int i, int j) { return i * j; }), 18.5);
  EXPECT_EQ(parallel_sum3d(2, 2, 2, size_t{0}, [](int, int, int) { return 1; }), 8U);
  EXPECT_EQ(parallel_sum(0, 5, [](int) { return 1; }), 5);
}

/// Runs tasks on as many threads as it says, but one after the other.
class Counting final : public TaskExecutor {
 public:
  explicit Counting(int threads) : threads_(threads) {}
  int concurrency() const noexcept override { return threads_; }
  void run(int64_t count, const Task& task) override {
    ++loops;
    for (int64_t i = count; i-- > 0;) task(i);
  }
  std::atomic<int> loops{0};

 private:
  int threads_;
};

/// Divides by the sum of all elements; a negative one is refused.
class Share : public op::Op {
 public:
  TERROIR_OP("Share");
  Share() = default;
  explicit Share(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Share>(inputs.at(0));
  }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    const auto* const from = inputs[0].data<const float>();
    auto* const to = outputs[0].data<float>();
    const size_t count = inputs[0].get_size();
    const float all = parallel_sum(count, 0.F, [&](size_t i) {
      if (from[i] < 0) throw std::invalid_argument("an element is negative");
      return from[i];
    });
    parallel_for(count, [&](size_t i) {
      // A loop within a loop runs where it is.
      parallel_for(1, [&](int) { to[i] = from[i] / all; });
    });
    return true;
  }
  bool has_evaluate() const override { return true; }
};

/// How often a thread was where another one with the same number already was.
class Clashes : public op::Op {
 public:
  TERROIR_OP("Clashes");
  Clashes() = default;
  explicit Clashes(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override { set_output_type(0, element::i64, PartialShape{1}); }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Clashes>(inputs.at(0));
  }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    std::vector<std::atomic<int>> inside(static_cast<size_t>(parallel_get_max_threads()));
    std::atomic<int64_t> clashes{0};
    const Shape& shape = inputs[0].get_shape();
    parallel_for(shape[0], [&](size_t) {
      parallel_for(shape[1], [&](size_t) {
        std::atomic<int>& mine = inside[static_cast<size_t>(parallel_get_thread_num())];
        if (mine.fetch_add(1) != 0) ++clashes;
        for (int wait = 0; wait < 100; ++wait) clashes.load();
        mine.fetch_sub(1);
      });
    });
    *outputs[0].data<int64_t>() = clashes;
    return true;
  }
  bool has_evaluate() const override { return true; }
};

TEST(ParallelLoops, NoTwoThreadsHaveOneNumber) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{300, 400});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Clashes>(x)}, ParameterVector{x});
  InferRequest request = Core().compile_model(model, "CPU", inference_num_threads(2)).create_infer_request();
  request.infer();
  EXPECT_EQ(*request.get_output_tensor().data<int64_t>(), 0);
}

std::vector<float> shares(const std::shared_ptr<TaskExecutor>& executor, float first) {
  const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1000});
  const auto model = std::make_shared<Model>(OutputVector{std::make_shared<Share>(x)}, ParameterVector{x});
  InferRequest request = Core().compile_model(model, "CPU", task_executor(executor)).create_infer_request();
  auto* const values = request.get_input_tensor().data<float>();
  for (int i = 0; i < 1000; ++i) values[i] = 0.1F * static_cast<float>(i * 7919 % 1000);
  values[0] = first;
  request.infer();
  const auto* const made = request.get_output_tensor().data<const float>();
  return {made, made + 1000};
}

TEST(ParallelLoops, AreSharedOutToTheThreadsOfTheInference) {
  const auto one = std::make_shared<Counting>(1), four = std::make_shared<Counting>(4);
  const std::vector<float> serial = shares(one, 1), parallel = shares(four, 1);
  EXPECT_EQ(serial, parallel);
  EXPECT_EQ(four->loops, 2);
}

TEST(ParallelLoops, PassOnWhatLeavesABody) {
  for (const int threads : {1, 4}) {
    try {
      shares(std::make_shared<Counting>(threads), -1);
      FAIL() << "nothing is thrown with " << threads << " threads";
    } catch (const Exception& error) {
      EXPECT_NE(std::string(error.what()).find("an element is negative"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace terroir
