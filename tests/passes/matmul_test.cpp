// Matrix products on the CPU device: however many threads share one, every bit is the same.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

struct Product {
  ir::Dims a, b;
  bool constant = true, transpose_a = false, transpose_b = false;
};

std::ostream& operator<<(std::ostream& out, const Product& p) {
  return out << ir::to_shape(p.a) << " * " << ir::to_shape(p.b) << (p.constant ? " constant" : "")
             << (p.transpose_a ? " A transposed" : "") << (p.transpose_b ? " B transposed" : "");
}

void check_product(const Product& p) {
  SCOPED_TRACE(::testing::Message() << p);
  GraphMaker m;
  const auto b = p.constant ? m.random(p.b, 5) : m.input(PartialShape(ir::to_shape(p.b)));
  const auto product =
      m.op("MatMul", {m.input(PartialShape(ir::to_shape(p.a))), b},
           {{"transpose_a", p.transpose_a ? "true" : "false"}, {"transpose_b", p.transpose_b ? "true" : "false"}});
  m.result(m.op("ReLU", {product}));
  expect_same_as_interpreter(m);
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : m.inputs())
    inputs.push_back(random_tensor(m.dims(input), static_cast<uint32_t>(inputs.size() + 1)));
  const std::vector<std::vector<HostTensor>> sets = {inputs};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto one = run_on_cpu(m.graph(), isa, 1, sets);
    for (const int threads : {3, 4, 8}) {
      const auto many = run_on_cpu(m.graph(), isa, threads, sets);
      const ir::TensorView &want = one[0][0].view(), &got = many[0][0].view();
      ASSERT_EQ(want.dims, got.dims);
      EXPECT_EQ(std::memcmp(want.data, got.data, want.bytes()), 0) << cpu::isa_name(isa) << ", " << threads;
    }
  }
}

TEST(CpuMatMul, PartsAndSlicesOfPanels) {
  for (const int64_t rows : {1, 3, 5, 15, 128}) check_product({{rows, 300}, {300, 1003}});
  check_product({{1, 4096}, {1000, 4096}, true, false, true});
  check_product({{61, 2053}, {2053, 770}});  // a copy of A that fills much of L2
  check_product({{40, 300}, {300, 1003}, false});
  check_product({{5, 300}, {300, 1003}, false, false, false});
  check_product({{300, 61}, {300, 1003}, true, true});
  check_product({{2, 3, 700}, {2, 700, 301}});  // packed some rows of a matrix at a time
}

TEST(CpuMatMul, PartsAndSlicesOfRows) {
  check_product({{1999, 64}, {64, 40}});
  check_product({{1999, 64}, {64, 40}, false});
  check_product({{1999, 300}, {300, 515}});  // panels to the threads, rows to the slices
  check_product({{64, 1999}, {64, 40}, true, true});
}

TEST(CpuMatMul, PartsAndSlicesOfTheBatch) {
  check_product({{12, 67, 64}, {12, 64, 130}, false});
  check_product({{12, 67, 64}, {12, 130, 64}, false, false, true});
  check_product({{3, 131, 64}, {3, 64, 515}, false});  // panels or rows to the threads
  check_product({{3, 131, 64}, {3, 64, 515}});
  check_product({{2, 1, 31, 64}, {1, 5, 64, 33}, false});
}

TEST(CpuMatMul, NextToNothing) {
  check_product({{1, 1}, {1, 1}});
  check_product({{3, 2}, {2, 5}});
  check_product({{1, 16}, {16, 40}, false});
}

}  // namespace
}  // namespace terroir::test
