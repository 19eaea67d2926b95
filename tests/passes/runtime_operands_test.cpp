// Axes, orders, counts and the like that only the run knows, and that differ from one inference to the next, on the CPU
// device against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/keep_dims.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

struct Row {
  const char* type;
  AttributeTexts attributes;
  ir::Dims data;
  /// Values of the operands behind the data, by inference.
  std::vector<std::vector<std::vector<int64_t>>> runs;
  bool are_scalars = false;
};

const std::vector<std::vector<std::vector<int64_t>>> kReducedAxes = {{{1, 3}}, {{-1, 0}}, {{2}}, {{}}, {{0, 1, 2, 3}}};

const Row kOperations[] = {
    {"ReduceSum", kKeep, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceMean", kDrop, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceMax", kDrop, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceMin", kKeep, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceProd", kDrop, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceL1", kKeep, {2, 3, 4, 5}, kReducedAxes},
    {"ReduceL2", kDrop, {2, 3, 4, 5}, kReducedAxes},
    {"MVN", {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}, {2, 3, 4, 5}, kReducedAxes},
    {"NormalizeL2", {{"eps", "0.01"}, {"eps_mode", "add"}}, {2, 3, 4, 5}, {{{1}}, {{1, 3}}, {{2, 0}}}},
    {"LRN", {{"alpha", "0.5"}, {"beta", "0.75"}, {"bias", "1"}, {"size", "3"}}, {2, 3, 4, 5}, {{{1}}, {{2, 3}}, {{0}}}},
    {"Squeeze", {}, {1, 3, 1, 5}, {{{0}}, {{2}}, {{-2, 0}}}},
    {"Unsqueeze", {}, {2, 3}, {{{0}}, {{1, -1}}, {{3, 0, 1}}}},
    {"Transpose", {}, {2, 3, 4}, {{{2, 0, 1}}, {{0, 2, 1}}, {{1, 2, 0}}}},
    {"Reverse", {{"mode", "index"}}, {2, 3, 4}, {{{1}}, {{0, 2}}, {{}}}},
    {"Roll", {}, {2, 3, 4}, {{{1, 2}, {0, 2}}, {{-1}, {1}}}},
    {"Tile", {}, {2, 3}, {{{2, 1}}, {{1, 3}}, {{2, 1, 1, 2}}}},
    {"Broadcast", {{"mode", "numpy"}}, {3, 1}, {{{3, 4}}, {{2, 3, 5}}}},
    {"Pad", {{"pad_mode", "reflect"}}, {4, 5}, {{{1, 2}, {0, 3}}, {{3, 0}, {-1, 1}}}},
    {"Slice", {}, {5, 6, 7}, {{{1}, {4}, {1}, {0}}, {{6, 0}, {0, 9}, {-2, 3}, {2, 1}}}},
    {"Reshape", {{"special_zero", "true"}}, {4, 6}, {{{2, -1}}, {{0, 3, 2}}, {{24}}}},
    {"Split", {{"num_splits", "2"}}, {4, 6, 2}, {{{0}}, {{1}}, {{-1}}}, true},
    {"CumSum", {{"exclusive", "true"}, {"reverse", "false"}}, {4, 6, 3}, {{{0}}, {{1}}, {{-1}}}, true},
    {"TopK",
     {{"axis", "1"}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", "i64"}},
     {3, 40},
     {{{1}}, {{17}}, {{40}}},
     true},
    {"AdaptiveAvgPool", {}, {2, 3, 8, 9}, {{{4, 3}}, {{1, 1}}, {{5, 9}}}},
    {"DFT", {}, {3, 4, 2}, {{{0}}, {{1, 0}}}},
    {"IDFT", {}, {3, 4, 5, 2}, {{{0, 1}}, {{2, 0}}, {{-1, 1}}}},
    {"RDFT", {}, {3, 4}, {{{0}}, {{1, 0}}}},
    {"Col2Im", {}, {2, 8, 12}, {{{4, 5}, {2, 2}}, {{5, 7}, {4, 2}}, {{12, 8}, {1, 8}}}},
    {"VariadicSplit", {}, {5, 6}, {{{0}, {2, 3}}, {{1}, {-1, 1}}}},
    {"SpaceToBatch", {}, {1, 4, 6}, {{{1, 2, 3}, {0, 0, 0}, {0, 0, 0}}, {{1, 1, 2}, {0, 1, 0}, {0, 0, 2}}}},
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.type; }

/// Of the operand behind the data; how many values it has is known where that never changes.
PartialShape shape_of(const Row& row, size_t operand) {
  if (row.are_scalars) return {};
  const size_t length = row.runs[0][operand].size();
  const bool is_fixed =
      std::all_of(row.runs.begin(), row.runs.end(), [&](const auto& run) { return run[operand].size() == length; });
  return PartialShape{is_fixed ? Dimension(static_cast<int64_t>(length)) : Dimension()};
}

class RuntimeOperands : public testing::TestWithParam<Row> {};

TEST_P(RuntimeOperands, ChangeBetweenInferences) {
  const Row& row = GetParam();
  GraphMaker m;
  std::vector<ir::Value> operands = {m.input(PartialShape(row.data))};
  for (size_t i = 0; i < row.runs[0].size(); ++i) operands.push_back(m.input(shape_of(row, i), element::i64));
  const ir::Value first = m.op(row.type, operands, row.attributes);
  const auto outputs = static_cast<int32_t>(m.graph().node(first.node).outputs.size());
  for (int32_t i = 0; i < outputs; ++i) m.result({first.node, i});
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& run : row.runs) {
    sets.push_back({random_tensor(row.data, static_cast<uint32_t>(sets.size() + 1))});
    for (const std::vector<int64_t>& values : run)
      sets.back().push_back(
          integer_tensor(row.are_scalars ? ir::Dims{} : ir::Dims{static_cast<int64_t>(values.size())}, values));
  }
  expect_same_as_interpreter(m.graph(), sets);
}

// Inference takes the shape of the result from data and needs no target; the run has to look at it all the same.
TEST(RuntimeOperands, ATargetOfBroadcastThatDoesNotFitIsRefused) {
  for (const char* mode : {"numpy", "bidirectional"}) {
    GraphMaker m;
    const ir::Value data = m.input({3, 6}), target = m.input({2}, element::i64);
    m.result(m.op("Broadcast", {data, target}, {{"mode", mode}}));
    const std::vector<std::vector<HostTensor>> fits = {{random_tensor({3, 6}, 1), integer_tensor({2}, {3, 6})}};
    expect_same_as_interpreter(m.graph(), fits);
    const std::vector<std::vector<HostTensor>> other = {{random_tensor({3, 6}, 1), integer_tensor({2}, {5, 5})}};
    const Exception refused = caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, other); });
    EXPECT_EQ(refused.code(), ErrorCode::shape_mismatch) << refused.what();
  }
}

TEST(RuntimeOperands, AxesOfScatter) {
  for (const element::Type axis_type : {element::i32, element::i64}) {
    for (const char* type : {"ScatterUpdate", "ScatterElementsUpdate"}) {
      SCOPED_TRACE(::testing::Message() << type << ' ' << axis_type);
      const bool of_elements = std::string(type) == "ScatterElementsUpdate";
      const ir::Dims indices = of_elements ? ir::Dims{4, 2, 4} : ir::Dims{4};
      const ir::Dims updates = of_elements ? indices : ir::Dims{4, 4, 4};
      GraphMaker m;
      const ir::Value data = m.input({4, 4, 4}), at = m.input(ir::to_shape(indices), element::i64);
      const ir::Value given = m.input(ir::to_shape(updates)), axis = m.input({}, axis_type);
      m.result(m.op(type, {data, at, given, axis}, {}, "scatter"));
      std::vector<std::vector<HostTensor>> sets;
      for (const int64_t value : {0, 2, -2, 1, -1}) {
        const auto seed = static_cast<uint32_t>(sets.size());
        std::vector<int64_t> places;
        for (int64_t i = 0; i < ir::element_count(indices); ++i) places.push_back((3 * i + seed) % 4);
        HostTensor chosen(axis_type, ir::Dims{});
        if (axis_type == element::i32)
          *chosen.writable().as<int32_t>() = static_cast<int32_t>(value);
        else
          *chosen.writable().as<int64_t>() = value;
        sets.push_back(
            {random_tensor({4, 4, 4}, seed + 1), integer_tensor(indices, places), random_tensor(updates, seed + 9)});
        sets.back().push_back(std::move(chosen));
      }
      expect_same_as_interpreter(m.graph(), sets);
      EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "scatter"), "scatter_write");
    }
  }
}

TEST(RuntimeOperands, AxesOfTransforms) {
  GraphMaker m;
  m.result(m.op("DFT", {m.input({3, 4, 5000, 2}), m.input({2}, element::i32)}, {}, "transform"));
  std::vector<std::vector<HostTensor>> sets;
  for (const std::vector<int32_t>& axes : {std::vector<int32_t>{0, 1}, {1, 2}, {-1, 0}, {2, -2}}) {
    HostTensor chosen(element::i32, ir::Dims{2});
    std::copy(axes.begin(), axes.end(), chosen.writable().as<int32_t>());
    sets.push_back({random_tensor({3, 4, 5000, 2}, static_cast<uint32_t>(sets.size()))});
    sets.back().push_back(std::move(chosen));
  }
  expect_same_as_interpreter(m.graph(), sets);
  HostTensor twice(element::i32, ir::Dims{2});
  twice.writable().as<int32_t>()[0] = 1;
  twice.writable().as<int32_t>()[1] = -2;
  sets.resize(1);
  sets[0][1] = std::move(twice);
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : sets[0]) views.push_back(input.view());
  const std::string error = caught([&] { interpreter::run(m.graph(), views); }).what();
  EXPECT_NE(error.find("unique"), std::string::npos) << error;
  EXPECT_EQ(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets); }).what(), error);
  sets[0][1].writable().as<int32_t>()[1] = 7;
  EXPECT_NE(std::string(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, sets); }).what()).find("got 7"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Operations, RuntimeOperands, testing::ValuesIn(kOperations),
                         [](const auto& param) { return std::string(param.param.type); });

}  // namespace
}  // namespace terroir::test
