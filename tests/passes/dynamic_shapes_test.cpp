// A model fed thousands of random input extents: memory stays where it was, results are those of the model with these
// extents fixed, bit for bit. `cmake --build --preset release --target dynamic_shapes` runs ten thousand.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <fstream>
#include <random>

#include "ir/graph/infer.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Resident bytes of this process, in MB; 0 where that cannot be known.
double resident_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

/// Windows, joins, products, layers whose sizes are computed from the extents.
GraphMaker pictures_model() {
  GraphMaker m;
  const auto window = [](const char* stride, const char* pad) {
    return AttributeTexts{{"strides", stride}, {"dilations", "1,1"}, {"pads_begin", pad}, {"pads_end", pad}};
  };
  auto x = m.input(PartialShape("1..4,3,8..72,8..72"));
  auto y = m.op("ReLU", {m.op("Convolution", {x, m.random({24, 3, 3, 3}, 1)}, window("2,2", "1,1"))});
  auto z = m.op("Clamp", {m.op("GroupConvolution", {y, m.random({24, 1, 1, 3, 3}, 2)}, window("1,1", "1,1"))},
                {{"min", "0"}, {"max", "6"}});
  y = m.op("Add", {m.op("Convolution", {z, m.random({24, 24, 1, 1}, 3)}, window("1,1", "0,0")), y});
  y = m.op("Sigmoid", {m.op("Convolution", {y, m.random({32, 24, 3, 3}, 4, 0.1f)}, window("1,1", "1,1"))});
  auto shape = m.op("ShapeOf", {x}, {{"output_type", "i64"}});
  auto extents = m.op("Gather", {shape, m.integers({2, 3}), m.scalar_integer(0)});
  m.result(m.op("Interpolate", {y, extents, m.constant({2}, {2, 2}), m.integers({2, 3})},
                {{"mode", "linear_onnx"}, {"shape_calculation_mode", "sizes"}}, "", "opset4"));
  auto batch = m.op("Gather", {shape, m.integers({0}), m.scalar_integer(0)});
  auto target = m.op("Concat", {batch, m.integers({32, -1})}, {{"axis", "0"}});
  auto rows = m.op("Transpose", {m.op("Reshape", {y, target}, {{"special_zero", "false"}}), m.integers({0, 2, 1})});
  auto heads =
      m.op("MatMul", {m.op("SoftMax", {m.op("MatMul", {rows, m.random({32, 16}, 5)})}, {{"axis", "2"}}, "", "opset1"),
                      m.random({16, 8}, 6)});
  m.result(heads);
  auto pooled = m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "false"}});
  m.result(m.op("MatMul", {pooled, m.random({32, 10}, 7)}));
  return m;
}

std::unique_ptr<ir::Graph> with_extents(const ir::Graph& graph, const ir::Dims& dims) {
  auto fixed = graph.clone();
  ir::Node& parameter = fixed->node(fixed->parameters().at(0));
  parameter.attributes = ir::make_attributes_of(ir::ParameterAttrs{PartialShape(ir::to_shape(dims)), element::f32});
  ir::infer_graph(*fixed);
  return fixed;
}

void expect_same_bits(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].view().dims, expected[i].view().dims);
    EXPECT_EQ(std::memcmp(got[i].view().data, expected[i].view().data, got[i].view().bytes()), 0) << "output " << i;
  }
}

/// What rewrites look for: normalisations, scales, activations and transposes in the forms that exporters write.
GraphMaker rewritten_model(const PartialShape& shape) {
  GraphMaker m;
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  auto x = m.input(shape);
  auto y = m.op("Convolution", {x, m.random({16, 3, 3, 3}, 1)}, window);
  y = m.op("BatchNormInference",
           {y, m.random({16}, 2), m.random({16}, 3), m.random({16}, 4), m.op("Abs", {m.random({16}, 5)})},
           {{"epsilon", "0.001"}});
  y = m.op("Multiply", {m.op("ReLU", {y}), m.random({1, 16, 1, 1}, 6)});
  y = m.op("Multiply", {m.op("Convolution", {y, m.random({8, 16, 3, 3}, 7, 0.2f)}, window), m.random({1, 8, 1, 1}, 8)});
  auto rows = m.op("Transpose", {y, m.integers({0, 2, 3, 1})});
  auto centred = m.op("Subtract", {rows, m.op("ReduceMean", {rows, m.integers({-1})}, {{"keep_dims", "true"}})});
  auto variance =
      m.op("ReduceMean", {m.op("Power", {centred, m.scalar(2)}), m.integers({-1})}, {{"keep_dims", "true"}});
  auto normal = m.op("Divide", {centred, m.op("Sqrt", {m.op("Add", {variance, m.scalar(1e-5f)})})});
  auto half = m.op("Multiply", {normal, m.scalar(0.5f)});
  auto erf = m.op("Erf", {m.op("Divide", {normal, m.scalar(1.41421356f)})});
  auto gelu = m.op("Multiply", {half, m.op("Add", {erf, m.scalar(1)})});
  m.result(m.op("Transpose", {gelu, m.integers({0, 3, 1, 2})}));
  return m;
}

uint64_t hash_of(const std::vector<HostTensor>& tensors) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3ULL;
  };
  for (const HostTensor& tensor : tensors) {
    mix(tensor.dims().data(), tensor.dims().size() * sizeof(int64_t));
    mix(tensor.view().data, tensor.view().bytes());
  }
  return hash;
}

struct Fed {
  ir::Dims dims;
  uint32_t seed;
  uint64_t outputs;
};

/// Feeds random extents and keeps the hashes of every `every`th outputs. Memory may grow for the first 500, which fill
/// the cache of plans.
std::vector<Fed> feed(const GraphMaker& m, int shapes, int every) {
#if defined(M_PERTURB)
  ::mallopt(M_PERTURB, 0);  // other tests have memory filled when it is allocated, which would count as used
#endif
  DeviceModel device = on_cpu(m.graph(), 2);
  std::mt19937 random(7);
  const auto between = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  std::vector<Fed> kept;
  kept.reserve(static_cast<size_t>(shapes / every + 1));
  double settled = 0, largest = 0;
  for (int i = 0; i < shapes; ++i) {
    // The largest comes first: activations are as large as the largest extents seen want them, in whole huge pages.
    const ir::Dims dims = i == 0 ? ir::Dims{4, 3, 72, 72} : ir::Dims{between(1, 4), 3, between(8, 72), between(8, 72)};
    const auto seed = static_cast<uint32_t>(i);
    const HostTensor input = random_tensor(dims, seed);
    const std::vector<HostTensor> outputs = device.infer({&input, 1});
    if (i % every == 0) kept.push_back({dims, seed, hash_of(outputs)});
    if (i == 499) settled = resident_megabytes();
    if (i >= 499 && i % 100 == 99) largest = std::max(largest, resident_megabytes());
  }
#if defined(M_PERTURB)
  ::mallopt(M_PERTURB, 0x80);
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(largest, 1.05 * settled) << "MB";
#endif
  testing::Test::RecordProperty("resident_after_500", std::to_string(settled));
  testing::Test::RecordProperty("resident_at_most", std::to_string(largest));
  return kept;
}

void expect_same_bits_as_fixed(const GraphMaker& m, const std::vector<Fed>& fed) {
  for (const Fed& one : fed) {
    const HostTensor input = random_tensor(one.dims, one.seed);
    EXPECT_EQ(hash_of(on_cpu(*with_extents(m.graph(), one.dims), 2).infer({&input, 1})), one.outputs)
        << PartialShape(ir::to_shape(one.dims));
  }
}

TEST(DynamicShapes, LessKnowledgeBeforehandGivesTheSameBits) {
  for (const char* shape : {"?,3,?,?", "?,?,?,?", "..."}) {
    SCOPED_TRACE(shape);
    const GraphMaker m = rewritten_model(PartialShape(shape));
    DeviceModel device = on_cpu(m.graph(), 2);
    for (const ir::Dims& dims : {ir::Dims{1, 3, 12, 9}, ir::Dims{2, 3, 40, 33}, ir::Dims{1, 3, 12, 9}}) {
      const HostTensor input = random_tensor(dims, 3);
      expect_same_bits(device.infer({&input, 1}), on_cpu(*with_extents(m.graph(), dims), 2).infer({&input, 1}));
    }
  }
}

/// Reshapes that may be none, and other layers that may: known extents, or some of them, tell.
using MayBeNone = ir::Value (*)(GraphMaker& m, ir::Value y);
constexpr MayBeNone kMayBeNone[] = {
    [](GraphMaker& m, ir::Value y) {
      return m.op("Reshape", {y, m.integers({0, 16, 9, 9})}, {{"special_zero", "true"}});
    },
    [](GraphMaker& m, ir::Value y) {
      return m.op("Reshape", {y, m.integers({-1, 16, 9, 9})}, {{"special_zero", "false"}});
    },
    [](GraphMaker& m, ir::Value y) {
      return m.op("Reshape", {y, m.op("ShapeOf", {y}, {{"output_type", "i64"}})}, {{"special_zero", "false"}});
    },
    [](GraphMaker& m, ir::Value y) {
      return m.op("Add", {y, m.constant({1, 1, 9, 9}, std::vector<float>(81, 0))});
    },
    [](GraphMaker& m, ir::Value y) {
      return m.op("Multiply", {y, m.constant({1, 1, 9, 9}, std::vector<float>(81, 1))});
    }};

// A scale goes into the layer before it or into the one behind it; which of them must not depend on when extents are
// known.
TEST(DynamicShapes, ScalesGoWhereTheyWouldOfKnownExtents) {
  const AttributeTexts window = {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}};
  for (size_t layer = 0; layer < std::size(kMayBeNone); ++layer)
    for (const bool shifted : {false, true})
      for (const char* shape : {"?,16,9,9", "1,16,?,?"}) {
        SCOPED_TRACE(::testing::Message() << layer << ' ' << shape << (shifted ? ", shifted" : ""));
        GraphMaker m;
        auto y = m.op("Convolution", {m.input(PartialShape(shape)), m.random({16, 16, 3, 3}, 1)}, window);
        y = kMayBeNone[layer](m, y);
        if (shifted) y = m.op("Add", {y, m.random({1, 16, 1, 1}, 2)});
        y = m.op("Multiply", {y, m.random({1, 16, 1, 1}, 3)});
        m.result(m.op("Convolution", {y, m.random({8, 16, 3, 3}, 4)}, window));
        const HostTensor input = random_tensor({1, 16, 9, 9}, 5);
        expect_same_bits(on_cpu(m.graph(), 1).infer({&input, 1}),
                         on_cpu(*with_extents(m.graph(), {1, 16, 9, 9}), 1).infer({&input, 1}));
      }
}

/// A convolution whose source is added to its results takes that into its weights, or the zeros around its source into
/// its pads, and then the sources differ. Whether these are zeros around something shows only where extents are known.
TEST(DynamicShapes, PaddedSourcesAreAddedAsTheyWouldBeOfKnownExtents) {
  for (const char* shape : {"1,3,?,4", "?,3,7,?"}) {
    SCOPED_TRACE(shape);
    GraphMaker m;
    const ir::Value x = m.op("Pad", {m.input(PartialShape(shape)), m.integers({0, 0, 0, 1}), m.integers({0, 0, 2, 0})},
                             {{"pad_mode", "constant"}});
    const ir::Value y = m.op("GroupConvolution", {x, m.random({3, 1, 1, 3, 3}, 1)},
                             {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}});
    m.result(m.op("Add", {x, y}));
    const HostTensor input = random_tensor({1, 3, 7, 4}, 5);
    expect_same_bits(on_cpu(m.graph(), 1).infer({&input, 1}),
                     on_cpu(*with_extents(m.graph(), {1, 3, 7, 4}), 1).infer({&input, 1}));
  }
}

TEST(DynamicShapes, ScalesOfNormalisedGroups) {
  for (size_t layer = 0; layer < std::size(kMayBeNone); ++layer) {
    SCOPED_TRACE(layer);
    GraphMaker m;
    const ir::Value x = m.input(PartialShape("?,16,9,9"));
    auto y = m.op("Reshape", {x, m.integers({0, 4, -1})}, {{"special_zero", "true"}});
    y = m.op("MVN", {y, m.integers({2})},
             {{"normalize_variance", "true"}, {"eps", "1e-5"}, {"eps_mode", "inside_sqrt"}});
    y = kMayBeNone[layer](m, m.op("Reshape", {y, m.integers({0, 16, 9, 9})}, {{"special_zero", "true"}}));
    m.result(m.op("Multiply", {y, m.random({1, 16, 1, 1}, 3)}));
    const HostTensor input = random_tensor({2, 16, 9, 9}, 5);
    expect_same_bits(on_cpu(m.graph(), 1).infer({&input, 1}),
                     on_cpu(*with_extents(m.graph(), {2, 16, 9, 9}), 1).infer({&input, 1}));
  }
}

TEST(DynamicShapes, RanksMayChangeFromInferenceToInference) {
  GraphMaker m;
  auto x = m.input(PartialShape::dynamic());
  auto sums = m.op("ReduceSum", {m.op("Exp", {x}), m.integers({-1})}, {{"keep_dims", "true"}});
  m.result(m.op("Divide", {m.op("Exp", {x}), sums}));
  m.result(m.op("ShapeOf", {x}));
  const std::vector<std::vector<HostTensor>> sets = {{random_tensor({3, 5}, 1)},
                                                     {random_tensor({2, 3, 4}, 2)},
                                                     {random_tensor({7}, 3)},
                                                     {random_tensor({3, 5}, 4)},
                                                     {random_tensor({2, 1, 2, 2, 3}, 5)}};
  expect_same_as_interpreter(m.graph(), sets);
}

TEST(DynamicShapes, MemoryStaysAndBitsAreThoseOfFixedShapes) {
  const GraphMaker m = pictures_model();
  expect_same_bits_as_fixed(m, feed(m, 1200, 30));
}

TEST(DynamicShapes, DISABLED_TenThousand) {
  const GraphMaker m = pictures_model();
  expect_same_bits_as_fixed(m, feed(m, 10000, 40));
}

}  // namespace
}  // namespace terroir::test
