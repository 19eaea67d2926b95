// BinaryConvolution on the CPU device against the interpreter, bit for bit, on every instruction set.
#include <gtest/gtest.h>

#include <limits>

#include "ops/registry.hpp"
#include "tests/passes/both_axes.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/device.hpp"

namespace terroir::test {
namespace {

struct BinaryLayer {
  int64_t batch, channels, outputs, height, width, kernel_h, kernel_w;
  int64_t stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  const char* pad_value = "0";
  const char* auto_pad = "explicit";
};

/// Zeros and ones with a few values among them that agree with no bit.
HostTensor bits_and_others(const ir::Dims& dims, uint32_t seed) {
  HostTensor tensor(element::f32, dims);
  uint32_t state = seed * 2654435761u + 12345;
  constexpr float kOthers[] = {-0.0f, 0.5f, -1.0f, std::numeric_limits<float>::quiet_NaN(), 2.0f, 1e-40f};
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t draw = state >> 16;
    tensor.writable().as<float>()[i] = draw % 32 == 0 ? kOthers[draw / 32 % 6] : static_cast<float>(draw >> 15);
  }
  return tensor;
}

ir::Value bits(GraphMaker& m, const ir::Dims& dims, uint32_t seed) {
  auto owner = std::make_shared<HostTensor>(element::u1, dims);
  uint32_t state = seed;
  for (size_t i = 0; i < owner->view().bytes(); ++i) {
    state = state * 1664525u + 1013904223u;
    static_cast<uint8_t*>(owner->writable().data)[i] = static_cast<uint8_t>(state >> 24);
  }
  const ir::TensorView view = owner->view();
  return {m.graph().add_constant(ops::builtin_registry().get("Const", "opset1"), "w", {view, std::move(owner)}), 0};
}

void check_binary_layer(const BinaryLayer& l) {
  GraphMaker m;
  const ir::Dims data{l.batch, l.channels, l.height, l.width};
  m.result(m.op("BinaryConvolution",
                {m.input(ir::to_shape(data)), bits(m, {l.outputs, l.channels, l.kernel_h, l.kernel_w}, 7)},
                {{"strides", both_axes(l.stride)},
                 {"dilations", both_axes(l.dilation)},
                 {"pads_begin", both_axes(l.pad_begin)},
                 {"pads_end", both_axes(l.pad_end)},
                 {"mode", "xnor-popcount"},
                 {"pad_value", l.pad_value},
                 {"auto_pad", l.auto_pad}},
                "layer"));
  const std::vector<std::vector<HostTensor>> inputs{{bits_and_others(data, 3)}};
  auto shared = std::shared_ptr<const ir::Graph>(&m.graph(), [](const ir::Graph*) {});
  const HostTensor wanted = DeviceModel(shared, "INTERPRETER").infer(inputs[0])[0];
  for (const cpu::Isa isa : cpu::available_isas())
    for (const int threads : {1, 3}) {
      const HostTensor actual = run_on_cpu(m.graph(), isa, threads, inputs)[0][0];
      ASSERT_EQ(actual.dims(), wanted.dims());
      for (int64_t i = 0; i < wanted.view().count(); ++i)
        ASSERT_EQ(actual.as<float>()[i], wanted.as<float>()[i])
            << cpu::isa_name(isa) << " with " << threads << " threads, element " << i;
    }
}

TEST(BinaryConvolution, ChannelsAroundBlocksAndWords) {
  for (const int64_t channels : {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 130})
    for (const int64_t outputs : {1, 4, 9, 16, 33}) {
      SCOPED_TRACE(::testing::Message() << channels << " to " << outputs);
      check_binary_layer({2, channels, outputs, 4, 5, 3, 2, 1, 1, 1, 1});
    }
}

TEST(BinaryConvolution, WindowsAndPads) {
  for (const char* pad_value : {"0", "1", "0.5", "-1"})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t dilation : {1, 2})
        for (const int64_t pad : {0, 1, 4})
          check_binary_layer({1, 20, 5, 7, 9, 3, 3, stride, dilation, pad, pad + 1, pad_value});
  for (const char* auto_pad : {"same_upper", "same_lower", "valid"})
    check_binary_layer({1, 3, 4, 8, 9, 4, 2, 2, 1, 0, 0, "1", auto_pad});
}

// More taps than bytes can count without being flushed.
TEST(BinaryConvolution, Deep) { check_binary_layer({1, 700, 17, 6, 6, 5, 5, 1, 1, 2, 2, "1"}); }

// The bits of the whole padded image would be more than there is memory.
TEST(BinaryConvolution, WindowsFarBeyondTheImage) {
  check_binary_layer({1, 3, 4, 5, 5, 2, 2, 1, 20000, 10000, 10000, "1"});
  check_binary_layer({1, 3, 4, 2, 2, 2, 2, 2147483646, 1, 1073741823, 1073741823});
}

TEST(BinaryConvolution, BetweenOtherLayers) {
  GraphMaker m;
  const ir::Value x = m.op("ReLU", {m.op("Sign", {m.conv(m.input({1, 3, 10, 10}), 19, 3, 1)})});
  const ir::Value y = m.op("BinaryConvolution", {x, bits(m, {21, 19, 3, 3}, 5)},
                           {{"strides", "1,1"},
                            {"dilations", "1,1"},
                            {"pads_begin", "1,1"},
                            {"pads_end", "1,1"},
                            {"mode", "xnor-popcount"},
                            {"pad_value", "0"}});
  m.result(m.conv(m.op("Multiply", {y, m.random({1, 21, 1, 1}, 4)}), 5, 1, 5));
  expect_same_as_interpreter(m);
}

TEST(BinaryConvolution, RunsOnItsKernel) {
  GraphMaker m;
  // Much arithmetic for few bytes, which once made the reference look cheaper.
  m.result(m.op("BinaryConvolution", {m.input({1, 256, 14, 14}), bits(m, {256, 256, 3, 3}, 5)},
                {{"strides", "1,1"},
                 {"dilations", "1,1"},
                 {"pads_begin", "0,0"},
                 {"pads_end", "0,0"},
                 {"mode", "xnor-popcount"},
                 {"pad_value", "0"}},
                "layer"));
  for (const cpu::Isa isa : cpu::available_isas()) {
    const std::string kernel = kernel_on_cpu(m.graph(), isa, "layer");
    EXPECT_TRUE(kernel.starts_with("f32_bitconv_") && kernel.ends_with(cpu::isa_name(isa))) << kernel;
  }
}

}  // namespace
}  // namespace terroir::test
