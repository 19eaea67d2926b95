// Embedding bags on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

constexpr int64_t kTableRows = 11;

ir::Value index_constant(GraphMaker& m, const std::vector<int64_t>& values, bool narrow) {
  const ir::Value wide = m.integers(values);
  return narrow ? m.op("Convert", {wide}, {{"destination_type", "i32"}}) : wide;
}

void check_bags(GraphMaker& m, ir::Value bags) {
  m.result(bags);
  expect_same_as_interpreter(m);
  const std::string layer = m.graph().node(bags.node).name;
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, layer), std::string("f32_embedding_bag__") + cpu::isa_name(isa));
}

const std::vector<int64_t> kIndices = {3, 0, 10, 3, 7, 7, 1, 2, 9};

TEST(EmbeddingBags, Offsets) {
  for (const int64_t length : {1, 7, 16, 33, 67, 131, 300})
    for (const int form : {0, 1, 2, 3}) {  // no more inputs, a default row, weights, the means
      SCOPED_TRACE(::testing::Message() << length << ' ' << form);
      GraphMaker m;
      const bool narrow = length % 2 == 1;
      std::vector<ir::Value> in = {m.input({kTableRows, length}), index_constant(m, kIndices, narrow),
                                   index_constant(m, {0, 2, 2, 3, 9}, narrow)};
      if (form > 0) in.push_back(index_constant(m, {form == 3 ? -1 : 5}, narrow));
      if (form == 2) in.push_back(m.random({9}, 1));
      const char* type = form == 3 ? "EmbeddingBagOffsets" : "EmbeddingBagOffsetsSum";
      check_bags(m, form == 3 ? m.op(type, in, {{"reduction", "mean"}}) : m.op(type, in));
    }
}

TEST(EmbeddingBags, PackedAndTablesOfMoreAxes) {
  for (const bool weighted : {false, true}) {
    GraphMaker m;
    std::vector<ir::Value> in = {
        m.input({kTableRows, 5, 9}),
        m.op("Reshape", {m.integers(kIndices), m.integers({3, 3})}, {{"special_zero", "false"}})};
    if (weighted) in.push_back(m.random({3, 3}, 2));
    check_bags(m, m.op("EmbeddingBagPackedSum", in));
  }
  GraphMaker m;
  check_bags(m, m.op("EmbeddingBagPacked",
                     {m.input({kTableRows, 20}),
                      m.op("Reshape", {m.integers(kIndices), m.integers({1, 9})}, {{"special_zero", "false"}})},
                     {{"reduction", "mean"}}));
}

TEST(EmbeddingBags, Segments) {
  for (const int form : {0, 1, 2}) {
    GraphMaker m;
    std::vector<ir::Value> in = {m.input({kTableRows, 19}), m.integers(kIndices),
                                 m.integers({1, 1, 1, 2, 4, 4, 4, 4, 5}), m.scalar_integer(7)};
    if (form > 0) in.push_back(m.scalar_integer(2));
    if (form > 1) in.push_back(m.random({9}, 3));
    check_bags(m, m.op("EmbeddingSegmentsSum", in));
  }
}

// One long bag is cut into columns.
TEST(EmbeddingBags, OneLongBag) {
  GraphMaker m;
  std::vector<int64_t> indices(331);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7 % kTableRows);
  check_bags(m, m.op("EmbeddingBagOffsetsSum", {m.input({kTableRows, 300}), m.integers(indices), m.integers({0})}));
}

// Integers wrap around; the reference shares out their bags.
TEST(EmbeddingBags, Integers) {
  for (const auto& [type, mean] : {std::pair{"i32", false}, {"i8", false}, {"i64", true}}) {
    SCOPED_TRACE(type);
    GraphMaker m;
    std::vector<int64_t> indices(4000), offsets(200);
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7 % kTableRows);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int64_t>(i < 3 ? 0 : i * 20);
    const std::vector<ir::Value> in = {
        m.op("Convert", {m.op("Multiply", {m.input({kTableRows, 67}), m.scalar(100)})}, {{"destination_type", type}}),
        m.integers(indices), m.integers(offsets)};
    const ir::Value bags =
        mean ? m.op("EmbeddingBagOffsets", in, {{"reduction", "mean"}}) : m.op("EmbeddingBagOffsetsSum", in);
    m.result(bags);
    expect_same_as_interpreter(m, 0);
    const std::string layer = m.graph().node(bags.node).name;
    EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, layer), "threaded:any");
  }
}

TEST(EmbeddingBags, Errors) {
  const auto error = [](const std::vector<int64_t>& indices, const std::vector<int64_t>& offsets, bool segments) {
    GraphMaker m;
    std::vector<ir::Value> in = {m.input({kTableRows, 4}), m.integers(indices), m.integers(offsets)};
    if (segments) in.push_back(m.scalar_integer(3));
    m.result(m.op(segments ? "EmbeddingSegmentsSum" : "EmbeddingBagOffsetsSum", in));
    const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({kTableRows, 4}, 1)}};
    return std::string(caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, inputs); }).what());
  };
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(error({0, 11}, {0}, false), "index 11 is out of range [0, 10]");
  contains(error({0, -1}, {0}, false), "index -1 is out of range [0, 10]");
  contains(error({0, 1}, {1, 0}, false), "offsets must ascend from 0 to 2, got 1 before 0");
  contains(error({0, 1}, {3}, false), "offsets must ascend from 0 to 2, got 3 before 2");
  contains(error({0, 1}, {2, 1}, true), "segment_ids must ascend inside of [0, 2], got 1 at position 1");
}

}  // namespace
}  // namespace terroir::test
