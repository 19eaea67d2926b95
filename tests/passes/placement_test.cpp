// Joined tensors: whose parts are written in their place, whose are copied, and what shares memory with what. Tests of
// this file run in blocks of 8 channels, 6 x 6 positions: a block of an image is 1152 bytes.
#include "plugins/cpu/passes/placement.hpp"

#include <gtest/gtest.h>

#include "tests/passes/planned.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
using test::has_step;
using test::plan_of;
using test::same_place;
using test::step_named;

constexpr size_t kBlock = 8 * 36 * 4;

ir::Value joined(GraphMaker& m, const std::vector<ir::Value>& parts, const std::string& name = "joined") {
  return m.op("Concat", parts, {{"axis", "1"}}, name);
}

/// Behind `base` by so many blocks, in the same memory.
bool lies_at(const Slot& part, const Slot& base, size_t blocks) {
  return part.kind == base.kind && part.index == base.index && part.offset == base.offset + blocks * kBlock;
}

const Slot& output_of(const Plan& plan, const std::string& name) { return step_named(plan, name).outputs[0]; }

/// How many inputs a step reads: parts that are joined in place are not.
size_t inputs_read(const Step& step) {
  size_t count = 0;
  for (const Slot& slot : step.inputs) count += slot.kind != Slot::Kind::none;
  return count;
}

TEST(Placement, PartsAreWrittenWhereTheyBelong) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 6, 6}), 8, 3, 1);                                   // convolution
  auto both = joined(m, {m.conv(x, 16, 3, 2), m.op("ReLU", {m.conv(x, 8, 1, 3)})});  // convolution2, convolution3
  m.result(m.conv(both, 8, 1, 4));                                                   // convolution4
  const auto plan = plan_of(m);
  EXPECT_FALSE(has_step(*plan, "joined"));
  const Slot& whole = step_named(*plan, "convolution4").inputs[0];
  EXPECT_TRUE(lies_at(output_of(*plan, "convolution2"), whole, 0));
  EXPECT_TRUE(lies_at(output_of(*plan, "convolution3"), whole, 2));
  test::expect_same_as_interpreter(m);
}

/// A dense block: every layer reads all before it. `nested`: each concat of the last one and one more; else of all.
GraphMaker dense_block(bool nested) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 6, 6}), 16, 3, 1);
  std::vector<ir::Value> parts = {x};
  for (uint32_t i = 0; i < 4; ++i) {
    const std::string name = "layer" + std::to_string(i);
    auto norm = m.op("ReLU", {m.op("Add", {x, m.random({1, m.dims(x)[1], 1, 1}, 10 + i)})}, {}, "norm" + name);
    auto grown = m.op("Convolution", {norm, m.random({8, m.dims(x)[1], 3, 3}, 20 + i, 0.2f)},
                      {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, name);
    parts.push_back(grown);
    x = joined(m, nested ? std::vector{x, grown} : parts, "joined" + std::to_string(i));
  }
  m.result(m.conv(x, 8, 1, 3));
  return m;
}

TEST(Placement, ConcatsThatGrowFromEachOtherAreOneMemory) {
  for (const bool nested : {true, false}) {
    SCOPED_TRACE(nested ? "nested" : "flat");
    const GraphMaker m = dense_block(nested);
    const auto plan = plan_of(m);
    const Slot& first = output_of(*plan, "convolution");
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_FALSE(has_step(*plan, "joined" + std::to_string(i)));
      EXPECT_TRUE(lies_at(output_of(*plan, "layer" + std::to_string(i)), first, 2 + i));
    }
    EXPECT_TRUE(same_place(step_named(*plan, "convolution2").inputs[0], first));
    test::expect_same_as_interpreter(m);
  }
}

TEST(Placement, TheRoomOfAPartThatComesLateIsUsedUntilThen) {
  GraphMaker m;
  auto skip = m.conv(m.conv(m.input({1, 3, 6, 6}), 8, 3, 1), 8, 3, 2);
  auto late = m.conv(m.conv(m.conv(skip, 8, 3, 3), 8, 3, 4), 8, 3, 5);
  m.result(m.conv(joined(m, {late, skip}), 8, 1, 6));
  // Three tensors of a block when most are in use: as many as when both parts and the result are.
  EXPECT_EQ(plan_of(m)->arena_bytes, 3 * kBlock);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, ScratchLiesInMemoryOfDeadValues) {
  GraphMaker m;
  auto wide = m.op("MatMul", {m.input({64, 64}), m.random({64, 640}, 1)});
  auto narrow = m.op("MatMul", {wide, m.random({640, 8}, 2)});
  m.result(m.op("MatMul", {narrow, m.input({8, 64})}, {}, "last"));  // packs what it multiplies by
  const auto plan = plan_of(m);
  const Step& last = step_named(*plan, "last");
  constexpr size_t kWide = 64 * 640 * 4, kNarrow = 64 * 8 * 4;
  const size_t scratch = last.executor->slot_need(1).bytes;
  EXPECT_GT(scratch, 0u);
  EXPECT_LE(last.slots_offset + scratch, kWide + kNarrow);
  const size_t read = last.inputs[0].offset;
  EXPECT_TRUE(last.slots_offset + scratch <= read || read + kNarrow <= last.slots_offset);
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(Placement, SlotsOfThreadsLieAtOnePlaceWhereNoTensorDoes) {
  constexpr int kThreads = 2;
  GraphMaker m;
  // Each product packs what it multiplies by.
  auto x = m.op("MatMul", {m.input({4, 32, 64}), m.input({4, 64, 96})});
  x = m.op("MatMul", {x, m.input({4, 96, 8})});
  m.result(m.op("MatMul", {x, m.input({4, 8, 48})}));
  const auto plan = plan_of(m, Isa::scalar, false, kThreads);
  const Step* first = nullptr;
  for (const Step& step : plan->steps) {
    const SlotNeed need = step.executor->slot_need(kThreads);
    if (need.bytes == 0) continue;
    if (!first) first = &step;
    EXPECT_EQ(need.slots, 2u) << step.name;
    EXPECT_EQ(step.slots_offset, first->slots_offset) << step.name;
    EXPECT_EQ(step.slot_stride, first->slot_stride) << step.name;
    EXPECT_GE(step.slot_stride, need.bytes) << step.name;
  }
  ASSERT_NE(first, nullptr);
  for (const PlannedNode& node : plan->nodes) {
    if (node.step < 0) continue;
    const Slot& output = plan->steps[static_cast<size_t>(node.step)].outputs[0];
    if (output.kind != Slot::Kind::arena) continue;
    EXPECT_LE(output.offset + node.outputs[0].bytes(), first->slots_offset) << node.name;
  }
  EXPECT_EQ(plan->arena_bytes, first->slots_offset + kThreads * first->slot_stride);
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(Placement, SlotsTooLargeForTheRoomLieAmongTensorsAndTheOthersAlone) {
  constexpr int kThreads = 2;
  GraphMaker m;
  // The memory of its input is most of what a model without weights may take.
  auto large = m.op("MatMul", {m.input({2, 8, 1024}), m.input({2, 1024, 768})}, {}, "large");
  auto wide = m.op("MatMul", {large, m.input({2, 768, 32})}, {}, "first");
  auto tensor = m.op("MatMul", {m.input({2, 1024, 8}), m.op("MatMul", {wide, m.input({2, 32, 512})}, {}, "second")});
  m.result(m.op("MatMul", {tensor, m.input({2, 512, 8})}, {}, "third"));
  const auto plan = plan_of(m, Isa::scalar, false, kThreads);
  const auto need = [&](const char* name) { return step_named(*plan, name).executor->slot_need(kThreads); };
  const Step &first = step_named(*plan, "first"), &apart = step_named(*plan, "large");
  for (const char* name : {"second", "third"}) {
    EXPECT_GT(need(name).bytes, 0u) << name;
    EXPECT_EQ(step_named(*plan, name).slots_offset, first.slots_offset) << name;
    EXPECT_EQ(step_named(*plan, name).slot_stride, first.slot_stride) << name;
  }
  EXPECT_GT(need("large").bytes, first.slot_stride);
  EXPECT_LE(apart.slots_offset + kThreads * apart.slot_stride, first.slots_offset);
  EXPECT_EQ(plan->arena_bytes, first.slots_offset + kThreads * first.slot_stride);
  test::expect_same_as_interpreter(m, 1e-4);
}

TEST(Placement, APartInTheMiddleOfTwoJoinedTensors) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 6, 6}), 8, 3, 1);
  auto a = m.conv(x, 8, 3, 2), b = m.conv(x, 8, 3, 3), c = m.conv(x, 8, 3, 4);  // convolution2 to 4
  m.result(m.conv(joined(m, {a, b}, "ab"), 8, 1, 5));
  m.result(m.conv(joined(m, {b, c}, "bc"), 8, 1, 6));
  m.result(m.conv(joined(m, {c, a}, "ca"), 8, 1, 7));
  const auto plan = plan_of(m);
  const Slot& first = output_of(*plan, "convolution2");
  EXPECT_TRUE(lies_at(output_of(*plan, "convolution3"), first, 1));
  EXPECT_TRUE(lies_at(output_of(*plan, "convolution4"), first, 2));
  EXPECT_FALSE(has_step(*plan, "ab"));
  EXPECT_FALSE(has_step(*plan, "bc"));
  // They lie as a, b, c: one of the two has to be copied. There is no room behind c, so it is a.
  EXPECT_EQ(inputs_read(step_named(*plan, "ca")), 1u);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, WhatCannotLieInPlaceIsCopied) {
  GraphMaker m;
  auto in = m.input({1, 8, 6, 6});
  auto x = m.conv(in, 8, 3, 1);
  auto y = m.conv(x, 8, 3, 2);
  auto twice = joined(m, {y, y}, "twice");
  m.result(m.conv(twice, 8, 1, 3));
  m.result(m.op("SoftMax",
                {joined(m, {in, m.random({1, 4, 6, 6}, 4), m.op("SoftMax", {in}, {{"axis", "3"}})}, "mixed")},
                {{"axis", "2"}}));
  const auto plan = plan_of(m);
  EXPECT_EQ(inputs_read(step_named(*plan, "twice")), 1u);
  EXPECT_EQ(inputs_read(step_named(*plan, "mixed")), 2u);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, ImagesOfABatchAreCopied) {
  GraphMaker m;
  auto x = m.conv(m.input({2, 3, 6, 6}), 8, 3, 1);
  m.result(m.conv(joined(m, {m.conv(x, 8, 3, 2), m.conv(x, 8, 3, 3)}), 8, 1, 4));
  EXPECT_EQ(inputs_read(step_named(*plan_of(m), "joined")), 2u);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, AJoinedResultIsWrittenToTheUsersMemory) {
  GraphMaker m;
  auto x = m.input({2, 6});
  auto a = m.op("MatMul", {x, m.random({6, 5}, 1)}, {}, "a"), b = m.op("MatMul", {x, m.random({6, 5}, 2)}, {}, "b");
  m.result(m.op("Concat", {a, b}, {{"axis", "0"}}, "joined"));
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(output_of(*plan, "a").kind, Slot::Kind::model_output);
  EXPECT_EQ(output_of(*plan, "b").kind, Slot::Kind::model_output);
  EXPECT_EQ(output_of(*plan, "b").offset, 2u * 5 * 4);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, APartThatIsAResultIsCopiedToTheUser) {
  GraphMaker m;
  auto x = m.input({2, 6});
  auto a = m.op("MatMul", {x, m.random({6, 5}, 1)}, {}, "a"), b = m.op("MatMul", {x, m.random({6, 5}, 2)}, {}, "b");
  m.result(a);
  m.result(m.op("Concat", {a, b}, {{"axis", "0"}}, "joined"));
  const auto plan = plan_of(m);
  ASSERT_EQ(plan->steps.size(), 3u);
  EXPECT_EQ(plan->steps.back().kernel, "copy");
  EXPECT_EQ(plan->steps.back().outputs[0].index, 0);
  EXPECT_EQ(output_of(*plan, "a").index, 1);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, PartsStayUnharmedWhileTheJoinedTensorIsRead) {
  GraphMaker m;  // softmax works in place where it may
  auto x = m.input({1, 4, 6, 6});
  const auto softmax = [&](ir::Value value, const std::string& name) {
    return m.op("SoftMax", {value}, {{"axis", "2"}}, name);
  };
  auto a = softmax(softmax(x, "a0"), "a"), b = softmax(x, "b");
  auto both = joined(m, {a, b});
  auto later = softmax(a, "later");  // a dies here, but not its place in the joined tensor
  m.result(m.op("MatMul", {both, m.random({6, 6}, 1)}));
  m.result(later);
  const auto plan = plan_of(m);
  EXPECT_FALSE(has_step(*plan, "joined"));
  EXPECT_TRUE(same_place(output_of(*plan, "a0"), output_of(*plan, "a")));
  EXPECT_FALSE(same_place(output_of(*plan, "a"), output_of(*plan, "later")));
  test::expect_same_as_interpreter(m);
}

TEST(Placement, PiecesAreReadWhereTheyLie) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 6, 6}), 24, 3, 1);  // convolution
  auto pieces = m.op("VariadicSplit", {x, m.scalar_integer(1), m.integers({16, 8})}, {}, "cut");
  auto a = m.conv(pieces, 8, 3, 2), b = m.conv({pieces.node, 1}, 8, 3, 3);  // convolution2, convolution3
  m.result(m.op("Add", {a, b}));
  const auto plan = plan_of(m);
  EXPECT_FALSE(has_step(*plan, "cut"));
  const Slot& whole = output_of(*plan, "convolution");
  EXPECT_TRUE(lies_at(step_named(*plan, "convolution2").inputs[0], whole, 0));
  EXPECT_TRUE(lies_at(step_named(*plan, "convolution3").inputs[0], whole, 2));
  test::expect_same_as_interpreter(m);
}

TEST(Placement, PiecesOfTheUsersInputAndOfAConstant) {
  GraphMaker m;
  auto in = m.input({4, 6});
  auto rows = m.op("Split", {in, m.scalar_integer(0)}, {{"num_splits", "2"}}, "cut");
  m.result(m.op("MatMul", {rows, m.random({6, 3}, 1)}, {}, "first"));
  m.result(m.op("MatMul", {{rows.node, 1}, m.random({6, 3}, 2)}, {}, "second"));
  m.result({rows.node, 1});
  const auto plan = plan_of(m);
  EXPECT_FALSE(has_step(*plan, "cut"));
  EXPECT_EQ(step_named(*plan, "second").inputs[0].kind, Slot::Kind::model_input);
  EXPECT_EQ(step_named(*plan, "second").inputs[0].offset, 2u * 6 * 4);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, ShuffledPiecesAreCopied) {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 6, 6}), 16, 3, 1);
  auto pieces = m.op("Split", {x, m.scalar_integer(1)}, {{"num_splits", "2"}}, "cut");
  auto left = m.conv(pieces, 8, 3, 2);
  m.result(m.conv(joined(m, {{pieces.node, 1}, left}), 8, 1, 3));  // in place: the right half, then the new one
  m.result(m.conv(joined(m, {{pieces.node, 1}, pieces}, "turned"), 8, 1, 4));
  m.result(m.conv(joined(m, {pieces, {pieces.node, 1}}, "same"), 8, 1, 5));
  const auto plan = plan_of(m);
  EXPECT_FALSE(has_step(*plan, "joined"));
  EXPECT_FALSE(has_step(*plan, "same"));
  EXPECT_EQ(inputs_read(step_named(*plan, "turned")), 1u);
  test::expect_same_as_interpreter(m);
}

TEST(Placement, EmptyParts) {
  GraphMaker m;
  auto x = m.input({2, 3}), none = m.input({0, 3});
  auto a = m.op("MatMul", {x, m.random({3, 3}, 1)});
  m.result(m.op("Concat", {none, a, none}, {{"axis", "0"}}, "joined"));
  m.result(m.op("Concat", {none, none}, {{"axis", "1"}}));
  EXPECT_FALSE(has_step(*plan_of(m), "joined"));
  test::expect_same_as_interpreter(m);
}

}  // namespace
}  // namespace terroir::cpu
