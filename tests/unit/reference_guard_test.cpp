// References refuse tensors that inference never saw together, instead of reading or writing beyond them; and the walk
// over broadcast operands.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "ops/registry.hpp"
#include "ops/shape/broadcast.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir {
namespace {

struct Operand {
  element::Type type;
  ir::Dims dims;
  std::vector<int64_t> integers = {};  // for integer types; others are zeros
};

/// Runs a reference on tensors as they are given.
void run(const std::string& op, const test::AttributeTexts& attributes, const std::vector<Operand>& inputs,
         const std::vector<Operand>& outputs) {
  const size_t dash = op.find('-');
  const ir::OpSchema& schema = ops::builtin_registry().get(op.substr(0, dash), "opset" + op.substr(dash + 1));
  auto attrs = schema.make_attributes();
  test::set_attributes(*attrs, attributes);
  std::vector<std::vector<char>> memory;
  std::vector<ir::TensorView> in;
  std::vector<ir::MutableTensorView> out;
  memory.reserve(inputs.size() + outputs.size());
  for (const Operand& tensor : inputs) {
    const int64_t count = ir::element_count(tensor.dims);
    memory.emplace_back(ir::byte_size(tensor.type, count) + 1);
    for (size_t i = 0; i < tensor.integers.size(); ++i) {
      if (tensor.type == element::i64) reinterpret_cast<int64_t*>(memory.back().data())[i] = tensor.integers[i];
      if (tensor.type == element::u8) memory.back()[i] = static_cast<char>(tensor.integers[i]);
    }
    in.push_back({tensor.type, tensor.dims, memory.back().data()});
  }
  for (const Operand& tensor : outputs) {
    memory.emplace_back(ir::byte_size(tensor.type, ir::element_count(tensor.dims)) + 1);
    out.push_back({tensor.type, tensor.dims, memory.back().data()});
  }
  schema.reference({*attrs, in, out});
}

void expect_refusal(const std::string& op, const test::AttributeTexts& attributes, const std::vector<Operand>& inputs,
                    const std::vector<Operand>& outputs, const std::string& text) {
  try {
    run(op, attributes, inputs, outputs);
    ADD_FAILURE() << op << " took it, expected: " << text;
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << op << ": " << error.what();
  }
}

constexpr auto f32 = element::Type_t::f32;
constexpr auto i64 = element::Type_t::i64;
constexpr auto boolean = element::Type_t::boolean;

TEST(ReferenceGuard, Shapes) {
  expect_refusal("Add-1", {}, {{f32, {2}}, {f32, {3}}}, {{f32, {3}}},
                 "an operand of shape [2] does not broadcast to [3]");
  expect_refusal("Add-1", {}, {{f32, {2, 3}}, {f32, {3}}}, {{f32, {3}}}, "does not broadcast to [3]");
  expect_refusal("Add-1", {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "3"}},
                 {{f32, {2}}, {f32, {2}}}, {{f32, {2}}}, "axis 3 is outside of shape [2]");
  expect_refusal("Add-1", {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}},
                 {{f32, {2}}, {f32, {2}}}, {{f32, {2}}}, "shape [2] does not fit into [2] at axis 1");
  expect_refusal("PReLU-1", {}, {{f32, {2, 3}}, {f32, {5}}}, {{f32, {2, 3}}}, "does not broadcast");
  expect_refusal("Select-1", {}, {{boolean, {4}}, {f32, {3}}, {f32, {3}}}, {{f32, {3}}}, "does not broadcast");
  expect_refusal("Swish-4", {}, {{f32, {2}}, {f32, {2}}}, {{f32, {2}}}, "input 1 must have one element");
  expect_refusal("MatMul-1", {}, {{f32, {2, 3}}, {f32, {4, 2}}}, {{f32, {2, 2}}}, "MatMul cannot multiply");
  expect_refusal("MatMul-1", {}, {{f32, {2, 3}}, {f32, {3, 2}}}, {{f32, {2, 3}}}, "MatMul cannot multiply");
  expect_refusal("MatMul-1", {}, {{f32, {}}, {f32, {3, 2}}}, {{f32, {2}}}, "MatMul takes no scalars");
  expect_refusal("ReduceSum-1", {}, {{f32, {2, 3}}, {i64, {1}, {1}}}, {{f32, {3}}}, "cannot hold the reduction");
  expect_refusal("ReduceSum-1", {}, {{f32, {2, 3}}, {i64, {1}, {2}}}, {{f32, {2}}}, "axes must be in");
  expect_refusal("Einsum-7", {{"equation", "ab,b->a"}}, {{f32, {2, 3}}, {f32, {4}}}, {{f32, {2}}}, "of an axis differ");
  expect_refusal("Einsum-7", {{"equation", "ab->a"}}, {{f32, {2, 3}}}, {{f32, {3}}}, "the output was planned as");
  expect_refusal("OneHot-1", {{"axis", "0"}}, {{i64, {2}}, {i64, {}, {3}}, {f32, {2}}, {f32, {}}}, {{f32, {3, 2}}},
                 "input 2 must have one element");
  expect_refusal("OneHot-1", {{"axis", "0"}}, {{i64, {2}}, {i64, {}, {4}}, {f32, {}}, {f32, {}}}, {{f32, {3, 2}}},
                 "the output was planned as");
  expect_refusal("SearchSorted-15", {}, {{f32, {2, 3}}, {f32, {4, 3}}}, {{i64, {4, 3}}}, "for sequences");
  expect_refusal("SegmentMax-16", {{"fill_mode", "ZERO"}}, {{f32, {3}}, {i64, {2}, {0, 1}}}, {{f32, {2}}},
                 "2 segment ids for 3 rows");
}

TEST(ReferenceGuard, Values) {
  const test::AttributeTexts topk = {{"axis", "0"}, {"mode", "max"}, {"sort", "value"}};
  for (const int64_t k : {4, -1})
    expect_refusal("TopK-3", topk, {{f32, {3}}, {i64, {}, {k}}}, {{f32, {3}}, {element::i32, {3}}}, "in 0..3");
  expect_refusal("TopK-3", topk, {{f32, {3}}, {i64, {}, {3}}}, {{f32, {2}}, {element::i32, {2}}}, "in 0..3");
  expect_refusal("Range-1", {}, {{i64, {}, {0}}, {i64, {}, {5}}, {i64, {}, {1}}}, {{i64, {4}}}, "planned as [4]");
  expect_refusal("Range-1", {}, {{i64, {2}, {0}}, {i64, {}, {5}}, {i64, {}, {1}}}, {{i64, {5}}}, "one element");
  expect_refusal("Eye-9", {{"output_type", "f32"}}, {{i64, {}, {3}}, {i64, {}, {2}}, {i64, {}, {0}}}, {{f32, {2, 2}}},
                 "planned as [2,2]");
  const test::AttributeTexts uniform = {{"output_type", "i64"}, {"global_seed", "1"}};
  expect_refusal("RandomUniform-8", uniform, {{i64, {1}, {2}}, {i64, {}, {5}}, {i64, {}, {5}}}, {{i64, {2}}},
                 "minval must be below maxval, got 5 and 5");
  expect_refusal("RandomUniform-8", uniform, {{i64, {1}, {2}}, {i64, {2}, {5}}, {i64, {}, {5}}}, {{i64, {2}}},
                 "input 1 must have one element");
  const test::AttributeTexts multinomial = {
      {"convert_type", "i64"}, {"with_replacement", "false"}, {"log_probs", "false"}};
  expect_refusal("Multinomial-13", multinomial, {{f32, {1, 2}}, {i64, {}, {3}}}, {{i64, {1, 3}}},
                 "cannot draw 3 samples of 2 classes");
  expect_refusal("StringTensorPack-15", {}, {{i64, {1}, {0}}, {i64, {1}, {3}}, {element::u8, {2}}},
                 {{element::string, {1}}}, "string 0 would be [0, 3) of 2 symbols");
  expect_refusal("StringTensorPack-15", {}, {{i64, {1}, {2}}, {i64, {1}, {1}}, {element::u8, {2}}},
                 {{element::string, {1}}}, "string 0 would be [2, 1) of 2 symbols");
  expect_refusal("StringTensorPack-15", {}, {{i64, {2}, {0, 0}}, {i64, {1}, {1}}, {element::u8, {2}}},
                 {{element::string, {2}}}, "2 begins, 1 ends");
}

TEST(ReferenceGuard, TypesWithoutAnImplementation) {
  expect_refusal("Add-1", {}, {{element::u4, {2}}, {element::u4, {2}}}, {{element::u4, {2}}},
                 "Add is not implemented for u4; it is for f32");
  expect_refusal("Select-1", {}, {{boolean, {2}}, {element::u4, {2}}, {element::u4, {2}}}, {{element::u4, {2}}},
                 "Select is not implemented for u4");
}

TEST(BroadcastWalk, MergesAxesIntoLongRuns) {
  // The second operand is one row for all: two axes of the first merge, the run is the row.
  ops::BroadcastWalk walk({4, 5, 6}, {{4, 5, 6}, {6}});
  EXPECT_EQ(walk.run(), 6);
  ops::BroadcastWalk same({4, 5, 6}, {{4, 5, 6}, {4, 5, 6}});
  EXPECT_EQ(same.run(), 120);
  ops::BroadcastWalk scalar({4, 5, 6}, {{4, 5, 6}, {}});
  EXPECT_EQ(scalar.run(), 120);
  EXPECT_EQ(scalar.step(1), 0);
}

TEST(BroadcastWalk, VisitsEveryElementOnceInOrder) {
  const ir::Dims dims = {2, 3, 1, 4};
  const ir::Dims b_dims = {3, 1, 1};
  int64_t position = 0;
  for (ops::BroadcastWalk walk(dims, {dims, b_dims}); walk.more(); walk.next()) {
    EXPECT_EQ(walk.position(), position);
    for (int64_t i = 0; i < walk.run(); ++i, ++position) {
      EXPECT_EQ(walk.offset(0) + i * walk.step(0), position);
      EXPECT_EQ(walk.offset(1) + i * walk.step(1), position / 4 % 3);
    }
  }
  EXPECT_EQ(position, 24);
}

TEST(BroadcastWalk, AnEmptyShapeIsNeverEntered) {
  EXPECT_FALSE(ops::BroadcastWalk({2, 0}, {{2, 1}, {1, 0}}).more());
  EXPECT_FALSE(ops::BroadcastWalk({int64_t{1} << 40, int64_t{1} << 40, 0}, {{1, 1, 0}}).more());
  ops::BroadcastWalk scalar(ir::Dims{}, {ir::Dims{}});
  EXPECT_TRUE(scalar.more());
  EXPECT_EQ(scalar.run(), 1);
}

TEST(Broadcast, AlignsPaddleOperands) {
  const ops::BroadcastRule at1{ops::AutoBroadcast::pdpd, 1};
  EXPECT_EQ(ops::align_operand({2, 3, 4, 5}, {3, 4}, at1), (ir::Dims{1, 3, 4, 1}));
  EXPECT_EQ(ops::align_operand({2, 3, 4, 5}, {3, 4, 1, 1, 1}, at1), (ir::Dims{1, 3, 4, 1}));
  EXPECT_EQ(ops::align_operand({2, 3}, {3}, {ops::AutoBroadcast::pdpd, -1}), (ir::Dims{1, 3}));
  EXPECT_EQ(ops::align_operand({2, 3}, {3}, {}), (ir::Dims{3}));
  EXPECT_EQ(ops::align_prelu_slope({2, 3, 4}, {3}), (ir::Dims{1, 3, 1}));
  EXPECT_EQ(ops::align_prelu_slope({2, 3, 4}, {4}), (ir::Dims{4}));
  EXPECT_EQ(ops::align_prelu_slope({}, {1}), (ir::Dims{1}));
}

}  // namespace
}  // namespace terroir
