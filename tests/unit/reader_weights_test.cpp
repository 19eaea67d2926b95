// Constants: where their bytes come from and what becomes of them.
#include <gtest/gtest.h>

#include <cstdint>

#include "ir/xml/weights.hpp"
#include "tests/unit/toy_models.hpp"

namespace terroir::ir {
namespace {

using namespace test;

struct ConstantsModel {
  std::string layers, edges, weights;
  int count = 0;

  void add(const std::string& type, const std::string& shape, size_t offset, size_t size) {
    const int id = 2 * count++;
    layers += layer(id, "Const",
                    "element_type=\"" + type + "\" shape=\"" + shape + "\" offset=\"" + std::to_string(offset) +
                        "\" size=\"" + std::to_string(size) + "\"",
                    "", "<port id=\"0\"/>") +
              layer(id + 1, "Result", "", "<port id=\"0\"/>", "");
    edges += edge(id, 0, id + 1, 0);
  }
  std::unique_ptr<Graph> read(const std::string& rest = {}) const {
    test::Read reader;
    return reader(net(layers, edges, 11, rest), weights);
  }
};

const Constant& constant_of_result(const Graph& graph, size_t i) {
  return *constant_of(graph, graph.node(graph.results()[i]).inputs[0]);
}

TEST(ReaderWeights, ConstantsStayInTheBufferAndKeepItAlive) {
  const std::string xml = net(
      layer(0, "Const", "element_type=\"f32\" shape=\"2\" offset=\"4\" size=\"8\"", "", port(0, {2})) + result(1, {2}),
      edge(0, 0, 1, 0));
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> alive = owner;
  const float* data = owner->data();
  auto graph = read_model_from_memory(xml, owner, reinterpret_cast<const std::byte*>(data), 12, toy_registry());
  owner.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(constant_of_result(*graph, 0).view.data, data + 1);
  graph.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(ReaderWeights, UnalignedConstantsAreCopied) {
  ConstantsModel model;
  model.weights = "x" + bytes_of<float>({1.5F, -2}) + bytes_of<uint8_t>({7});
  model.add("f32", "2", 1, 8);
  model.add("u8", "1", 9, 1);
  const auto graph = model.read();
  const TensorView& view = constant_of_result(*graph, 0).view;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % alignof(float), 0U);
  EXPECT_EQ(to_reals(view), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(to_integers(constant_of_result(*graph, 1).view), std::vector<int64_t>{7});
}

TEST(ReaderWeights, EmptyConstantsNeedNoBytes) {
  ConstantsModel model;
  model.add("f32", "0,3", 0, 0);
  model.add("i64", "0", 0, 1);  // as some releases stored them
  const auto graph = model.read();
  EXPECT_EQ(constant_of_result(*graph, 0).view.count(), 0);
  EXPECT_NE(constant_of_result(*graph, 0).view.data, nullptr);
  EXPECT_EQ(constant_of_result(*graph, 1).view.dims, Dims{0});
}

TEST(ReaderWeights, PackedTypesRoundUpToBytes) {
  ConstantsModel model;
  model.weights = bytes_of<uint8_t>({0x21, 0x43, 0x05, 0xFF, 0x80});
  model.add("u4", "5", 0, 3);
  model.add("u1", "2,5", 3, 2);
  const auto graph = model.read();
  EXPECT_EQ(constant_of_result(*graph, 0).view.bytes(), 3U);
  EXPECT_EQ(constant_of_result(*graph, 1).view.bytes(), 2U);
}

TEST(ReaderWeights, NibblesOfOldFilesAreExchanged) {
  ConstantsModel model;
  model.weights = bytes_of<uint8_t>({0x21, 0x43});
  model.add("u4", "4", 0, 2);
  model.add("u8", "2", 0, 2);
  const auto first_byte = [&](const std::string& version, size_t i) {
    const std::string info = version.empty() ? "" : "<rt_info><Runtime_version value=\"" + version + "\"/></rt_info>";
    const auto graph = model.read(info);
    return static_cast<int>(*static_cast<const uint8_t*>(constant_of_result(*graph, i).view.data));
  };
  EXPECT_EQ(first_byte("2023.3.0-13775", 0), 0x12);
  EXPECT_EQ(first_byte("2023.3.0-13775", 1), 0x21) << "whole bytes stay";
  EXPECT_EQ(first_byte("2024.0.0", 0), 0x21);
  EXPECT_EQ(first_byte("custom_HEAD_2022.1", 0), 0x21) << "not a release";
  EXPECT_EQ(first_byte("", 0), 0x21);
}

TEST(ReaderWeights, StringConstants) {
  ConstantsModel model;
  model.weights = bytes_of<int32_t>({3, 0, 2, 2, 5}) + "abxyz" + bytes_of<int32_t>({0});
  model.add("string", "3", 0, 25);
  model.add("string", "0", 25, 4);
  const auto graph = model.read();
  const auto* strings = constant_of_result(*graph, 0).view.as<std::string>();
  EXPECT_EQ((std::vector<std::string>(strings, strings + 3)), (std::vector<std::string>{"ab", "", "xyz"}));
  EXPECT_EQ(constant_of_result(*graph, 1).view.count(), 0);
}

TEST(ReaderWeights, VersionsThatStoreTheHighNibbleFirst) {
  const auto old = [](const char* key, const char* value) {
    return xml::stores_high_nibble_first({"", {{key, {value, {}}}}});
  };
  EXPECT_TRUE(old("MO_version", "2021.4.2-3976"));
  EXPECT_TRUE(old("Runtime_version", "2022.1"));
  EXPECT_FALSE(old("Runtime_version", "2025.3"));
  EXPECT_FALSE(old("Runtime_version", "20221"));
  EXPECT_FALSE(old("Runtime_version", "2022"));
  EXPECT_FALSE(old("other", "2022.1"));
}

}  // namespace
}  // namespace terroir::ir
