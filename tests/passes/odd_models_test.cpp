// Models of odd forms: very deep and very wide ones, values without elements, any rank, extents far beyond what there
// is of elements, results that nothing computes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

TEST(OddModels, FiveHundredLayersDeep) {
  GraphMaker m;
  ir::Value x = m.input({1, 8, 5, 5});
  for (uint32_t i = 0; i < 100; ++i) {
    const ir::Value before = x;
    x = m.conv(x, 8, i % 3 == 0 ? 1 : 3, i);
    x = m.op(i % 2 ? "ReLU" : "Tanh", {x});
    if (i % 4 == 1) x = m.op("Concat", {x, before}, {{"axis", "1"}});
    if (i % 4 == 1) x = m.conv(x, 8, 1, i + 1000);
    if (i % 7 == 3) x = m.op("Transpose", {m.op("Transpose", {x, m.integers({0, 2, 3, 1})}), m.integers({0, 3, 2, 1})});
    x = m.op("Add", {x, i % 7 == 3 ? m.op("Transpose", {before, m.integers({0, 1, 3, 2})}) : before});
    x = m.op("Multiply", {x, m.scalar(0.875)});
    if (i % 25 == 0) m.result(x);
  }
  m.result(x);
  expect_same_as_interpreter(m, 1e-3);
}

TEST(OddModels, OneValueWithThreeHundredReaders) {
  GraphMaker m;
  const ir::Value x = m.conv(m.input({1, 3, 6, 6}), 8, 3, 1);
  std::vector<ir::Value> parts;
  for (uint32_t i = 0; i < 300; ++i) {
    const ir::Value part = i % 3 == 0 ? m.conv(x, 2, 1, i)
                                      : m.op(i % 3 == 1 ? "Sigmoid" : "ReLU",
                                             {m.op("Multiply", {x, m.scalar(0.01F * static_cast<float>(i))})});
    if (i % 5 == 0) m.result(part);
    parts.push_back(part);
  }
  m.result(m.op("Concat", parts, {{"axis", "1"}}));
  m.result(m.op("ReduceSum", {x, m.integers({1, 2, 3})}, {{"keep_dims", "false"}}));
  expect_same_as_interpreter(m);
}

TEST(OddModels, ManyInputsAndOutputs) {
  GraphMaker m;
  std::vector<ir::Value> inputs;
  for (int64_t i = 0; i < 80; ++i) inputs.push_back(m.input({1, 1 + i % 5, 3}));
  m.result(m.op("Concat", inputs, {{"axis", "1"}}));
  for (size_t i = 0; i + 5 < inputs.size(); ++i) m.result(m.op("Subtract", {inputs[i], inputs[i + 5]}));
  expect_same_as_interpreter(m, 0);
}

TEST(OddModels, ResultsThatNothingComputes) {
  GraphMaker m;
  const ir::Value x = m.input({2, 3}), unread = m.input({4}), c = m.random({2, 3}, 1);
  m.result(x);
  m.result(c);
  m.result(x);
  m.result(c);
  m.result(m.op("Reshape", {x, m.integers({3, 2})}));
  m.result(m.op("Reshape", {c, m.integers({6})}));
  const ir::Value y = m.op("ReLU", {x});
  m.result(y);
  m.result(y);
  m.result(m.op("Squeeze", {m.op("Unsqueeze", {y, m.integers({0})}), m.integers({0})}));
  m.result(m.op("Split", {m.op("Concat", {x, c}, {{"axis", "0"}}), m.scalar_integer(0)}, {{"num_splits", "2"}}));
  (void)unread;
  expect_same_as_interpreter(m, 0);
}

TEST(OddModels, WithoutInputs) {
  GraphMaker m;
  m.result(m.op("Add", {m.random({2, 3}, 1), m.random({3}, 2)}));
  m.result(m.random({0, 3}, 1));
  m.result(m.op("RandomUniform", {m.integers({4}), m.scalar(1), m.scalar(2)},
                {{"output_type", "f32"}, {"global_seed", "1"}, {"op_seed", "1"}}));
  expect_same_as_interpreter(m, 0);
}

/// What networks have, on an image without elements along one axis.
void grow_over_nothing(GraphMaker& m, ir::Value x) {
  const ir::Dims dims = m.dims(x);
  if (dims[1] > 0) {
    m.result(m.op("ReLU", {m.conv(x, 5, 3, 1)}));
    m.result(m.depthwise(x, 3, 2));
    const ir::Dims channels = {dims[1]};
    m.result(m.op("BatchNormInference",
                  {x, m.random(channels, 1), m.random(channels, 2), m.random(channels, 3),
                   m.constant(channels, std::vector<float>(static_cast<size_t>(dims[1]), 1))},
                  {{"epsilon", "0.001"}}));
  }
  m.result(m.op("MaxPool", {x}, {{"strides", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}}, "",
                "opset1"));
  m.result(m.op("Concat", {x, m.op("Tanh", {x}), x}, {{"axis", "1"}}));
  m.result(m.op("Add", {x, m.op("ReduceSum", {x, m.integers({1})}, {{"keep_dims", "true"}})}));
  for (const char* type : {"ReduceMean", "ReduceMax", "ReduceSum", "ReduceL2"})
    for (const int64_t axis : {0, 1, 2, 3}) m.result(m.op(type, {x, m.integers({axis})}, {{"keep_dims", "false"}}));
  m.result(m.op("SoftMax", {x}, {{"axis", "1"}}, "", "opset8"));
  m.result(m.op("SoftMax", {x}, {{"axis", "3"}}, "", "opset8"));
  m.result(m.op("Transpose", {x, m.integers({0, 2, 3, 1})}));
  m.result(m.op("MVN", {x, m.integers({2, 3})},
                {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}));
  m.result(m.op("MatMul", {x, m.random({dims[3], 4}, 3)}));
  m.result(m.op("MatMul", {x, x}, {{"transpose_b", "true"}}));
  m.result(m.op("Pad", {x, m.integers({0, 0, 1, 1}), m.integers({0, 1, 0, 2})}, {{"pad_mode", "constant"}}));
  m.result(m.op("Tile", {x, m.integers({1, 2, 1, 1})}));
  m.result(m.op("Tile", {x, m.integers({1, 0, 1, 1})}));
  m.result(m.op("Gather", {x, m.integers({0, 0}), m.scalar_integer(dims[0] > 0 ? 0 : 1)}));
  m.result(m.op("Slice", {x, m.integers({0}), m.integers({INT64_MAX}), m.integers({2}), m.integers({3})}));
  m.result(m.op("Slice", {x, m.integers({5}), m.integers({1}), m.integers({1}), m.integers({2})}));
  m.result(m.op("ShapeOf", {x}, {{"output_type", "i64"}}, "", "opset3"));
  m.result(m.op("CumSum", {x, m.scalar_integer(2)}));
  m.result(m.op("NormalizeL2", {x, m.integers({1})}, {{"eps", "0.01"}, {"eps_mode", "add"}}));
}

TEST(OddModels, WithoutImages) {
  GraphMaker m;
  grow_over_nothing(m, m.input({0, 3, 4, 5}));
  expect_same_as_interpreter(m);
}

TEST(OddModels, WithoutChannels) {
  GraphMaker m;
  const ir::Value x = m.input({2, 0, 4, 5});
  m.result(m.op("Concat", {x, m.random({2, 3, 4, 5}, 1), x}, {{"axis", "1"}}));
  m.result(m.op("ReduceSum", {x, m.integers({1, 2})}, {{"keep_dims", "false"}}));
  m.result(m.op("ReduceMax", {x, m.integers({1})}, {{"keep_dims", "true"}}));
  m.result(m.op("MatMul", {m.op("Transpose", {x, m.integers({0, 2, 3, 1})}), m.random({0, 4}, 1)}));
  m.result(m.op("Add", {m.op("MatMul", {m.op("Reshape", {x, m.integers({2, 0})}, {{"special_zero", "false"}}),
                                        m.random({0, 4}, 1)}),
                        m.random({4}, 2)}));
  m.result(m.op("Transpose", {x, m.integers({3, 1, 0, 2})}));
  m.result(
      m.op("Broadcast", {m.op("ReduceSum", {x, m.integers({1})}, {{"keep_dims", "true"}}), m.integers({2, 7, 4, 5})}));
  expect_same_as_interpreter(m);
}

TEST(OddModels, OfAnyRank) {
  for (int64_t rank = 0; rank <= 8; ++rank) {
    SCOPED_TRACE(rank);
    GraphMaker m;
    ir::Dims dims;
    std::vector<int64_t> backwards, ones(static_cast<size_t>(rank), 1), twice(static_cast<size_t>(rank), 1);
    for (int64_t i = 0; i < rank; ++i) dims.push_back(2 + i % 2), backwards.insert(backwards.begin(), i);
    const ir::Value x = m.input(PartialShape(ir::to_shape(dims)));
    const ir::Value y = m.op("Multiply", {m.op("Add", {x, m.random(dims, 1)}), m.scalar(0.5)});
    m.result(m.op("Sigmoid", {y}));
    m.result(m.op("Reshape", {y, m.integers({-1})}));
    m.result(m.op("Unsqueeze", {y, m.integers({0, -1})}));
    m.result(m.op("Clamp", {x}, {{"min", "-0.25"}, {"max", "0.5"}}));
    m.result(m.op("Select", {m.op("Greater", {x, m.scalar(0)}), x, m.scalar(2)}));
    m.result(
        m.op("Convert", {m.op("ShapeOf", {y}, {{"output_type", "i64"}}, "", "opset3")}, {{"destination_type", "f32"}}));
    if (rank > 0) {
      twice[static_cast<size_t>(rank / 2)] = 2;
      const int64_t last = rank - 1;
      m.result(m.op("Transpose", {y, m.integers(backwards)}));
      m.result(m.op("ReduceMean", {y, m.integers({0, last})}, {{"keep_dims", "false"}}));
      m.result(m.op("ReduceMax", {y, m.integers({last / 2})}, {{"keep_dims", "true"}}));
      m.result(m.op("SoftMax", {y}, {{"axis", std::to_string(last / 2)}}, "", "opset8"));
      m.result(m.op("Concat", {y, x}, {{"axis", std::to_string(last / 2)}}));
      m.result(m.op("Tile", {x, m.integers(twice)}));
      m.result(m.op("Add", {x, m.random({dims.back()}, 2)}));
      m.result(m.op("Add", {x, m.op("ReduceMin", {x, m.integers({last / 2})}, {{"keep_dims", "true"}})}));
      m.result(m.op("Slice", {x, m.integers({-1}), m.integers({-100}), m.integers({-1}), m.integers({last})}));
      m.result(m.op("Gather", {x, m.integers({1, 0, 1}), m.scalar_integer(last / 2)}));
      m.result(m.op(
          "Split",
          {m.op("Slice", {x, m.integers({0}), m.integers({2}), m.integers({1}), m.integers({0})}), m.scalar_integer(0)},
          {{"num_splits", "2"}}));
      m.result(m.op("Pad", {x, m.integers(ones), m.integers(twice)}, {{"pad_mode", "edge"}}));
      m.result(m.op("Broadcast", {m.random({dims.back()}, 3), m.integers(dims)}));
      m.result(m.op("MVN", {x, m.integers({last})},
                    {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}));
      m.result(m.op("CumSum", {x, m.scalar_integer(last / 2)}));
      m.result(m.op("Reverse", {x, m.integers({last / 2})}, {{"mode", "index"}}, "", "opset1"));
    }
    if (rank > 1) {
      const ir::Value w = m.random({dims.back(), 3}, 4);
      m.result(m.op("MatMul", {x, w}));
      m.result(m.op("MatMul", {x, y}, {{"transpose_b", "true"}}));
    }
    expect_same_as_interpreter(m);
  }
}

// As many elements as there are decide, not how far extents reach.
TEST(OddModels, HugeExtentsOfNothing) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  GraphMaker m;
  const ir::Value x = m.input({0, kHuge, 3});
  m.result(m.op("ReLU", {x}));
  m.result(m.op("Add", {x, m.scalar(1)}));
  m.result(m.op("Transpose", {x, m.integers({2, 0, 1})}));
  m.result(m.op("Concat", {x, x}, {{"axis", "1"}}));
  m.result(m.op("Reshape", {x, m.integers({kHuge, 0, 7})}, {{"special_zero", "false"}}));
  m.result(m.op("MatMul", {x, m.random({3, 2}, 1)}));
  m.result(m.op("SoftMax", {x}, {{"axis", "2"}}, "", "opset8"));
  m.result(m.op("ReduceSum", {x, m.integers({1})}, {{"keep_dims", "false"}}));
  m.result(m.op("Slice", {x, m.integers({kHuge - 5}), m.integers({INT64_MAX}), m.integers({1}), m.integers({1})}));
  m.result(m.op("Tile", {x, m.integers({1, 1, 2})}));
  m.result(m.op("Broadcast", {m.scalar(1), m.integers({0, kHuge})}));
  m.result(m.op("Convert", {x}, {{"destination_type", "i8"}}));
  expect_same_as_interpreter(m);
}

TEST(OddModels, LongRowsOfOne) {
  GraphMaker m;
  const ir::Value x = m.input({1, 1, 1, 300007});
  m.result(m.op("SoftMax", {x}, {{"axis", "1"}}, "", "opset8"));
  m.result(m.conv(m.op("Reshape", {x, m.integers({1, 1, 300007, 1})}), 2, 1, 1));
  m.result(m.op("ReduceMean", {x, m.integers({3})}, {{"keep_dims", "false"}}));
  m.result(m.op("MatMul", {m.op("Reshape", {x, m.integers({300007, 1})}), m.random({1, 3}, 2)}));
  m.result(m.op("MaxPool", {x}, {{"strides", "1,7"}, {"pads_begin", "0,3"}, {"pads_end", "0,3"}, {"kernel", "1,9"}}, "",
                "opset1"));
  m.result(m.op("Transpose", {x, m.integers({3, 2, 1, 0})}));
  expect_same_as_interpreter(m);
}

// A size that no machine has is refused with words, not by running out of memory.
TEST(OddModels, ExtentsWhoseProductOverflowsAreRefused) {
  GraphMaker m;
  const ir::Value x = m.input({1, 2});
  const Exception error = caught([&] {
    m.result(m.op("Broadcast", {x, m.integers({int64_t{1} << 40, int64_t{1} << 40, 2})}));
    on_cpu(m.graph(), 1);
  });
  EXPECT_NE(error.code(), ErrorCode::general) << error.what();
}

/// One request over batches of several sizes, none among them, in any order.
TEST(OddModels, BatchesOfNoneBetweenOthers) {
  GraphMaker m;
  const ir::Value x = m.input(PartialShape{-1, 3, 6, 6});
  const ir::Value y = m.op("Convolution", {x, m.random({8, 3, 3, 3}, 1, 0.2F)},
                           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}});
  const ir::Value pooled = m.op("ReduceMean", {m.op("ReLU", {y}), m.integers({2, 3})}, {{"keep_dims", "false"}});
  m.result(m.op("SoftMax", {m.op("MatMul", {pooled, m.random({8, 4}, 2)})}, {{"axis", "1"}}, "", "opset8"));
  m.result(y);
  std::vector<std::vector<HostTensor>> sets;
  for (const int64_t batch : {2, 0, 1, 0, 3, 2})
    sets.push_back({random_tensor({batch, 3, 6, 6}, static_cast<uint32_t>(batch + 1))});
  expect_same_as_interpreter(m.graph(), sets);
}

}  // namespace
}  // namespace terroir::test
