// Products with weights of 8 and 4 bits: which become such, and that their results are those of floats.
#include "plugins/cpu/passes/compress_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "ir/base/aligned_buffer.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/compile.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/golden.hpp"

namespace terroir::test {
namespace {

/// MatMul(x, Reshape?(Multiply(Subtract?(Convert(numbers), zeros), scales))).
struct CompressedProduct {
  int64_t outputs, groups, group;
  element::Type type = element::u8;
  bool has_zeros = true, transpose_b = true;
  element::Type computes_in = element::f32;
  int64_t inputs() const { return groups * group; }
};

ir::Value raw_constant(GraphMaker& m, element::Type type, const ir::Dims& dims, uint32_t seed) {
  auto buffer = std::make_shared<AlignedBuffer>(ir::byte_size(type, ir::element_count(dims)));
  std::mt19937 engine(seed);
  std::generate_n(buffer->as<uint8_t>(), buffer->size(), [&] { return static_cast<uint8_t>(engine()); });
  return {m.graph().add_constant(ops::builtin_registry().get(ir::kConstType, "opset1"), "numbers",
                                 {{type, dims, buffer->data()}, buffer}),
          0};
}

ir::Dims numbers_dims(const CompressedProduct& p) {
  if (p.groups == 1) return p.transpose_b ? ir::Dims{p.outputs, p.group} : ir::Dims{p.group, p.outputs};
  return p.transpose_b ? ir::Dims{p.outputs, p.groups, p.group} : ir::Dims{p.groups, p.group, p.outputs};
}

ir::Dims parameter_dims(const CompressedProduct& p) {
  ir::Dims dims = numbers_dims(p);
  dims[dims.size() - (p.transpose_b ? 1 : 2)] = 1;
  return dims;
}

ir::Value weights_of(GraphMaker& m, const CompressedProduct& p) {
  const auto convert = [&](ir::Value value, element::Type type) {
    return m.op("Convert", {value}, {{"destination_type", type.get_type_name()}});
  };
  const auto parameter = [&](uint32_t seed, float scale) {
    const ir::Value floats = m.random(parameter_dims(p), seed, scale);
    return p.computes_in == element::f32 ? floats : convert(floats, p.computes_in);
  };
  ir::Value value = convert(raw_constant(m, p.type, numbers_dims(p), 3), p.computes_in);
  if (p.has_zeros) value = m.op("Subtract", {value, parameter(4, 8)});
  value = m.op("Multiply", {value, parameter(5, 0.02f)});
  if (p.groups > 1)
    value = m.op("Reshape",
                 {value, m.integers(p.transpose_b ? std::vector<int64_t>{p.outputs, p.inputs()}
                                                  : std::vector<int64_t>{p.inputs(), p.outputs})},
                 {{"special_zero", "false"}});
  return p.computes_in == element::f32 ? value : convert(value, element::f32);
}

ir::Value product_with(GraphMaker& m, ir::Value data, ir::Value weights, bool transpose_b = true) {
  return m.op("MatMul", {data, weights}, {{"transpose_a", "false"}, {"transpose_b", transpose_b ? "true" : "false"}});
}

/// With a bias and an activation.
void finish(GraphMaker& m, ir::Value product) {
  const int64_t columns = m.graph().port(product).shape.rbegin()->get_length();
  m.result(m.op("Sigmoid", {m.op("Add", {product, m.random({columns}, 7)})}));
}

GraphMaker product_graph(const CompressedProduct& p, const PartialShape& data) {
  GraphMaker m;
  finish(m, product_with(m, m.input(data), weights_of(m, p), p.transpose_b));
  return m;
}

/// The same with weights in floats.
std::unique_ptr<ir::Graph> folded(const GraphMaker& m) {
  auto graph = m.graph().clone();
  ir::PassManager passes;
  passes.add(ops::fold_constants(ops::builtin_registry()));
  passes.run(*graph);
  return graph;
}

std::string kernel_of_product(const GraphMaker& m) { return kernel_on_cpu(m.graph(), cpu::best_isa(), "matmul"); }

ir::Pass compression() { return cpu::compress_products(cpu::cpu_ops()); }

TEST(CompressProducts, Rewrite) {
  const GraphMaker m = product_graph({.outputs = 4, .groups = 2, .group = 3, .type = element::u4}, {1, 5, 6});
  expect_rewrite("compress_products", m.graph(), {compression()});
}

TEST(CompressProducts, RefusesWhatIsNotOnlyWeights) {
  const CompressedProduct p{.outputs = 4, .groups = 1, .group = 6};
  GraphMaker shared;  // somebody else reads the floats
  const ir::Value weights = weights_of(shared, p);
  shared.result(product_with(shared, shared.input({2, 6}), weights));
  shared.result(shared.op("ReLU", {weights}));
  expect_refusal(shared.graph(), {compression()});
  EXPECT_TRUE(cpu::nodes_of_compressed_weights(shared.graph()).empty());

  GraphMaker within;  // a scale for each input
  const ir::Value numbers =
      within.op("Convert", {raw_constant(within, element::i8, {4, 6}, 1)}, {{"destination_type", "f32"}});
  within.result(product_with(within, within.input({2, 6}), within.op("Multiply", {numbers, within.random({1, 6}, 2)})));
  expect_refusal(within.graph(), {compression()});

  GraphMaker other;  // of 16 bits
  const ir::Value wide =
      other.op("Convert", {raw_constant(other, element::i16, {4, 6}, 1)}, {{"destination_type", "f32"}});
  other.result(product_with(other, other.input({2, 6}), other.op("Multiply", {wide, other.scalar(0.5f)})));
  expect_refusal(other.graph(), {compression()});

  GraphMaker left;  // the weights are on the left
  left.result(left.op("MatMul", {weights_of(left, p), left.input({6, 2})},
                      {{"transpose_a", "false"}, {"transpose_b", "false"}}));
  expect_refusal(left.graph(), {compression()});

  GraphMaker batch;  // a matrix for each of three
  const ir::Value many =
      batch.op("Convert", {raw_constant(batch, element::i8, {3, 4, 6}, 1)}, {{"destination_type", "f32"}});
  batch.result(product_with(batch, batch.input({3, 2, 6}), batch.op("Multiply", {many, batch.scalar(0.5f)})));
  expect_refusal(batch.graph(), {compression()});
}

TEST(CompressProducts, FoldingLeavesTheirWeightsAlone) {
  const GraphMaker m = product_graph({.outputs = 40, .groups = 1, .group = 6}, {PartialShape::dynamic(2)});
  EXPECT_FALSE(cpu::nodes_of_compressed_weights(*cpu::rewrite_portable(m.graph())).empty());
  EXPECT_TRUE(cpu::nodes_of_compressed_weights(*cpu::rewrite_portable(m.graph(), false)).empty());
}

TEST(CompressProducts, ResultsAreThoseOfFloats) {
  const ScopedVariable no_sums("TERROIR_ADD_PIPES", "0");
  for (const element::Type type : {element::i8, element::u8, element::i4, element::u4})
    for (const bool has_zeros : {false, true})
      for (const bool transpose_b : {false, true})
        for (const auto& [groups, group] : {std::pair<int64_t, int64_t>{1, 77}, {3, 64}, {5, 7}})
          for (const int64_t rows : {1, 3, 70}) {
            const CompressedProduct p{301, groups, group, type, has_zeros, transpose_b};
            SCOPED_TRACE(::testing::Message() << type << " " << has_zeros << transpose_b << " " << groups << "x"
                                              << group << " rows " << rows);
            const GraphMaker m = product_graph(p, {rows, p.inputs()});
            const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({rows, p.inputs()}, 9)}};
            expect_same_bits(m.graph(), *folded(m), inputs);
          }
}

TEST(CompressProducts, AgreesWithTheInterpreter) {
  for (const element::Type type : {element::i8, element::u8, element::i4, element::u4})
    for (const bool transpose_b : {false, true})
      expect_same_as_interpreter(product_graph({70, 4, 33, type, true, transpose_b}, {2, 3, 132}));
}

TEST(CompressProducts, KernelsSayTheirNumbers) {
  EXPECT_NE(kernel_of_product(product_graph({40, 1, 64, element::i8}, {1, 64})).find("f32_gemm_i8_"),
            std::string::npos);
  EXPECT_NE(kernel_of_product(product_graph({40, 2, 64, element::u4}, {1, 128})).find("f32_gemm_u4_"),
            std::string::npos);
  // Computed in halves, as models are stored that were made smaller by tools.
  EXPECT_NE(kernel_of_product(product_graph({40, 2, 64, element::i4, true, true, element::f16}, {1, 128}))
                .find("f32_gemm_i4_"),
            std::string::npos);
}

TEST(CompressProducts, QuantisedDataKeepTheirBytes) {
  GraphMaker m;
  const ir::Value low = m.scalar(-2), high = m.scalar(2);
  const ir::Value data = m.op("FakeQuantize", {m.input({16, 64}), low, high, low, high}, {{"levels", "256"}});
  finish(m, product_with(m, data, weights_of(m, {40, 1, 64, element::i8, false})));
  EXPECT_TRUE(cpu::nodes_of_compressed_weights(m.graph()).empty());
  expect_same_as_interpreter(m, 2e-2);
}

bool runs(const DeviceModel& model, const std::string& kernel) {
  const std::vector<ProfilingInfo> layers = model.profile();
  return std::any_of(layers.begin(), layers.end(),
                     [&](const ProfilingInfo& layer) { return layer.exec_type.find(kernel) != std::string::npos; });
}

void expect_same(const HostTensor& got, const HostTensor& want) {
  ASSERT_EQ(got.view().dims, want.view().dims);
  EXPECT_EQ(std::memcmp(got.view().data, want.view().data, want.view().bytes()), 0);
}

plugin::Config with_profile() {
  plugin::Config config;
  config.profiling = true;
  return config;
}

TEST(CompressProducts, UnknownExtentsKeepNumbersToo) {
  const ScopedVariable no_sums("TERROIR_ADD_PIPES", "0"), plain("TERROIR_FORCE_ISA", cpu::isa_name(cpu::best_isa()));
  const CompressedProduct p{50, 2, 24, element::u4};
  const GraphMaker m = product_graph(p, {Dimension::dynamic(), p.inputs()});
  DeviceModel compressed(m.graph().clone(), "CPU", with_profile()), floats(folded(m), "CPU");
  DeviceModel loaded = compressed.stored_and_loaded();
  for (const int64_t rows : {1, 40, 7, 1}) {
    const std::vector<HostTensor> input = {random_tensor({rows, p.inputs()}, 3)};
    const HostTensor want = floats.infer(input)[0];
    expect_same(compressed.infer(input)[0], want);
    EXPECT_TRUE(runs(compressed, "f32_gemm_u4_"));
    expect_same(loaded.infer(input)[0], want);
  }
}

TEST(CompressProducts, PlansAreStored) {
  for (const bool has_zeros : {false, true}) {
    const CompressedProduct p{50, 2, 24, element::i4, has_zeros};
    const GraphMaker m = product_graph(p, {3, p.inputs()});
    DeviceModel model(m.graph().clone(), "CPU");
    DeviceModel loaded = model.stored_and_loaded();
    const std::vector<HostTensor> input = {random_tensor({3, p.inputs()}, 3)};
    expect_same(loaded.infer(input)[0], model.infer(input)[0]);
  }
}

// The layer is in a later plan than what makes its weights could be.
TEST(CompressProducts, BehindExtentsThatDependOnData) {
  const ScopedVariable plain("TERROIR_FORCE_ISA", cpu::isa_name(cpu::best_isa()));
  const CompressedProduct p{50, 1, 24, element::i8};
  GraphMaker m;
  const ir::Value x = m.input({9, p.inputs()}), mask = m.input({9});
  const ir::Value found = m.op("NonZero", {mask}, {{"output_type", "i64"}});
  const ir::Value rows = m.op("Gather", {x, m.op("Squeeze", {found, m.integers({0})}), m.scalar_integer(0)});
  finish(m, product_with(m, rows, weights_of(m, p)));
  DeviceModel compressed(m.graph().clone(), "CPU", with_profile()), floats(folded(m), "CPU");
  HostTensor some(element::f32, {9});
  for (int64_t i = 0; i < 9; ++i) some.writable().as<float>()[i] = static_cast<float>(i % 3 == 0);
  const std::vector<HostTensor> inputs = {random_tensor({9, p.inputs()}, 3), some};
  expect_same(compressed.infer(inputs)[0], floats.infer(inputs)[0]);
  EXPECT_TRUE(runs(compressed, "f32_gemm_i8_"));
}

TEST(CompressProducts, PackedWeightsAreAsSmallAsTheNumbers) {
  const ScopedVariable plain("TERROIR_FORCE_ISA", cpu::isa_name(cpu::best_isa()));
  const CompressedProduct p{1024, 1, 1024, element::u4};
  const GraphMaker m = product_graph(p, {1, p.inputs()});
  const DeviceModel model(m.graph().clone(), "CPU");
  const size_t numbers = static_cast<size_t>(p.outputs * p.inputs() / 2);
  EXPECT_LT(model.compiled().footprint().packed, numbers + numbers / 16);
}

TEST(CompressProducts, Bf16MultipliesWhatFloatsAreRoundedTo) {
  if (!WithBf16::is_available()) GTEST_SKIP() << "no products of bf16 here";
  const WithBf16 with;
  const GraphMaker m = product_graph({48, 1, 64, element::i8}, {16, 64});
  plugin::Config config = with_profile();
  config.inference_precision = element::bf16;
  DeviceModel compressed(m.graph().clone(), "CPU", config), floats(folded(m), "CPU", config);
  const std::vector<HostTensor> input = {random_tensor({16, 64}, 3)};
  expect_same(compressed.infer(input)[0], floats.infer(input)[0]);
  EXPECT_TRUE(runs(compressed, "bf16"));
}

/// Words of a table of bytes, looked up and, as the last layer of a language model, multiplied by all of it.
GraphMaker tied_words(bool has_zeros, const PartialShape& indices) {
  const CompressedProduct table{8192, 1, 130, element::u8, has_zeros};
  GraphMaker m;
  const ir::Value weights = weights_of(m, table);
  const ir::Value words =
      m.op("Gather", {weights, m.input(indices, element::i64), m.scalar_integer(0)}, {{"batch_dims", "0"}});
  m.result(words);
  m.result(product_with(m, words, weights));
  return m;
}

TEST(CompressProducts, RowsOfTablesAreGatheredAsNumbers) {
  const ScopedVariable plain("TERROIR_FORCE_ISA", cpu::isa_name(cpu::best_isa())), no_sums("TERROIR_ADD_PIPES", "0");
  for (const bool has_zeros : {false, true})
    for (const PartialShape& shape : {PartialShape{2, 3}, PartialShape{2, Dimension::dynamic()}}) {
      const GraphMaker m = tied_words(has_zeros, shape);
      const DeviceModel model(m.graph().clone(), "CPU", with_profile());
      DeviceModel compressed = model.another_request(), floats(folded(m), "CPU");
      HostTensor indices(element::i64, {2, 3});
      for (int64_t i = 0; i < 6; ++i) indices.writable().as<int64_t>()[i] = i * 1637 - (i % 2 == 1 ? 8192 : 0);
      const std::vector<HostTensor> inputs = {indices};
      const auto got = compressed.infer(inputs), want = floats.infer(inputs);
      for (const size_t i : {0, 1}) expect_same(got[i], want[i]);
      EXPECT_TRUE(runs(compressed, "f32_gemm_u8_"));
      EXPECT_LT(model.compiled().footprint().packed + model.compiled().footprint().weights, 3 * 8192 * 130);
    }
  GraphMaker small;  // as floats it is as good
  const ir::Value weights = weights_of(small, {.outputs = 100, .groups = 1, .group = 130});
  small.result(
      small.op("Gather", {weights, small.input({7}, element::i64), small.scalar_integer(0)}, {{"batch_dims", "0"}}));
  expect_refusal(small.graph(), {ops::gather_compressed_rows()});
}

}  // namespace
}  // namespace terroir::test
