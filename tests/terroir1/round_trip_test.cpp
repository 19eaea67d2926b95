// A layer of the set terroir1 in a file: written with its set and attributes, read as the same layer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/caught.hpp"
#include "tests/terroir1/layer_model.hpp"

namespace terroir::test {
namespace {

Layer layer_with(const Texts& attributes) {
  return {"Convolution", "terroir1", attributes, eighths({4, 3, 2}, 1), eighths({4}, 2)};
}

TEST(Terroir1Files, AreWrittenAndReadBack) {
  const Layer layer = layer_with({{"direction", "backward"},
                                  {"mode", "convolution"},
                                  {"layout", "channels_last"},
                                  {"group", "2"},
                                  {"strides", "2"},
                                  {"auto_pad", "SAME_LOWER"},
                                  {"activation", "ScaledTanh"},
                                  {"activation_params", "1.5, 0.25"}});
  Layer plain = layer;
  plain.bias = eighths({6}, 2);
  const auto model = model_from_builder({2, 5, 4}, element::f32, {plain});
  const auto folder = std::filesystem::temp_directory_path() / ("terroir1_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string xml = (folder / "model.xml").string();
  serialize(model, xml);
  std::ifstream file(xml);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("type=\"Convolution\" version=\"terroir1\""), std::string::npos) << text;
  const auto read = Core().read_model(xml);
  std::filesystem::remove_all(folder);
  const Array x = eighths({2, 5, 4}, 3);
  for (const char* device : {"INTERPRETER", "CPU"}) {
    const Array expected = run(model, device, 1, x).outputs.at(0);
    EXPECT_EQ(run(read, device, 1, x).outputs.at(0).values, expected.values) << device;
  }
}

/// What is wrong with the layer, as reading its file says.
std::string refusal(const Texts& attributes, const std::string& opset = "terroir1") {
  Layer layer = layer_with(attributes);
  layer.opset = opset;
  return caught([&] { model_from_file({1, 3, 5}, element::f32, {layer}, {{1, 4, 4}}); }).what();
}

TEST(Terroir1Files, ErrorsNameTheLayerAndWhatThereIs) {
  const std::string shrink = refusal({{"activation", "Shrink"}});
  EXPECT_NE(shrink.find("'activation' must be one of Identity, Relu, "), std::string::npos) << shrink;
  EXPECT_NE(shrink.find("Convolution3"), std::string::npos) << shrink;
  const std::string direction = refusal({{"direction", "sideways"}});
  EXPECT_NE(direction.find("'direction' must be one of forward, backward, got 'sideways'"), std::string::npos);
  const std::string pads = refusal({{"pads", "1,1"}});
  EXPECT_NE(pads.find("unknown attribute 'pads'"), std::string::npos) << pads;
  const std::string set = refusal({}, "terroir9");
  EXPECT_NE(set.find("'Convolution' is not in 'terroir9'; it is known in "), std::string::npos) << set;
  EXPECT_NE(set.find("terroir1"), std::string::npos) << set;
}

}  // namespace
}  // namespace terroir::test
