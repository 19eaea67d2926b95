// Attention that becomes one step: graph text before and after, and what must stay single ops.
#include "plugins/cpu/passes/fuse_attention.hpp"

#include <gtest/gtest.h>

#include "ir/text/printer.hpp"
#include "ops/registry.hpp"
#include "tests/passes/attention_graphs.hpp"
#include "tests/passes/golden.hpp"

namespace terroir::cpu {
namespace {

using test::Attention;
using test::GraphMaker;

ir::Pass attention_pass() {
  static const CpuOps ops(ops::builtin_registry());
  return fuse_attention(ops);
}

const test::AttributeTexts kTransposeB = {{"transpose_b", "true"}};
const test::AttributeTexts kAsGiven = {{"special_zero", "false"}};

std::string text_after(const GraphMaker& m) {
  const auto copy = m.graph().clone();
  ir::PassManager manager;
  manager.add(attention_pass());
  manager.run(*copy);
  return ir::to_text(*copy, {});
}

TEST(FuseAttention, HeadsSplitOffAndMerged) {
  GraphMaker m;
  auto x = m.input({1, 4, 6});
  m.result(m.op("Reshape", {test::self_attention(m, x, x, {.heads = 2}), m.integers({1, 4, 6})},
                {{"special_zero", "false"}}));
  test::expect_rewrite("fuse_attention_heads", m.graph(), {attention_pass()});
}

TEST(FuseAttention, KeysTransposedTwiceAndAMask) {
  GraphMaker m;
  auto x = m.input({1, 4, 6});
  m.result(test::self_attention(m, x, x,
                                {.heads = 2, .divide = true, .keys_transposed = true, .mask = m.input({1, 1, 1, 4})}));
  test::expect_rewrite("fuse_attention_mask", m.graph(), {attention_pass()});
}

TEST(FuseAttention, WholeOps) {
  GraphMaker m;
  auto q = m.op("Transpose", {m.input({4, 2, 3}), m.integers({1, 0, 2})});
  auto k = m.input({2, 5, 3}), v = m.input({2, 5, 7});
  m.result(m.op("ScaledDotProductAttention", {q, k, v}, {{"causal", "true"}}));
  auto mask = m.input({4, 5}, element::boolean);
  m.result(m.op("ScaledDotProductAttention", {q, k, v, mask}, {{"causal", "false"}}));
  m.result(m.op("ScaledDotProductAttention", {q, k, v, m.scalar(0), m.scalar(0.5f)}, {{"causal", "false"}}));
  test::expect_rewrite("fuse_attention_whole", m.graph(), {attention_pass()});
}

/// k and v of two heads, each for three of q; a factor of q; a mask that selects.
TEST(FuseAttention, HeadsThatShareKeysAndAMaskThatSelects) {
  GraphMaker m;
  auto q = m.op("Multiply", {m.op("Transpose", {m.input({1, 4, 6, 8}), m.integers({0, 2, 1, 3})}), m.scalar(0.5f)});
  auto k = test::repeated_heads(m, m.op("Transpose", {m.input({1, 5, 2, 8}), m.integers({0, 2, 1, 3})}), 3);
  auto v = test::repeated_heads(m, m.input({1, 2, 5, 7}), 3);
  auto s = m.op("MatMul", {q, m.op("Transpose", {k, m.integers({0, 1, 3, 2})})});
  auto mask = m.op("Broadcast", {m.input({1, 1, 1, 5}, element::boolean), m.integers({1, 6, 4, 5})});
  s = m.op("SoftMax", {m.op("Select", {mask, m.scalar(-3e38f), s})}, {{"axis", "-1"}});
  m.result(m.op("MatMul", {s, v}));
  test::expect_rewrite("fuse_attention_groups", m.graph(), {attention_pass()});
}

TEST(FuseAttention, AxesOfOneBetweenTheProducts) {
  GraphMaker m;
  auto s = m.op("MatMul", {m.input({6, 4, 3}), m.input({6, 5, 3})}, kTransposeB);
  s = m.op("Reshape", {s, m.integers({1, 6, 4, 5})}, {{"special_zero", "false"}});
  s = m.op("Add", {s, m.input({1, 1, 4, 5})});
  s = m.op("SoftMax", {m.op("Squeeze", {s, m.integers({0})})}, {{"axis", "2"}});
  m.result(m.op("MatMul", {s, m.input({6, 5, 3})}));
  test::expect_rewrite("fuse_attention_ones", m.graph(), {attention_pass()});
}

/// Shifted windows: a bias of each head, then a mask of each window.
TEST(FuseAttention, TwoMasks) {
  GraphMaker m;
  auto s = m.op("MatMul", {m.input({6, 2, 4, 3}), m.input({6, 2, 4, 3})}, kTransposeB);
  s = m.op("Add", {s, m.input({1, 2, 4, 4})});
  s = m.op("Add", {m.op("Reshape", {s, m.integers({1, 6, 2, 4, 4})}, kAsGiven), m.input({1, 6, 1, 4, 4})});
  s = m.op("SoftMax", {m.op("Reshape", {s, m.integers({6, 2, 4, 4})}, kAsGiven)}, {{"axis", "3"}});
  m.result(m.op("MatMul", {s, m.input({6, 2, 4, 3})}));
  test::expect_rewrite("fuse_attention_two_masks", m.graph(), {attention_pass()});
}

TEST(FuseAttention, ATransposeThatMovesTheLastAxisStays) {
  GraphMaker m;
  auto q = m.op("Transpose", {m.input({3, 4}), m.integers({1, 0})});
  auto k = m.op("Transpose", {m.input({3, 5}), m.integers({})});
  auto p = m.op("SoftMax", {m.op("MatMul", {q, k}, kTransposeB)}, {{"axis", "-1"}});
  m.result(m.op("Transpose", {m.op("MatMul", {p, m.input({5, 2})}), m.integers({1, 0})}));
  test::expect_rewrite("fuse_attention_last_axis", m.graph(), {attention_pass()});
}

TEST(FuseAttention, RefusesIntermediateResultsThatAreRead) {
  for (const char* read : {"scores", "scaled", "masked", "weights"}) {
    GraphMaker m;
    auto x = m.input({1, 4, 6});
    m.result(test::self_attention(m, x, x, {.heads = 2, .mask = m.input({4, 4}), .also_result = read}));
    test::expect_refusal(m.graph(), {attention_pass()});
  }
}

TEST(FuseAttention, RefusesOtherMasksAndFactors) {
  const auto attend = [](GraphMaker& m, auto between) {
    auto scores = m.op("MatMul", {m.input({2, 4, 3}), m.input({2, 5, 3})}, kTransposeB);
    m.result(m.op("MatMul", {m.op("SoftMax", {between(scores)}, {{"axis", "2"}}), m.input({2, 5, 3})}));
  };
  GraphMaker m;
  attend(m, [&](ir::Value s) { return m.op("Add", {s, m.input({2, 4, 1})}); });  // one value for all sources
  attend(m, [&](ir::Value s) { return m.op("Add", {s, m.scalar(1)}); });         // likewise
  attend(m, [&](ir::Value s) { return m.op("Multiply", {s, m.input({})}); });    // known at run time only
  attend(m, [&](ir::Value s) { return m.op("Multiply", {s, m.constant({5}, {1, 2, 3, 4, 5})}); });
  attend(m, [&](ir::Value s) { return m.op("Divide", {m.scalar(1), s}); });  // the reciprocal
  attend(m, [&](ir::Value s) { return m.op("Multiply", {m.op("Add", {s, m.input({4, 5})}), m.scalar(2)}); });
  attend(m, [&](ir::Value s) {  // a third mask
    return m.op("Add", {m.input({4, 5}), m.op("Add", {m.op("Add", {s, m.input({4, 5})}), m.input({4, 5})})});
  });
  attend(m, [&](ir::Value s) { return m.op("Add", {m.op("Add", {s, m.input({4, 1})}), m.input({4, 5})}); });
  attend(m, [&](ir::Value s) { return m.op("ReLU", {s}); });
  test::expect_refusal(m.graph(), {attention_pass()});
}

TEST(FuseAttention, RefusesOtherSelections) {
  const auto attend = [](GraphMaker& m, auto between) {
    auto scores = m.op("MatMul", {m.input({2, 4, 3}), m.input({2, 5, 3})}, kTransposeB);
    m.result(m.op("MatMul", {m.op("SoftMax", {between(scores)}, {{"axis", "2"}}), m.input({2, 5, 3})}));
  };
  GraphMaker m;
  const auto mask = [&](const PartialShape& shape) { return m.input(shape, element::boolean); };
  const auto never = m.scalar(-3e38f);
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({4, 5}), s, m.scalar(-10000)}); });  // scores show through
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({4, 5}), s, m.scalar(3e38f)}); });
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({4, 1}), never, s}); });        // one value for all sources
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({}), never, s}); });            // likewise
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({4, 5}), m.input({}), s}); });  // known at run time only
  attend(m, [&](ir::Value s) { return m.op("Select", {mask({4, 5}), m.constant({5}, {-3e38f, 0, 0, 0, 0}), s}); });
  attend(m, [&](ir::Value s) { return m.op("Add", {m.op("Select", {mask({4, 5}), never, s}), m.input({4, 5})}); });
  attend(m, [&](ir::Value s) { return m.op("Multiply", {m.op("Select", {mask({4, 5}), never, s}), m.scalar(2)}); });
  attend(m, [&](ir::Value s) {
    return m.op("Reshape", {m.op("Reshape", {s, m.integers({2, 2, 2, 5})}, kAsGiven), m.integers({2, 4, 5})}, kAsGiven);
  });
  test::expect_refusal(m.graph(), {attention_pass()});
}

TEST(FuseAttention, LeavesFactorsThatAreNotOfTheWholeOrThatOthersRead) {
  for (const bool read : {false, true}) {
    GraphMaker m;
    auto q = m.op("Multiply", {m.input({2, 4, 3}), read ? m.scalar(2) : m.constant({3}, {1, 2, 3})});
    if (read) m.result(q);
    auto k = m.op("Multiply", {m.input({5, 3}), m.constant({2, 1, 1}, {2, 2})});
    auto v = m.op("Multiply", {m.input({2, 5, 3}), m.scalar(2)});
    auto p = m.op("SoftMax", {m.op("MatMul", {q, k}, kTransposeB)}, {{"axis", "2"}});
    m.result(m.op("MatMul", {p, v}));
    const std::string text = text_after(m);
    EXPECT_NE(text.find("Attention-cpu(%multiply, %multiply2, %multiply3)"), std::string::npos) << text;
  }
}

/// Of its heads, none but those that come in a row can share keys.
TEST(FuseAttention, LooksThroughNoOtherRepetition) {
  const auto inputs_of = [](auto keys) {
    GraphMaker m;
    auto q = m.input({2, 4, 3, 8});
    m.result(m.op("ScaledDotProductAttention", {q, keys(m), m.input({2, 4, 5, 8})}, {{"causal", "false"}}));
    return text_after(m);
  };
  const auto repeated = [](GraphMaker& m, const ir::Dims& stored, const std::vector<int64_t>& apart,
                           const std::vector<int64_t>& target) {
    auto k = m.op("Reshape", {m.input(PartialShape(ir::to_shape(stored))), m.integers(apart)}, kAsGiven);
    return m.op("Reshape", {m.op("Broadcast", {k, m.integers(target)}), m.integers({2, 4, 5, 8})}, kAsGiven);
  };
  const auto fused = [&](const ir::Dims& stored, const std::vector<int64_t>& apart,
                         const std::vector<int64_t>& target) {
    return inputs_of([&](GraphMaker& m) { return repeated(m, stored, apart, target); }).find("k_groups=1") ==
           std::string::npos;
  };
  EXPECT_TRUE(fused({2, 2, 5, 8}, {2, 2, 1, 5, 8}, {2, 2, 2, 5, 8}));
  EXPECT_TRUE(fused({2, 1, 5, 8}, {2, 1, 1, 5, 8}, {2, 1, 4, 5, 8}));
  EXPECT_FALSE(fused({2, 2, 5, 8}, {2, 1, 2, 5, 8}, {2, 2, 2, 5, 8}));  // the same heads again
  EXPECT_FALSE(fused({2, 4, 8}, {2, 4, 1, 8}, {2, 4, 5, 8}));           // the same source
  EXPECT_FALSE(fused({1, 2, 5, 8}, {1, 2, 1, 5, 8}, {2, 2, 2, 5, 8}));  // the batch too
  EXPECT_FALSE(fused({4, 5, 8}, {1, 4, 5, 8}, {2, 4, 5, 8}));           // nothing but the batch
  EXPECT_FALSE(fused({5, 2, 2, 8}, {2, 2, 1, 5, 8}, {2, 2, 2, 5, 8}));  // other matrices
}

TEST(FuseAttention, RefusesOtherShapesOfTheOps) {
  GraphMaker m;
  const auto attend = [&](ir::Value q, ir::Value k, ir::Value v, const char* axis, const test::AttributeTexts& last) {
    auto p = m.op("SoftMax", {m.op("MatMul", {q, k}, kTransposeB)}, {{"axis", axis}});
    m.result(m.op("MatMul", {p, v}, last));
  };
  attend(m.input({2, 4, 3}), m.input({2, 4, 3}), m.input({2, 4, 3}), "1", {});                         // another axis
  attend(m.input({2, 4, 3}), m.input({5, 3}), m.input({2, 5, 3}), "2", {});                            // ranks of k
  attend(m.input({2, 4, 3}), m.input({2, 5, 3}), m.input({5, 3}), "2", {});                            // and of v
  attend(m.input({2, 4, 3}), m.input({2, 4, 3}), m.input({2, 4, 3}), "2", {{"transpose_a", "true"}});  // weights
  attend(m.input({2, 4, 3}), m.input({2, 5, 3}), m.input({2, 3, 5}), "2", kTransposeB);                // columns of v
  attend(m.input(PartialShape("2,?,3")), m.input({2, 5, 3}), m.input({2, 5, 3}), "2", {});
  auto weights = m.op("SoftMax", {m.op("MatMul", {m.input({4, 3}), m.input({5, 3})}, kTransposeB)}, {{"axis", "1"}});
  m.result(m.op("MatMul", {m.input({2, 4}), weights}));  // weights on the right
  test::expect_refusal(m.graph(), {attention_pass()});
}

TEST(FuseAttention, RefusesWholeOpsOfOtherForm) {
  GraphMaker m;
  const test::AttributeTexts plain = {{"causal", "false"}};
  auto q = m.input({2, 4, 3}), k = m.input({2, 5, 3}), v = m.input({2, 5, 3});
  m.result(m.op("ScaledDotProductAttention", {m.input({1, 2, 4, 3}), k, v}, plain));        // another rank
  m.result(m.op("ScaledDotProductAttention", {q, k, v, m.input({})}, plain));               // a scalar of a run
  m.result(m.op("ScaledDotProductAttention", {q, k, v, m.input({4, 1})}, plain));           // repeated along sources
  m.result(m.op("ScaledDotProductAttention", {q, k, v, m.scalar(0), m.input({})}, plain));  // a scale of a run
  test::expect_refusal(m.graph(), {attention_pass()});
}

}  // namespace
}  // namespace terroir::cpu
