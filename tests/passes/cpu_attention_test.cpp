// Attention on the CPU device, one step, against the interpreter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/passes/attention_graphs.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

const AttributeTexts kTransposeB = {{"transpose_b", "true"}};

/// One step stands for all of it.
void expect_fused(const GraphMaker& m, size_t steps = 1) {
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), steps);
  EXPECT_EQ(plan->steps[0].type, "Attention");
  EXPECT_NE(plan->steps[0].kernel.find("f32_attention"), std::string::npos) << plan->steps[0].kernel;
}

TEST(CpuAttention, SizesAroundTheTiles) {
  for (const int64_t targets : {1, 13, 14, 15, 43, 131})
    for (const int64_t sources : {1, 15, 17, 32, 33, 67}) {
      GraphMaker m;
      m.result(self_attention(m, m.input({1, targets, 26}), m.input({1, sources, 26}), {.heads = 2}));
      SCOPED_TRACE(concat(targets, " targets, ", sources, " sources"));
      expect_fused(m);
      expect_same_as_interpreter(m);
    }
}

TEST(CpuAttention, LongRowsAndRowsApartByPages) {
  GraphMaker m;
  // 16 heads of 64: the rows of a head are 4 KiB apart. 1008 sources: so would those of the scores be.
  m.result(self_attention(m, m.input({1, 30, 1024}), m.input({1, 1008, 1024}), {.heads = 16, .divide = true}));
  expect_same_as_interpreter(m);
}

TEST(CpuAttention, MasksOfEveryShape) {
  for (const PartialShape& shape : std::vector<PartialShape>{
           {19}, {1, 19}, {11, 19}, {2, 1, 11, 19}, {2, 1, 1, 19}, {3, 11, 19}, {2, 3, 11, 19}, {1, 3, 1, 19}}) {
    GraphMaker m;
    auto x = m.input({2, 11, 12}), y = m.input({2, 19, 12});
    auto mask = m.op("Multiply", {m.input(shape), m.scalar(30)});
    m.result(self_attention(m, x, y, {.heads = 3, .keys_transposed = true, .mask = mask}));
    expect_same_as_interpreter(m);
  }
}

TEST(CpuAttention, MasksThatForbid) {
  GraphMaker m;
  auto q = m.input({2, 3, 11, 5}), k = m.input({2, 3, 40, 5}), v = m.input({2, 3, 40, 9});
  // Source 0 stays allowed, so that no target is left without any.
  auto allowed = m.op("Greater", {m.op("Add", {m.input({2, 1, 11, 40}), m.constant({40},
                                                                                   [] {
                                                                                     std::vector<float> first(40, 0.0f);
                                                                                     first[0] = 2;
                                                                                     return first;
                                                                                   }())}),
                                  m.scalar(0)});
  m.result(m.op("ScaledDotProductAttention", {q, k, v, allowed}, {{"causal", "false"}}));
  m.result(m.op("ScaledDotProductAttention", {q, k, v, m.input({40}), m.scalar(3)}, {{"causal", "false"}}));
  m.result(m.op("ScaledDotProductAttention", {q, k, v}, {{"causal", "true"}}));
  m.result(m.op("ScaledDotProductAttention", {k, q, m.input({2, 3, 11, 9})}, {{"causal", "true"}}));
  expect_same_as_interpreter(m);
}

TEST(CpuAttention, ATargetThatMayLookAtNothingGivesNaN) {
  GraphMaker m;
  const float never = -std::numeric_limits<float>::infinity();
  auto p = m.op("MatMul", {m.input({3, 4}), m.input({2, 4})}, kTransposeB);
  p = m.op("SoftMax", {m.op("Add", {p, m.constant({3, 2}, {0, 0, never, never, never, 0})})}, {{"axis", "1"}});
  m.result(m.op("MatMul", {p, m.input({2, 3})}));
  expect_fused(m);
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({3, 4}, 1), random_tensor({2, 4}, 2), random_tensor({2, 3}, 3)}};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto result = run_on_cpu(m.graph(), isa, 1, inputs);
    const auto* values = result[0][0].view().as<float>();
    for (int i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(values[i]), i / 3 == 1) << i;
  }
}

TEST(CpuAttention, MasksOfALargerBatch) {
  GraphMaker m;
  auto q = m.input({1, 3, 9, 8}), k = m.input({1, 3, 21, 8});
  for (const PartialShape& shape : std::vector<PartialShape>{{2, 1, 9, 21}, {2, 3, 1, 21}, {2, 1, 3, 1, 21}})
    m.result(m.op("ScaledDotProductAttention", {q, k, k, m.input(shape)}, {{"causal", "false"}}));
  expect_same_as_interpreter(m);
}

TEST(CpuAttention, HeadsThatShareKeys) {
  GraphMaker m;
  auto q = m.input({2, 6, 9, 8}), k = m.input({2, 1, 21, 8}), v = m.input({1, 6, 21, 10});
  m.result(m.op("ScaledDotProductAttention", {q, k, v}, {{"causal", "false"}}));
  m.result(m.op("ScaledDotProductAttention", {m.input({1, 1, 9, 8}), k, v}, {{"causal", "false"}}));
  expect_same_as_interpreter(m);
}

/// One more score per row, which takes its share and goes nowhere.
TEST(CpuAttention, SinksOfEveryShape) {
  for (const PartialShape& shape :
       std::vector<PartialShape>{{1}, {3, 1, 1}, {2, 3, 1, 1}, {11, 1}, {1, 3, 11, 1}, {2, 1, 11, 1}})
    for (const char* causal : {"false", "true"})
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(concat(shape, " causal ", causal, masked ? " masked" : ""));
        GraphMaker m;
        auto q = m.input({2, 3, 11, 5}), k = m.input({2, 1, 40, 5}), v = m.input({2, 3, 40, 9});
        const auto mask = masked ? m.input({2, 1, 11, 40}) : m.scalar(0);
        m.result(m.op("ScaledDotProductAttention", {q, k, v, mask, m.scalar(3), m.input(shape)}, {{"causal", causal}}));
        expect_fused(m);
        expect_same_as_interpreter(m);
      }
}

TEST(CpuAttention, SinksBeyondAllScores) {
  for (const float sink : {-1e30f, 1e30f, -std::numeric_limits<float>::infinity()}) {
    GraphMaker m;
    m.result(m.op("ScaledDotProductAttention",
                  {m.input({1, 5, 4}), m.input({1, 19, 4}), m.input({1, 19, 3}), m.scalar(0), m.scalar(1),
                   m.constant({1}, {sink})},
                  {{"causal", "false"}}));
    expect_fused(m);
    expect_same_as_interpreter(m);
  }
}

TEST(CpuAttention, ATargetWhoseBooleanMaskAllowsNothingTakesTheMean) {
  GraphMaker m;
  m.result(m.op("ScaledDotProductAttention",
                {m.input({1, 2, 4}), m.input({1, 19, 4}), m.input({1, 19, 3}), m.input({2, 19}, element::boolean)},
                {{"causal", "false"}}));
  expect_fused(m);
  HostTensor allowed(element::boolean, {2, 19});
  for (int i = 0; i < 38; ++i) allowed.writable().as<uint8_t>()[i] = i >= 19;
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({1, 2, 4}, 1), random_tensor({1, 19, 4}, 2), random_tensor({1, 19, 3}, 3), allowed}};
  expect_same_as_interpreter(m.graph(), inputs);
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto result = run_on_cpu(m.graph(), isa, 1, inputs);
    for (int e = 0; e < 3; ++e) {
      float mean = 0;
      for (int s = 0; s < 19; ++s) mean += inputs[0][2].view().as<float>()[s * 3 + e] / 19;
      EXPECT_NEAR(result[0][0].view().as<float>()[e], mean, 1e-6) << e;
    }
  }
}

// All weight goes to the sink; without one, these rows take the mean.
TEST(CpuAttention, ATargetThatMayLookAtNothingButASinkGivesZero) {
  GraphMaker m;
  const HostTensor allowed = [] {
    HostTensor mask(element::boolean, {1, 2, 2});
    for (int i = 0; i < 4; ++i) mask.writable().as<uint8_t>()[i] = i >= 2;
    return mask;
  }();
  m.result(m.op("ScaledDotProductAttention",
                {m.input({1, 2, 4}), m.input({1, 2, 4}), m.input({1, 2, 3}), m.input({1, 2, 2}, element::boolean),
                 m.scalar(1), m.constant({1}, {0.5f})},
                {{"causal", "false"}}));
  expect_fused(m);
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({1, 2, 4}, 1), random_tensor({1, 2, 4}, 2), random_tensor({1, 2, 3}, 3), allowed}};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto result = run_on_cpu(m.graph(), isa, 1, inputs);
    const auto* values = result[0][0].view().as<float>();
    for (int i = 0; i < 6; ++i) EXPECT_EQ(values[i] == 0.0f, i < 3) << i << ": " << values[i];
  }
}

TEST(CpuAttention, ExtremeScoresStayFinite) {
  GraphMaker m;
  auto big = m.op("Multiply", {m.input({7, 4}), m.scalar(1e4f)});
  auto p = m.op("MatMul", {big, m.op("Multiply", {m.input({9, 4}), m.scalar(1e4f)})}, kTransposeB);
  m.result(m.op("MatMul", {m.op("SoftMax", {p}, {{"axis", "1"}}), m.input({9, 3})}));
  expect_same_as_interpreter(m);
}

/// Any rank, any orders that keep the last axis, any mask, any repetition.
TEST(CpuAttention, RandomGraphs) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    std::mt19937 engine(seed);
    const auto below = [&](uint32_t n) { return static_cast<int64_t>(engine() % n); };
    const int64_t rank = 2 + below(4);
    ir::Dims outer;
    for (int64_t i = 0; i + 2 < rank; ++i) outer.push_back(1 + below(3));
    const int64_t targets = 1 + below(50), sources = 1 + below(50), depth = 1 + below(40), width = 1 + below(40);
    GraphMaker m;
    const auto operand = [&](int64_t rows, int64_t columns, bool swapped) {
      ir::Dims dims = outer;
      for (int64_t& extent : dims)
        if (below(4) == 0) extent = 1;
      dims.insert(dims.end(), {swapped ? columns : rows, swapped ? rows : columns});
      // A stored tensor in another order, and the Transpose that undoes it; columns stay last.
      std::vector<int64_t> order(static_cast<size_t>(rank));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
      std::shuffle(order.begin(), order.end() - 1, engine);
      if (swapped) {
        const auto at = std::find(order.begin(), order.end(), rank - 2);
        std::iter_swap(at, order.end() - 1);
      }
      ir::Dims stored(order.size());
      for (size_t i = 0; i < order.size(); ++i) stored[i] = dims[static_cast<size_t>(order[i])];
      std::vector<int64_t> back(order.size());
      for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      return m.op("Transpose", {m.input(PartialShape(ir::to_shape(stored))), m.integers(back)});
    };
    const bool k_swapped = below(2) == 0, v_swapped = below(2) == 0;
    auto s = m.op("MatMul", {operand(targets, depth, false), operand(sources, depth, k_swapped)},
                  {{"transpose_b", k_swapped ? "false" : "true"}});
    if (below(2) == 0) s = m.op("Multiply", {s, m.scalar(0.25f + static_cast<float>(below(4)))});
    if (below(2) == 0) s = m.op("Add", {m.input({below(2) == 0 ? targets : 1, sources}), s});
    s = m.op("SoftMax", {s}, {{"axis", std::to_string(rank - 1)}});
    s = m.op("MatMul", {s, operand(sources, width, v_swapped)}, {{"transpose_b", v_swapped ? "true" : "false"}});
    if (below(2) == 0 && rank > 2) {
      std::vector<int64_t> order(static_cast<size_t>(rank));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
      std::shuffle(order.begin(), order.end() - 1, engine);
      s = m.op("Transpose", {s, m.integers(order)});
    }
    m.result(s);
    expect_fused(m);
    expect_same_as_interpreter(m);
  }
}

TEST(CpuAttention, TheSameBitsForAnyThreads) {
  GraphMaker m;
  auto x = m.input({1, 77, 40}), y = m.input({1, 131, 40}), mask = m.input({77, 131});
  m.result(self_attention(m, x, y, {.heads = 5, .mask = mask}));
  const std::vector<std::vector<HostTensor>> inputs = {
      {random_tensor({1, 77, 40}, 1), random_tensor({1, 131, 40}, 2), random_tensor({77, 131}, 3)}};
  for (const cpu::Isa isa : cpu::available_isas()) {
    const auto one = run_on_cpu(m.graph(), isa, 1, inputs);
    for (const int threads : {2, 3, 4, 8}) {
      const auto many = run_on_cpu(m.graph(), isa, threads, inputs);
      EXPECT_EQ(std::memcmp(one[0][0].view().data, many[0][0].view().data, one[0][0].view().bytes()), 0) << threads;
    }
  }
}

/// Steps of decoding: keys packed a few panels at a time, values read where they lie.
TEST(CpuAttention, FewTargets) {
  for (const int64_t targets : {1, 2, 4, 5})
    for (const int64_t sources : {1, 16, 33, 131, 1025})
      for (const int64_t depth : {1, 20, 64}) {
        GraphMaker m;
        auto mask = m.input({targets, sources});
        auto x = m.input({2, targets, depth * 3}), y = m.input({2, sources, depth * 3});
        m.result(self_attention(m, x, y, {.heads = 3, .mask = mask}));
        // The values of a head side by side with nothing, and their last ones at the end of the input.
        auto k = m.input({3, sources, depth}), v = m.input({3, sources, depth + 3});
        m.result(m.op("ScaledDotProductAttention", {m.input({3, targets, depth}), k, v}, {{"causal", "true"}}));
        SCOPED_TRACE(concat(targets, " targets, ", sources, " sources, depth ", depth));
        EXPECT_EQ(plan_of(m)->steps[0].kernel.find("_plain") != std::string::npos, targets <= 4);
        expect_same_as_interpreter(m);
      }
}

/// Neither the number of targets nor what else is in the batch.
TEST(CpuAttention, ATargetHasTheSameBitsAmongFewAndAmongMany) {
  const auto run = [](int64_t batch, int64_t targets, int64_t kv_heads, cpu::Isa isa, int threads) {
    GraphMaker m;
    auto q = m.input({batch, 6, targets, 24});
    auto k = m.input({batch, kv_heads, 77, 24}), v = m.input({batch, kv_heads, 77, 40});
    m.result(m.op("ScaledDotProductAttention",
                  {q, repeated_heads(m, k, 6 / kv_heads), repeated_heads(m, v, 6 / kv_heads)}, {{"causal", "false"}}));
    // Every image, target and head the same.
    const auto repeated = [](const ir::Dims& dims, uint32_t seed) {
      HostTensor tensor = random_tensor(dims, seed);
      const HostTensor row = random_tensor({dims[2], dims[3]}, seed);
      for (int64_t i = 0; i < dims[0] * dims[1]; ++i)
        std::memcpy(tensor.writable().as<float>() + i * dims[2] * dims[3], row.view().data, row.view().bytes());
      return tensor;
    };
    HostTensor queries = repeated({batch, 6, targets, 24}, 1);
    auto* const rows = queries.writable().as<float>();
    for (int64_t i = 1; i < batch * 6 * targets; ++i) std::memcpy(rows + i * 24, rows, 24 * sizeof(float));
    const std::vector<std::vector<HostTensor>> inputs = {
        {queries, repeated({batch, kv_heads, 77, 24}, 2), repeated({batch, kv_heads, 77, 40}, 3)}};
    return run_on_cpu(m.graph(), isa, threads, inputs)[0][0];
  };
  for (const cpu::Isa isa : cpu::available_isas()) {
    const HostTensor one = run(1, 1, 6, isa, 1);
    for (const int64_t batch : {1, 2})
      for (const int64_t targets : {1, 3, 5, 30})
        for (const int64_t kv_heads : {1, 2, 6})
          for (const int threads : {1, 3, 8}) {
            const HostTensor many = run(batch, targets, kv_heads, isa, threads);
            for (int64_t i = 0; i < batch * 6 * targets; ++i)
              ASSERT_EQ(std::memcmp(one.view().data, many.view().as<float>() + i * 40, 40 * sizeof(float)), 0)
                  << batch << ' ' << targets << ' ' << kv_heads << ' ' << threads << ' ' << i;
          }
  }
}

TEST(CpuAttention, KeysOfHeadsInARow) {
  for (const int64_t kv_heads : {1, 2})
    for (const int64_t times : {3, 8})
      for (const int64_t targets : {1, 3, 9})
        for (const bool split : {false, true}) {
          GraphMaker m;
          // Queries by head, or the heads of a target side by side.
          const int64_t heads = kv_heads * times;
          auto q = split ? m.op("Transpose", {m.input({2, targets, heads, 16}), m.integers({0, 2, 1, 3})})
                         : m.input({2, heads, targets, 16});
          auto k = repeated_heads(m, m.input({2, kv_heads, 70, 16}), times);
          auto v =
              repeated_heads(m, m.op("Transpose", {m.input({2, 70, kv_heads, 33}), m.integers({0, 2, 1, 3})}), times);
          auto s = m.op("MatMul", {m.op("Divide", {q, m.scalar(4)}), k}, kTransposeB);
          s = m.op("SoftMax", {m.op("Add", {s, m.input({2, heads, targets, 70})})}, {{"axis", "3"}});
          s = m.op("MatMul", {s, v});
          m.result(split ? m.op("Transpose", {s, m.integers({0, 2, 1, 3})}) : s);
          m.result(m.op("ScaledDotProductAttention",
                        {q, k, m.input({1, heads, 70, 5}), m.scalar(0), m.scalar(1), m.input({heads, 1, 1})},
                        {{"causal", "false"}}));
          SCOPED_TRACE(concat(kv_heads, " times ", times, ", ", targets, " targets", split ? ", split" : ""));
          expect_fused(m, 2);
          expect_same_as_interpreter(m);
        }
}

TEST(CpuAttention, MasksThatSelect) {
  for (const bool forbids : {false, true})
    for (const float never : {-1e30f, std::numeric_limits<float>::lowest(), -std::numeric_limits<float>::infinity()})
      for (const int64_t targets : {1, 7}) {
        GraphMaker m;
        auto s = m.op("MatMul", {m.input({2, 3, targets, 8}), m.input({2, 3, 40, 8})}, kTransposeB);
        auto mask = m.op("Broadcast", {m.input({2, 1, 1, 40}, element::boolean), m.integers({2, 3, targets, 40})},
                         {{"mode", "bidirectional"}});
        s = m.op("Multiply", {s, m.scalar(3)});
        s = m.op("Select", forbids ? std::vector{mask, m.scalar(never), s} : std::vector{mask, s, m.scalar(never)});
        m.result(m.op("MatMul", {m.op("SoftMax", {s}, {{"axis", "3"}}), m.input({2, 3, 40, 6})}));
        SCOPED_TRACE(concat(forbids ? "forbids " : "allows ", never, ", ", targets, " targets"));
        expect_fused(m);
        // Of the second image nothing may be looked at, where that has a meaning: the mean.
        HostTensor given(element::boolean, {2, 1, 1, 40});
        for (int i = 0; i < 80; ++i) {
          const bool allowed = i < 40 ? i % 3 == 0 : !std::isinf(never) ? false : i == 50;
          given.writable().as<uint8_t>()[i] = allowed != forbids;
        }
        const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({2, 3, targets, 8}, 1),
                                                              random_tensor({2, 3, 40, 8}, 2), given,
                                                              random_tensor({2, 3, 40, 6}, 3)}};
        expect_same_as_interpreter(m.graph(), inputs);
      }
}

/// Where a mask selects, what the score is does not matter: slots of a cache that nobody wrote.
TEST(CpuAttention, MasksThatSelectForgetWhatTheyForbid) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e32f})
    for (const int64_t targets : {1, 7}) {
      GraphMaker m;
      auto s = m.op("MatMul", {m.input({1, 2, targets, 8}), m.input({1, 2, 21, 8})}, kTransposeB);
      s = m.op("Select", {m.input({1, 1, 1, 21}, element::boolean), s, m.scalar(-1e30f)});
      m.result(m.op("MatMul", {m.op("SoftMax", {s}, {{"axis", "3"}}), m.input({1, 2, 21, 6})}));
      expect_fused(m);
      HostTensor keys = random_tensor({1, 2, 21, 8}, 2), allowed(element::boolean, {1, 1, 1, 21});
      for (int64_t i = 0; i < 21; ++i) {
        allowed.writable().as<uint8_t>()[i] = i % 4 != 2;
        if (i % 4 == 2) keys.writable().as<float>()[i * 8] = keys.writable().as<float>()[(21 + i) * 8] = bad;
      }
      const std::vector<std::vector<HostTensor>> inputs = {
          {random_tensor({1, 2, targets, 8}, 1), keys, allowed, random_tensor({1, 2, 21, 6}, 3)}};
      expect_same_as_interpreter(m.graph(), inputs);
    }
}

/// Keys and values that are repeated for no head at all.
TEST(CpuAttention, NoHeads) {
  GraphMaker m;
  const auto repeated = [&](int64_t columns) {
    const auto apart = m.op("Unsqueeze", {m.input({1, 1, 5, columns}), m.integers({2})});
    const auto none = m.op("Broadcast", {apart, m.integers({1, 1, 0, 5, columns})}, {{"mode", "numpy"}});
    return m.op("Reshape", {none, m.integers({1, 0, 5, columns})}, {{"special_zero", "false"}});
  };
  auto s = m.op("MatMul", {m.input({1, 0, 1, 8}), repeated(8)}, kTransposeB);
  m.result(m.op("MatMul", {m.op("SoftMax", {s}, {{"axis", "3"}}), repeated(8)}));
  expect_same_as_interpreter(m);
}

TEST(CpuAttention, AxesOfOneBetweenTheProducts) {
  for (const int64_t targets : {3, 20}) {
    GraphMaker m;
    auto s = m.op("MatMul", {m.input({4, targets, 8}), m.input({4, 21, 8})}, kTransposeB);
    s = m.op("Add", {m.op("Unsqueeze", {s, m.integers({0})}), m.input({1, 1, targets, 21})});
    s = m.op("Reshape", {s, m.integers({4, targets, 21})}, {{"special_zero", "false"}});
    m.result(m.op("MatMul", {m.op("SoftMax", {s}, {{"axis", "2"}}), m.input({4, 21, 6})}));
    expect_fused(m);
    expect_same_as_interpreter(m);
  }
}

/// Of many targets and of few, in several blocks of targets, and through the reference.
TEST(CpuAttention, TwoMasks) {
  for (const int64_t targets : {1, 3, 49, 300})
    for (const PartialShape& bias : std::vector<PartialShape>{{3, targets, 33}, {1, 33}, {4, 1, 1, 33}}) {
      GraphMaker m;
      auto s = m.op("MatMul", {m.input({4, 3, targets, 8}), m.input({4, 3, 33, 8})}, kTransposeB);
      s = m.op("Add", {m.op("Multiply", {s, m.scalar(0.3f)}), m.input(bias)});
      s = m.op("Add", {m.op("Unsqueeze", {s, m.integers({0})}), m.input({1, 4, 1, targets, 33})});
      s = m.op("Reshape", {s, m.integers({4, 3, targets, 33})}, {{"special_zero", "false"}});
      m.result(m.op("MatMul", {m.op("SoftMax", {s}, {{"axis", "3"}}), m.input({4, 3, 33, 6})}));
      expect_fused(m);
      expect_same_as_interpreter(m);
    }
}

/// A cache that grows from nothing.
TEST(CpuAttention, DynamicNumbersOfTargetsAndSources) {
  GraphMaker m;
  auto q = m.input(PartialShape("?,6,?,8")), past = m.input(PartialShape("?,2,?,8"));
  auto mask = m.input(PartialShape("?,1,1,?"), element::boolean);
  auto shape = m.op("ShapeOf", {past}, {{"output_type", "i64"}});
  const auto extents = [&](const std::vector<int64_t>& axes) {
    return m.op("Gather", {shape, m.integers(axes), m.scalar_integer(0)});
  };
  auto k = m.op("Broadcast",
                {m.op("Unsqueeze", {past, m.integers({2})}),
                 m.op("Concat", {extents({0, 1}), m.integers({3}), extents({2, 3})}, {{"axis", "0"}})},
                {{"mode", "bidirectional"}});
  k = m.op("Reshape", {k, m.op("Concat", {extents({0}), m.integers({6}), extents({2, 3})}, {{"axis", "0"}})},
           {{"special_zero", "false"}});
  auto s = m.op("MatMul", {m.op("Multiply", {q, m.scalar(0.25f)}), k}, kTransposeB);
  s = m.op("SoftMax", {m.op("Select", {mask, s, m.scalar(-3e38f)})}, {{"axis", "-1"}});
  m.result(m.op("MatMul", {s, k}));
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& [batch, targets, sources] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 0}, {1, 5, 5}, {1, 1, 6}, {2, 1, 37}, {2, 9, 37}, {1, 1, 6}}) {
    HostTensor allowed(element::boolean, {batch, 1, 1, sources});
    for (int64_t i = 0; i < batch * sources; ++i) allowed.writable().as<uint8_t>()[i] = i % 4 != 1;
    sets.push_back({random_tensor({batch, 6, targets, 8}, 1), random_tensor({batch, 2, sources, 8}, 2), allowed});
  }
  expect_same_as_interpreter(m.graph(), sets);
}

}  // namespace
}  // namespace terroir::test
