// Fused chains and broadcasts on the CPU device against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_table.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

TEST(CpuMatMul, DeepProductsApplyTheirChainOnce) {
  // Longer than one block of k: a kernel that applies the chain to partial sums shows.
  for (const int64_t rows : {1, 5, 33}) {
    GraphMaker m;
    auto x = m.input({rows, 4000});
    auto y = m.op("Add", {m.op("MatMul", {x, m.random({4000, 50}, 1, 0.05f)}), m.input({rows, 50})});
    m.result(m.op("Sigmoid", {y}));
    auto z = m.op("Add", {m.op("MatMul", {x, m.random({4000, 17}, 2, 0.05f)}), m.random({17}, 3)});
    m.result(m.op("ReLU", {m.op("Add", {m.op("Multiply", {z, m.scalar(2)}), m.input({rows, 17})})}));
    expect_same_as_interpreter(m);
  }
}

TEST(CpuMatMul, FewRowsReadMatricesWhereTheyLie) {
  for (const int64_t columns : {1, 7, 16, 33, 130})
    for (const int64_t rows : {0, 1, 3}) {  // none: a vector
      GraphMaker m;
      const ir::Value x = rows == 0 ? m.input({515}) : m.input({rows, 515});
      const ir::Value w = m.input({515, columns}), both = m.input({3, 515, columns});
      m.result(m.op("ReLU", {m.op("MatMul", {x, w}, {}, "product")}));
      m.result(m.op("MatMul", {x, both}));
      m.result(m.op("MatMul", {x, m.input({columns, 515})}, {{"transpose_b", "true"}}));
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
      expect_same_as_interpreter(m);
      EXPECT_NE(kernel_on_cpu(m.graph(), cpu::best_isa(), "product").find("gemm_plain"), std::string::npos);
    }
}

TEST(CpuMatMul, ManyRowsReadMatricesWhereTheyLieIfThoseStayNear) {
  struct Case {
    int64_t depth, columns;
    bool plain;
  };
  // A few lines to each set of L1; rows that begin within a line; more of them than stay; rows that share one set.
  for (const Case& c :
       {Case{40, 64, true}, Case{17, 160, true}, Case{40, 65, true}, Case{1000, 65, false}, Case{200, 1024, false}}) {
    GraphMaker m;
    const ir::Value x = m.input({2, 45, c.depth});
    m.result(m.op("ReLU", {m.op("MatMul", {x, m.input({2, c.depth, c.columns})}, {}, "product")}));
    SCOPED_TRACE(std::to_string(c.depth) + " x " + std::to_string(c.columns));
    expect_same_as_interpreter(m);
    for (const cpu::Isa isa : cpu::available_isas())
      EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "product").find("gemm_plain") != std::string::npos, c.plain)
          << cpu::isa_name(isa);
  }
}

TEST(CpuMatMul, DeepConvolutionsApplyTheirChainOnce) {
  GraphMaker m;
  auto x = m.input({1, 600, 4, 5});
  auto y = m.conv(x, 24, 3, 1);
  m.result(m.op("Sigmoid", {m.op("Add", {m.op("Add", {y, m.random({1, 24, 1, 1}, 2)}), m.input({1, 24, 4, 5})})}));
  expect_same_as_interpreter(m);
}

TEST(CpuMatMul, OperandsOfEveryForm) {
  GraphMaker m;
  auto a = m.input({3, 7, 5});
  m.result(m.op("MatMul", {a, m.input({3, 5, 9})}));
  m.result(m.op("MatMul", {a, m.input({5})}));
  m.result(m.op("MatMul", {m.input({7}), a}));
  m.result(m.op("MatMul", {m.input({6}), m.input({6})}));
  m.result(m.op("MatMul", {m.input({2, 1, 4, 7}), a}));
  m.result(m.op("MatMul", {a, m.input({3, 7, 4})}, {{"transpose_a", "true"}}));
  m.result(m.op("MatMul", {a, m.random({8, 5}, 4)}, {{"transpose_b", "true"}}));
  m.result(m.op("MatMul", {m.input({0, 5}), m.random({5, 2}, 5)}));
  m.result(m.op("MatMul", {m.input({2, 0}), m.input({0, 3})}));
  expect_same_as_interpreter(m);
}

TEST(CpuMatMul, AVectorOnTheRightHasNoChannels) {
  // The last axis of the result are rows of the product: an operand along it is no bias of the columns.
  GraphMaker m;
  auto y = m.op("MatMul", {m.input({2, 4, 8}), m.random({8}, 1)});
  m.result(m.op("ReLU", {m.op("Add", {y, m.constant({4}, {1, 2, 3, 4})})}));
  auto z = m.op("MatMul", {m.input({2, 4, 8}), m.input({8})});
  m.result(m.op("Multiply", {z, m.constant({1, 4}, {1, 2, 3, 4})}));
  auto w = m.op("MatMul", {m.input({8}), m.random({3, 8, 4}, 1)});
  m.result(m.op("Add", {w, m.constant({4}, {1, 2, 3, 4})}));
  auto v = m.op("MatMul", {m.input({8}), m.input({8})});
  m.result(m.op("Add", {v, m.scalar(2)}));
  expect_same_as_interpreter(m);
}

TEST(CpuMatMul, BatchesWithResidualsAndBias) {
  GraphMaker m;
  auto a = m.input({2, 3, 7, 5});
  auto y = m.op("MatMul", {a, m.input({2, 3, 5, 9})});
  m.result(m.op("Add", {m.op("Multiply", {y, m.random({9}, 1)}), m.input({2, 3, 7, 9})}));
  auto z = m.op("MatMul", {a, m.input({3, 5, 9})});
  m.result(m.op("Tanh", {m.op("Subtract", {m.input({2, 3, 7, 9}), z})}));
  expect_same_as_interpreter(m);
}

TEST(CpuEltwise, EveryBinaryWithEveryBroadcast) {
  const std::vector<std::pair<PartialShape, PartialShape>> shapes = {{{2, 3, 4, 5}, {2, 3, 4, 5}},
                                                                     {{2, 3, 4, 5}, {5}},
                                                                     {{2, 3, 4, 5}, {1, 3, 1, 1}},
                                                                     {{4, 1}, {1, 6}},
                                                                     {{2, 3, 4, 5}, {2, 1, 1, 5}},
                                                                     {{2, 1, 4, 1}, {1, 3, 1, 5}},
                                                                     {{3, 1, 1}, {2, 3, 4, 5}},
                                                                     {{}, {2, 3}},
                                                                     {{2, 3, 4, 5}, {2, 3, 1, 1}},
                                                                     {{2, 3, 4, 5}, {3, 4, 1}},
                                                                     {{}, {}},
                                                                     {{0, 3}, {3}},
                                                                     {{1, 1, 1, 1}, {2, 3, 4}},
                                                                     {{2, 3, 4, 5}, {1, 1, 4, 1}}};
  for (const char* type :
       {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum", "SquaredDifference", "Power"}) {
    GraphMaker m;
    for (const auto& [a, b] : shapes) {
      auto x = m.op("Add", {m.op("Sigmoid", {m.input(a)}), m.scalar(0.5)});
      auto y = m.op("Add", {m.op("Sigmoid", {m.input(b)}), m.scalar(0.5)});
      m.result(m.op(type, {x, y}));
      m.result(m.op("Tanh", {m.op(type, {y, x})}));
      // Constants: steps of chains where they are scalars or channel vectors, else broadcasts.
      const ir::Dims dims = ir::to_dims(b.to_shape());
      auto c = m.op("Sigmoid", {m.random(dims, 9)});
      m.result(m.op(type, {x, c}));
      m.result(m.op("Tanh", {m.op(type, {c, m.op("Sigmoid", {m.input(a)})})}));
    }
    SCOPED_TRACE(type);
    expect_same_as_interpreter(m);
  }
}

// Short rows are joined to pieces, long ones cut: pieces of whole axes and of parts, operands that are laid out again
// for every piece, now and then, and once.
TEST(CpuEltwise, BroadcastsAlongShortAndLongRows) {
  const std::vector<std::pair<PartialShape, PartialShape>> shapes = {{{1, 31, 300, 9}, {1, 1, 300, 1}},
                                                                     {{1, 3, 3000, 3}, {1, 1, 3000, 1}},
                                                                     {{130, 1, 1, 2}, {1, 7, 7, 2}},
                                                                     {{3001, 1}, {1, 3}},
                                                                     {{1, 63}, {401, 1}},
                                                                     {{3001, 3}, {3001, 1}},
                                                                     {{2, 5, 1, 3001, 2}, {1, 5, 4, 1, 2}},
                                                                     {{4, 1, 2, 1, 1000}, {1, 33, 2, 5, 1}},
                                                                     {{9, 1, 8, 1, 7, 1}, {1, 6, 1, 5, 1, 4}},
                                                                     {{64, 1, 63}, {1, 70, 1}},
                                                                     {{8, 3, 1}, {1, 3, 2}},
                                                                     {{3, 2, 1, 16}, {1, 2, 700, 1}},
                                                                     {{3, 20000}, {3, 1}},
                                                                     {{2, 3, 9001}, {1, 3, 9001}},
                                                                     {{2, 1, 9001}, {1, 2, 9001}}};
  for (const auto& [a, b] : shapes) {
    GraphMaker m;
    const ir::Value x = m.input(a), y = m.input(b);
    m.result(m.op("Subtract", {x, y}, {}, "forwards"));
    m.result(m.op("Subtract", {y, x}, {}, "backwards"));
    SCOPED_TRACE(testing::Message() << a << " " << b);
    expect_same_as_interpreter(m, 0);
    for (const char* name : {"forwards", "backwards"})
      EXPECT_TRUE(kernel_on_cpu(m.graph(), cpu::best_isa(), name).starts_with("f32_broadcast_binary")) << name;
  }
}

TEST(CpuEltwise, ChannelOperandsAlongEveryAxis) {
  for (size_t axis = 0; axis < 4; ++axis) {
    GraphMaker m;
    ir::Dims dims = {2, 3, 4, 5}, vector(4, 1);
    vector[axis] = dims[axis];
    auto x = m.op("ReLU", {m.input({2, 3, 4, 5})});
    auto y = m.op("Add", {m.op("Multiply", {x, m.random(vector, 1)}), m.random(vector, 2)});
    ir::Dims other(4, 1);
    other[(axis + 1) % 4] = dims[(axis + 1) % 4];  // the chain ends here: another axis
    m.result(m.op("Sigmoid", {m.op("Add", {y, m.random(other, 3)})}));
    expect_same_as_interpreter(m);
  }
}

TEST(CpuEltwise, PdpdBroadcasts) {
  const AttributeTexts along0 = {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "0"}};
  const AttributeTexts along1 = {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}};
  GraphMaker m;
  auto x = m.input({3, 3, 3, 3});
  m.result(m.op("Add", {m.conv(x, 3, 1, 1), m.random({3}, 2)}, along1));
  m.result(m.op("Multiply", {m.conv(x, 3, 1, 1), m.random({3, 1, 1}, 2)}, along0));  // along the images
  m.result(m.op("Add", {m.op("ReLU", {x}), m.random({3, 3}, 3)}, along0));
  m.result(m.op("Subtract", {x, m.input({3, 3})}, along1));
  expect_same_as_interpreter(m);
}

TEST(CpuEltwise, PReluSlopes) {
  for (const int64_t width : {5, 6}) {  // 6: as many as channels
    GraphMaker m;
    auto x = m.input({2, 6, 4, width});
    m.result(m.op("PReLU", {x, m.random({6}, 1)}));
    m.result(m.op("PReLU", {m.conv(x, 6, 3, 1), m.random({6}, 2)}));
    m.result(m.op("PReLU", {m.conv(x, 6, 3, 1), m.random({1}, 2)}));
    m.result(m.op("PReLU", {m.conv(x, 6, 3, 1), m.random({1, 6, 1, 1}, 3)}));
    m.result(m.op("PReLU", {x, m.input({6})}));
    expect_same_as_interpreter(m);
  }
}

TEST(CpuEltwise, LongChains) {
  // More steps than one chain takes.
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 5, 5}), 11, 3, 1);
  auto y = m.input({1, 11, 5, 5});
  for (int i = 0; i < 20; ++i) {
    x = m.op(i % 2 == 0 ? "Tanh" : "Sigmoid", {x});
    x = m.op("Add", {x, i % 3 == 0 ? m.random({1, 11, 1, 1}, static_cast<uint32_t>(i)) : m.scalar(0.25f)});
    y = m.op("Multiply", {m.op("Abs", {y}), m.scalar(1.125f)});
  }
  m.result(x);
  m.result(m.op("Add", {y, x}));
  expect_same_as_interpreter(m);
}

struct Activation {
  const char* type;
  AttributeTexts attributes = {};
  std::vector<float> parameters = {};  // inputs behind the data
  bool is_positive = false;            // wants data above zero
  bool jumps = false;                  // what rounds otherwise may be a whole number away
};

/// One for each row of one input.
const Activation kActivations[] = {{"ReLU"},
                                   {"Clamp", {{"min", "-0.25"}, {"max", "0.5"}}},
                                   {"Sigmoid"},
                                   {"Tanh"},
                                   {"Elu", {{"alpha", "0.5"}}},
                                   {"HSwish"},
                                   {"HSigmoid"},
                                   {"HardSigmoid", {}, {0.25f, 0.375f}},
                                   {"Selu", {}, {1.5f, 0.75f}},
                                   {"Swish"},
                                   {"Mish"},
                                   {"SoftPlus"},
                                   {"SoftSign"},
                                   {"Gelu", {{"approximation_mode", "erf"}}},
                                   {"Gelu", {{"approximation_mode", "tanh"}}},
                                   {"Exp"},
                                   {"Log", {}, {}, true},
                                   {"Erf"},
                                   {"Abs"},
                                   {"Negative"},
                                   {"Sqrt", {}, {}, true},
                                   {"Sign", {}, {}, false, true},
                                   {"Floor", {}, {}, false, true},
                                   {"Ceiling", {}, {}, false, true},
                                   {"Round", {{"mode", "half_to_even"}}, {}, false, true},
                                   {"Round", {{"mode", "half_away_from_zero"}}, {}, false, true}};

ir::Value activated(GraphMaker& m, const Activation& activation, ir::Value x) {
  if (activation.is_positive) x = m.op("Add", {m.op("Abs", {x}), m.scalar(0.25f)});
  std::vector<ir::Value> inputs = {x};
  for (const float value : activation.parameters) inputs.push_back(m.scalar(value));
  return m.op(activation.type, inputs, activation.attributes, "activation");
}

TEST(CpuEltwise, EveryActivationIsAmongThese) {
  std::multiset<std::string_view> rows, tested;
  for (const cpu::PostOpRow& row : cpu::post_op_rows())
    if (!row.binary) rows.insert(row.type);
  for (const Activation& activation : kActivations) tested.insert(activation.type);
  EXPECT_EQ(tested, rows);
}

TEST(CpuEltwise, EveryActivationAsNodeAndInAChain) {
  for (const Activation& activation : kActivations) {
    SCOPED_TRACE(activation.type);
    GraphMaker m;
    auto x = m.input({2, 5, 3, 7});
    m.result(activated(m, activation, m.op("Multiply", {x, m.scalar(4)})));
    if (!activation.jumps) m.result(m.conv(activated(m, activation, m.conv(x, 11, 3, 1)), 3, 1, 2));
    expect_same_as_interpreter(m);
  }
}

/// Whole numbers from -4 to 4 that depend on `seed` alone.
HostTensor whole_numbers(const ir::Dims& dims, uint32_t seed) {
  HostTensor tensor = random_tensor(dims, seed, 4);
  float* const values = tensor.writable().as<float>();
  std::transform(values, values + tensor.view().count(), values, [](float value) { return std::nearbyint(value); });
  return tensor;
}

// Sums of eighths have no rounding error in any order, so that even what jumps can be compared, at the halves too.
TEST(CpuEltwise, EveryActivationIsOneStepWithTheConvolutionBefore) {
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  const ir::Dims weight_dims = {19, 5, 1, 1};
  const HostTensor numbers = whole_numbers(weight_dims, 1);
  std::vector<float> weights(numbers.as<float>(), numbers.as<float>() + numbers.view().count());
  for (float& weight : weights) weight /= 8;
  const std::vector<std::vector<HostTensor>> inputs = {{whole_numbers({2, 5, 3, 7}, 2)}};
  for (const Activation& activation : kActivations) {
    SCOPED_TRACE(testing::PrintToString(activation.type) + testing::PrintToString(activation.attributes));
    GraphMaker m;
    m.result(activated(m, activation,
                       m.op("Convolution", {m.input({2, 5, 3, 7}), m.constant(weight_dims, weights)}, window)));
    expect_same_as_interpreter(m.graph(), inputs);
    for (const cpu::Isa isa : cpu::available_isas()) {
      const auto plan = plan_of(m, isa);
      for (const cpu::Step& step : plan->steps)
        EXPECT_TRUE(step.name == "convolution" || step.type == cpu::kReorderType)
            << step.name << " is a step of its own on " << cpu::isa_name(isa);
    }
  }
}

TEST(CpuEltwise, NoChainWritesOverTheOperandOfALaterStep) {
  GraphMaker m;
  auto x = m.input({2, 300});
  auto operand = m.op("SoftMax", {m.input({2, 300})}, {{"axis", "1"}});  // its last reader is the chain
  m.result(m.op("Add", {m.op("Exp", {x}), operand}));
  auto first = m.op("SoftMax", {m.input({2, 300})}, {{"axis", "1"}});
  m.result(m.op("Exp", {m.op("Subtract", {x, first})}));
  expect_same_as_interpreter(m);
}

TEST(CpuEltwise, SwishWithBeta) {
  GraphMaker m;
  auto x = m.input({2, 5, 3, 7});
  m.result(m.op("Swish", {x, m.scalar(1.5)}));
  m.result(m.op("Swish", {m.conv(x, 6, 1, 1), m.scalar(1.5)}));
  m.result(m.op("Swish", {x, m.input({})}));
  m.result(m.op("Swish", {m.random({2, 3}, 1), m.op("Sigmoid", {m.input({})})}));  // the chain's value is the beta
  expect_same_as_interpreter(m);
}

}  // namespace
}  // namespace terroir::test
