// Plans: which values share memory, what is a step and what is none.
#include "plugins/cpu/plan.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/run.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
using test::HostTensor;
using test::plan_of;
using test::same_place;
using test::step_named;

/// Nothing is written to constants or the user's inputs, nor behind the activations.
void expect_sound(const Plan& plan) {
  for (const Step& step : plan.steps)
    for (const Slot& slot : step.outputs) {
      EXPECT_TRUE(slot.kind == Slot::Kind::arena || slot.kind == Slot::Kind::model_output) << step.name;
      if (slot.kind == Slot::Kind::arena) {
        EXPECT_LT(slot.offset, std::max<size_t>(plan.arena_bytes, 1)) << step.name;
        EXPECT_EQ(slot.offset % 64, 0u) << step.name;
      }
    }
}

TEST(Plan, AResultIsComputedInTheUsersMemory) {
  GraphMaker m;
  m.result(m.op("SoftMax", {m.op("MatMul", {m.input({2, 3}), m.random({3, 4}, 1)})}, {{"axis", "1"}}));
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), 2u);
  // The softmax works in place, so even the product is computed there.
  for (const Step& step : plan->steps) EXPECT_EQ(step.outputs[0].kind, Slot::Kind::model_output) << step.name;
}

TEST(Plan, StepsLookAheadToConstantsThatAreReadOnce) {
  GraphMaker m;
  ir::Value x = m.conv(m.input({1, 8, 6, 6}), 16, 1, 1);
  x = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "true"}});
  m.result(m.conv(m.conv(m.conv(x, 64, 1, 2), 16, 1, 3), 8, 1, 4));
  const auto plan = plan_of(m);
  std::vector<const Step*> steps;
  for (const Step& step : plan->steps)
    if (step.type == "Convolution") steps.push_back(&step);
  ASSERT_EQ(steps.size(), 4u);
  std::vector<const Executor*> convolutions;
  for (const Step* step : steps) convolutions.push_back(step->executor.get());
  // One thread, so one slice: it reads ahead for the three that follow.
  ASSERT_EQ(steps[0]->ahead.size(), 1u);
  ASSERT_EQ(steps[0]->ahead[0].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const FirstConstants expected = convolutions[i + 1]->first_constants(1, 0);
    EXPECT_EQ(steps[0]->ahead[0][i].bytes.data(), expected.bytes.data());
    EXPECT_EQ(steps[0]->ahead[0][i].bytes.size(), expected.bytes.size());
  }
  EXPECT_TRUE(steps[3]->ahead[0].empty());
  // Of one position all weights are read once; the two slices of two threads read them all together.
  const FirstConstants all = convolutions[1]->first_constants(1, 0);
  EXPECT_TRUE(all.all);
  EXPECT_EQ(all.bytes.size(), 64u * 16u * sizeof(float));
  const FirstConstants low = convolutions[1]->first_constants(2, 0), high = convolutions[1]->first_constants(2, 1);
  EXPECT_EQ(low.bytes.size() + high.bytes.size(), all.bytes.size());
  EXPECT_EQ(low.bytes.data() + low.bytes.size(),
            high.bytes.empty() ? all.bytes.data() + all.bytes.size() : high.bytes.data());
  // Of many positions those of the first channels, which are read again and again.
  EXPECT_FALSE(convolutions[0]->first_constants(1, 0).all);
  EXPECT_TRUE(convolutions[0]->first_constants(1, 1).bytes.empty());  // no such slice
  test::expect_same_as_interpreter(m);
}

TEST(Plan, AValueThatIsTwoResultsIsCopiedOnce) {
  GraphMaker m;
  auto x = m.op("ReLU", {m.input({5})});
  m.result(x);
  m.result(x);
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].outputs[0].index, 0);
  EXPECT_EQ(plan->steps[1].kernel, "copy");
  EXPECT_EQ(plan->steps[1].outputs[0].index, 1);
  test::expect_same_as_interpreter(m);
}

TEST(Plan, InputsAndConstantsThatAreResultsAreCopied) {
  GraphMaker m;
  auto x = m.input({2, 3});
  m.result(x);
  m.result(m.random({2}, 1));
  m.result(m.op("Reshape", {x, m.integers({6})}, {{"special_zero", "false"}}));
  m.result(m.input({0, 4}));
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), 4u);
  for (const Step& step : plan->steps) EXPECT_EQ(step.kernel, "copy");
  EXPECT_EQ(plan->steps[0].inputs[0].kind, Slot::Kind::model_input);
  test::expect_same_as_interpreter(m);
}

TEST(Plan, InPlaceWhereNobodyNeedsTheInput) {
  GraphMaker m;
  auto x = m.op("MatMul", {m.input({4, 300}), m.random({300, 300}, 1)}, {}, "product");
  auto y = m.op("SoftMax", {x}, {{"axis", "1"}}, "dies");
  m.result(m.op("MatMul", {y, m.random({300, 2}, 2)}));
  auto z = m.op("MatMul", {m.input({4, 300}), m.random({300, 300}, 3)}, {}, "product2");
  auto w = m.op("SoftMax", {z}, {{"axis", "1"}}, "lives");
  m.result(m.op("MatMul", {w, m.op("Transpose", {z, m.integers({1, 0})})}));
  const auto plan = plan_of(m);
  expect_sound(*plan);
  const Step &dies = step_named(*plan, "dies"), &lives = step_named(*plan, "lives");
  EXPECT_TRUE(same_place(dies.inputs[0], dies.outputs[0]));
  EXPECT_FALSE(same_place(lives.inputs[0], lives.outputs[0]));
  test::expect_same_as_interpreter(m);
}

TEST(Plan, NeverInPlaceOfInputsConstantsAndResults) {
  GraphMaker m;
  auto x = m.input({4, 5});
  m.result(m.op("SoftMax", {x}, {{"axis", "1"}}, "of_input"));
  auto y = m.op("ReLU", {x});
  m.result(y);
  m.result(m.op("SoftMax", {y}, {{"axis", "1"}}, "of_result"));
  m.result(m.op("MatMul", {m.op("SoftMax", {y}, {{"axis", "0"}}), m.random({5, 5}, 1)}));
  const auto plan = plan_of(m);
  expect_sound(*plan);
  for (const char* name : {"of_input", "of_result"}) {
    const Step& step = step_named(*plan, name);
    EXPECT_FALSE(same_place(step.inputs[0], step.outputs[0])) << name;
  }
  test::expect_same_as_interpreter(m);
}

// Which of two operands of a convolution's chain its result takes the place of, if any.
TEST(Plan, AConvolutionIsComputedInItsResidual) {
  const auto plan_with = [](bool activated, bool needed_later) {
    GraphMaker m;
    auto x = m.conv(m.input({1, 3, 6, 6}), 16, 3, 1);  // convolution
    auto y = m.conv(m.conv(x, 8, 1, 2), 16, 3, 3);     // convolution2, convolution3
    if (activated) y = m.op("ReLU", {y});
    auto sum = m.op("ReLU", {m.op("Add", {y, x})});
    auto last = m.conv(sum, 16, 1, 4);
    m.result(needed_later ? m.op("Add", {last, x}) : last);
    const auto plan = plan_of(m);
    expect_sound(*plan);
    test::expect_same_as_interpreter(m);
    return same_place(step_named(*plan, "convolution3").outputs[0], step_named(*plan, "convolution").outputs[0]);
  };
  EXPECT_TRUE(plan_with(false, false));
  EXPECT_FALSE(plan_with(true, false)) << "added when partial sums may lie in the result";
  EXPECT_FALSE(plan_with(false, true));
}

TEST(Plan, AValueAndItsViewAreOneMemory) {
  GraphMaker m;
  auto x = m.op("MatMul", {m.input({4, 6}), m.random({6, 6}, 1)}, {}, "product");
  auto view = m.op("Reshape", {x, m.integers({6, 4})}, {{"special_zero", "false"}}, "view");
  auto changed = m.op("SoftMax", {view}, {{"axis", "1"}}, "changed");
  m.result(m.op("MatMul", {changed, x}));  // x is still needed: the view must not be overwritten
  const auto plan = plan_of(m);
  for (const Step& step : plan->steps) EXPECT_NE(step.name, "view");
  const Step& step = step_named(*plan, "changed");
  EXPECT_TRUE(same_place(step.inputs[0], step_named(*plan, "product").outputs[0]));
  EXPECT_FALSE(same_place(step.inputs[0], step.outputs[0]));
  test::expect_same_as_interpreter(m);
}

TEST(Plan, MemoryOfDeadValuesIsUsedAgain) {
  GraphMaker m;
  auto x = m.input({64, 64});
  for (uint32_t i = 0; i < 10; ++i) x = m.op("MatMul", {x, m.random({64, 64}, i, 0.1f)});
  m.result(x);
  const auto plan = plan_of(m);
  expect_sound(*plan);
  size_t scratch = 0;
  for (const Step& step : plan->steps) scratch = std::max(scratch, step.executor->slot_need(1).bytes);
  EXPECT_LE(plan->arena_bytes, 2u * 64 * 64 * 4 + scratch);
  for (const Step& step : plan->steps) EXPECT_FALSE(same_place(step.inputs[0], step.outputs[0])) << step.name;
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(Plan, AnUnreadSecondOutputKeepsTheFastKernel) {
  const test::AttributeTexts window = {{"strides", "2,2"},  {"dilations", "1,1"}, {"pads_begin", "0,0"},
                                       {"pads_end", "0,0"}, {"kernel", "2,2"},    {"axis", "0"}};
  GraphMaker unread;
  unread.result(unread.op("MaxPool", {unread.input({1, 3, 6, 6})}, window));
  EXPECT_FALSE(step_named(*plan_of(unread), "maxpool").is_reference);
  test::expect_same_as_interpreter(unread);
  GraphMaker read;
  auto pooled = read.op("MaxPool", {read.input({1, 3, 6, 6})}, window);
  read.result(pooled);
  read.result({pooled.node, 1});
  EXPECT_EQ(step_named(*plan_of(read), "maxpool").kernel, "f32_max_pool_places_nchw__scalar");
  test::expect_same_as_interpreter(read);
}

TEST(Plan, StepsSayWhatTheyAre) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.op("Add", {m.conv(m.input({1, 8, 4, 4}), 8, 3, 1), m.random({1, 8, 1, 1}, 2)})}));
  const auto plan = plan_of(m);
  const Step& step = step_named(*plan, "convolution");
  EXPECT_EQ(step.type, "Convolution");
  EXPECT_EQ(step.where, "Convolution 'convolution'");
  EXPECT_EQ(step.origin_names, (std::vector<std::string>{"add", "relu"}));
  EXPECT_EQ(step.bytes, 2u * 8 * 16 * 4);
  EXPECT_FALSE(step.is_reference);
  EXPECT_TRUE(step.kernel.ends_with("__scalar")) << step.kernel;
}

TEST(Plan, ReordersSayWhyTheyExist) {
  GraphMaker m;
  auto x = m.op("Sigmoid", {m.conv(m.conv(m.input({1, 16, 6, 6}), 16, 3, 1), 16, 3, 2)});
  m.result(x);
  m.result(m.op("Gather", {x, m.integers({1, 0}), m.scalar_integer(3)}, {}, "pick"));
  // No device knows it.
  ir::OpSchema unknown = ops::builtin_registry().get("ReLU", "opset1");
  unknown.type = "Unknown";
  unknown.flags = {};
  unknown.infer = [](ir::InferContext& ctx) { ctx.set_output(0, ctx.type(0), ctx.shape(0)); };
  const ir::NodeId slow = m.graph().add(unknown, "slow", unknown.make_attributes(), {x});
  m.graph().node(slow).outputs[0] = m.graph().node(x.node).outputs[0];
  m.result({slow, 0});
  const auto plan = plan_of(m);
  const Step& step = step_named(*plan, "convolution2/nChw8c_to_nchw");
  // 16 x 36 floats, read and written
  EXPECT_EQ(step.details, "4608 bytes, estimated 0.0011 ms on one thread: the model's output y, pick (" +
                              step_named(*plan, "pick").kernel + ") and 1 more want nchw, convolution2 (" +
                              step_named(*plan, "convolution2").kernel + ") gives nChw8c");
  EXPECT_EQ(step_named(*plan, "slow").details, "no other implementation of Unknown-1");
}

TEST(Plan, ChainsThatNoKernelTakesAreStepsOfTheirOwn) {
  GraphMaker m;  // normalised over channels, shifted along the last axis
  auto x = m.op("MVN", {m.input({1, 8, 6, 6}), m.integers({1})},
                {{"eps", "1e-5"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}, "normalised");
  m.result(m.op("Add", {m.op("Multiply", {x, m.random({1, 8, 6, 6}, 1)}), m.random({6}, 2)}));
  const auto plan = plan_of(m);
  EXPECT_EQ(step_named(*plan, "normalised").kernel, "f32_mvn_middle__scalar");
  for (const Step& step : plan->steps) EXPECT_FALSE(step.is_reference) << step.where;
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(Plan, SlowStepsSayWhy) {
  GraphMaker m;
  const auto axis = m.input({}, element::i32);
  m.result(m.op("MVN", {m.input({3, 4}), m.input({1}, element::i64)},
                {{"eps", "1e-6"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}}));
  m.result(m.op("CumSum", {m.input({3, 4}), axis}));
  const auto plan = plan_of(m);
  EXPECT_EQ(step_named(*plan, "cumsum").kernel.find("ref"), std::string::npos) << step_named(*plan, "cumsum").kernel;
  const std::string& why = step_named(*plan, "mvn").details;
  EXPECT_NE(why.find("the axes are known at run time only"), std::string::npos) << why;
}

TEST(Plan, StopsBetweenStepsWhenCancelled) {
  GraphMaker m;
  m.result(m.op("ReLU", {m.input({2})}));
  const std::shared_ptr<const Plan> plan = plan_of(m);
  const parallel::Arena arena(1);
  PlanState state(plan, arena);
  const float in[2] = {1, 2};
  float out[2] = {-7, -7};
  state.bind_input(0, in);
  state.bind_output(0, out);
  std::atomic<bool> cancelled{true};
  state.run(parallel::Arena(1), cancelled, nullptr);
  EXPECT_EQ(out[0], -7);
  cancelled = false;
  state.run(parallel::Arena(1), cancelled, nullptr);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 2);
}

TEST(Plan, ErrorsOfARunNameTheLayer) {
  GraphMaker m;
  auto indices = m.input({1}, element::i64);
  m.result(m.op("GatherElements", {m.random({3}, 1), indices}, {{"axis", "0"}}, "pick"));
  const std::vector<std::vector<HostTensor>> inputs = {{test::integer_tensor({1}, {5})}};
  try {
    test::run_on_cpu(m.graph(), Isa::scalar, 1, inputs);
    FAIL() << "ran";
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("GatherElements 'pick'"), std::string::npos) << error.what();
  }
}

std::vector<std::string> kernels_but_slices(const GraphMaker& m, Isa isa) {
  const auto plan = plan_of(m, isa);
  std::vector<std::string> kernels;
  for (const Step& step : plan->steps)
    if (step.type != "Slice") kernels.push_back(step.kernel);
  return kernels;
}

/// Rows of an image are a run of bytes where channels are last, and need no copy; those of a batch do.
GraphMaker slice_of_rows(int64_t batch) {
  GraphMaker m;
  auto x = m.conv(m.input({batch, 1, 5, 5}), 17, 1, 1, 2);
  auto y = m.op("Tanh", {m.op("Multiply", {m.op("Sigmoid", {x}), x})});
  auto rows = m.op("Slice", {y, m.integers({0}), m.integers({2}), m.integers({1}), m.integers({2})});
  auto z = m.depthwise(rows, 3, 2);
  m.result(m.op("Maximum", {z, z}));
  return m;
}

/// Constants of an image's extents: of one channel, and ones that a pass repeats for each image.
GraphMaker constant_images(int64_t batch) {
  GraphMaker m;
  auto x = m.conv(m.input({batch, 17, 13, 1}), 1, 3, 1, 2);
  auto scaled = m.op("Multiply", {m.op("Abs", {m.op("HSwish", {x})}), m.random({1, 1, 7, 1}, 2)});
  auto wide = m.op("Add", {m.conv(scaled, 16, 1, 3), m.random({1, 16, 7, 1}, 4)});
  auto pooled = m.conv(m.op("ReLU", {m.conv(wide, 8, 1, 5)}), 1, 1, 6);
  m.result(m.op("Add", {pooled, scaled}));
  m.result(m.op("Minimum", {wide, m.op("Exp", {wide})}));
  return m;
}

TEST(Plan, ABatchTakesTheKernelsOfAnImage) {
  for (const Isa isa : available_isas())
    for (GraphMaker (*make)(int64_t) : {&slice_of_rows, &constant_images})
      EXPECT_EQ(kernels_but_slices(make(3), isa), kernels_but_slices(make(1), isa));
}

}  // namespace
}  // namespace terroir::cpu
