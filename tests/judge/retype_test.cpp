#include "tests/differential/retype.hpp"

#include <gtest/gtest.h>

#include "tests/support/device.hpp"

namespace terroir::test {
namespace {

/// Some recipes refuse what they drew.
RandomModel drawn(const std::string& operation) {
  for (uint64_t seed = 0; seed < 50; ++seed)
    if (RandomModel model = model_of_one(seed, operation, element::f32);
        model.has_wanted && !model.graph->parameters().empty())
      return model;
  return {};
}

TEST(Retype, DataTakeTypesThatNoRecipeDraws) {
  const RandomModel model = drawn("Maximum-1");
  ASSERT_TRUE(model.graph);
  const RandomModel other = with_data_of(model, "Maximum-1", element::u2);
  ASSERT_TRUE(other.graph);
  EXPECT_EQ(other.type, element::u2);
  for (size_t i = 0; i < other.inputs.size(); ++i) {
    EXPECT_EQ(other.inputs[i].view().type, element::u2);
    EXPECT_EQ(model.inputs[i].view().type, element::f32) << "the model itself stays";
  }
  for (const char* device : {"INTERPRETER", "CPU"}) {
    const auto results = DeviceModel(other.graph, device).infer(other.inputs);
    EXPECT_EQ(results.at(0).view().type, element::u2) << device;
  }
}

TEST(Retype, TypesThatTheOperationRefuses) {
  const RandomModel model = drawn("Maximum-1");
  ASSERT_TRUE(model.graph);
  EXPECT_FALSE(with_data_of(model, "Maximum-1", element::string).graph);
  EXPECT_FALSE(with_data_of(model, "Minimum-1", element::u2).graph) << "not in this model";
}

}  // namespace
}  // namespace terroir::test
