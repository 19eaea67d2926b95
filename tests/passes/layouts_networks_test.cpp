// Whole topologies at their real sizes: the graph before and after the layout pass, and that no reorder is left but at
// the model's ends. tests/zoo counts the reorders of the plans of all models.
#include <gtest/gtest.h>

#include "plugins/cpu/ops.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/laid_out.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
using test::LaidOut;

/// Layers of classifiers. Weights are small numbers that nothing here looks at.
class Network {
 public:
  GraphMaker maker;

  ir::Value biased(ir::Value data) {
    return maker.op("Add", {data, maker.random({1, maker.dims(data)[1], 1, 1}, ++seed_)});
  }
  ir::Value relu(ir::Value data) { return maker.op("ReLU", {data}); }
  ir::Value conv(ir::Value data, int64_t channels, int64_t kernel, int64_t stride = 1) {
    return biased(maker.conv(data, channels, kernel, ++seed_, stride));
  }
  ir::Value depthwise(ir::Value data, int64_t stride) { return biased(maker.depthwise(data, 3, ++seed_, stride)); }
  ir::Value clamp(ir::Value data) { return maker.op("Clamp", {data}, {{"min", "0"}, {"max", "6"}}); }
  ir::Value pool(ir::Value data, const std::string& type, int64_t kernel, int64_t pad) {
    const std::string k = std::to_string(kernel), p = std::to_string(pad);
    test::AttributeTexts window = {
        {"strides", "2,2"}, {"kernel", k + "," + k}, {"pads_begin", p + "," + p}, {"pads_end", p + "," + p}};
    if (type == "AvgPool") window.emplace_back("exclude-pad", "true");
    return maker.op(type, {data}, window, "", "opset1");
  }
  void classify(ir::Value data) {
    auto mean = maker.op("ReduceMean", {data, maker.integers({2, 3})}, {{"keep_dims", "true"}});
    auto flat = maker.op("Reshape", {mean, maker.integers({1, maker.dims(data)[1]})}, {{"special_zero", "false"}});
    auto scores = maker.op("MatMul", {flat, maker.random({maker.dims(data)[1], 1000}, ++seed_)});
    maker.result(maker.op("SoftMax", {maker.op("Add", {scores, maker.random({1, 1000}, ++seed_)})}, {{"axis", "1"}}));
  }

 private:
  uint32_t seed_ = 0;
};

GraphMaker resnet50() {
  Network n;
  auto x = n.pool(n.relu(n.conv(n.maker.input({1, 3, 224, 224}), 64, 7, 2)), "MaxPool", 3, 1);
  int64_t width = 64;
  for (const int64_t blocks : {3, 4, 6, 3}) {
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t stride = i == 0 && width > 64 ? 2 : 1;
      auto y = n.relu(n.conv(n.relu(n.conv(x, width, 1)), width, 3, stride));
      y = n.conv(y, 4 * width, 1);
      x = n.relu(n.maker.op("Add", {y, i == 0 ? n.conv(x, 4 * width, 1, stride) : x}));
    }
    width *= 2;
  }
  n.classify(x);
  return std::move(n.maker);
}

GraphMaker mobilenet_v2() {
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  Network n;
  auto x = n.clamp(n.conv(n.maker.input({1, 3, 224, 224}), 32, 3, 2));
  for (const Stage& s : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                         Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}})
    for (int64_t i = 0; i < s.blocks; ++i) {
      const int64_t in = n.maker.dims(x)[1], stride = i == 0 ? s.stride : 1;
      auto y = s.expansion == 1 ? x : n.clamp(n.conv(x, in * s.expansion, 1));
      y = n.conv(n.clamp(n.depthwise(y, stride)), s.channels, 1);
      x = stride == 1 && in == s.channels ? n.maker.op("Add", {x, y}) : y;
    }
  n.classify(n.clamp(n.conv(x, 1280, 1)));
  return std::move(n.maker);
}

GraphMaker densenet121() {
  Network n;
  uint32_t seed = 1000;
  const auto norm_relu = [&](ir::Value data) {
    auto scaled = n.maker.op("Multiply", {data, n.maker.random({1, n.maker.dims(data)[1], 1, 1}, ++seed)});
    return n.relu(n.biased(scaled));
  };
  auto x = n.pool(n.relu(n.conv(n.maker.input({1, 3, 224, 224}), 64, 7, 2)), "MaxPool", 3, 1);
  for (const int64_t layers : {6, 12, 24, 16}) {
    for (int64_t i = 0; i < layers; ++i) {
      auto y = n.relu(n.conv(norm_relu(x), 128, 1));
      x = n.maker.op("Concat", {x, n.maker.conv(y, 32, 3, ++seed)}, {{"axis", "1"}});
    }
    if (layers != 16) x = n.pool(n.maker.conv(norm_relu(x), n.maker.dims(x)[1] / 2, 1, ++seed), "AvgPool", 2, 0);
  }
  n.classify(norm_relu(x));
  return std::move(n.maker);
}

/// Reorders that neither read a model input nor write a model output.
std::string inner_reorders(const LaidOut& laid_out) {
  std::string names;
  for (const ir::Node* reorder : laid_out.reorders()) {
    const bool at_input = laid_out.graph->node(reorder->inputs[0].node).is(ir::kParameterType);
    bool at_output = true;
    for (const ir::Use& use : laid_out.graph->uses({reorder->id, 0}))
      at_output = at_output && laid_out.graph->node(use.node).is(ir::kResultType);
    if (!at_input && !at_output) names += reorder->name + "\n";
  }
  return names;
}

void expect_golden_without_inner_reorders(const char* name, const GraphMaker& m) {
  const LaidOut laid_out = test::lay_out(m);
  test::expect_golden(name, test::texts_of(laid_out));
  for (const Isa isa : {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512}) {
    if (!isa_available(isa)) continue;
    EXPECT_EQ(inner_reorders(test::lay_out(m, isa)), "") << isa_name(isa);
  }
}

// A mask of two channels is written as the model gives it, not padded to a block and reordered.
TEST(LayoutsOfNetworks, MaskOfFewChannels) {
  Network n;
  const ir::Value wide = n.relu(n.conv(n.relu(n.conv(n.maker.input({1, 3, 256, 256}), 32, 3)), 32, 3));
  n.maker.result(n.maker.op("Sigmoid", {n.conv(wide, 2, 1)}));
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (!isa_available(isa)) continue;
    EXPECT_EQ(test::lay_out(n.maker, isa).reorders().size(), 0U) << isa_name(isa);
    EXPECT_EQ(test::plan_of(n.maker, isa)->steps.back().kernel,
              isa == Isa::avx2 ? "f32_conv_few_nChw8c_to_plain__avx2" : "f32_conv_few_nChw16c_to_plain__avx512");
  }
}

TEST(LayoutsOfNetworks, Resnet50) { expect_golden_without_inner_reorders("layouts_resnet50", resnet50()); }
TEST(LayoutsOfNetworks, MobilenetV2) { expect_golden_without_inner_reorders("layouts_mobilenet_v2", mobilenet_v2()); }
TEST(LayoutsOfNetworks, Densenet121) { expect_golden_without_inner_reorders("layouts_densenet121", densenet121()); }

}  // namespace
}  // namespace terroir::cpu
