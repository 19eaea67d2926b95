// A first convolution and the maximum pooling behind it as one step: graph text before and after, what stays two steps,
// that the tensor between them is nowhere, and results against the interpreter and, bit for bit, against the two steps.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>
#include <terroir/terroir.hpp>

#include "ir/xml/writer.hpp"
#include "tests/passes/both_axes.hpp"
#include "tests/passes/chains.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::both_axes;
using test::GraphMaker;

size_t fused_pools(const ir::Graph& graph) { return test::count_chains(graph, 0); }

struct Pool {
  const char *kernel = "3,3", *strides = "2,2", *begin = "1,1", *end = "1,1", *dilations = "1,1", *rounding = "floor";
};

ir::Value pooled(GraphMaker& m, ir::Value x, const Pool& pool = {}) {
  return m.op("MaxPool", {x},
              {{"kernel", pool.kernel},
               {"strides", pool.strides},
               {"pads_begin", pool.begin},
               {"pads_end", pool.end},
               {"dilations", pool.dilations},
               {"rounding_type", pool.rounding}},
              "pool");
}

/// `kernel`, stride: of the convolution.
struct Layer {
  ir::Dims image;
  int64_t channels, kernel, stride;
  Pool pool = {};
  const char* activation = "ReLU";
};

ir::Value convolved(GraphMaker& m, const Layer& l) {
  const ir::Value image = m.input(PartialShape(ir::to_shape(l.image)));
  const ir::Value y = m.op("Convolution", {image, m.random({l.channels, l.image[1], l.kernel, l.kernel}, 1, 0.2f)},
                           {{"strides", both_axes(l.stride)},
                            {"dilations", "1,1"},
                            {"pads_begin", both_axes(l.kernel / 2)},
                            {"pads_end", both_axes(l.kernel / 2)}},
                           "first");
  return m.op(l.activation, {m.op("Add", {y, m.random({1, l.channels, 1, 1}, 2)})});
}

/// `also`: something else reads what is pooled.
GraphMaker network(const Layer& l, bool also = false) {
  GraphMaker m;
  const ir::Value x = convolved(m, l);
  m.result(pooled(m, x, l.pool));
  if (also) m.result(pooled(m, x, {"2,2", "2,2", "0,0", "0,0"}));
  return m;
}

const Layer kResNet{{1, 3, 224, 224}, 64, 7, 2};

TEST(PooledConvolutions, TwoStepsBecomeOne) {
  GraphMaker m;
  const ir::Value x = m.op("Convolution", {m.input({1, 1, 257, 257}), m.constant({1, 1, 1, 2}, {1, 2})},
                           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
  m.result(pooled(m, m.op("ReLU", {x})));
  test::expect_rewrite("fuse_pooled_convolution", m.graph(), test::chain_passes(Isa::scalar));
}

TEST(PooledConvolutions, Refuses) {
  const auto refuses = [](const GraphMaker& m, const char* why) { EXPECT_EQ(fused_pools(m.graph()), 0u) << why; };
  ASSERT_EQ(fused_pools(network(kResNet).graph()), 1u);
  refuses(network(kResNet, true), "what is pooled is read elsewhere");
  Layer other = kResNet;
  other.image = {1, 3, 40, 40};
  refuses(network(other), "small");
  other.image = {1, 5, 224, 224};
  refuses(network(other), "more channels than images have");
  other = kResNet;
  other.pool = {"8,1", "1,1", "0,0", "0,0"};
  refuses(network(other), "high windows");
  other.pool = {"7,7", "7,7", "0,0", "0,0"};
  other.image = {1, 3, 210, 300};
  refuses(network(other), "few rows");
  GraphMaker places;
  const ir::Value pool = pooled(places, convolved(places, kResNet));
  places.result(pool);
  places.result({pool.node, 1});
  refuses(places, "the places of maxima are wanted");
  GraphMaker sum;
  const ir::Value x = convolved(sum, kResNet);
  sum.result(pooled(sum, sum.op("Add", {x, sum.input({1, 64, 112, 112})})));
  refuses(sum, "an operand of the run");
  GraphMaker average;
  average.result(average.op("AvgPool", {convolved(average, kResNet)},
                            {{"kernel", "2,2"}, {"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  refuses(average, "an average");
}

TEST(PooledConvolutions, TheTensorBetweenIsNowhere) {
  const auto plan = test::plan_of(network(kResNet), best_isa());
  EXPECT_NE(test::step_named(*plan, "first").kernel.find("+max_pool"), std::string::npos);
  EXPECT_FALSE(test::has_step(*plan, "pool"));
  EXPECT_LT(plan->arena_bytes, size_t{64} * 112 * 112 * 4);
}

const Layer kLayers[] = {
    {{2, 3, 127, 130}, 40, 7, 2},                                                  // two images
    {{1, 4, 190, 97}, 16, 5, 2, {"2,2", "2,2", "0,0", "0,0"}},                     // windows that do not overlap
    {{1, 1, 161, 143}, 24, 3, 2, {"3,2", "2,1", "0,0", "0,0", "1,1", "ceil"}},     // that reach beyond the end
    {{1, 3, 90, 81}, 20, 3, 1, {"3,3", "1,1", "1,1", "1,1"}},                      // of stride 1
    {{1, 3, 133, 150}, 24, 7, 2, {"3,3", "2,3", "2,2", "2,2", "2,2"}, "Sigmoid"},  // with dilation
    {{1, 3, 121, 90}, 24, 3, 1, {"2,2", "5,4", "0,0", "0,0"}},                     // with rows that nobody reads
    {{1, 3, 100, 90}, 24, 3, 1, {"7,3", "2,2", "6,1", "6,1"}, "Tanh"},             // that see mostly padding
    {{1, 2, 4, 2049}, 24, 3, 1, {"7,3", "1,2", "9,1", "9,1", "1,1"}},              // higher than the image
};

TEST(PooledConvolutions, SameAsInterpreter) {
  for (const Layer& one : kLayers) {
    SCOPED_TRACE(testing::PrintToString(one.image) + " kernel " + std::to_string(one.kernel));
    const GraphMaker m = network(one);
    EXPECT_EQ(fused_pools(m.graph()), 1u);
    test::expect_same_as_interpreter(m, 1e-4);
  }
}

TEST(PooledConvolutions, HaveTheBitsOfTwoSteps) {
  for (const Layer& one : kLayers) {
    SCOPED_TRACE(testing::PrintToString(one.image) + " kernel " + std::to_string(one.kernel));
    const GraphMaker alone = network(one), both = network(one, true);
    std::vector<std::vector<test::HostTensor>> inputs(2);
    for (uint32_t run = 0; run < 2; ++run) inputs[run].push_back(test::random_tensor(one.image, 7 + run));
    test::expect_same_bits(alone.graph(), both.graph(), inputs);
  }
}

// The least size is that of an image's rows, not of a batch's: else an image alone would have other bits.
TEST(PooledConvolutions, AreWhatAnImageAloneIs) {
  const auto steps = [](int64_t batch, int64_t height) {
    GraphMaker m;
    const ir::Value x = m.conv(m.input({batch, 3, height, 24}), 24, 3, 1);
    m.result(m.op("MaxPool", {x}, {{"strides", "2,2"}, {"kernel", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}},
                  "", "opset1"));
    std::string kernels;
    const auto plan = plan_of(m);
    for (const cpu::Step& step : plan->steps) kernels += step.kernel + '\n';
    return kernels;
  };
  for (const int64_t height : {40, 70, 110, 114, 120, 200}) EXPECT_EQ(steps(1, height), steps(3, height)) << height;
}

TEST(PooledConvolutions, AreKeptWithTheCompiledModel) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_pooled_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Core core;
  ir::write_model(network(kResNet).graph(), (folder / "model.xml").string());
  auto compiled = core.compile_model((folder / "model.xml").string(), "CPU", enable_profiling(true));
  std::stringstream stored;
  compiled.export_model(stored);
  auto imported = core.import_model(stored, "CPU", {enable_profiling(true)});
  const auto [kernel, result] = test::run_once(compiled, "first");
  const auto [again, same] = test::run_once(imported, "first");
  EXPECT_EQ(kernel, again);
  EXPECT_NE(kernel.find("+max_pool"), std::string::npos) << kernel;
  EXPECT_EQ(std::memcmp(result.data(), same.data(), result.get_byte_size()), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terroir::cpu
