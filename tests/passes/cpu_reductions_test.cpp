// Reductions, running sums, normalisations and quantisation on the CPU device against the interpreter, of the forms
// that need more than one run of axes or another type than f32; none of them may fall to its reference.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/passes/expected_kernel.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/laid_out.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

const std::vector<std::vector<int64_t>> kAxes = {{0},       {1},       {3},          {0, 2},      {1, 3}, {0, 1, 3},
                                                 {0, 2, 3}, {2, 3, 1}, {0, 1, 2, 3}, {-1, 0, -3}, {}};

TEST(CpuReductions, FloatsOverSeparateAxes) {
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"}) {
    GraphMaker m;
    const ir::Value x = m.input({3, 5, 7, 67});
    for (const auto& axes : kAxes)
      for (const char* keep : {"true", "false"}) m.result(m.op(type, {x, m.integers(axes)}, {{"keep_dims", keep}}));
    m.result(m.op(type, {x, m.integers({0, 2})}, {}, "last"));
    SCOPED_TRACE(type);
    expect_same_as_interpreter(m);
    expect_kernel(m, "last");
  }
}

// Behind layers that want blocks or channels last, at channel counts that leave tails.
TEST(CpuReductions, SomeSpatialAxesInEveryLayout) {
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"})
    for (const int64_t channels : {5, 19, 40})
      for (const bool last : {false, true}) {
        SCOPED_TRACE(std::string(type) + " of " + std::to_string(channels) + (last ? " channels last" : " channels"));
        GraphMaker m;
        const ir::Value x = last ? m.op("Transpose", {m.input({2, 9, 70, channels}), m.integers({0, 3, 1, 2})})
                                 : m.conv(m.input({2, 24, 9, 70}), channels, 3, 1);
        for (const std::vector<int64_t>& axes : {std::vector<int64_t>{3}, {2}, {-2, -1}})
          for (const char* keep : {"true", "false"}) {
            const std::string name = "over" + std::to_string(axes[0]) + keep;
            const ir::Value y = m.op(type, {x, m.integers(axes)}, {{"keep_dims", keep}}, name);
            const size_t rank = m.dims(y).size();
            if (last && rank > 2)
              m.result(m.op("Transpose", {m.op("Tanh", {y}), m.integers(rank == 4 ? std::vector<int64_t>{0, 2, 3, 1}
                                                                                  : std::vector<int64_t>{0, 2, 1})}));
            else
              m.result(rank == 4 ? m.conv(y, 24, 1, 2) : y);
          }
        expect_same_as_interpreter(m);
        if (last || channels == 40) {  // of few channels the lanes behind the last cost more than another layout
          const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), "over3true");
          EXPECT_NE(kernel.find(last ? "_nhwc__" : "_nChw"), std::string::npos) << kernel;
        }
      }
  GraphMaker slices;
  const ir::Value x =
      slices.op("Convolution", {slices.input({1, 16, 5, 6, 9}), slices.random({35, 16, 3, 3, 3}, 1)},
                {{"strides", "1,1,1"}, {"dilations", "1,1,1"}, {"pads_begin", "1,1,1"}, {"pads_end", "1,1,1"}});
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {3}, {4}, {2, 3}, {3, 4}, {2, 3, 4}})
    for (const char* keep : {"true", "false"})
      slices.result(slices.op("ReduceMean", {x, slices.integers(axes)}, {{"keep_dims", keep}}));
  expect_same_as_interpreter(slices);
}

TEST(CpuReductions, OtherTypes) {
  for (const char* element : {"i8", "i32", "i64", "u8", "u16", "f64"})
    for (const char* type :
         {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"}) {
      GraphMaker m;
      const ir::Value x =
          m.op("Convert", {m.op("Multiply", {m.input({3, 5, 7, 131}), m.scalar(9)})}, {{"destination_type", element}});
      const ir::Value rows =
          m.op("Convert", {m.op("Multiply", {m.input({5, 1601}), m.scalar(9)})}, {{"destination_type", element}});
      const ir::Value short_rows =
          m.op("Convert", {m.op("Multiply", {m.input({601, 3}), m.scalar(9)})}, {{"destination_type", element}});
      for (const auto& axes : kAxes) m.result(m.op(type, {x, m.integers(axes)}));
      m.result(m.op(type, {rows, m.integers({1})}));
      m.result(m.op(type, {rows, m.integers({0})}));
      m.result(m.op(type, {short_rows, m.integers({1})}, {}, "last"));
      SCOPED_TRACE(std::string(type) + " of " + element);
      expect_same_as_interpreter(m, std::string(element) == "f64" ? 1e-12 : 0);
      expect_kernel(m, "last");
    }
}

TEST(CpuReductions, Booleans) {
  for (const char* type : {"ReduceLogicalAnd", "ReduceLogicalOr"}) {
    GraphMaker m;
    for (const float threshold : {-0.99f, 0.0f, 0.99f}) {
      const ir::Value x = m.op("Greater", {m.input({3, 5, 7, 131}), m.scalar(threshold)});
      for (const auto& axes : kAxes) m.result(m.op(type, {x, m.integers(axes)}));
    }
    m.result(m.op(type, {m.op("Less", {m.input({4, 900}), m.scalar(0.999f)}), m.integers({1})}, {}, "last"));
    SCOPED_TRACE(type);
    expect_same_as_interpreter(m, 0);
    expect_kernel(m, "last");
  }
}

TEST(CpuReductions, RunningSums) {
  for (const char* element : {"f32", "f64", "i8", "i32", "u64"}) {
    GraphMaker m;
    const ir::Value x =
        m.op("Convert", {m.op("Multiply", {m.input({3, 5, 67}), m.scalar(40)})}, {{"destination_type", element}});
    for (int64_t axis = -1; axis < 3; ++axis)
      for (const char* exclusive : {"true", "false"})
        for (const char* reverse : {"true", "false"})
          m.result(m.op("CumSum", {x, m.scalar_integer(axis)}, {{"exclusive", exclusive}, {"reverse", reverse}}));
    m.result(m.op("CumSum", {m.input({600, 700}), m.scalar_integer(0)}, {}, "last"));
    SCOPED_TRACE(element);
    expect_same_as_interpreter(m, std::string(element) == "f32" ? 1e-6 : 0);
    expect_kernel(m, "last");
  }
}

TEST(CpuReductions, GroupNormalization) {
  for (const int64_t groups : {1, 2, 3, 6}) {
    GraphMaker m;
    const std::string text = std::to_string(groups);
    const AttributeTexts attributes = {{"num_groups", text}, {"epsilon", "0.0001"}};
    m.result(m.op("GroupNormalization", {m.input({2, 6, 5, 7}), m.input({6}), m.input({6})}, attributes, "a"));
    m.result(m.op("GroupNormalization", {m.input({2, 12}), m.random({12}, 1), m.random({12}, 2)}, attributes));
    m.result(m.op("GroupNormalization", {m.input({1, 6, 301}), m.input({6}), m.input({6})}, attributes));
    expect_same_as_interpreter(m);
    expect_kernel(m, "a");
  }
}

// In channel blocks: groups of part of a block, of several, across their borders, and of all; a chain behind them, and
// more positions than are summed up at once.
TEST(CpuReductions, GroupNormalizationBetweenConvolutions) {
  struct Case {
    int64_t channels, groups;
  };
  for (const Case& c : {Case{32, 8}, Case{30, 3}, Case{40, 1}, Case{80, 8}, Case{48, 3}, Case{17, 17}, Case{64, 4}})
    for (const ir::Dims& dims : {ir::Dims{2, 3, 6, 5}, ir::Dims{1, 3, 19, 23}}) {
      SCOPED_TRACE(std::to_string(c.channels) + " channels in " + std::to_string(c.groups));
      GraphMaker m;
      const AttributeTexts attributes = {{"num_groups", std::to_string(c.groups)}, {"epsilon", "0.0001"}};
      const auto normalised = [&](const ir::Value& x, const char* name) {
        return m.op("GroupNormalization", {x, m.random({c.channels}, 5), m.input({c.channels})}, attributes, name);
      };
      const ir::Value x = m.conv(m.input(PartialShape(ir::to_shape(dims))), c.channels, 3, 1);
      const ir::Value y = m.conv(m.op("Swish", {normalised(x, "a")}), c.channels, 3, 2);
      const ir::Value z =
          m.op("ReLU", {m.op("Add", {m.op("Multiply", {normalised(y, "b"), m.random({1, c.channels, 1, 1}, 6)}), x})});
      m.result(m.conv(z, 5, 1, 3));
      expect_same_as_interpreter(m);
      if (cpu::available_isas().size() == 1) continue;
      for (const char* name : {"a", "b"}) {
        const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), name);
        EXPECT_TRUE(kernel.starts_with("f32_group_normalization_nChw")) << kernel;
      }
      const LaidOut laid_out = lay_out(m, cpu::best_isa());
      for (const ir::Node* reorder : laid_out.reorders())
        EXPECT_FALSE(laid_out.graph->node(reorder->inputs[0].node).is("GroupNormalization"));
    }
}

// The mean is a thousand times the distances from it.
TEST(CpuReductions, GroupNormalizationFarFromZero) {
  GraphMaker m;
  ir::Value x = m.op("Add", {m.conv(m.input({1, 3, 40, 30}), 32, 3, 1), m.scalar(1000)});
  x = m.op("GroupNormalization", {x, m.random({32}, 5), m.random({32}, 6)}, {{"num_groups", "8"}, {"epsilon", "1e-5"}});
  m.result(m.op("ReduceMax", {m.op("ReLU", {m.conv(x, 16, 3, 2)}), m.integers({2, 3})}));
  expect_same_as_interpreter(m, 2e-3);
}

TEST(CpuReductions, MeanVarianceOverMiddleAxes) {
  GraphMaker m;
  const AttributeTexts attributes = {{"eps", "0.0001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  const ir::Value x = m.input({2, 6, 5, 67});
  const ir::Value y = m.op("MVN", {x, m.integers({1})}, attributes, "a");
  m.result(y);
  m.result(m.op("MVN", {x, m.integers({1, 2})}, attributes));
  m.result(m.op("MVN", {x, m.integers({0})}, attributes));
  m.result(
      m.op("ReLU", {m.op("Multiply", {m.op("MVN", {x, m.integers({1})}, attributes), m.random({1, 6, 1, 1}, 1)})}));
  m.result(m.op("Add", {m.op("MVN", {x, m.integers({2})}, attributes), m.input({2, 6, 5, 67})}));
  expect_same_as_interpreter(m, 1e-4);
  expect_kernel(m, "a");
}

// Between layers that want channels last, or in blocks, at channel counts that leave tails.
TEST(CpuReductions, MeanVarianceOverChannelsInEveryLayout) {
  const AttributeTexts attributes = {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  for (const int64_t channels : {1, 5, 16, 19, 40}) {  // the blocks of most instruction sets have 8
    for (const bool last : {false, true}) {
      SCOPED_TRACE(testing::Message() << channels << (last ? " last" : " in blocks"));
      GraphMaker m;
      const ir::Value image = m.input({2, 7, 19, 30});
      const auto pooled = [&](ir::Value value) {  // in blocks
        return m.op("MaxPool", {value},
                    {{"strides", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}}, "", "opset1");
      };
      ir::Value x = pooled(m.conv(image, channels, 3, 1));
      if (last) x = m.op("Transpose", {m.input({2, 19, 30, channels}), m.integers({0, 3, 1, 2})});
      ir::Value y = m.op("MVN", {m.op("Tanh", {x}), m.integers({1})}, attributes, "a");
      y = m.op("Multiply", {y, m.random({1, channels, 1, 1}, 3)});
      y = m.op("Add", {y, m.random({1, channels, 1, 1}, 4)});
      y = m.op("Add", {y, m.op("Exp", {x})});
      y = m.op("SoftPlus", {m.op("Multiply", {y, m.random({1, channels, 1, 1}, 5)})});
      m.result(last ? m.op("Transpose", {y, m.integers({0, 2, 3, 1})}) : m.conv(pooled(y), 9, 3, 6));
      expect_same_as_interpreter(m, 1e-4);
      // Of few channels the lanes behind the last cost more than another layout.
      const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), "a");
      if (last || channels == 40) {
        EXPECT_TRUE(kernel.starts_with(last ? "f32_mvn_nhwc__" : "f32_mvn_channels_nChw")) << kernel;
      }
    }
  }
}

// Instance normalisation between layers that want blocks: of planes of some chunks, and far from zero.
TEST(CpuReductions, MeanVarianceOverPlanesInBlocks) {
  for (const char* eps_mode : {"inside_sqrt", "outside_sqrt"})
    for (const char* normalize : {"true", "false"})
      for (const int64_t channels : {5, 19, 40}) {
        SCOPED_TRACE(testing::Message() << channels << eps_mode << normalize);
        const AttributeTexts attributes = {{"eps", "0.01"}, {"normalize_variance", normalize}, {"eps_mode", eps_mode}};
        GraphMaker m;
        const ir::Value x = m.op("Add", {m.conv(m.input({2, 7, 19, 30}), channels, 3, 1), m.scalar(30)});
        ir::Value y = m.op("MVN", {x, m.integers({2, 3})}, attributes, "a");
        if (channels != 19) y = m.op("Multiply", {y, m.random({1, channels, 1, 1}, 3)});
        if (channels != 5) y = m.op("Add", {y, m.random({1, channels, 1, 1}, 4)});
        y = m.op("Add", {m.op("ReLU", {y}), m.op("Tanh", {x})});
        m.result(m.conv(m.op("SoftPlus", {m.op("Multiply", {y, m.random({1, channels, 1, 1}, 5)})}), 9, 3, 6));
        expect_same_as_interpreter(m, 1e-4);
        const std::string kernel = kernel_on_cpu(m.graph(), cpu::best_isa(), "a");
        if (channels == 40) {
          EXPECT_TRUE(kernel.starts_with("f32_mvn_nChw")) << kernel;
        }
      }
}

TEST(CpuReductions, MeanVarianceOverChannelsIsTheSameForAnyBatch) {
  const AttributeTexts attributes = {{"eps", "0.01"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  const auto run = [&](int64_t batch, int threads, const HostTensor& images) {
    GraphMaker m;
    const ir::Value x = m.conv(m.input({batch, 8, 31, 29}), 24, 3, 1);
    const ir::Value y = m.op("MVN", {x, m.integers({1})}, attributes);
    m.result(m.conv(m.op("Multiply", {y, m.random({1, 24, 1, 1}, 3)}), 9, 3, 6));
    std::vector<std::vector<HostTensor>> inputs(1);
    HostTensor& input = inputs[0].emplace_back(element::f32, ir::Dims{batch, 8, 31, 29});
    std::memcpy(input.writable().data, images.view().data, input.view().bytes());
    return std::move(run_on_cpu(m.graph(), cpu::best_isa(), threads, inputs)[0][0]);
  };
  const HostTensor images = random_tensor({3, 8, 31, 29}, 1);
  const HostTensor alone = run(1, 1, images);
  for (const int threads : {1, 2, 5}) {
    const HostTensor together = run(3, threads, images);
    EXPECT_EQ(std::memcmp(alone.view().data, together.view().data, alone.view().bytes()), 0) << threads;
  }
}

TEST(CpuQuantisation, BitsOfTheReference) {
  GraphMaker m;
  const ir::Value x = m.input({2, 3, 5, 67});
  const auto fake = [&](int64_t levels, const std::vector<ir::Value>& limits, const char* name) {
    m.result(m.op("FakeQuantize", {x, limits[0], limits[1], limits[2], limits[3]}, {{"levels", std::to_string(levels)}},
                  name));
  };
  for (const int64_t levels : {2, 16, 255, 256, 65536})
    fake(levels, {m.scalar(-0.7f), m.scalar(0.61f), m.scalar(-1), m.scalar(2.5f)},
         ("tensor" + std::to_string(levels)).c_str());
  const ir::Value low = m.constant({3, 1, 1}, {-0.5f, -0.25f, 0}), high = m.constant({1, 3, 1, 1}, {0.5f, 0.75f, 1});
  fake(256, {low, high, low, high}, "channels");
  fake(256, {high, low, high, low}, "upside_down");
  fake(256, {m.random({67}, 1), m.op("Abs", {m.input({67})}), m.scalar(0), m.random({5, 1}, 2)}, "mixed");
  for (const char* type : {"f8e4m3", "f8e5m2"}) {
    m.result(m.op("FakeConvert", {x, m.scalar(300), m.scalar(0.1f)}, {{"destination_type", type}}, type));
    m.result(m.op("FakeConvert", {x, m.random({3, 1, 1}, 3)}, {{"destination_type", type}}));
  }
  expect_same_as_interpreter(m, 0);
  for (const char* name : {"tensor2", "tensor65536", "channels", "upside_down", "mixed", "f8e4m3", "f8e5m2"})
    expect_kernel(m, name);
}

TEST(CpuReductions, BatchNormWithParametersOfTheRun) {
  GraphMaker m;
  const auto positive = [&m] { return m.op("Add", {m.op("Abs", {m.input({6})}), m.scalar(0.5f)}); };
  m.result(m.op("BatchNormInference", {m.input({2, 6, 5, 7}), m.input({6}), m.input({6}), m.input({6}), positive()},
                {{"epsilon", "0.001"}}, "a"));
  expect_same_as_interpreter(m);
  expect_kernel(m, "a");
}

}  // namespace
}  // namespace terroir::test
