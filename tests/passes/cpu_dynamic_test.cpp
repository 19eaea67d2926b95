// Shapes that a run brings, on the CPU device against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

using Sets = std::vector<std::vector<HostTensor>>;

TEST(CpuDynamic, SeveralShapesInTurn) {
  GraphMaker m;
  auto x = m.input(PartialShape("?,3,4..12,?"));
  auto weights = m.random({10, 3, 3, 3}, 1, 0.3f);
  auto y = m.op("Convolution", {x, weights},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}});
  y = m.op("Sigmoid", {m.op("Add", {y, m.random({1, 10, 1, 1}, 2)})});
  m.result(m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "false"}}));
  m.result(m.op("Reshape", {y, m.integers({0, -1})}, {{"special_zero", "true"}}));
  const Sets sets = {{random_tensor({1, 3, 4, 5}, 1)}, {random_tensor({2, 3, 12, 1}, 2)},
                     {random_tensor({1, 3, 4, 5}, 3)}, {random_tensor({1, 3, 5, 4}, 4)},
                     {random_tensor({0, 3, 4, 4}, 5)}, {random_tensor({1, 3, 4, 5}, 6)}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, ConstantsThatFollowFromTheShape) {
  // The bias differs by the shape of the other input: what was packed with one must not serve another.
  GraphMaker m;
  auto x = m.input({1, 4, 6, 5});
  auto other = m.input(PartialShape("?"));
  auto bias = m.op("Multiply", {m.op("Convert", {m.op("ShapeOf", {other})}, {{"destination_type", "f32"}}),
                                m.random({1, 6, 1, 1}, 1)});
  auto y = m.op("Convolution", {x, m.random({6, 4, 1, 1}, 2)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
  m.result(m.op("ReLU", {m.op("Add", {y, bias})}));
  Sets sets;
  for (const int64_t extent : {3, 7, 3, 5, 9, 1, 2, 4, 6, 8})
    sets.push_back({random_tensor({1, 4, 6, 5}, 1), random_tensor({extent}, 1)});
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, SizesThatDependOnData) {
  GraphMaker m;
  auto x = m.input({3, 4});
  auto found = m.op("NonZero", {m.op("ReLU", {x})}, {{"output_type", "i64"}});
  auto rows = m.op("Transpose", {found, m.integers({1, 0})});
  m.result(rows);
  auto picked = m.op("GatherND", {x, rows});
  m.result(m.op("Add", {m.op("Exp", {picked}), m.scalar(1)}));
  m.result(m.op("Sigmoid", {x}));  // before the cut
  m.result(m.op("ReduceSum", {picked, m.integers({0})}, {{"keep_dims", "false"}}));
  const Sets sets = {{random_tensor({3, 4}, 1)},
                     {random_tensor({3, 4}, 2)},
                     {random_tensor({3, 4}, 3, 0)},
                     {random_tensor({3, 4}, 1)}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, TwoCutsBehindEachOther) {
  GraphMaker m;
  auto x = m.input({4, 6});
  auto first = m.op("NonZero", {m.op("ReLU", {x})}, {{"output_type", "i64"}});
  auto values = m.op("GatherND", {x, m.op("Transpose", {first, m.integers({1, 0})})});
  auto second = m.op("NonZero", {m.op("Floor", {m.op("Multiply", {values, m.scalar(2)})})}, {{"output_type", "i64"}});
  m.result(second);
  m.result(m.op("Gather", {values, second, m.scalar_integer(0)}));
  const Sets sets = {{random_tensor({4, 6}, 1)}, {random_tensor({4, 6}, 2)}};
  expect_same_as_interpreter(m.graph(), sets);
}

// What ends a plan may be a result, several times, and be read behind it as well.
TEST(CpuDynamic, ResultsOfACut) {
  GraphMaker m;
  auto x = m.input({3, 4});
  auto found = m.op("NonZero", {m.op("ReLU", {x})}, {{"output_type", "i32"}});
  m.result(found);
  m.result(m.op("Sigmoid", {x}));
  m.result(m.op("Add", {found, found}));
  m.result(found);
  const ir::Value unique = m.op("Unique", {m.op("Floor", {m.op("Multiply", {x, m.scalar(3)})})},
                                {{"index_element_type", "i64"}, {"count_element_type", "i32"}, {"sorted", "true"}});
  for (int32_t output : {3, 0, 2}) m.result({unique.node, output});
  const Sets sets = {{random_tensor({3, 4}, 1)}, {random_tensor({3, 4}, 2)}, {random_tensor({3, 4}, 3, 0)}};
  expect_same_as_interpreter(m.graph(), sets);
}

// Their elements are widened, or written as they are found: the size is known only behind that.
TEST(CpuDynamic, ResultsOfACutThatAreMoved) {
  GraphMaker m;
  auto x = m.input({6});
  auto values = m.op("Convert", {m.op("Round", {m.op("Multiply", {x, m.scalar(5)})}, {{"mode", "half_to_even"}})},
                     {{"destination_type", "i4"}});
  const ir::Value unique = m.op("Unique", {values}, {{"sorted", "false"}});
  for (int32_t output = 0; output < 4; ++output) m.result({unique.node, output});
  auto places = m.op("Concat",
                     {m.op("Unsqueeze", {m.input({6}, element::i64), m.integers({1})}),
                      m.op("Unsqueeze", {m.integers({0, 1, 2, 0, 1, 2}), m.integers({1})})},
                     {{"axis", "1"}});
  const ir::Value filled = m.op("SparseFillEmptyRows", {x, m.integers({8, 3}), places, m.scalar(7)});
  for (int32_t output = 0; output < 3; ++output) m.result({filled.node, output});
  Sets sets;
  for (const int64_t step : {0, 1}) {
    HostTensor rows(element::i64, {6});
    for (int64_t i = 0; i < 6; ++i) rows.writable().as<int64_t>()[i] = 1 + i * step;
    sets.push_back({random_tensor({6}, static_cast<int>(step)), rows});
  }
  expect_same_as_interpreter(m.graph(), sets);
}

// A size that follows from large values only: they have to be looked at.
TEST(CpuDynamic, SizesThatDependOnManyValues) {
  GraphMaker m;
  const int64_t count = 2000;
  m.result(m.op("SegmentMax", {m.input({count}), m.input({count}, element::i64)}, {{"fill_mode", "ZERO"}}));
  HostTensor ids(element::i64, {count});
  for (int64_t i = 0; i < count; ++i) ids.writable().as<int64_t>()[i] = i / 3;
  expect_same_as_interpreter(m.graph(), Sets{{random_tensor({count}, 1), ids}});
}

// Without the lengths each piece may be all of the data; with them, however many there are, they are exact.
TEST(CpuDynamic, SizesOfManyPieces) {
  GraphMaker m;
  const int64_t count = 520;
  const ir::Value pieces =
      m.op("VariadicSplit", {m.input({2, 2 * count}), m.scalar_integer(1), m.input({count}, element::i64)});
  for (const int64_t piece : {int64_t{0}, int64_t{1}, count - 1})
    m.result(m.op("ReLU", {{pieces.node, static_cast<int32_t>(piece)}}));
  m.result({pieces.node, 7});
  Sets sets;
  for (const int64_t step : {0, 1}) {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < count; ++i) lengths.push_back(2 + (i % 2 == 0 ? step : -step));
    sets.push_back({random_tensor({2, 2 * count}, 1), integer_tensor({count}, lengths)});
  }
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, OrderAndTargetOfARun) {
  GraphMaker m;
  auto x = m.input({2, 3, 4});
  auto order = m.input({3}, element::i64);
  auto turned = m.op("Transpose", {m.op("Tanh", {x}), order});
  m.result(m.op("Exp", {turned}));
  auto target = m.input({2}, element::i64);
  m.result(m.op("Sigmoid", {m.op("Reshape", {turned, target}, {{"special_zero", "false"}})}));
  const Sets sets = {{random_tensor({2, 3, 4}, 1), integer_tensor({3}, {2, 0, 1}), integer_tensor({2}, {6, 4})},
                     {random_tensor({2, 3, 4}, 2), integer_tensor({3}, {0, 1, 2}), integer_tensor({2}, {-1, 8})},
                     {random_tensor({2, 3, 4}, 3), integer_tensor({3}, {2, 0, 1}), integer_tensor({2}, {1, 24})}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, TheSameValueOnBothSidesOfACut) {
  GraphMaker m;
  auto x = m.input({5});
  auto y = m.op("Tanh", {x});
  auto count = m.op("ShapeOf", {m.op("NonZero", {m.op("ReLU", {y})}, {{"output_type", "i64"}})});
  auto n = m.op("Gather", {count, m.integers({1}), m.scalar_integer(0)});
  auto tiled = m.op("Tile", {y, n});
  m.result(y);
  m.result(m.op("Abs", {tiled}));
  const Sets sets = {{random_tensor({5}, 1)}, {random_tensor({5}, 4)}};
  expect_same_as_interpreter(m.graph(), sets);
}

// What a run brings is small, what it is applied to large: kernels run, not references.
TEST(CpuDynamic, LargeTensorsWhoseSizesFollowFromSmallOnes) {
  GraphMaker m;
  auto x = m.input({3, 210, 211});
  auto pads = m.input({3}, element::i64), order = m.input({3}, element::i64), k = m.input({}, element::i64);
  m.result(m.op("Sigmoid", {m.op("Pad", {x, pads, pads, m.scalar(2)}, {{"pad_mode", "constant"}})}));
  m.result(m.op("Transpose", {x, order}));
  auto top = m.op("TopK", {x, k}, {{"axis", "2"}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", "i32"}});
  m.result(top);
  m.result({top.node, 1});
  m.result(m.op("Slice", {x, pads, order, m.integers({1, 1, 1})}));
  Sets sets;
  for (const int64_t i : {1, 2}) {
    sets.push_back({random_tensor({3, 210, 211}, static_cast<uint32_t>(i)), integer_tensor({3}, {0, i, 3}),
                    integer_tensor({3}, {2, i - 1, 2 - i}), integer_tensor({}, {7 * i})});
  }
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(CpuDynamic, AxesOfARunLeaveLargeTensorsToKernels) {
  GraphMaker m;
  m.result(m.op("ReduceSum", {m.input({300, 600}), m.input({1}, element::i64)}, {{"keep_dims", "true"}}, "sum"));
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "sum").substr(0, 14), "f32_ReduceSum_");
}

// Where extents follow from what a run brings, the layer is planned when that is known.
TEST(CpuDynamic, SizesOfARunLeaveLargeTensorsToKernels) {
  GraphMaker m;
  m.result(m.op("RDFT", {m.input({60, 50, 60}), m.input({2}, element::i64)}));
  m.result(m.op("Col2Im", {m.input({2, 36, 3136}), m.input({2}, element::i64), m.input({2}, element::i64)}));
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU", config);
  const std::vector<HostTensor> inputs = {random_tensor({60, 50, 60}, 1), integer_tensor({2}, {1, 2}),
                                          random_tensor({2, 36, 3136}, 1), integer_tensor({2}, {58, 58}),
                                          integer_tensor({2}, {3, 3})};
  device.infer(inputs);
  std::map<std::string, std::string> kernels;
  for (const ProfilingInfo& info : device.profile()) kernels[info.node_type] = info.exec_type;
  EXPECT_EQ(kernels["RDFT"].substr(0, 7), "f32_fft");
  EXPECT_EQ(kernels["Col2Im"], "col2im");
  expect_same_as_interpreter(m.graph(), Sets{inputs});
}

// The plan is kept for the operands that made it, whatever their memory has become; more of them than are kept.
TEST(CpuDynamic, PlansForOperandsOfARunAreKeptForThese) {
  GraphMaker m;
  const ir::Value axes = m.input({1}, element::i64), sizes = m.input({1}, element::i64);
  m.result(m.op("RDFT", {m.input({2, 600}), m.op("Abs", {axes}), m.op("Abs", {sizes})}));
  m.result(m.op("RDFT", {m.input({2, 600}), axes, sizes}));
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU", config);
  Sets sets;
  for (int64_t run = 0; run < 20; ++run) {
    const HostTensor x = random_tensor({2, 600}, 1);
    sets.push_back({integer_tensor({1}, {run % 5 == 4 ? -1 : 1}), integer_tensor({1}, {512 + 8 * (run % 12)}), x, x});
    const std::vector<HostTensor> outputs = device.infer(sets.back());
    for (const ProfilingInfo& info : device.profile()) {
      if (info.node_type == "RDFT") {
        EXPECT_EQ(info.exec_type.substr(0, 7), "f32_fft") << run;
      }
    }
    // Their axes are the same, counted from the front and from the end.
    EXPECT_TRUE(std::ranges::equal(std::span(outputs[0].view().as<float>(), 100),
                                   std::span(outputs[1].view().as<float>(), 100)));
  }
  expect_same_as_interpreter(m.graph(), sets);
}

// What ends a stage has a line of its own in the profile: it is often what takes the time.
TEST(CpuDynamic, OperationsBetweenStagesAreProfiled) {
  GraphMaker m;
  auto x = m.input({3, 4});
  auto found = m.op("NonZero", {m.op("ReLU", {x})}, {{"output_type", "i64"}});
  m.result(m.op("Unique", {m.op("Transpose", {found, m.integers({1, 0})})}, {{"sorted", "true"}}));
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU", config);
  for (int run = 0; run < 2; ++run) {
    const std::vector<HostTensor> inputs = {random_tensor({3, 4}, 1)};
    device.infer(inputs);
    std::map<std::string, std::vector<std::string>> kernels;
    for (const ProfilingInfo& info : device.profile())
      if (info.status == ProfilingInfo::Status::EXECUTED) kernels[info.node_type].push_back(info.exec_type);
    EXPECT_EQ(kernels["NonZero"], std::vector<std::string>{"threaded:any"});
    EXPECT_EQ(kernels["Unique"], std::vector<std::string>{"threaded:any"});
    EXPECT_EQ(kernels["Transpose"].size(), 1u);
  }
}

}  // namespace
}  // namespace terroir::test
