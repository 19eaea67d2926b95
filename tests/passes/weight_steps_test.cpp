// Steps of weights are those of bytes: no multiple leaves [-128, 127], and what is no number has none.
#include "plugins/cpu/weight_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

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

}  // namespace
}  // namespace terroir::test
