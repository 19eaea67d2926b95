// Sums of convolutions of one input become one convolution: graph text before and after, results against the
// interpreter, which computes each of them.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

ir::Pass merge_convolutions() { return ops::merge_convolutions(ops::builtin_registry()); }

/// Of two spatial axes that are alike.
struct Taps {
  int64_t kernel;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;
  std::string auto_pad = "explicit";
};

AttributeTexts attributes_of(const Taps& t) {
  const auto both = [](int64_t v) { return std::to_string(v) + "," + std::to_string(v); };
  return {{"strides", both(t.stride)},
          {"dilations", both(t.dilation)},
          {"pads_begin", both(t.pad)},
          {"pads_end", both(t.pad)},
          {"auto_pad", t.auto_pad}};
}

/// Of six channels to six, in so many groups.
ir::Value conv(GraphMaker& m, ir::Value x, const Taps& t, uint32_t seed, int64_t groups = 1) {
  ir::Dims dims{6 / groups, 6 / groups, t.kernel, t.kernel};
  if (groups > 1) dims.insert(dims.begin(), groups);
  return m.op(groups > 1 ? "GroupConvolution" : "Convolution", {x, m.random(dims, seed)}, attributes_of(t));
}

ir::Value per_channel(GraphMaker& m, const char* type, ir::Value x, uint32_t seed) {
  return m.op(type, {x, m.random({1, 6, 1, 1}, seed)});
}

ir::Value input(GraphMaker& m, const std::string& shape = "1,6,9,7") { return m.input(PartialShape(shape)); }

void sum(GraphMaker& m, ir::Value a, ir::Value b) { m.result(m.op("ReLU", {m.op("Add", {a, b})})); }

/// `unknown`: extents of the axes that are not known.
void add_each_form(GraphMaker& m, const std::string& unknown = "?,?") {
  const auto pair = [&](const Taps& a, const Taps& b, const std::string& shape = "1,6,9,7", int64_t groups = 1) {
    const ir::Value x = input(m, shape);
    sum(m, conv(m, x, a, 1, groups), conv(m, x, b, 2, groups));
  };
  pair({3, 1, 1, 1}, {1});                                       // the middle one
  pair({1}, {3, 1, 1, 1}, "1,6," + unknown);                     // in either order, of extents that are not known
  pair({3, 2, 1, 1}, {1, 2}, "2,6,9,7", 3);                      // in groups, of every second element
  pair({3, 1, 1, 1}, {3, 1, 1, 1});                              // all
  pair({5, 1, 1, 2}, {3, 1, 2, 2});                              // every second one
  pair({5, 1, 2, 4}, {3, 1, 2, 2});                              // those around the middle
  pair({3, 1, 1, 0, "same_upper"}, {1, 1, 1, 0, "same_lower"});  // pads that follow from the kernel
  pair({3, 1, 1, 0, "same_lower"}, {1, 1, 1, 0, "valid"}, "1,6," + unknown);
  pair({4, 1, 1, 0, "same_upper"}, {2, 1, 1, 0, "same_upper"});  // of which one more is behind
  pair({4, 1, 1, 1}, {2, 1, 1, 0});                              // the middle ones
  pair({3, 2, 1, 0, "same_upper"}, {1, 2, 1, 0, "valid"});       // and from the extents
  const ir::Value x = input(m), y = input(m), z = input(m), v = input(m), t = input(m), u = input(m), s = input(m);
  sum(m, per_channel(m, "Add", conv(m, x, {3, 1, 1, 1}, 1), 2), per_channel(m, "Add", conv(m, x, {1}, 3), 4));
  sum(m, per_channel(m, "Multiply", y, 5), per_channel(m, "Add", conv(m, y, {3, 1, 1, 1}, 6), 7));
  sum(m, conv(m, z, {5, 1, 1, 2}, 8, 6), z);
  sum(m, per_channel(m, "Add", per_channel(m, "Multiply", v, 9), 10), conv(m, v, {3, 1, 1, 1}, 11, 2));
  sum(m, per_channel(m, "Add", conv(m, t, {1}, 12, 6), 13), conv(m, t, {3, 1, 1, 1}, 14));  // a scale as well
  sum(m, per_channel(m, "Multiply", u, 15), per_channel(m, "Add", per_channel(m, "Multiply", u, 16), 17));
  sum(m, s, per_channel(m, "Multiply", s, 18));
}

TEST(MergeConvolutions, EachForm) {
  GraphMaker m;
  add_each_form(m);
  expect_rewrite("merge_convolutions", m.graph(), {merge_convolutions()});
}

TEST(MergeConvolutions, ResultsAreThoseOfEach) {
  GraphMaker m;
  add_each_form(m, "8,10");
  expect_same_as_interpreter(m);
}

TEST(MergeConvolutions, Refuses) {
  GraphMaker m;
  const auto pair = [&](const Taps& a, const Taps& b, const char* shape = "1,6,9,9") {
    const ir::Value x = input(m, shape);
    sum(m, conv(m, x, a, 1), conv(m, x, b, 2));
  };
  pair({3, 1, 1, 1}, {2, 1, 4, 2});                                    // taps beyond those of the other
  pair({3, 1, 2, 2}, {3, 1, 1, 1});                                    // taps between those of the other
  pair({3, 2, 1, 0, "same_upper"}, {1, 2, 1, 0, "valid"}, "1,6,?,?");  // pads that are not known
  const ir::Value x = input(m), y = input(m);
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), conv(m, y, {1}, 2));     // of two inputs
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), conv(m, x, {1}, 2, 2));  // in groups or not
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), x);                      // less to do as it is
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), m.op("Multiply", {x, m.random({1, 1, 1, 7}, 2)}));
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), m.op("Multiply", {x, m.constant({1, 6, 1, 1}, std::vector<float>(6, 1))}));
  sum(m, m.op("Sigmoid", {x}), per_channel(m, "Multiply", x, 4));
  sum(m, x, x);
  const ir::Value read = conv(m, x, {1}, 3);
  m.result(read);
  sum(m, conv(m, x, {3, 1, 1, 1}, 1), read);  // read elsewhere, too
  const ir::Value one = input(m, "1,6,1,1");
  sum(m, conv(m, one, {3, 1, 1, 1}, 1), conv(m, one, {1, 1, 1, 1}, 2));  // spread over what is larger
  const ir::Value levels =
      m.op("FakeQuantize", {x, m.scalar(0), m.scalar(4), m.scalar(0), m.scalar(4)}, {{"levels", "256"}});
  sum(m, conv(m, levels, {3, 1, 1, 1}, 1), conv(m, levels, {1}, 2));
  const auto large = [&](float value) {
    return m.op("Convolution", {y, m.constant({1, 6, 1, 1}, std::vector<float>(6, value))}, attributes_of({1}));
  };
  sum(m, large(std::numeric_limits<float>::max()), large(std::numeric_limits<float>::max()));  // not finite
  expect_refusal(m.graph(), {merge_convolutions()});
}

/// As RepVGG and MobileOne are trained: branches of 3x3 and 1x1 and of the input itself, each with its normalisation.
TEST(MergeConvolutions, BlocksOfBranchesAreOneStep) {
  for (const bool depthwise : {false, true}) {
    SCOPED_TRACE(depthwise);
    constexpr int64_t kChannels = 32;
    GraphMaker m;
    const auto norm = [&](ir::Value x, uint32_t seed) {
      const auto values = [&](uint32_t s) { return m.random({kChannels}, s); };
      return m.op("BatchNormInference",
                  {x, values(seed), values(seed + 1), values(seed + 2),
                   m.constant({kChannels}, std::vector<float>(kChannels, 0.5f))},
                  {{"epsilon", "0.001"}});
    };
    const auto branch = [&](ir::Value x, int64_t kernel, uint32_t seed) {
      return norm(depthwise ? m.depthwise(x, kernel, seed) : m.conv(x, kChannels, kernel, seed), seed + 10);
    };
    const ir::Value x = m.op("ReLU", {m.input({1, kChannels, 14, 14})});
    const ir::Value wide = m.op("Add", {branch(x, 3, 1), branch(x, 1, 2)});
    m.result(m.op("ReLU", {m.op("Add", {norm(x, 30), m.op("Add", {branch(x, 3, 3), wide})})}));
    const auto plan = plan_of(m);
    int convolutions = 0, others = 0;
    for (const cpu::Step& step : plan->steps) {
      if (step.kernel.find("conv") != std::string::npos)
        ++convolutions;
      else if (!step.kernel.starts_with("reorder"))
        ++others;
    }
    EXPECT_EQ(convolutions, 1);
    EXPECT_LE(others, 1);  // the first ReLU
    expect_same_as_interpreter(m);
  }
}

}  // namespace
}  // namespace terroir::test
