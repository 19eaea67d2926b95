// The judge of resampled integers lets pass either rounding of a half, and nothing else.
#include "tests/differential/resampled.hpp"

#include <gtest/gtest.h>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

struct Resampled {
  GraphMaker m;
  std::vector<HostTensor> operands;
  HostTensor result;
  const ir::Node* node = nullptr;
};

std::unique_ptr<Resampled> resampled(const std::string& mode, const AttributeTexts& more = {}) {
  auto made = std::make_unique<Resampled>();
  GraphMaker& m = made->m;
  const ir::Value x = m.input({1, 2, 9, 11}, element::u8), sizes = m.integers({14, 7}), axes = m.integers({2, 3});
  AttributeTexts attributes = {{"mode", mode}, {"shape_calculation_mode", "sizes"}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  const ir::Value y = m.op("Interpolate", {x, sizes, axes}, attributes);
  m.result(y);
  HostTensor image(element::u8, {1, 2, 9, 11});
  Random random(5);
  for (int64_t i = 0; i < image.view().count(); ++i)
    image.writable().as<uint8_t>()[i] = static_cast<uint8_t>(random.below(256));
  const std::vector<ir::TensorView> views = {image.view()};
  made->result = interpreter::run(m.graph(), views)[0];
  made->node = &m.graph().node(y.node);
  for (const ir::Value input : made->node->inputs) {
    const ir::Constant* constant = ir::constant_of(m.graph(), input);
    made->operands.push_back(constant ? HostTensor(constant->view, nullptr) : image);
  }
  return made;
}

class ResampledIntegers : public testing::TestWithParam<const char*> {};

TEST_P(ResampledIntegers, NeighboursOfHalvesOnly) {
  const auto made = resampled(GetParam());
  ASSERT_TRUE(is_resampling(*made->node));
  EXPECT_EQ(beyond_resampling(*made->node, made->operands, made->result), "");
  const int64_t count = made->result.view().count();
  auto* bytes = made->result.writable().as<uint8_t>();
  int64_t passed = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t right = bytes[i];
    for (const int off : {-2, -1, 1, 2}) {
      if (right + off < 0 || right + off > 255) continue;
      bytes[i] = static_cast<uint8_t>(right + off);
      const bool passes = beyond_resampling(*made->node, made->operands, made->result).empty();
      if (off == 2 || off == -2)
        EXPECT_FALSE(passes) << i;
      else
        passed += passes;
    }
    bytes[i] = right;
  }
  EXPECT_LE(passed, 2 * count / 20);  // where sums lie on a half or, in Pillow's modes, where an axis before did
}

class ResampledCoordinates : public testing::TestWithParam<const char*> {};

TEST_P(ResampledCoordinates, OthersAreCaught) {
  const auto made = resampled(GetParam());
  for (const char* coordinates : {"asymmetric", "align_corners", "tf_half_pixel_for_nn"}) {
    const auto broken = resampled(GetParam(), {{"coordinate_transformation_mode", coordinates}});
    EXPECT_NE(beyond_resampling(*made->node, made->operands, broken->result), "") << coordinates;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ResampledIntegers,
                         testing::Values("linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"),
                         [](const auto& instance) { return std::string(instance.param); });
// Pillow's modes know one kind of coordinates.
INSTANTIATE_TEST_SUITE_P(Modes, ResampledCoordinates, testing::Values("linear", "linear_onnx", "cubic"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace terroir::test
