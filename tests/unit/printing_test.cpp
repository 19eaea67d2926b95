// What programs print: layers, ports, lists of axes, enumerations.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

template <typename T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Printing, LayersTellWhatTheyReadAndMake) {
  const auto x = std::make_shared<opset8::Parameter>(element::f32, PartialShape{1, -1});
  const auto y = std::make_shared<opset8::Parameter>(element::f32, Shape{1});
  x->set_friendly_name("x");
  y->set_friendly_name("y");
  const auto sum = std::make_shared<opset8::Add>(x, y);
  sum->set_friendly_name("sum");
  const std::string text =
      "opset1::Add sum (opset1::Parameter x[0]:f32[1,?], opset1::Parameter y[0]:f32[1]) -> (f32[1,?])";
  EXPECT_EQ(printed(*sum), text);
  EXPECT_EQ(printed(*x), "opset1::Parameter x () -> (f32[1,?])");
  EXPECT_EQ(printed(sum.get()), text) << "of a pointer, too";
  EXPECT_EQ(printed(static_cast<const Node*>(nullptr)), "no layer");
  EXPECT_EQ(printed(sum->output(0)), "opset1::Add sum[0]:f32[1,?]");
  EXPECT_EQ(printed(Output<Node>()), "empty port");
}

TEST(Printing, ListsSayWhatTheyAre) {
  EXPECT_EQ(printed(AxisSet{2, 0}), "AxisSet{0, 2}");
  EXPECT_EQ(printed(AxisVector{2, 0}), "AxisVector{2, 0}");
  EXPECT_EQ(printed(CoordinateDiff{-1, 0}), "CoordinateDiff{-1, 0}");
  EXPECT_EQ(printed(Strides{1, 2}), "Strides{1, 2}");
  EXPECT_EQ(printed(Coordinate{}), "Coordinate{}");
  EXPECT_EQ(printed(Shape{1, 2}), "[1,2]");
}

TEST(Printing, EnumerationsOfResizing) {
  using Interpolate = op::v11::Interpolate;
  EXPECT_EQ(printed(Interpolate::InterpolateMode::BILINEAR_PILLOW), "bilinear_pillow");
  EXPECT_EQ(printed(Interpolate::ShapeCalcMode::SCALES), "scales");
  EXPECT_EQ(printed(Interpolate::CoordinateTransformMode::ALIGN_CORNERS), "align_corners");
  EXPECT_EQ(printed(Interpolate::NearestMode::FLOOR), "floor");
}

}  // namespace
}  // namespace terroir
