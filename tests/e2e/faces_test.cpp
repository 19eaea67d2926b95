// The face detector finds the eleven faces of a photo where they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/e2e/image.hpp"
#include "tests/support/model_run.hpp"

namespace terroir::test {
namespace {

using Box = std::array<float, 4>;  // x_min, y_min, x_max, y_max as fractions

constexpr Box kFaces[] = {
    {0.321f, 0.491f, 0.381f, 0.616f}, {0.881f, 0.532f, 0.941f, 0.667f}, {0.109f, 0.414f, 0.168f, 0.546f},
    {0.486f, 0.273f, 0.543f, 0.397f}, {0.499f, 0.477f, 0.554f, 0.598f}, {0.731f, 0.383f, 0.789f, 0.514f},
    {0.195f, 0.361f, 0.252f, 0.490f}, {0.386f, 0.279f, 0.442f, 0.404f}, {0.288f, 0.263f, 0.344f, 0.376f},
    {0.592f, 0.316f, 0.649f, 0.432f}, {0.113f, 0.210f, 0.167f, 0.326f}};
constexpr float kConfident = 0.99f, kNear = 0.01f;

std::string text(const Box& box) {
  return std::to_string(box[0]) + ' ' + std::to_string(box[1]) + ' ' + std::to_string(box[2]) + ' ' +
         std::to_string(box[3]);
}

bool near(const Box& a, const Box& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::fabs(a[i] - b[i]) > kNear) return false;
  return true;
}

class Faces : public testing::TestWithParam<std::string> {};

constexpr const char* kModel = "face-detection-adas-0001-fp16.xml";

void expect_faces(const Tensor& detections) {
  ASSERT_EQ(detections.get_shape().back(), 7u);
  std::vector<Box> found;
  const float* row = detections.data<float>();
  for (size_t i = 0; i < detections.get_size() / 7 && row[0] >= 0; ++i, row += 7)
    if (row[2] > kConfident) found.push_back({row[3], row[4], row[5], row[6]});
  EXPECT_EQ(found.size(), std::size(kFaces));
  for (const Box& box : found)
    EXPECT_TRUE(std::any_of(std::begin(kFaces), std::end(kFaces), [&](const Box& face) { return near(face, box); }))
        << "no face is at " << text(box);
  for (const Box& face : kFaces)
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Box& box) { return near(face, box); }))
        << "the face at " << text(face) << " was not found";
}

TEST_P(Faces, AreFoundWhereTheyAre) {
  const auto folder = shared_folder() / "models";
  if (shared_folder().empty()) GTEST_SKIP() << "no recorded models (TERROIR_SHARED_DIR)";
  Core core;
  if (const auto reason = missing_device(core, GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  CompiledModel compiled = core.compile_model((folder / kModel).string(), GetParam());
  const Shape shape = compiled.input().get_shape();
  ASSERT_EQ(shape, (Shape{1, 3, 384, 672}));
  const Image photo = read_image((folder / "faces.jpg").string());
  expect_faces(infer(compiled, {bgr_tensor(resize(photo, 672, 384))}).at(0));
}

INSTANTIATE_TEST_SUITE_P(E2e, Faces, testing::Values("INTERPRETER", "CPU"),
                         [](const auto& test) { return test.param; });

// The photo as it is, bytes, red first, in its own size: what the steps make of it is found as what is made by hand.
TEST(FacesInThePhotoAsItIs, CPU) {
  const auto folder = shared_folder() / "models";
  if (shared_folder().empty()) GTEST_SKIP() << "no recorded models (TERROIR_SHARED_DIR)";
  Core core;
  if (const auto reason = missing_device(core, "CPU"); !reason.empty()) GTEST_SKIP() << reason;
  const Image photo = read_image((folder / "faces.jpg").string());
  using namespace preprocess;
  PrePostProcessor processor(core.read_model((folder / kModel).string()));
  processor.input()
      .tensor()
      .set_element_type(element::u8)
      .set_color_format(ColorFormat::RGB)
      .set_spatial_dynamic_shape();
  processor.input().model().set_layout("NCHW");
  processor.input().preprocess().resize(ResizeAlgorithm::RESIZE_LINEAR).convert_color(ColorFormat::BGR);
  CompiledModel compiled = core.compile_model(processor.build(), "CPU");
  Tensor bytes(element::u8, {1, static_cast<size_t>(photo.height), static_cast<size_t>(photo.width), 3});
  std::copy(photo.rgb.begin(), photo.rgb.end(), bytes.data<uint8_t>());
  const Tensor actual = infer(compiled, {bytes}).at(0);
  expect_faces(actual);

  CompiledModel by_hand = core.compile_model((folder / kModel).string(), "CPU");
  const Tensor expected = infer(by_hand, {bgr_tensor(resize(photo, 672, 384))}).at(0);
  // Bytes that lie between two steps may be rounded to either.
  for (size_t i = 0; i < std::size(kFaces) * 7; ++i)
    EXPECT_NEAR(actual.data<float>()[i], expected.data<float>()[i], 2e-3) << i;
}

}  // namespace
}  // namespace terroir::test
