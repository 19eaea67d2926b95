// ScatterUpdate with an axis that only the run knows, and updates whose shape then does not fit.
#include <gtest/gtest.h>

#include <numeric>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

HostTensor ascending(const ir::Dims& dims) {
  HostTensor tensor(element::f32, dims);
  for (int64_t i = 0; i < tensor.view().count(); ++i) tensor.writable().as<float>()[i] = static_cast<float>(i + 1);
  return tensor;
}

GraphMaker scatter(const ir::Dims& data, const ir::Dims& indices, const ir::Dims& updates) {
  GraphMaker m;
  const ir::Value x = m.input(ir::to_shape(data)), at = m.input(ir::to_shape(indices), element::i64);
  const ir::Value y = m.input(ir::to_shape(updates)), axis = m.input({1}, element::i64);
  m.result(m.op("ScatterUpdate", {x, at, y, axis}));
  return m;
}

std::vector<float> scattered(const ir::Dims& data, const HostTensor& indices, const ir::Dims& updates, int64_t axis) {
  const GraphMaker m = scatter(data, indices.dims(), updates);
  HostTensor zeros(element::f32, data);
  std::fill_n(zeros.writable().as<float>(), zeros.view().count(), 0.0f);
  const std::vector<std::vector<HostTensor>> sets = {{zeros, indices, ascending(updates), integer_tensor({1}, {axis})}};
  expect_same_as_interpreter(m.graph(), sets);
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : sets[0]) views.push_back(input.view());
  const HostTensor result = interpreter::run(m.graph(), views)[0];
  return {result.as<float>(), result.as<float>() + result.view().count()};
}

using Floats = std::vector<float>;

TEST(ScatterMisfit, UpdatesThatFit) {
  EXPECT_EQ(scattered({3, 2}, integer_tensor({2}, {2, 0}), {2, 2}, 0), (Floats{3, 4, 0, 0, 1, 2}));
}
TEST(ScatterMisfit, MoreUpdatesThanNeeded) {
  EXPECT_EQ(scattered({3, 2}, integer_tensor({1}, {1}), {3, 2}, 0), (Floats{0, 0, 1, 2, 0, 0}));
}
TEST(ScatterMisfit, OneUpdateGoesToTheFirstElementOnly) {
  EXPECT_EQ(scattered({2, 2}, integer_tensor({1, 2}, {1, 0}), {1, 1, 1}, 0), (Floats{0, 0, 1, 0}));
}
// The slices of [2, 2, 2] at 0 of axes 0 and 1 are 1 2; the second index takes what is a step along axis 1 further:
// 3 4.
TEST(ScatterMisfit, IndicesOfTwoAxes) {
  EXPECT_EQ(scattered({3, 2}, integer_tensor({1, 2}, {0, 2}), {2, 2, 2}, 0), (Floats{1, 2, 0, 0, 3, 4}));
}
// What is refused where the axis is a constant is so where the data is one as well; of constants alone, the reference
// makes what it makes of inputs.
TEST(ScatterMisfit, ConstantDataAndAxis) {
  GraphMaker m;
  const ir::Value data = m.constant({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
  const ir::Value at = m.integers({0, 2, 3}), axis = m.scalar_integer(0);
  const std::string error = caught([&] { m.op("ScatterUpdate", {data, at, m.input({2, 2}), axis}); }).what();
  EXPECT_NE(error.find("updates (input 2) must have shape [3,2], got [2,2]"), std::string::npos) << error;
  m.result(m.op("Add", {m.op("ScatterUpdate", {data, at, m.constant({2, 2}, {1, 2, 3, 4}), axis}), m.input({4, 2})}));
  expect_same_as_interpreter(m);
}

// Three axes of indices, but slices a step of axis 1 apart: the sixth would begin behind the end.
TEST(ScatterMisfit, ASliceThatIsNotThere) {
  const GraphMaker m = scatter({12, 8}, {1, 3, 4}, {2, 3, 2, 2});
  std::vector<int64_t> at(12);
  std::iota(at.begin(), at.end(), 0);
  const std::vector<HostTensor> inputs = {ascending({12, 8}), integer_tensor({1, 3, 4}, at), ascending({2, 3, 2, 2}),
                                          integer_tensor({1}, {0})};
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  const std::string error = caught([&] { interpreter::run(m.graph(), views); }).what();
  EXPECT_NE(error.find("updates [2,3,2,2] have no slice 6"), std::string::npos) << error;
  const std::vector<std::vector<HostTensor>> sets = {inputs};
  EXPECT_EQ(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets); }).what(), error);
}

}  // namespace
}  // namespace terroir::test
