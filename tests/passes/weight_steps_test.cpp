// Steps of weights are those of bytes: no multiple leaves [-128, 127], and what is no number has none.
#include "plugins/cpu/weight_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "terroir/executor.hpp"

namespace terroir::test {
namespace {

/// Of one row; 0: it has none.
float step_of(const std::vector<float>& values) {
  const auto owner = std::make_shared<std::vector<float>>(values);
  const ir::Constant weights{{element::f32, {1, static_cast<int64_t>(values.size())}, owner->data()}, owner};
  cpu::WeightSteps steps;
  const ir::Constant* const found = steps.get(weights, 1);
  return found ? *found->view.as<float>() : 0;
}

TEST(WeightSteps, MultiplesAreBytes) {
  const float below = std::nextafter(1.0f, 0.0f);
  const std::vector<float> rows[] = {{-1, below}, {-1, below, 0}, {-below, 1}, {-1, 1}, {-1, 127.0f / 128}, {-1, 0.5f}};
  for (const std::vector<float>& row : rows) {
    SCOPED_TRACE(::testing::PrintToString(row));
    const float step = step_of(row);
    ASSERT_GT(step, 0);
    for (const float value : row) {
      const float multiple = value / step;
      EXPECT_NEAR(multiple, std::nearbyint(multiple), 1e-3);
      EXPECT_GE(std::nearbyint(multiple), -128);
      EXPECT_LE(std::nearbyint(multiple), 127);
    }
  }
  EXPECT_EQ(step_of({-1, 127.0f / 128, 1.0f / 128}), 1.0f / 128);
  EXPECT_EQ(step_of({0, 0, 0}), 1);
}

TEST(WeightSteps, NoneForWhatIsNoNumber) {
  const float kNone[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};
  for (const float none : kNone)
    for (size_t place : {0, 1, 300, 599}) {
      std::vector<float> row(600, 2);
      row[5] = -1;
      ASSERT_GT(step_of(row), 0);
      row[place] = none;
      EXPECT_EQ(step_of(row), 0) << place << ' ' << none;
    }
}

/// Calls `meanwhile` before each loop.
class Interrupted final : public TaskExecutor {
 public:
  explicit Interrupted(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
  int concurrency() const noexcept override { return 2; }
  void run(int64_t count, const Task& task) override {
    meanwhile_();
    for (int64_t i = 0; i < count; ++i) task(i);
  }

 private:
  std::function<void()> meanwhile_;
};

// An executor may do something else in the thread that waits for a loop, such as compile the model for other extents.
TEST(WeightSteps, OtherCompilationsMayRunInALoop) {
  constexpr int64_t kRows = 40;
  const auto owner = std::make_shared<std::vector<float>>(static_cast<size_t>(kRows * 3), 2.0f);
  const ir::Constant weights{{element::f32, {kRows, 3}, owner->data()}, owner};
  cpu::WeightSteps steps;
  std::future<const ir::Constant*> other;
  const parallel::Arena arena(2, std::make_shared<Interrupted>([&] {
                                other = std::async(std::launch::async, [&] { return steps.get(weights, kRows); });
                                EXPECT_EQ(other.wait_for(std::chrono::seconds(10)), std::future_status::ready);
                              }));
  const ir::Constant* const own = steps.get(weights, kRows, 0, &arena);
  ASSERT_TRUE(other.valid());
  EXPECT_EQ(own, other.get());
  EXPECT_NE(own, nullptr);
}

}  // namespace
}  // namespace terroir::test
