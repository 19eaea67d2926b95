// Constants of a file that begin at the same byte, and are other tensors: what is packed of one is not that of another.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/registry.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/device.hpp"

namespace terroir::test {
namespace {

/// Constants of the same bytes.
class Bytes {
 public:
  Bytes(element::Type type, const ir::Dims& dims) : owner_(std::make_shared<HostTensor>(type, dims)) {
    auto* bytes = static_cast<uint8_t*>(owner_->writable().data);
    for (size_t i = 0; i < owner_->view().bytes(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 7);
  }
  explicit Bytes(const HostTensor& values) : owner_(std::make_shared<HostTensor>(values)) {}

  ir::Value as(GraphMaker& m, element::Type type, const ir::Dims& dims) {
    return {m.graph().add_constant(ops::builtin_registry().get("Const", "opset1"), "w" + std::to_string(count_++),
                                   {{type, dims, owner_->view().data}, owner_}),
            0};
  }

 private:
  std::shared_ptr<HostTensor> owner_;
  int count_ = 0;
};

const AttributeTexts kWindow = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
AttributeTexts with(AttributeTexts attributes, const AttributeTexts& more) {
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

/// Also by a model that was stored.
void expect_same_everywhere(const GraphMaker& m, const std::vector<HostTensor>& inputs) {
  expect_same_as_interpreter(m.graph(), std::vector<std::vector<HostTensor>>{inputs});
  DeviceModel compiled = on_cpu(m.graph(), 1);
  const auto before = compiled.infer(inputs);
  const auto loaded = compiled.stored_and_loaded().infer(inputs);
  ASSERT_EQ(before.size(), loaded.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(std::memcmp(before[i].view().data, loaded[i].view().data, before[i].view().bytes()), 0) << i;
}

TEST(ConstantsOfTheSameBytes, BinaryConvolutions) {
  GraphMaker m;
  Bytes bits(element::u1, {4, 8, 3, 3});
  const auto attributes = with(kWindow, {{"mode", "xnor-popcount"}, {"pad_value", "0"}});
  m.result(m.op("BinaryConvolution", {m.input({1, 8, 6, 6}), bits.as(m, element::u1, {4, 8, 3, 3})}, attributes));
  m.result(m.op("BinaryConvolution", {m.input({1, 4, 6, 6}), bits.as(m, element::u1, {8, 4, 3, 3})}, attributes));
  std::vector<HostTensor> inputs;
  for (const int64_t channels : {8, 4}) {
    inputs.push_back(random_tensor({1, channels, 6, 6}, 3));
    auto* values = inputs.back().writable().as<float>();
    for (int64_t i = 0; i < channels * 36; ++i) values[i] = values[i] > 0 ? 1.0f : 0.0f;
  }
  expect_same_everywhere(m, inputs);
}

TEST(ConstantsOfTheSameBytes, DeformableConvolutions) {
  GraphMaker m;
  Bytes weights(random_tensor({4, 8, 3, 3}, 1));
  std::vector<HostTensor> inputs;
  for (const int64_t channels : {8, 4}) {
    const ir::Dims data{1, channels, 6, 6}, offsets{1, 18, 4, 4};
    m.result(m.op("DeformableConvolution",
                  {m.input(ir::to_shape(data)), m.input(ir::to_shape(offsets)),
                   weights.as(m, element::f32, {32 / channels, channels, 3, 3})},
                  kWindow));
    inputs.push_back(random_tensor(data, 2));
    inputs.push_back(random_tensor(offsets, 3));
  }
  expect_same_everywhere(m, inputs);
}

TEST(ConstantsOfTheSameBytes, QuantisedConvolutions) {
  GraphMaker m;
  Bytes weights(element::i8, {4, 8, 1, 1});
  HostTensor zero(element::u8, ir::Dims{}), signed_zero(element::i8, ir::Dims{});
  *zero.writable().as<uint8_t>() = 3;
  *signed_zero.writable().as<int8_t>() = 3;
  Bytes zeros(zero);
  std::vector<HostTensor> inputs;
  const struct {
    element::Type type;
    int64_t outputs, channels;
  } cases[] = {{element::i8, 4, 8}, {element::i8, 8, 4}, {element::u8, 4, 8}};
  for (const auto& c : cases) {
    const ir::Dims data{1, c.channels, 5, 5};
    m.result(m.op("QLinearConv",
                  {m.input(ir::to_shape(data), element::u8), m.scalar(0.5f), zeros.as(m, element::u8, {}),
                   weights.as(m, c.type, {c.outputs, c.channels, 1, 1}), m.scalar(0.25f), zeros.as(m, c.type, {}),
                   m.scalar(8.0f), zeros.as(m, element::u8, {})},
                  with(kWindow, {{"auto_pad", "explicit"}, {"group", "1"}}), {}, "terroir1"));
    inputs.emplace_back(element::u8, data);
    for (int64_t i = 0; i < c.channels * 25; ++i)
      inputs.back().writable().as<uint8_t>()[i] = static_cast<uint8_t>(i * 29);
  }
  expect_same_everywhere(m, inputs);
}

TEST(ConstantsOfTheSameBytes, BiasesOfOtherLengths) {
  GraphMaker m;
  Bytes biases(random_tensor({1, 16, 1, 1}, 1));
  const ir::Value x = m.input({1, 8, 9, 9});
  for (const int64_t channels : {16, 8})
    m.result(m.op("Add", {m.conv(x, channels, 3, 2), biases.as(m, element::f32, {1, channels, 1, 1})}));
  expect_same_everywhere(m, {random_tensor({1, 8, 9, 9}, 5)});
}

// A stored model leaves out what is only packed, by whichever name.
TEST(ConstantsOfTheSameBytes, OneIsPackedTheOtherRead) {
  GraphMaker m;
  Bytes weights(random_tensor({16, 8, 1, 1}, 1));
  m.result(m.op("Convolution", {m.input({1, 8, 9, 9}), weights.as(m, element::f32, {16, 8, 1, 1})}, kWindow));
  m.result(m.op("Subtract", {m.input({16, 8, 1, 1}), weights.as(m, element::f32, {16, 8, 1, 1})}));
  expect_same_everywhere(m, {random_tensor({1, 8, 9, 9}, 5), random_tensor({16, 8, 1, 1}, 6)});
}

}  // namespace
}  // namespace terroir::test
