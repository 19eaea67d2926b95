// Normalisation and activations written as single ops: graph text before and after, what stays, and the values.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/passes/fuse_rms_norm.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/keep_dims.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

ir::Pass mvn() { return ops::collapse_mvn(ops::builtin_registry()); }
ir::Pass gates() { return ops::collapse_gates(ops::builtin_registry()); }

ir::Value mean(GraphMaker& m, ir::Value x, const std::vector<int64_t>& axes) {
  return m.op("ReduceMean", {x, m.integers(axes)}, kKeep);
}
ir::Value power(GraphMaker& m, ir::Value x, float exponent) { return m.op("Power", {x, m.scalar(exponent)}); }
ir::Value plus(GraphMaker& m, ir::Value x, float y) { return m.op("Add", {x, m.scalar(y)}); }

/// The ways to write a normalisation over the last axis of [.., n].
constexpr int kForms = 6;
ir::Value normalized(GraphMaker& m, ir::Value x, int form) {
  const auto d = m.op("Subtract", {x, mean(m, x, {-1})});
  const auto squares = [&](ir::Value v) {
    if (form == 1) return m.op("Multiply", {v, v});
    if (form == 2) return m.op("SquaredDifference", {x, mean(m, x, {-1})});
    // As exporters of some frameworks do: subtracted once more.
    if (form == 3) return power(m, m.op("Subtract", {x, mean(m, x, {-1})}), 2);
    return power(m, v, 2);
  };
  const auto variance = mean(m, squares(d), {-1});
  if (form == 4) return m.op("Divide", {d, plus(m, m.op("Sqrt", {variance}), 1e-3f)});
  if (form == 5) return m.op("Multiply", {power(m, plus(m, variance, 1e-3f), -0.5f), d});
  if (form == 1) return m.op("Multiply", {d, m.op("Divide", {m.scalar(1), m.op("Sqrt", {plus(m, variance, 1e-3f)})})});
  if (form == 3) return m.op("Divide", {d, power(m, plus(m, variance, 1e-3f), 0.5f)});
  return m.op("Divide", {d, m.op("Sqrt", {m.op("Add", {m.scalar(1e-3f), variance})})});
}

TEST(CollapseMvn, LayerNormalisation) {
  GraphMaker m;
  auto y = normalized(m, m.input({2, 3, 4}), 0);
  m.result(m.op("Add", {m.op("Multiply", {y, m.constant({4}, {1, 2, 3, 4})}), m.constant({4}, {5, 6, 7, 8})}));
  expect_rewrite("collapse_layer_norm", m.graph(), {mvn()});
}

TEST(CollapseMvn, OtherFormsAndUnknownExtents) {
  GraphMaker m;
  m.result(normalized(m, m.input(PartialShape("?,3")), 4));
  m.result(normalized(m, m.input({2, 3}), 5));
  m.result(normalized(m, m.input({2, 3}), 2));
  expect_rewrite("collapse_mvn_forms", m.graph(), {mvn()});
}

TEST(CollapseMvn, EveryFormIsOneStepWithTheSameValues) {
  for (int form = 0; form < kForms; ++form) {
    SCOPED_TRACE(form);
    GraphMaker m;
    auto y = normalized(m, m.input({3, 5, 37}), form);
    m.result(m.op("Add", {m.op("Multiply", {y, m.random({37}, 1)}), m.random({1, 1, 37}, 2)}));
    const auto plan = plan_of(m);
    ASSERT_EQ(plan->steps.size(), 1u);
    EXPECT_EQ(plan->steps[0].type, "MVN");
    expect_same_as_interpreter(m);
  }
}

TEST(CollapseMvn, Refuses) {
  GraphMaker m;
  auto x = m.input({2, 3});
  const auto finish = [&](ir::Value d, ir::Value variance) {
    m.result(m.op("Divide", {d, m.op("Sqrt", {plus(m, variance, 1e-3f)})}));
  };
  auto d = m.op("Subtract", {x, mean(m, x, {1})});
  finish(d, mean(m, power(m, d, 2), {0}));  // means over different axes
  d = m.op("Subtract", {x, mean(m, x, {1})});
  finish(d, mean(m, power(m, d, 3), {1}));  // not squares
  d = m.op("Subtract", {x, m.input({2, 1})});
  finish(d, mean(m, power(m, d, 2), {1}));  // not the mean
  d = m.op("Subtract", {x, mean(m, m.op("ReLU", {x}), {1})});
  finish(d, mean(m, power(m, d, 2), {1}));  // the mean of something else
  d = m.op("Subtract", {mean(m, x, {1}), x});
  finish(d, mean(m, power(m, d, 2), {1}));  // the other way around
  d = m.op("Subtract", {x, m.op("ReduceMean", {x, m.integers({0})})});
  finish(d, mean(m, power(m, d, 2), {0}));  // axes not kept, though they happen to fit
  d = m.op("Subtract", {x, mean(m, x, {1})});
  auto variance = mean(m, power(m, d, 2), {1});
  m.result(variance);  // read by something else
  finish(d, variance);
  d = m.op("Subtract", {x, mean(m, x, {1})});
  m.result(m.op("Divide", {d, m.op("Sqrt", {m.op("Add", {mean(m, power(m, d, 2), {1}), m.input({})})})}));
  d = m.op("Subtract", {x, mean(m, x, {1})});
  m.result(m.op("Divide", {m.op("Sqrt", {plus(m, mean(m, power(m, d, 2), {1}), 1e-3f)}), d}));  // upside down
  finish(x, mean(m, power(m, x, 2), {1}));                                                      // not centered
  expect_refusal(m.graph(), {mvn()});
}

TEST(CpuMvn, ChainsAlongEveryAxis) {
  const AttributeTexts attributes = {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  for (const PartialShape& shape :
       std::vector<PartialShape>{{2, 19, 5, 7}, {3, 4, 33}, {5, 6}, {2, 3, 1}, {1, 17, 4, 1}})
    for (int64_t count = 1; count < static_cast<int64_t>(shape.size()); ++count)
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        GraphMaker m;
        std::vector<int64_t> axes;
        for (int64_t i = 0; i < count; ++i) axes.push_back(-1 - i);
        ir::Dims channels(shape.size(), 1);
        channels[axis] = shape[static_cast<int64_t>(axis)].get_length();
        auto y = m.op("MVN", {m.input(shape), m.integers(axes)}, attributes);
        y = m.op("Multiply", {m.random(channels, 1), y});
        y = m.op("Add", {y, m.random(channels, 2)});
        y = m.op("Sigmoid", {m.op("Add", {y, m.input(shape)})});
        m.result(m.op("Subtract", {y, m.random(channels, 3)}));
        SCOPED_TRACE(concat(shape, " last ", count, " channels along ", axis));
        ASSERT_EQ(plan_of(m)->steps.size(), 1u);
        expect_same_as_interpreter(m);
      }
}

TEST(CpuMvn, InstanceNormalisationBetweenConvolutions) {
  const AttributeTexts attributes = {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  GraphMaker m;
  auto y = m.conv(m.input({2, 3, 9, 9}), 20, 3, 1);
  y = m.op("MVN", {y, m.integers({2, 3})}, attributes);
  y = m.op("Add", {m.op("Multiply", {y, m.random({1, 20, 1, 1}, 2)}), m.random({1, 20, 1, 1}, 3)});
  m.result(m.conv(m.op("ReLU", {y}), 21, 1, 4));
  // The padded channels of a step that sends zero elsewhere must stay out of the next convolution.
  auto z = m.op("MVN", {m.conv(m.input({1, 3, 6, 6}), 17, 3, 5), m.integers({2, 3})}, attributes);
  m.result(m.conv(m.op("Exp", {z}), 5, 3, 6));
  expect_same_as_interpreter(m);
}

ir::Pass rms() {
  static const cpu::CpuOps ops(ops::builtin_registry());
  return cpu::fuse_rms_norm(ops);
}

ir::Value rms_norm(GraphMaker& m, ir::Value x, int form, const std::vector<int64_t>& axes = {-1}) {
  const auto squares = mean(m, form == 0 ? power(m, x, 2) : m.op("Multiply", {x, x}), axes);
  if (form == 0) return m.op("Multiply", {x, power(m, plus(m, squares, 1e-3f), -0.5f)});
  if (form == 1) return m.op("Divide", {x, plus(m, m.op("Sqrt", {squares}), 1e-3f)});
  return m.op("Multiply", {m.op("Divide", {m.scalar(1), m.op("Sqrt", {plus(m, squares, 1e-3f)})}), x});
}

TEST(FuseRmsNorm, WithAndWithoutAScale) {
  GraphMaker m;
  m.result(m.op("Multiply", {m.constant({1, 3}, {1, 2, 3}), rms_norm(m, m.input({2, 3}), 0)}));
  m.result(rms_norm(m, m.input({2, 3}), 1));
  m.result(m.op("Multiply", {rms_norm(m, m.input({2, 3}), 2), m.constant({2, 1}, {1, 2})}));  // a scale per row
  expect_rewrite("fuse_rms_norm", m.graph(), {rms()});
}

TEST(FuseRmsNorm, Refuses) {
  GraphMaker m;
  m.result(rms_norm(m, m.input({2, 3}), 0, {0}));
  m.result(rms_norm(m, m.input({2, 3}), 0, {0, 1}));
  m.result(rms_norm(m, m.input(PartialShape("?,3")), 0));
  m.result(normalized(m, m.input({2, 3}), 0));  // centered
  expect_refusal(m.graph(), {rms()});
}

TEST(FuseRmsNorm, OneStepWithTheSameValues) {
  for (int form = 0; form < 3; ++form)
    for (const int64_t n : {1, 7, 16, 33, 131, 1031}) {
      SCOPED_TRACE(concat("form ", form, ", rows of ", n));
      GraphMaker m;
      m.result(m.op("Multiply", {rms_norm(m, m.input({3, 7, n}), form), m.random({n}, 1)}));
      const auto plan = plan_of(m);
      ASSERT_EQ(plan->steps.size(), 1u);
      EXPECT_EQ(plan->steps[0].type, "RmsNorm");
      expect_same_as_interpreter(m);
      GraphMaker bare;
      bare.result(rms_norm(bare, bare.input({5, n}), form));
      expect_same_as_interpreter(bare);
    }
}

const float kRootHalf = static_cast<float>(1 / std::numbers::sqrt2);
const float kRoot = static_cast<float>(std::sqrt(2 * std::numbers::inv_pi));

TEST(CollapseGelu, Erf) {
  GraphMaker m;
  auto x = m.op("Abs", {m.input({2, 3})});
  auto gate = plus(m, m.op("Erf", {m.op("Divide", {x, m.scalar(1.41421356f)})}), 1);
  m.result(m.op("Multiply", {m.op("Multiply", {x, m.scalar(0.5f)}), gate}));
  x = m.input(PartialShape("?,3"));
  gate = m.op("Add", {m.scalar(1), m.op("Erf", {m.op("Multiply", {x, m.scalar(0.70703125f)})})});  // in half precision
  m.result(m.op("Multiply", {m.op("Multiply", {x, gate}), m.scalar(0.5f)}));
  x = m.input({4});
  gate = plus(m, m.op("Erf", {m.op("Multiply", {m.scalar(kRootHalf), x})}), 1);
  m.result(m.op("Multiply", {m.op("Divide", {gate, m.scalar(2)}), x}));
  expect_rewrite("collapse_gelu_erf", m.graph(), {gates()});
}

ir::Value tanh_gate(GraphMaker& m, ir::Value x, int form) {
  const auto cube = form == 0 ? power(m, x, 3) : m.op("Multiply", {m.op("Multiply", {x, x}), x});
  auto inner = m.op("Add", {x, m.op("Multiply", {m.scalar(0.044715f), cube})});
  if (form == 2) inner = m.op("Multiply", {x, plus(m, m.op("Multiply", {m.scalar(0.044715f), power(m, x, 2)}), 1)});
  return plus(m, m.op("Tanh", {m.op("Multiply", {inner, m.scalar(kRoot)})}), 1);
}

TEST(CollapseGelu, Tanh) {
  GraphMaker m;
  for (int form = 0; form < 3; ++form) {
    auto x = m.input({2, 3});
    m.result(m.op("Multiply", {m.op("Multiply", {m.scalar(0.5f), x}), tanh_gate(m, x, form)}));
  }
  expect_rewrite("collapse_gelu_tanh", m.graph(), {gates()});
}

TEST(CollapseGelu, OneStepWithTheSameValues) {
  for (int form = 0; form < 3; ++form) {
    GraphMaker m;
    auto x = m.op("MatMul", {m.op("Multiply", {m.input({7, 33}), m.scalar(4)}), m.random({33, 19}, 1)});
    m.result(m.op("Multiply", {m.op("Multiply", {m.scalar(0.5f), x}), tanh_gate(m, x, form)}));
    EXPECT_EQ(plan_of(m)->steps.back().type, "MatMul");
    expect_same_as_interpreter(m);
  }
}

TEST(CollapseGelu, Refuses) {
  GraphMaker m;
  auto x = m.input({2, 3});
  const auto product = [&](float half, float one, ir::Value function, ir::Value by) {
    m.result(m.op("Multiply", {m.op("Multiply", {by, m.scalar(half)}), plus(m, function, one)}));
  };
  const auto erf = [&](float factor) { return m.op("Erf", {m.op("Multiply", {x, m.scalar(factor)})}); };
  product(0.25f, 1, erf(kRootHalf), x);                                         // another factor
  product(0.5f, 2, erf(kRootHalf), x);                                          // another shift
  product(0.5f, 1, erf(0.72f), x);                                              // another argument
  product(0.5f, 1, erf(kRootHalf), m.input({2, 3}));                            // of something else
  product(0.5f, 1, m.op("Tanh", {m.op("Multiply", {x, m.scalar(kRoot)})}), x);  // without the cube
  auto shared = erf(kRootHalf);
  m.result(shared);
  product(0.5f, 1, shared, x);                         // read by something else
  product(0.5f, 1, m.op("Erf", {power(m, x, 5)}), x);  // of a higher degree
  product(0.5f, 1, m.op("Erf", {m.op("Multiply", {x, m.constant({3}, {kRootHalf, 1, 1})})}), x);
  expect_refusal(m.graph(), {gates()});
}

/// Activations as their parts, of values that have other readers as well.
constexpr int kGates = 8;
ir::Value gated(GraphMaker& m, ir::Value x, int form) {
  const auto times = [&](ir::Value a, ir::Value b) { return m.op("Multiply", {a, b}); };
  const auto relu6 = [&] { return m.op("Clamp", {plus(m, x, 3)}, {{"min", "0"}, {"max", "6"}}); };
  switch (form) {
    case 0:
      return times(x, m.op("Sigmoid", {x}));
    case 1:
      return times(m.op("Sigmoid", {times(m.scalar(1.702f), x)}), x);
    case 2:
      return times(m.op("Tanh", {m.op("SoftPlus", {x})}), x);
    case 3:
      return times(x, m.op("HSigmoid", {x}));
    case 4:
      return times(m.op("HardSigmoid", {x, m.scalar(1 / 6.0f), m.scalar(0.5f)}), x);
    case 5:
      return m.op("Divide", {times(x, relu6()), m.scalar(6)});
    case 6:
      return times(x, times(relu6(), m.scalar(1 / 6.0f)));
    default:
      return times(times(m.scalar(1 / 6.0f), x), relu6());
  }
}

TEST(CollapseGates, EachForm) {
  GraphMaker m;
  for (int form = 0; form < kGates; ++form) {
    auto x = m.input({2, 3});
    m.result(gated(m, x, form));
  }
  expect_rewrite("collapse_gates", m.graph(), {gates()});
}

TEST(CollapseGates, AreOneStepWithAConvolution) {
  for (int form = 0; form < kGates; ++form) {
    SCOPED_TRACE(form);
    GraphMaker m;
    m.result(gated(m, m.conv(m.input({1, 5, 6, 7}), 19, 3, 1), form));
    size_t convolutions = 0, reorders = 0, others = 0;
    const auto plan = plan_of(m);
    for (const cpu::Step& step : plan->steps)
      ++(step.type == "Convolution" ? convolutions : step.type == "Reorder" ? reorders : others);
    EXPECT_EQ(convolutions, 1u);
    EXPECT_EQ(others, 0u);
    expect_same_as_interpreter(m);
  }
}

TEST(CollapseGates, Refuses) {
  GraphMaker m;
  auto x = m.input({2, 3});
  const auto times = [&](ir::Value a, ir::Value b) { return m.op("Multiply", {a, b}); };
  const auto clamped = [&](float shift, const char* max) {
    return m.op("Clamp", {plus(m, x, shift)}, {{"min", "0"}, {"max", max}});
  };
  m.result(times(x, m.op("Sigmoid", {m.input({2, 3})})));                         // of something else
  m.result(times(m.op("Sigmoid", {x}), m.op("Sigmoid", {x})));                    // without x
  m.result(times(x, m.op("Sigmoid", {plus(m, x, 1)})));                           // shifted
  m.result(m.op("Divide", {times(x, clamped(3, "6")), m.scalar(5)}));             // another factor
  m.result(m.op("Divide", {times(x, clamped(2.5f, "6")), m.scalar(6)}));          // another shift
  m.result(m.op("Divide", {times(x, clamped(3, "5")), m.scalar(6)}));             // another limit
  m.result(times(x, m.op("HardSigmoid", {x, m.scalar(0.2f), m.scalar(0.5f)})));   // another slope
  m.result(m.op("Divide", {m.op("Sigmoid", {x}), x}));                            // divided
  m.result(times(x, m.op("Tanh", {m.op("SoftPlus", {m.op("SoftPlus", {x})})})));  // of another function
  auto shared = m.op("Sigmoid", {x});
  m.result(shared);
  m.result(times(x, shared));  // read by something else
  auto wide = m.input({1, 3});
  m.result(times(m.op("Sigmoid", {wide}), m.op("Concat", {wide, wide}, {{"axis", "0"}})));   // of other extents
  m.result(times(x, m.op("Sigmoid", {times(times(x, m.scalar(1e30f)), m.scalar(1e30f))})));  // no number is that large
  auto unknown = m.input(PartialShape::dynamic());
  m.result(times(times(unknown, m.constant({1, 1, 1}, {1})), m.op("Sigmoid", {unknown})));  // perhaps of another rank
  expect_refusal(m.graph(), {gates()});
}

// Each product ends after a few factors: else this would take minutes.
TEST(CollapseGates, LongChainsOfDivisions) {
  GraphMaker m;
  auto x = m.input({2});
  for (int i = 0; i < 30'000; ++i) x = m.op("Divide", {x, m.scalar(2)});
  m.result(x);
  expect_refusal(m.graph(), {gates()});
}

}  // namespace
}  // namespace terroir::test
