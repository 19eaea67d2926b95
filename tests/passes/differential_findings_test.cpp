// What random models (tests/differential) have found wrong, small and by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"
#include "tests/support/device.hpp"

namespace terroir::test {
namespace {

ir::Value normalised(GraphMaker& m, ir::Value x) {
  const auto vector = [&](uint32_t seed, float from) {
    HostTensor values = random_tensor({3}, seed, 0.25f);
    for (int i = 0; i < 3; ++i) values.writable().as<float>()[i] += from;
    return m.constant({3}, {values.as<float>(), values.as<float>() + 3});
  };
  return m.op("BatchNormInference", {x, vector(1, 1), vector(2, 0), vector(3, 0), vector(4, 1)},
              {{"epsilon", "0.001"}});
}

// What waits for a rank is rewritten when the rank is known: the results of known and unknown shapes have the same
// bits.
TEST(DifferentialFindings, UnknownRanksGiveTheBitsOfKnownOnes) {
  GraphMaker known, unknown;
  known.result(normalised(known, known.input({5, 3, 7})));
  unknown.result(normalised(unknown, unknown.input(PartialShape::dynamic())));
  const std::vector<std::vector<HostTensor>> sets = {{random_tensor({5, 3, 7}, 9)}};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto a = run_on_cpu(known.graph(), isa, 1, sets), b = run_on_cpu(unknown.graph(), isa, 1, sets);
    ASSERT_EQ(a[0][0].dims(), b[0][0].dims());
    EXPECT_EQ(std::memcmp(a[0][0].as<float>(), b[0][0].as<float>(), a[0][0].view().bytes()), 0) << cpu::isa_name(isa);
  }
}

// An attribute names the narrow type, so the operands must have it although f16 travels as f32 otherwise.
TEST(DifferentialFindings, TheInterpreterMakesRandomHalves) {
  GraphMaker m;
  const ir::Value low = m.input({}, element::f16), high = m.input({}, element::f16);
  m.result(m.op("RandomUniform", {m.integers({8}), low, high},
                {{"output_type", "f16"}, {"global_seed", "1"}, {"op_seed", "2"}}));
  HostTensor one(element::f16, {}), two(element::f16, {});
  *one.writable().as<float16>() = float16(1.0f);
  *two.writable().as<float16>() = float16(2.0f);
  for (const char* device : {"INTERPRETER", "CPU"}) {
    const std::vector<HostTensor> inputs = {one, two};
    const HostTensor result = DeviceModel(std::shared_ptr<const ir::Graph>(m.graph().clone()), device).infer(inputs)[0];
    ASSERT_EQ(result.type(), element::f16);
    for (int i = 0; i < 8; ++i) {
      const auto value = static_cast<float>(result.as<float16>()[i]);
      EXPECT_TRUE(value >= 1 && value <= 2) << value;
    }
  }
}

// Windows beyond the end padding count as whole ones, as long as there is any padding.
TEST(DifferentialFindings, AveragesOfTheLastWindowWhenRoundedUp) {
  for (const char* pads : {"0", "1"}) {
    for (const char* exclude : {"true", "false"}) {
      GraphMaker m;
      m.result(m.op("AvgPool", {m.input({1, 9, 6})},
                    {{"kernel", "4"},
                     {"strides", "3"},
                     {"pads_begin", pads},
                     {"pads_end", pads},
                     {"exclude-pad", exclude},
                     {"rounding_type", "ceil"}}));
      expect_same_as_interpreter(m);
    }
  }
}

// Of the second operand of ConvertLike only the type counts, not the shape.
TEST(DifferentialFindings, ConvertLikeAnotherShape) {
  GraphMaker m;
  const ir::Value like = m.op("ShapeOf", {m.input({2, 5})}, {{"output_type", "i64"}});
  m.result(m.op("Convert", {m.op("ConvertLike", {m.input({7}), like})}, {{"destination_type", "f32"}}));
  expect_same_as_interpreter(m);
}

// One axis of bytes looks like a run of bytes.
TEST(DifferentialFindings, BytesThatArePaddedAndRolled) {
  HostTensor bytes(element::u8, {19});
  for (int i = 0; i < 19; ++i) bytes.writable().as<uint8_t>()[i] = static_cast<uint8_t>(i + 1);
  GraphMaker m;
  const ir::Value x = m.input({19}, element::u8);
  for (const char* mode : {"edge", "reflect", "symmetric", "constant"})
    m.result(m.op("Pad", {x, m.integers({3}), m.integers({4})}, {{"pad_mode", mode}}));
  m.result(m.op("Roll", {x, m.integers({5}), m.integers({0})}));
  const std::vector<std::vector<HostTensor>> sets = {{bytes}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(DifferentialFindings, NormalisationOfNothing) {
  GraphMaker m;
  const ir::Value x = m.input({2, 0, 3});
  const ir::Value y = m.op("MVN", {x, m.integers({-1})},
                           {{"normalize_variance", "true"}, {"eps", "0.25"}, {"eps_mode", "inside_sqrt"}});
  m.result(m.op("ReLU", {m.op("Multiply", {y, m.scalar(2)})}));
  expect_same_as_interpreter(m);
}

// The number of elements says what extents the result has; a target of the run that says otherwise is refused.
TEST(DifferentialFindings, TargetsOfTheRunFitTheElements) {
  struct Case {
    ir::Dims data;
    std::vector<int64_t> known, good, special, bad;  // known: -2 where the target is not
  };
  const Case cases[] = {
      {{2, 0}, {-2}, {-1}, {-1}, {2}}, {{2, 0}, {-2}, {-1}, {-1}, {0}},  // the extent of data's axis, which is 2
      {{2, 3}, {-2}, {6}, {-1}, {5}},  {{2, 3}, {-2, 3}, {2, 3}, {0, 3}, {3, 3}},
      {{6}, {-2}, {6}, {0}, {5}},      {{0, 3}, {-2, 5}, {0, 5}, {-1, 5}, {7, 5}},
      {{2, 3}, {-2}, {6}, {-1}, {-2}},
  };
  for (const Case& c : cases) {
    GraphMaker m;
    const ir::Value x = m.input(PartialShape(ir::to_shape(c.data)));
    std::vector<ir::Value> parts;
    for (const int64_t number : c.known)
      parts.push_back(number == -2 ? m.input({1}, element::i64) : m.integers({number}));
    m.result(m.op("Reshape", {x, m.op("Concat", parts, {{"axis", "0"}})}, {{"special_zero", "true"}}));
    const auto inputs = [&](const std::vector<int64_t>& target) {
      std::vector<HostTensor> tensors = {random_tensor(c.data, 1)};
      for (size_t i = 0; i < target.size(); ++i)
        if (c.known[i] == -2) tensors.push_back(integer_tensor({1}, {target[i]}));
      return std::vector<std::vector<HostTensor>>{tensors};
    };
    SCOPED_TRACE(testing::PrintToString(c.data));
    expect_same_as_interpreter(m.graph(), inputs(c.good), 0);
    expect_same_as_interpreter(m.graph(), inputs(c.special), 0);
    for (const char* device : {"INTERPRETER", "CPU"}) {
      DeviceModel model(std::shared_ptr<const ir::Graph>(m.graph().clone()), device);
      EXPECT_THROW(model.infer(inputs(c.bad)[0]), Exception) << device;
    }
  }
}

TEST(DifferentialFindings, MoreThanEightAxes) {
  GraphMaker m;
  const ir::Value x = m.input({1, 2, 1, 3, 2, 1, 2, 1, 2});
  m.result(m.op("Transpose", {x, m.integers({8, 7, 6, 5, 4, 3, 2, 1, 0})}));
  m.result(m.op("ReLU", {m.op("Add", {x, m.random({2, 1, 3, 1, 1, 2, 1, 1}, 1)})}));
  m.result(m.op("Broadcast", {x, m.integers({3, 2, 2, 3, 2, 2, 2, 2, 2})}));
  m.result(m.op("ReduceSum", {x, m.integers({1, 4, 8})}));
  m.result(m.op("SoftMax", {x}, {{"axis", "3"}}));
  m.result(m.op("Concat", {x, x}, {{"axis", "4"}}));
  expect_same_as_interpreter(m);
}

// A detector that finds nothing: the best of no scores.
TEST(DifferentialFindings, TheBestOfNothing) {
  GraphMaker m;
  const ir::Value scores = m.input(PartialShape("?"));
  const ir::Value places = m.op("NonZero", {m.op("Greater", {scores, m.scalar(0.5f)})}, {{"output_type", "i64"}});
  const ir::Value found = m.op("Gather", {scores, m.op("Squeeze", {places, m.integers({0})}), m.scalar_integer(0)});
  const ir::Value count = m.op("Gather", {m.op("ShapeOf", {found}), m.scalar_integer(0), m.scalar_integer(0)});
  const ir::Value k = m.op("Minimum", {count, m.scalar_integer(2)});
  m.result(m.op("TopK", {found, k}, {{"axis", "0"}, {"mode", "max"}, {"sort", "value"}}));
  const auto of = [](const std::vector<float>& values) {
    HostTensor tensor(element::f32, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.writable().as<float>());
    return std::vector<HostTensor>{tensor};
  };
  const std::vector<std::vector<HostTensor>> inputs = {of({0.1f, 0.9f, 0.7f, 0.8f}), of({0.1f, 0.2f}), of({}),
                                                       of({0.6f})};
  expect_same_as_interpreter(m.graph(), inputs, 0);
}

// Of inputs of unknown rank nobody knows before the run whether one is a scalar, which takes the other's type.
TEST(DifferentialFindings, TypesThatOnlyTheRunKnows) {
  for (const char* device : {"INTERPRETER", "CPU"}) {
    GraphMaker m;
    const ir::Value x = m.input(PartialShape::dynamic(), element::bf16), y = m.input(PartialShape::dynamic());
    const ir::Value promoted = m.op(
        "ConvertPromoteTypes", {x, y},
        {{"promote_unsafe", "true"}, {"pytorch_scalar_promotion", "true"}, {"u64_integer_promotion_target", "f64"}});
    m.result({promoted.node, 1});
    m.result(m.op("Add", {promoted, {promoted.node, 1}}));
    HostTensor tensor(element::bf16, {2}), scalar(element::f32, {});
    for (int i = 0; i < 2; ++i) tensor.writable().as<bfloat16>()[i] = bfloat16(2.0f);
    *scalar.writable().as<float>() = 1.0f + 0x1p-10f;  // more than bf16 holds
    DeviceModel model(std::shared_ptr<const ir::Graph>(m.graph().clone()), device);
    const std::vector<HostTensor> found = model.infer(std::vector<HostTensor>{tensor, scalar});
    for (const HostTensor& result : found) ASSERT_EQ(result.type(), element::bf16) << device;
    EXPECT_EQ(static_cast<float>(*found[0].as<bfloat16>()), 1.0f) << device;
    EXPECT_EQ(static_cast<float>(found[1].as<bfloat16>()[1]), 3.0f) << device;
  }
}

// A window of padding alone is a number that a layer behind it may multiply by 0.
TEST(DifferentialFindings, MaximaOfNothingAreFinite) {
  GraphMaker m;
  const ir::Value x = m.input({1, 5, 7, 7});
  const ir::Value pooled =
      m.op("MaxPool", {m.conv(x, 13, 3, 1)},
           {{"kernel", "2,2"}, {"strides", "3,3"}, {"pads_begin", "0,0"}, {"pads_end", "3,3"}}, "pooled", "opset1");
  m.result(m.op("Multiply", {pooled, m.scalar(0)}));
  m.result(m.conv(m.op("Maximum", {pooled, m.scalar(-4)}), 6, 1, 2));
  expect_same_as_interpreter(m);
  const std::vector<std::vector<HostTensor>> sets = {{random_tensor({1, 5, 7, 7}, 3)}};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const HostTensor zeros = run_on_cpu(m.graph(), isa, 1, sets)[0][0];
    for (int64_t i = 0; i < zeros.view().count(); ++i) ASSERT_EQ(zeros.as<float>()[i], 0) << cpu::isa_name(isa);
  }
}

TEST(DifferentialFindings, ReductionsOfNothingAreFinite) {
  const std::pair<const char*, float> wanted[] = {{"ReduceMax", -3.40282347e38F}, {"ReduceMin", 3.40282347e38F},
                                                  {"ReduceMean", 0.0F},           {"ReduceSum", 0.0F},
                                                  {"ReduceProd", 1.0F},           {"ReduceL2", 0.0F}};
  GraphMaker m;
  const ir::Value x = m.input({2, 0, 3});
  for (const auto& [type, value] : wanted) m.result(m.op(type, {x, m.integers({1})}));
  expect_same_as_interpreter(m);
  const std::vector<std::vector<HostTensor>> sets = {{random_tensor({2, 0, 3}, 1)}};
  const auto results = run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets)[0];
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].as<float>()[5], wanted[i].second) << wanted[i].first;
}

TEST(DifferentialFindings, IntegersClampedWhereNoneIsBetween) {
  GraphMaker m;
  const ir::Value x = m.input({5}, element::i32);
  m.result(m.op("Clamp", {x}, {{"min", "2.25"}, {"max", "2.75"}}));
  m.result(m.op("Clamp", {m.op("Add", {x, x})}, {{"min", "-3.5"}, {"max", "-3.25"}}));
  HostTensor numbers(element::i32, {5});
  for (int i = 0; i < 5; ++i) numbers.writable().as<int32_t>()[i] = 2 * i - 5;
  const std::vector<std::vector<HostTensor>> sets = {{numbers}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(DifferentialFindings, LogicalNotOfNumbers) {
  GraphMaker m;
  const ir::Value x = m.input({5}), n = m.input({5}, element::i64);
  m.result(m.op("LogicalNot", {m.op("ReLU", {x})}));
  m.result(m.op("LogicalNot", {m.op("Add", {n, n})}));
  const std::vector<std::vector<HostTensor>> sets = {
      {random_tensor({5}, 1), integer_tensor({5}, {0, 1, -1, 0, INT64_MIN})}};
  expect_same_as_interpreter(m.graph(), sets);
}

}  // namespace
}  // namespace terroir::test
