// A transposed convolution, the Concat of its result with others and the convolution behind them as one step: graph
// text before and after, what stays single steps, where the result lies, and results against the interpreter and, bit
// for bit, against the three steps.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>
#include <terroir/terroir.hpp>

#include "ir/xml/writer.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "tests/passes/chains.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/planned.hpp"
#include "tests/support/vectors.hpp"

namespace terroir::cpu {
namespace {

using test::AttributeTexts;
using test::GraphMaker;
using test::kNoVectors;
using test::plan_of;
using test::step_named;
using test::vectors;

/// Builds of the scalar kernels alone have none to fuse.
bool compiled_in() { return !wino_kernels(Isa::avx2).empty(); }

size_t fused_joins(const ir::Graph& graph, bool accuracy = false) {
  return test::count_chains(graph, 0, Isa::avx2, accuracy);
}

AttributeTexts window(size_t axes, const char* stride, const char* begin, const char* end) {
  const auto all = [axes](const std::string& one) {
    std::string text = one;
    for (size_t i = 1; i < axes; ++i) text += "," + one;
    return text;
  };
  return {{"strides", all(stride)}, {"dilations", all("1")}, {"pads_begin", all(begin)}, {"pads_end", all(end)}};
}

/// Kernel, stride and pads of a transposed convolution.
struct Up {
  int64_t kernel;
  const char *stride, *begin, *end;
};

ir::Value transposed(GraphMaker& m, ir::Value x, int64_t channels, const Up& up) {
  ir::Dims weights = {m.dims(x)[1], channels};
  const size_t axes = m.dims(x).size() - 2;
  weights.resize(2 + axes, up.kernel);
  ir::Value y =
      m.op("ConvolutionBackpropData", {x, m.random(weights, 1, 0.2f)}, window(axes, up.stride, up.begin, up.end), "up");
  ir::Dims bias(2 + axes, 1);
  bias[1] = channels;
  return m.op("Add", {y, m.random(bias, 2)});
}

/// `begin` and `end`: pads.
ir::Value merging(GraphMaker& m, ir::Value x, int64_t channels, const char* begin = "1", const char* end = "1") {
  ir::Dims weights = {channels, m.dims(x)[1]};
  const size_t axes = m.dims(x).size() - 2;
  weights.resize(2 + axes, 3);
  ir::Value y = m.op("Convolution", {x, m.random(weights, 3, 0.1f)}, window(axes, "1", begin, end), "merging");
  ir::Dims bias(2 + axes, 1);
  bias[1] = channels;
  return m.op("ReLU", {m.op("Add", {y, m.random(bias, 4)})});
}

struct Level {
  ir::Dims deep;
  Up up;
  int64_t channels;           // of the transposed convolution's result
  std::vector<int64_t> kept;  // of the other parts
  size_t at;                  // the result's place among them
  int64_t outputs;
  const char *begin = "1", *end = "1";  // pads of the convolution behind
};

/// `also`: the joined tensor is a result, too.
GraphMaker level(const Level& l, bool also = false) {
  GraphMaker m;
  ir::Value deep = transposed(m, m.input(PartialShape(ir::to_shape(l.deep))), l.channels, l.up);
  std::vector<ir::Value> parts;
  for (size_t i = 0; i < l.kept.size(); ++i) {
    ir::Dims dims = m.dims(deep);
    dims[1] = l.kept[i];
    parts.push_back(m.op("ReLU", {m.input(PartialShape(ir::to_shape(dims)))}));
  }
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(l.at), deep);
  const ir::Value both = m.op("Concat", parts, {{"axis", "1"}}, "joined");
  m.result(merging(m, both, l.outputs, l.begin, l.end));
  if (also) m.result(both);
  return m;
}

const Up kTwice{2, "2", "0", "0"};

/// As converted from TensorFlow: the transposed convolution has an input of its result's extents.
GraphMaker level_of_given_extents() {
  GraphMaker m;
  AttributeTexts same = window(2, "2", "0", "0");
  same.emplace_back("auto_pad", "same_upper");
  const ir::Value up =
      m.op("ConvolutionBackpropData",
           {m.input({1, 32, 64, 64}), m.random({32, 32, 2, 2}, 1, 0.2f), m.integers({128, 128})}, same, "up");
  m.result(merging(m, m.op("Concat", {up, m.op("ReLU", {m.input({1, 32, 128, 128})})}, {{"axis", "1"}}), 32));
  return m;
}
const Level kPlain{{1, 32, 64, 64}, kTwice, 32, {32}, 0, 32};
const Level kLarge{{1, 32, 128, 128}, kTwice, 32, {64}, 0, 64};  // whose plan must do with less scratch

TEST(JoinedConvolutions, ThreeStepsBecomeOne) {
  if (!compiled_in()) GTEST_SKIP() << kNoVectors;
  test::expect_rewrite("fuse_joined_convolution", level(kPlain).graph(), test::chain_passes(Isa::avx2));
}

TEST(JoinedConvolutions, Refuses) {
  if (!compiled_in()) GTEST_SKIP() << kNoVectors;
  const auto refuses = [](const GraphMaker& m, const char* why) { EXPECT_EQ(fused_joins(m.graph()), 0u) << why; };
  ASSERT_EQ(fused_joins(level(kPlain).graph()), 1u);
  EXPECT_EQ(fused_joins(level(kPlain).graph(), true), 0u) << "EXECUTION_MODE_HINT is ACCURACY";
  refuses(level(kPlain, true), "the joined tensor is read elsewhere");
  Level other = kPlain;
  other.deep = {1, 32, 32, 32};
  refuses(level(other), "small");
  other.deep = {8, 32, 32, 32};
  refuses(level(other), "small images");
  other = kPlain;
  other.kept = {30};
  refuses(level(other), "broken channel blocks");
  GraphMaker m;
  const ir::Value skip = m.input({1, 32, 128, 128}), up = transposed(m, m.input({1, 32, 64, 64}), 32, kTwice);
  m.result(merging(m, m.op("Concat", {skip, up}, {{"axis", "1"}}), 32));
  m.result(m.op("Convert", {up}, {{"destination_type", "i32"}}));
  refuses(m, "the transposed convolution is read elsewhere");
  GraphMaker sum;
  const ir::Value joined =
      sum.op("Concat", {sum.input({1, 32, 128, 128}), transposed(sum, sum.input({1, 32, 64, 64}), 32, kTwice)},
             {{"axis", "1"}});
  sum.result(sum.op("Add", {merging(sum, joined, 32), sum.input({1, 32, 128, 128})}));
  refuses(sum, "an operand of the run");
  refuses(level_of_given_extents(), "extents that are an input");
}

TEST(JoinedConvolutions, TheJoinedTensorIsNowhere) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  constexpr size_t kPart = size_t{32} * 128 * 128 * 4;
  const auto plan = plan_of(level(kPlain), Isa::avx2);
  const Step& merging = step_named(*plan, "merging");
  EXPECT_EQ(merging.kernel, "f32_deconv_direct_nChw8c__avx2+f32_conv_winograd_4x4_3x3_nChw8c__avx2");
  EXPECT_FALSE(test::has_step(*plan, "up"));
  EXPECT_FALSE(test::has_step(*plan, "joined"));
  // The kept part, whose place the result takes, and a band; the three steps need as much for the joined tensor alone.
  EXPECT_LT(plan->arena_bytes, 3 * kPart);
  const auto kept = std::find_if(merging.inputs.begin(), merging.inputs.end(),
                                 [&](const Slot& slot) { return test::same_place(slot, merging.outputs[0]); });
  EXPECT_NE(kept, merging.inputs.end());
}

TEST(JoinedConvolutions, SameAsInterpreter) {
  const Level levels[] = {
      kPlain,
      {{1, 5, 53, 66}, kTwice, 16, {64, 16}, 1, 16},                  // between others; of few channels
      {{2, 16, 67, 65}, {3, "2", "1", "1"}, 16, {48}, 1, 10},         // odd extents, taps that overlap, two images
      {{1, 16, 64, 65}, {4, "2", "1", "1"}, 48, {16}, 0, 48},         // four taps
      {{1, 16, 43, 48}, {3, "3", "0", "0"}, 32, {32}, 1, 16},         // thrice
      {{1, 16, 130, 127}, {3, "1", "1", "1"}, 32, {32}, 1, 16},       // once
      {{1, 16, 12, 16, 16}, kTwice, 32, {32}, 1, 16},                 // a volume
      {{1, 16, 11, 13, 17}, {3, "2", "1", "1"}, 32, {32, 16}, 0, 8},  // an odd one
  };
  for (const Level& one : levels) {
    SCOPED_TRACE(testing::PrintToString(one.deep) + " kernel " + std::to_string(one.up.kernel));
    const GraphMaker m = level(one);
    EXPECT_EQ(fused_joins(m.graph()), compiled_in() ? 1u : 0u);
    test::expect_same_as_interpreter(m, 1e-4);
  }
}

TEST(JoinedConvolutions, ExtentsThatAreAnInput) { test::expect_same_as_interpreter(level_of_given_extents(), 1e-4); }

TEST(JoinedConvolutions, HaveTheBitsOfThreeSteps) {
  const Level levels[] = {
      kPlain,
      kLarge,
      {{2, 16, 43, 65}, {3, "3", "1", "0"}, 32, {32, 16}, 1, 32},
      {{1, 16, 53, 66}, {3, "2", "1", "1"}, 32, {32}, 1, 16},             // the last row of tiles has one output
      {{1, 16, 15, 600}, {3, "2", "1", "1"}, 32, {32}, 0, 32, "0", "2"},  // reads two rows behind the image
      {{1, 32, 20, 208}, kTwice, 32, {32}, 0, 32},    // ten rows of tiles, which three threads share in bands
      {{1, 16, 7, 20, 21}, kTwice, 32, {32}, 1, 16},  // likewise a volume
      {{1, 16, 9, 20, 21}, kTwice, 32, {32}, 1, 16},  // which is too deep for rings of rows
  };
  for (const Level& one : levels) {
    SCOPED_TRACE(testing::PrintToString(one.deep));
    const GraphMaker alone = level(one), both = level(one, true);
    std::vector<std::vector<test::HostTensor>> inputs(2);
    for (uint32_t run = 0; run < 2; ++run)
      for (size_t i = 0; i < alone.inputs().size(); ++i)
        inputs[run].push_back(test::random_tensor(alone.dims(alone.inputs()[i]), 7 + run));
    test::expect_same_bits(alone.graph(), both.graph(), inputs);
  }
}

TEST(JoinedConvolutions, AreKeptWithTheCompiledModel) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_joined_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Core core;
  for (const Level& one : {kPlain, kLarge}) {
    ir::write_model(level(one).graph(), (folder / "model.xml").string());
    auto compiled = core.compile_model((folder / "model.xml").string(), "CPU", enable_profiling(true));
    std::stringstream stored;
    compiled.export_model(stored);
    auto imported = core.import_model(stored, "CPU", {enable_profiling(true)});
    EXPECT_EQ(compiled.get_property(memory_footprint), imported.get_property(memory_footprint));
    const auto [kernel, result] = test::run_once(compiled, "merging");
    const auto [again, same] = test::run_once(imported, "merging");
    EXPECT_EQ(kernel, again);
    EXPECT_EQ(kernel.find("winograd") == std::string::npos, kernel.find("deconv") == std::string::npos) << kernel;
    EXPECT_EQ(std::memcmp(result.data(), same.data(), result.get_byte_size()), 0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terroir::cpu
