// NormalizeL2, GRN and LRN on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <array>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

void check_l2(const ir::Dims& dims, const std::vector<int64_t>& axes, const char* mode = "add",
              const char* eps = "0.001") {
  SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(dims) << " over " << ::testing::PrintToString(axes));
  GraphMaker m;
  m.result(m.op("NormalizeL2", {m.input(ir::to_shape(dims)), m.integers(axes)}, {{"eps", eps}, {"eps_mode", mode}}));
  expect_same_as_interpreter(m);
}

void check_lrn(const ir::Dims& dims, const std::vector<int64_t>& axes, int64_t size, const char* beta = "0.75",
               const char* alpha = "0.5", const char* bias = "1") {
  SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(dims) << " size " << size);
  GraphMaker m;
  m.result(m.op("LRN", {m.input(ir::to_shape(dims)), m.integers(axes)},
                {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", std::to_string(size)}}));
  expect_same_as_interpreter(m);
}

TEST(NormalizeL2, AcrossChannels) {
  for (const int64_t channels : {1, 3, 8, 16, 17, 40})
    for (const int64_t width : {1, 4, 7, 15, 17, 67, 131}) check_l2({2, channels, 3, width}, {1});
  check_l2({2, 20, 9}, {1});
  check_l2({2, 20, 3, 4, 5}, {1});
}

TEST(NormalizeL2, OtherAxes) {
  for (const std::vector<int64_t>& axes :
       {std::vector<int64_t>{1, 2, 3}, {0}, {3}, {-1, -2}, {0, 1}, {0, 1, 2, 3}, {1, 3}, {}, {2, 1}})
    check_l2({3, 5, 7, 19}, axes);
  check_l2({131}, {0});
}

TEST(NormalizeL2, SmallSums) {
  for (const char* mode : {"add", "max"})
    for (const char* eps : {"1e-10", "50"}) check_l2({1, 9, 4, 5}, {1}, mode, eps);
}

TEST(NormalizeL2, BetweenConvolutions) {
  GraphMaker m;
  const ir::Value x = m.conv(m.input({1, 3, 9, 9}), 21, 3, 1);
  const ir::Value y = m.op("NormalizeL2", {x, m.integers({1})}, {{"eps", "1e-10"}, {"eps_mode", "add"}});
  m.result(m.conv(m.op("GRN", {y}, {{"bias", "0.1"}}), 5, 3, 2));
  expect_same_as_interpreter(m);
}

TEST(NormalizeL2, RunsOnItsKernel) {
  GraphMaker m;
  m.result(m.op("NormalizeL2", {m.input({1, 9, 4, 4}), m.integers({1})}, {{"eps", "1"}, {"eps_mode", "max"}}, "l2"));
  m.result(m.op("LRN", {m.inputs()[0], m.integers({1})}, {{"alpha", "1"}, {"beta", "1"}, {"bias", "1"}, {"size", "3"}},
                "lrn"));
  for (const cpu::Isa isa : cpu::available_isas()) {
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "l2"), std::string("f32_l2_nchw__") + cpu::isa_name(isa));
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "lrn"), std::string("f32_lrn_nchw__") + cpu::isa_name(isa));
  }
}

TEST(Lrn, SizesAndBorders) {
  for (const int64_t channels : {1, 2, 5, 20})
    for (const int64_t size : {1, 2, 3, 5, 9, 64})
      for (const int64_t width : {1, 15, 17, 131}) check_lrn({2, channels, 1, width}, {1}, size);
}

// By hand: a region of 4 reaches as far as one of 3, a region of 2 is the element alone.
TEST(Lrn, EvenSizes) {
  for (const char* size : {"2", "4"}) {
    GraphMaker m;
    m.result(m.op("LRN", {m.input({1, 3}), m.integers({1})},
                  {{"alpha", size}, {"beta", "1"}, {"bias", "1"}, {"size", size}}));
    HostTensor x(element::f32, {1, 3});
    for (int i = 0; i < 3; ++i) x.writable().as<float>()[i] = static_cast<float>(i + 1);
    const std::vector<std::vector<HostTensor>> inputs = {{x}};
    const std::array<float, 3> expected =
        *size == '2' ? std::array{1 / 2.f, 2 / 5.f, 3 / 10.f} : std::array{1 / 6.f, 2 / 15.f, 3 / 14.f};
    for (const cpu::Isa isa : cpu::available_isas()) {
      const auto result = run_on_cpu(m.graph(), isa, 1, inputs);
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(result[0][0].view().as<float>()[i], expected[i], 1e-6) << size;
    }
  }
}

TEST(Lrn, AxesAndParameters) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {2}, {-1}, {2, 3}, {}, {1, 3}})
    check_lrn({3, 5, 7, 9}, axes, 3);
  check_lrn({131}, {0}, 5);
  for (const char* beta : {"0", "0.5", "1", "2.5", "-0.75"}) check_lrn({1, 6, 5, 5}, {1}, 3, beta, "1e-4", "2");
  check_lrn({1, 6, 5, 5}, {1}, 3, "2", "-0.1", "-1");
}

}  // namespace
}  // namespace terroir::test
