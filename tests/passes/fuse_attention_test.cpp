// Attention that becomes one step: graph text before and after, and what must stay single ops.
#include "plugins/cpu/passes/fuse_attention.hpp"

#include <gtest/gtest.h>

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
  attend(m, [&](ir::Value s) { return m.op("Add", {m.op("Add", {s, m.input({4, 5})}), m.input({4, 5})}); });
  attend(m, [&](ir::Value s) { return m.op("ReLU", {s}); });
  test::expect_refusal(m.graph(), {attention_pass()});
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
