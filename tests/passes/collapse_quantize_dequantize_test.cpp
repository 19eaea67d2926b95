// QuantizeLinear and DequantizeLinear of ONNX as IRs have them: graph text before and after, what stays, the values,
// and that layers between them compute in bytes. Steps are powers of two, so that every level has one right value.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/passes/quantize_convolutions.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

ir::Pass collapse() { return ops::collapse_quantize_dequantize(ops::builtin_registry()); }

ir::Value converted(GraphMaker& m, ir::Value x, const char* type) {
  return m.op("Convert", {x}, {{"destination_type", type}});
}

struct Integers {
  const char* type = "u8";
  float low = 0, high = 255;
  const char* levels = "256";
  float zero = 128;
};

/// Levels 1/16 apart, as integers.
ir::Value quantized(GraphMaker& m, ir::Value x, const Integers& q = {}) {
  const ir::Value low = m.scalar((q.low - q.zero) / 16), high = m.scalar((q.high - q.zero) / 16);
  return converted(m, m.op("FakeQuantize", {x, low, high, m.scalar(q.low), m.scalar(q.high)}, {{"levels", q.levels}}),
                   q.type);
}

ir::Value dequantized(GraphMaker& m, ir::Value integers, ir::Value zero, ir::Value scale) {
  return m.op("Multiply", {m.op("Subtract", {converted(m, integers, "f32"), zero}), scale});
}
ir::Value dequantized(GraphMaker& m, ir::Value integers, const Integers& q = {}) {
  return dequantized(m, integers, m.scalar(q.zero), m.scalar(1.0f / 16));
}

int nodes_of_type(const ir::Graph& graph, std::string_view type) {
  int found = 0;
  for (const ir::NodeId id : graph.nodes()) found += graph.node(id).is(type) ? 1 : 0;
  return found;
}

TEST(CollapseQuantizeDequantize, Rewrite) {
  GraphMaker m;
  m.result(dequantized(m, quantized(m, m.input({2, 3}))));
  const Integers whole{"i8", -128, 127, "256", 0};
  const ir::Value integers = converted(m, quantized(m, m.input(PartialShape("?,3,?")), whole), "f32");
  m.result(m.op("Multiply", {m.constant({1, 3, 1}, {0.25f, 0.5f, 2}), integers}));  // the other order, by channel
  m.result(dequantized(m, quantized(m, m.input({2, 3}), {"i8", -64, 63, "128", 3}), m.constant({3}, {0.5f, -1, 2}),
                       m.constant({1, 1}, {0.5f})));
  expect_rewrite("collapse_quantize_dequantize", m.graph(), {collapse()});
}

TEST(CollapseQuantizeDequantize, SeveralReadersOfTheIntegers) {
  GraphMaker m;
  const ir::Value integers = quantized(m, m.input({2, 3}));
  m.result(m.op("ReLU", {dequantized(m, integers)}));
  m.result(m.op("Abs", {dequantized(m, integers)}));  // the same
  m.result(dequantized(m, integers, m.scalar(0), m.scalar(2)));
  m.result(integers);
  const ir::Value floats = converted(m, quantized(m, m.input({2, 3})), "f32");
  m.result(floats);
  const ir::Value shifted = m.op("Subtract", {floats, m.scalar(128)});
  m.result(shifted);
  m.result(m.op("Multiply", {shifted, m.scalar(0.5f)}));
  expect_rewrite("collapse_quantize_dequantize_readers", m.graph(), {collapse()});
}

TEST(CollapseQuantizeDequantize, Refuses) {
  GraphMaker m;
  const auto keep = [&](const Integers& q) { m.result(dequantized(m, quantized(m, m.input({2, 3}), q), q)); };
  keep({"u8", 0, 255, "128"});         // levels between integers
  keep({"u8", 0.5f, 127.5f, "128"});   // none of them an integer
  keep({"u8", -1, 254, "256"});        // not all in the type
  keep({"i8", 0, 255, "256"});         //
  keep({"u8", 1, 256, "256"});         //
  keep({"u8", 255, 0, "256"});         // downwards
  keep({"i32", -1000, 1000, "2001"});  // more than bytes
  const auto x = [&] { return quantized(m, m.input({2, 3})); };
  m.result(dequantized(m, x(), m.scalar(3), m.scalar(-1)));
  m.result(dequantized(m, x(), m.scalar(3), m.scalar(0)));
  m.result(dequantized(m, x(), m.scalar(-1e38f), m.scalar(1e38f)));
  m.result(dequantized(m, x(), m.scalar(3), m.constant({3}, {1, 2, -3})));
  m.result(dequantized(m, x(), m.scalar(3), m.input({})));                                // not constant
  m.result(dequantized(m, x(), m.input({}), m.scalar(3)));                                //
  m.result(dequantized(m, x(), m.scalar(3), m.constant({1, 1, 1}, {2})));                 // another rank
  m.result(dequantized(m, x(), m.constant({2, 1}, {1, 2}), m.constant({3}, {1, 2, 3})));  // axes of their own
  m.result(dequantized(m, quantized(m, m.input({2, 1})), m.scalar(3), m.constant({3}, {1, 2, 3})));
  m.result(dequantized(m, quantized(m, m.input("2,?")), m.scalar(3), m.constant({3}, {1, 2, 3})));
  m.result(m.op("Multiply", {m.op("Subtract", {m.scalar(128), converted(m, x(), "f32")}), m.scalar(2)}));  // negated
  m.result(m.op("Multiply", {converted(m, x(), "i32"), converted(m, m.scalar(2), "i32")}));
  m.result(m.op("Multiply", {converted(m, x(), "f32"), m.constant({3}, {1, 2, 3})},
                {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}}));
  expect_refusal(m.graph(), {collapse()});
}

TEST(CollapseQuantizeDequantize, SameAsInterpreter) {
  for (const Integers& q : {Integers{}, Integers{"i8", -128, 127, "256", 0}, Integers{"i8", -128, 127, "256", 5},
                            Integers{"u8", 0, 128, "129", 64}, Integers{"u8", 7, 22, "16", 0.5f}})
    for (const bool by_channel : {false, true}) {
      SCOPED_TRACE(concat(q.type, ' ', q.levels, " levels, zero ", q.zero, by_channel ? " by channel" : ""));
      GraphMaker m;
      const ir::Value integers = quantized(m, m.input({2, 19, 5, 7}), q);
      std::vector<float> scales;
      for (int c = 0; c < 19; ++c) scales.push_back(static_cast<float>(1 << c % 5) / 16);
      m.result(
          dequantized(m, integers, m.scalar(q.zero), by_channel ? m.constant({19, 1, 1}, scales) : m.scalar(0.25f)));
      m.result(dequantized(m, integers, q));
      m.result(integers);
      const auto collapsed = cpu::rewrite_portable(m.graph());
      EXPECT_EQ(nodes_of_type(*collapsed, "Multiply"), 0);
      EXPECT_EQ(nodes_of_type(*collapsed, "Convert"), 1);
      expect_same_as_interpreter(m);
    }
}

/// Everything quantised as in an ONNX file: data u8, weights i8, zero points in these types, biases i32.
void convolution_of_bytes(GraphMaker& m, const char* floats) {
  const auto constant = [&](const ir::Dims& dims, std::vector<float> values, const char* type) {
    return converted(m, converted(m, m.constant(dims, values), type), floats);
  };
  const auto number = [&](float value) { return converted(m, m.scalar(value), floats); };
  ir::Value x = converted(m, m.input({1, 16, 6, 6}), floats);
  for (const float zero : {128.0f, 0.0f}) {
    x = m.op("FakeQuantize", {x, number(-zero / 16), number((255 - zero) / 16), number(0), number(255)},
             {{"levels", "256"}});
    x = converted(m, converted(m, x, "u8"), floats);
    x = m.op("Multiply", {m.op("Subtract", {x, constant({}, {zero}, "u8")}), number(1.0f / 16)});
    std::vector<float> weights(16 * 16), scales, bias;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 37 % 255) - 127;
    for (int c = 0; c < 16; ++c)
      scales.push_back(1.0f / static_cast<float>(64 << c % 2)), bias.push_back(8.0f * c - 60);
    ir::Value w = m.op("Subtract", {constant({16, 16, 1, 1}, weights, "i8"), constant({1}, {1}, "i8")});
    w = m.op("Multiply", {w, converted(m, m.constant({16, 1, 1, 1}, scales), floats)});
    x = m.op("Convolution", {x, w},
             {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
    const ir::Value b = m.op("Multiply", {constant({1, 16, 1, 1}, bias, "i32"), number(1.0f / 1024)});
    x = m.op("ReLU", {m.op("Add", {x, b})});
  }
  m.result(converted(m, x, "f32"));
}

TEST(CollapseQuantizeDequantize, LayersBetweenComputeInBytes) {
  for (const char* floats : {"f32", "f16"}) {
    SCOPED_TRACE(floats);
    GraphMaker m;
    convolution_of_bytes(m, floats);
    const auto graph = cpu::bound_graph(cpu::rewrite_portable(m.graph()), {{1, 16, 6, 6}}, nullptr);
    cpu::WeightSteps steps;
    ir::PassManager passes;
    passes.add(cpu::quantize_convolutions(cpu::cpu_ops(), ops::builtin_registry(), steps));
    passes.run(*graph);
    EXPECT_EQ(nodes_of_type(*graph, cpu::kQuantizedConvolutionType), 2);
    EXPECT_EQ(nodes_of_type(*graph, "FakeQuantize") + nodes_of_type(*graph, "Multiply"), 0);
    if (std::string_view(floats) == "f32") expect_same_as_interpreter(m);
  }
}

}  // namespace
}  // namespace terroir::test
