// ScatterElementsUpdate whose indices are the same along whole rows: graph text before and after, what stays, results;
// and rows of which every element has a place of its own.
#include <gtest/gtest.h>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

ir::Pass pass() { return ops::scatter_whole_rows(ops::builtin_registry()); }

ir::Value shaped(GraphMaker& m, const std::vector<int64_t>& values, const std::vector<int64_t>& dims) {
  return m.op("Reshape", {m.integers(values), m.integers(dims)}, {{"special_zero", "false"}});
}

/// A constant whose row i is of values[i].
ir::Value rows_of(GraphMaker& m, const std::vector<int64_t>& values, int64_t columns) {
  std::vector<int64_t> all;
  for (const int64_t value : values) all.insert(all.end(), static_cast<size_t>(columns), value);
  return shaped(m, all, {static_cast<int64_t>(values.size()), columns});
}

std::vector<ir::Pass> with_constants() { return {ops::fold_constants(ops::builtin_registry()), pass()}; }

TEST(ScatterWholeRows, OfConstantsAndOfRepeatedColumns) {
  GraphMaker m;
  const auto scatter = [&](const ir::Dims& data, const ir::Dims& updates, ir::Value at, int64_t axis,
                           const char* reduction, const char* opset) {
    const auto x = m.input(ir::to_shape(data)), y = m.input(ir::to_shape(updates));
    AttributeTexts attributes;
    if (*reduction) attributes.emplace_back("reduction", reduction);
    m.result(m.op("ScatterElementsUpdate", {x, at, y, m.scalar_integer(axis)}, attributes, "", opset));
  };
  scatter({5, 18}, {4, 18}, rows_of(m, {1, -5, 1, 4}, 18), 0, "sum", "opset12");
  scatter({3, 16}, {2, 16}, rows_of(m, {2, 2}, 16), -2, "", "opset3");
  const auto column = m.input({4, 1}, element::i64);
  scatter({3, 19}, {4, 19}, m.op("Broadcast", {column, m.integers({4, 19})}, {{"mode", "bidirectional"}}), 0, "max",
          "opset12");
  scatter({3, 33}, {4, 33}, m.op("Tile", {column, m.integers({1, 33})}), 0, "prod", "opset12");
  const auto cube = m.op("Reshape", {column, m.integers({4, 1, 1})}, {{"special_zero", "false"}});
  scatter({3, 3, 7}, {4, 3, 7}, m.op("Broadcast", {cube, m.integers({4, 3, 7})}, {{"mode", "numpy"}}), 0, "min",
          "opset12");
  expect_rewrite("scatter_whole_rows", m.graph(), with_constants());
  std::vector<HostTensor> inputs;
  for (const ir::Value input : m.inputs())
    inputs.push_back(m.graph().port(input).type == element::i64
                         ? integer_tensor({4, 1}, {2, 0, -1, 0})
                         : random_tensor(m.dims(input), static_cast<uint32_t>(inputs.size())));
  const std::vector<std::vector<HostTensor>> sets = {inputs};
  expect_same_as_interpreter(m.graph(), sets, 0);
}

TEST(ScatterWholeRows, Refuses) {
  GraphMaker m;
  const auto scatter = [&](const PartialShape& data, const PartialShape& updates, ir::Value at, int64_t axis,
                           const AttributeTexts& attributes) {
    m.result(m.op("ScatterElementsUpdate", {m.input(data), at, m.input(updates), m.scalar_integer(axis)}, attributes));
  };
  const AttributeTexts sum = {{"reduction", "sum"}};
  const auto column = m.input({4, 1}, element::i64), row = m.input({1, 20}, element::i64);
  const auto repeated = [&](ir::Value x) {
    return m.op("Broadcast", {x, m.integers({4, 20})}, {{"mode", "bidirectional"}});
  };
  scatter({5, 20}, {4, 20}, repeated(column), 0, {{"reduction", "mean"}});
  scatter({5, 20}, {4, 20}, repeated(column), 0, {{"reduction", "sum"}, {"use_init_val", "false"}});
  scatter({4, 20}, {4, 20}, repeated(column), 1, sum);
  scatter({5, 21}, {4, 20}, repeated(column), 0, sum);  // a part of each row
  scatter({5, 20}, {4, 20}, repeated(row), 0, sum);
  scatter({5, 20}, {4, 20}, m.input({4, 20}, element::i64), 0, sum);
  scatter({5, 15}, {4, 15}, rows_of(m, {0, 1, 2, 3}, 15), 0, sum);  // short ones
  std::vector<int64_t> other(80, 1);
  other.back() = 2;
  scatter({5, 20}, {4, 20}, shaped(m, other, {4, 20}), 0, sum);
  const auto lines = m.op("Tile", {m.input({2, 1}, element::i64), m.integers({2, 20})});
  scatter({5, 20}, {4, 20}, lines, 0, sum);
  const auto axes =
      m.op("Broadcast", {m.input({4}, element::i64), m.integers({4, 20}), m.integers({0})}, {{"mode", "explicit"}});
  scatter({5, 20}, {4, 20}, axes, 0, sum);
  scatter(PartialShape("5,?"), {4, 20}, repeated(column), 0, sum);
  const auto folded = m.graph().clone();
  ir::PassManager manager;
  manager.add(ops::fold_constants(ops::builtin_registry()));
  manager.run(*folded);
  expect_refusal(*folded, {pass()});
}

TEST(ScatterWholeRows, AnIndexOutOfRange) {
  GraphMaker m;
  const auto x = m.input({3, 16}), column = m.input({2, 1}, element::i64);
  const auto at = m.op("Broadcast", {column, m.integers({2, 16})}, {{"mode", "bidirectional"}});
  m.result(m.op("ScatterElementsUpdate", {x, at, m.input({2, 16}), m.scalar_integer(0)}, {{"reduction", "sum"}}));
  for (const int64_t index : {3, -4}) {
    const std::vector<std::vector<HostTensor>> sets = {
        {random_tensor({3, 16}, 1), integer_tensor({2, 1}, {0, index}), random_tensor({2, 16}, 2)}};
    EXPECT_THROW(run_on_cpu(m.graph(), cpu::Isa::scalar, 2, sets), Exception) << index;
  }
}

/// Indices in [-limit, limit), of which neighbours differ.
HostTensor places(const ir::Dims& dims, int64_t limit) {
  std::vector<int64_t> values(static_cast<size_t>(ir::element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int64_t>(i * 2654435761 >> 7) % (2 * limit) - limit;
  return integer_tensor(dims, values);
}

// By two threads, which share the columns of rows behind the scattered axis.
TEST(ScatterElements, PlacesOfTheirOwn) {
  for (const char* reduction : {"none", "sum", "prod", "min", "max", "mean"}) {
    for (const char* use_init_val : {"true", "false"}) {
      for (const int64_t columns : {1, 15, 31, 32, 33, 77}) {
        SCOPED_TRACE(std::string(reduction) + " " + use_init_val + " " + std::to_string(columns));
        GraphMaker m;
        const AttributeTexts attributes = {{"reduction", reduction}, {"use_init_val", use_init_val}};
        std::vector<HostTensor> inputs;
        const auto scatter = [&](const ir::Dims& data, const ir::Dims& updates, int64_t axis, bool narrow) {
          const auto x = m.input(ir::to_shape(data)), at = m.input(ir::to_shape(updates), element::i64);
          const auto y = m.input(ir::to_shape(updates));
          const auto index = narrow ? m.op("Convert", {at}, {{"destination_type", "i32"}}) : at;
          m.result(m.op("ScatterElementsUpdate", {x, index, y, m.scalar_integer(axis)}, attributes));
          inputs.push_back(random_tensor(data, 1));
          inputs.push_back(places(updates, data[static_cast<size_t>(axis)]));
          inputs.push_back(random_tensor(updates, 2));
        };
        scatter({700, columns + 2}, {90, columns}, 0, false);
        scatter({1, 40, 12, columns}, {1, 55, 11, columns}, 1, true);
        scatter({3, 9, columns}, {2, 31, columns}, 1, false);
        scatter({columns, 9}, {columns, 44}, 1, true);
        const std::vector<std::vector<HostTensor>> sets = {inputs};
        expect_same_as_interpreter(m.graph(), sets, 0);
      }
    }
  }
}

}  // namespace
}  // namespace terroir::test
