// What random models (tests/differential) have found wrong, small and by hand.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/graph_maker.hpp"
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

}  // namespace
}  // namespace terroir::test
