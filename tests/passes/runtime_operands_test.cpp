// Axes, orders, counts and the like that only the run knows, and that differ from one inference to the next, on the CPU
// device against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/graph_maker.hpp"

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

const AttributeTexts kKeep = {{"keep_dims", "true"}}, kDrop = {{"keep_dims", "false"}};
const std::vector<std::vector<std::vector<int64_t>>> kAxes = {{{1, 3}}, {{-1, 0}}, {{2}}, {{}}, {{0, 1, 2, 3}}};

const Row kRows[] = {
    {"ReduceSum", kKeep, {2, 3, 4, 5}, kAxes},
    {"ReduceMean", kDrop, {2, 3, 4, 5}, kAxes},
    {"ReduceMax", kDrop, {2, 3, 4, 5}, kAxes},
    {"ReduceMin", kKeep, {2, 3, 4, 5}, kAxes},
    {"ReduceProd", kDrop, {2, 3, 4, 5}, kAxes},
    {"ReduceL1", kKeep, {2, 3, 4, 5}, kAxes},
    {"ReduceL2", kDrop, {2, 3, 4, 5}, kAxes},
    {"MVN", {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}, {2, 3, 4, 5}, kAxes},
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

INSTANTIATE_TEST_SUITE_P(Operations, RuntimeOperands, testing::ValuesIn(kRows),
                         [](const auto& param) { return std::string(param.param.type); });

}  // namespace
}  // namespace terroir::test
