// Small random graphs over the f32 ops that have fast kernels, on the CPU device against the interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "ir/text/printer.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Grows a graph of 4-D values one random op at a time. std::mt19937 is the same everywhere, distributions are not.
class RandomGraph {
 public:
  /// `joins`: mostly single images that are joined and cut along the channels, so that memory is shared.
  explicit RandomGraph(uint32_t seed, bool joins = false) : random_(seed), joins_(joins) {
    const int64_t channels[] = {1, 3, 4, 8, 11, 16, 19};
    const int64_t batch = joins_ && pick(4) != 0 ? 1 : 1 + pick(2);
    values_.push_back(maker.input({batch, channels[pick(7)], 3 + pick(6), 3 + pick(6)}));
    const int64_t ops = 4 + pick(joins_ ? 16 : 9);
    for (int64_t i = 0; i < ops; ++i) values_.push_back(grow());
    for (size_t i = 0; i < values_.size(); ++i)
      if (maker.graph().uses(values_[i]).empty() || pick(6) == 0) maker.result(values_[i]);
  }

  GraphMaker maker;

 private:
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(bound)); }
  uint32_t seed() { return static_cast<uint32_t>(random_()); }
  /// Mostly a recent value, so that chains arise.
  ir::Value any() {
    const auto size = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(pick(3) == 0 ? pick(size) : size - 1)];
  }
  /// Another value of the same shape, or a new input.
  ir::Value partner(ir::Value value) {
    const ir::Dims dims = maker.dims(value);
    for (int tries = 0; tries < 4; ++tries)
      if (const ir::Value other = any(); maker.dims(other) == dims) return other;
    return maker.input(PartialShape(ir::to_shape(dims)));
  }

  ir::Value grow() {
    const ir::Value x = any();
    if (joins_ && pick(2)) return pick(3) ? join(x) : split(x);
    switch (pick(14)) {
      case 0:
      case 1:
        return unary(x);
      case 2:
      case 3:
        return binary(x);
      case 4:
      case 5:
        return maker.conv(x, 1 + pick(20), pick(2) * 2 + 1, seed(), 1 + pick(2));
      case 6:
        return maker.depthwise(x, 3, seed(), 1 + pick(2));
      case 7:
        return pool(x);
      case 8:
        return gate(x);
      case 9:
        return maker.op("Concat", pick(2) ? std::vector{x, partner(x)} : std::vector{partner(x), x, unary(x)},
                        {{"axis", std::to_string(pick(4))}});
      case 10:
        return split(x);
      case 11:
        return turn(x);
      case 12:
        return normalise(x);
      default:
        return product(x);
    }
  }

  /// Along the channels, of two to four values that fit; some come twice.
  ir::Value join(ir::Value x) {
    std::vector<ir::Value> parts = {x};
    const int64_t wanted = 2 + pick(3);
    for (int tries = 0; tries < 8 && static_cast<int64_t>(parts.size()) < wanted; ++tries) {
      const ir::Value other = pick(4) ? any() : maker.conv(x, 8 * (1 + pick(2)), 1, seed());
      ir::Dims a = maker.dims(x), b = maker.dims(other);
      a[1] = b[1] = 0;
      if (a == b) parts.insert(parts.begin() + pick(static_cast<int64_t>(parts.size()) + 1), other);
    }
    if (pick(6) == 0) {
      ir::Dims dims = maker.dims(x);
      dims[1] = 8;
      parts.push_back(maker.random(dims, seed()));
    }
    return maker.op("Concat", parts, {{"axis", "1"}});
  }

  ir::Value unary(ir::Value x) {
    static const char* const kTypes[] = {"ReLU",     "Sigmoid",  "Tanh", "HSwish",   "HSigmoid", "Mish",
                                         "SoftPlus", "SoftSign", "Abs",  "Negative", "Gelu",     "Swish"};
    if (pick(8) == 0) return maker.op("Clamp", {x}, {{"min", "0.125"}, {"max", "0.75"}});
    return maker.op(kTypes[pick(12)], {x});
  }

  ir::Value binary(ir::Value x) {
    static const char* const kTypes[] = {"Add", "Subtract", "Multiply", "Maximum", "Minimum", "SquaredDifference"};
    const ir::Dims dims = maker.dims(x);
    ir::Value other = x;
    switch (pick(6)) {
      case 0:
        other = maker.scalar(0.75f);
        break;
      case 1:
        other = maker.random({1, dims[1], 1, 1}, seed());
        break;
      case 2:
        other = maker.random({dims[3]}, seed());
        break;
      case 3:
        other = maker.random(dims, seed());
        break;
      default:
        other = partner(x);
    }
    return pick(2) ? maker.op(kTypes[pick(6)], {x, other}) : maker.op(kTypes[pick(6)], {other, x});
  }

  ir::Value pool(ir::Value x) {
    const AttributeTexts window = {
        {"strides", pick(2) ? "1,1" : "2,2"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}};
    if (pick(2)) return maker.op("MaxPool", {x}, window, "", "opset1");
    AttributeTexts average = window;
    average.emplace_back("exclude-pad", pick(2) ? "true" : "false");
    return maker.op("AvgPool", {x}, average);
  }

  ir::Value gate(ir::Value x) {
    static const char* const kTypes[] = {"ReduceMean", "ReduceMax", "ReduceSum"};
    const ir::Value squeezed = maker.op(kTypes[pick(3)], {x, maker.integers({2, 3})}, {{"keep_dims", "true"}});
    return maker.op(pick(2) ? "Multiply" : "Add", {x, maker.op("Sigmoid", {squeezed})});
  }

  ir::Value split(ir::Value x) {
    const int64_t channels = maker.dims(x)[1];
    if (channels < 2) return unary(x);
    const int64_t first = channels > 8 && pick(2) ? 8 : 1 + pick(channels - 1);
    const ir::Value parts =
        maker.op("VariadicSplit", {x, maker.scalar_integer(1), maker.integers({first, channels - first})});
    values_.push_back(parts);
    return {parts.node, 1};
  }

  ir::Value turn(ir::Value x) {
    const ir::Dims dims = maker.dims(x);
    if (pick(2)) return maker.op("Transpose", {x, maker.integers({0, 1, 3, 2})});
    const ir::Value flat = maker.op("Reshape", {x, maker.integers({dims[0], -1})}, {{"special_zero", "false"}});
    return maker.op("Reshape", {unary(flat), maker.integers({dims[0], dims[1], 1, dims[2] * dims[3]})},
                    {{"special_zero", "false"}});
  }

  ir::Value normalise(ir::Value x) {
    if (pick(2)) return maker.op("SoftMax", {x}, {{"axis", std::to_string(1 + pick(3))}}, "", "opset1");
    return maker.op("MVN", {x, maker.integers({2, 3})},
                    {{"normalize_variance", "true"}, {"eps", "0.25"}, {"eps_mode", "inside_sqrt"}});
  }

  ir::Value product(ir::Value x) {
    const int64_t depth = maker.dims(x)[3];
    return maker.op("MatMul", {x, maker.random({depth, 2 + pick(9)}, seed(), 1.0f / static_cast<float>(depth))});
  }

  std::mt19937 random_;
  bool joins_;
  std::vector<ir::Value> values_;
};

void compare_seeds(bool joins) {
  const char* wanted = std::getenv("TERROIR_TEST_SEEDS");  // more, for a long search
  const auto seeds = static_cast<uint32_t>(wanted ? std::atoi(wanted) : 150);
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    const RandomGraph graph(seed, joins);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_as_interpreter(graph.maker, 1e-4);
    if (testing::Test::HasFailure()) FAIL() << ir::to_text(graph.maker.graph());
  }
}

TEST(CpuRandomGraphs, AgreeWithTheInterpreter) { compare_seeds(false); }
TEST(CpuRandomGraphs, ThatJoinAndCutChannelsAgreeWithTheInterpreter) { compare_seeds(true); }

}  // namespace
}  // namespace terroir::test
