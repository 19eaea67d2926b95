// When a 1x1 convolution or a product of matrices takes part of its multiplications as additions: where the processor
// has pipes for them, it pays and its error is bounded, never for accuracy, and whatever the batch.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;

constexpr int64_t kInputs = 256, kOutputs = 512;

std::string kernel_of(const GraphMaker& m, Isa isa, bool accuracy = false) {
  CompileOptions options;
  options.isa = isa;
  options.accuracy = accuracy;
  WeightsCache weights;
  std::vector<ir::Dims> dims;
  for (const ir::Value& input : m.inputs()) dims.push_back(m.dims(input));
  const auto plan = compile_plan(bound_graph(rewrite_portable(m.graph()), dims), weights, options, parallel::Arena(1));
  for (const Step& step : plan->steps)
    if (step.kernel.find("conv") != std::string::npos || step.kernel.find("gemm") != std::string::npos)
      return step.kernel;
  return "";
}

GraphMaker layer(const ir::Dims& image, int64_t outputs, int64_t stride = 1, int64_t taps = 1) {
  GraphMaker m;
  ir::Dims weights{outputs, image[1]};
  std::string ones, zeros, strides;
  for (size_t axis = 2; axis < image.size(); ++axis) {
    const char* const comma = axis > 2 ? "," : "";
    weights.push_back(taps);
    ones += comma + std::string("1");
    zeros += comma + std::string("0");
    strides += comma + std::to_string(stride);
  }
  m.result(
      m.op("ReLU", {m.op("Convolution", {m.input(image), m.random(weights, 3, 0.1f)},
                         {{"strides", strides}, {"dilations", ones}, {"pads_begin", zeros}, {"pads_end", zeros}})}));
  return m;
}

GraphMaker layer_of(std::vector<float> weights) {
  GraphMaker m;
  const ir::Value x = m.input({1, kInputs, 14, 14});
  m.result(m.op("Convolution", {x, m.constant({kOutputs, kInputs, 1, 1}, weights)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  return m;
}

bool is_paired(const std::string& kernel) { return kernel.find("_paired_") != std::string::npos; }

class PairedSelection : public testing::Test {
  test::FloatsAlone floats_;
};

TEST_F(PairedSelection, TakesWideLayersWhereAdditionsHaveTheirPipes) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const bool has_kernel = !paired_kernels(isa).empty();
    const test::AddPipes pipes(true);
    EXPECT_EQ(is_paired(kernel_of(layer({1, kInputs, 14, 14}, kOutputs), isa)), has_kernel);
    EXPECT_EQ(is_paired(kernel_of(layer({1, kInputs, 28, 28}, kOutputs, 2), isa)), has_kernel);
    EXPECT_EQ(is_paired(kernel_of(layer({1, kInputs, 100}, kOutputs), isa)), has_kernel);
    EXPECT_EQ(is_paired(kernel_of(layer({1, kInputs, 4, 6, 6}, kOutputs), isa)), has_kernel);
    EXPECT_FALSE(is_paired(kernel_of(layer({1, kInputs, 14, 14}, kOutputs, 1, 3), isa)));
    EXPECT_FALSE(is_paired(kernel_of(layer({1, 32, 14, 14}, 32), isa)));
    EXPECT_FALSE(is_paired(kernel_of(layer({1, kInputs, 1, 1}, kOutputs), isa)));
    EXPECT_FALSE(is_paired(kernel_of(layer({1, kInputs, 14, 14}, kOutputs), isa, true)));
    const test::AddPipes none(false);
    EXPECT_FALSE(is_paired(kernel_of(layer({1, kInputs, 14, 14}, kOutputs), isa)));
  }
}

TEST_F(PairedSelection, WeightsOfTheRunAreMultipliedAsTheyAre) {
  const test::AddPipes pipes(true);
  GraphMaker m;
  const ir::Value x = m.input({1, kInputs, 14, 14}), weights = m.input({kOutputs, kInputs, 1, 1});
  m.result(m.op("Convolution", {x, weights},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}}));
  for (const Isa isa : available_isas()) EXPECT_FALSE(is_paired(kernel_of(m, isa))) << isa_name(isa);
}

TEST_F(PairedSelection, DoesNotDependOnTheBatch) {
  const test::AddPipes pipes(true);
  for (const Isa isa : available_isas())
    for (const int64_t size : {1, 2, 3, 4, 7, 14})
      for (const int64_t outputs : {int64_t{64}, int64_t{128}, kOutputs})
        EXPECT_EQ(kernel_of(layer({16, kInputs, size, size}, outputs), isa),
                  kernel_of(layer({1, kInputs, size, size}, outputs), isa))
            << isa_name(isa) << " size " << size << " outputs " << outputs;
}

TEST_F(PairedSelection, RefusesWeightsWhoseErrorIsNotBounded) {
  const test::AddPipes pipes(true);
  std::vector<float> good(static_cast<size_t>(kInputs * kOutputs));
  for (size_t i = 0; i < good.size(); ++i) good[i] = static_cast<float>(i % 7) - 3;
  for (const Isa isa : available_isas()) {
    if (paired_kernels(isa).empty()) continue;
    EXPECT_TRUE(is_paired(kernel_of(layer_of(good), isa)));
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
      std::vector<float> weights = good;
      weights[12345] = bad;
      EXPECT_FALSE(is_paired(kernel_of(layer_of(weights), isa))) << bad;
    }
  }
}

TEST_F(PairedSelection, TakesLayersWhoseChannelsComeLast) {
  const test::AddPipes pipes(true);
  for (const auto& [outputs, found] : {std::pair{kOutputs, "_paired_nhwc_"}, {kOutputs + 8, "_nhwc_"}}) {
    GraphMaker m;
    m.result(m.op("ReLU", {m.op("Convolution", {m.input({1, 14, 14, kInputs}), m.random({outputs, kInputs, 1, 1}, 3)},
                                {{"layout", "channels_last"}}, {}, "terroir1")}));
    for (const Isa isa : available_isas()) {
      const std::string kernel = kernel_of(m, isa);
      if (paired_kernels(isa).empty()) {
        EXPECT_FALSE(is_paired(kernel)) << kernel;
      } else {
        EXPECT_NE(kernel.find(found), std::string::npos) << kernel;
        EXPECT_EQ(is_paired(kernel), outputs == kOutputs) << kernel;
      }
    }
    const std::vector<test::HostTensor> inputs[] = {{test::random_tensor({1, 14, 14, kInputs}, 7)}};
    test::expect_same_bits(m.graph(), m.graph(), inputs);
  }
}

struct Product {
  ir::Dims a;
  bool transposed = true;
  int64_t outputs = kOutputs;
};

GraphMaker product(const Product& p) {
  GraphMaker m;
  const int64_t inputs = p.a.back();
  const ir::Dims b = p.transposed ? ir::Dims{p.outputs, inputs} : ir::Dims{inputs, p.outputs};
  const ir::Value y = m.op("MatMul", {m.input(p.a), m.random(b, 3, 0.1f)},
                           {{"transpose_a", "false"}, {"transpose_b", p.transposed ? "true" : "false"}});
  m.result(m.op("ReLU", {m.op("Add", {y, m.random({1, 1, p.outputs}, 4)})}));
  return m;
}

TEST_F(PairedSelection, TakesProductsOfManyRowsWithOneMatrix) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const bool has_kernel = !paired_kernels(isa).empty();
    const test::AddPipes pipes(true);
    for (const bool transposed : {true, false}) {
      EXPECT_EQ(is_paired(kernel_of(product({{1, 128, 768}, transposed}), isa)), has_kernel);
      EXPECT_EQ(is_paired(kernel_of(product({{1, 4, 40, 768}, transposed}), isa)), has_kernel);
      EXPECT_FALSE(is_paired(kernel_of(product({{1, 128, 768}, transposed}), isa, true)));
      EXPECT_FALSE(is_paired(kernel_of(product({{1, 128, 768}, transposed, 500}), isa)));
      // Rows that may be a batch.
      EXPECT_FALSE(is_paired(kernel_of(product({{128, 768}, transposed}), isa)));
      EXPECT_FALSE(is_paired(kernel_of(product({{128, 1, 768}, transposed}), isa)));
    }
    const test::AddPipes none(false);
    EXPECT_FALSE(is_paired(kernel_of(product({{1, 128, 768}}), isa)));
  }
}

TEST_F(PairedSelection, ProductsOfOtherFormsAreMultipliedAsTheyAre) {
  const test::AddPipes pipes(true);
  for (const Isa isa : available_isas()) {
    GraphMaker of_the_run, columns, matrices;
    of_the_run.result(of_the_run.op("MatMul", {of_the_run.input({1, 128, 768}), of_the_run.input({768, kOutputs})}));
    columns.result(columns.op("MatMul", {columns.input({1, 768, 128}), columns.random({768, kOutputs}, 3)},
                              {{"transpose_a", "true"}}));
    matrices.result(matrices.op("MatMul", {matrices.input({2, 128, 768}), matrices.random({2, 768, kOutputs}, 3)}));
    for (const GraphMaker* m : {&of_the_run, &columns, &matrices})
      EXPECT_FALSE(is_paired(kernel_of(*m, isa))) << isa_name(isa);
  }
}

TEST_F(PairedSelection, OfProductsDoesNotDependOnTheBatch) {
  const test::AddPipes pipes(true);
  for (const Isa isa : available_isas())
    for (const int64_t rows : {1, 4, 9, 10, 20, 128})
      EXPECT_EQ(kernel_of(product({{16, rows, 768}}), isa), kernel_of(product({{1, rows, 768}}), isa))
          << isa_name(isa) << " rows " << rows;
}

TEST_F(PairedSelection, ProductsHaveTheSameBitsOnAnyNumberOfThreads) {
  const test::AddPipes pipes(true);
  const Product products[] = {{{1, 128, 768}}, {{3, 41, 700}, false}, {{1, 61, 3000}}, {{0, 30, 700}}};
  for (const Product& p : products) {
    SCOPED_TRACE(testing::PrintToString(p.a));
    const GraphMaker m = product(p);
    if (best_isa() == Isa::avx512 && p.a[0] > 0) {
      EXPECT_TRUE(is_paired(kernel_of(m, Isa::avx512))) << kernel_of(m, Isa::avx512);
    }
    const std::vector<test::HostTensor> inputs[] = {{test::random_tensor(p.a, 7)}, {test::random_tensor(p.a, 8)}};
    test::expect_same_bits(m.graph(), m.graph(), inputs);
  }
}

TEST_F(PairedSelection, ProductsAreThoseOfTheInterpreter) {
  const test::AddPipes pipes(true);
  for (const Product& p : {Product{{1, 128, 768}}, Product{{3, 41, 700}, false}, Product{{2, 3, 20, 500}}})
    test::expect_same_as_interpreter(product(p));
}

TEST_F(PairedSelection, RowsOfAProductHaveTheSameBitsInABatch) {
  const test::AddPipes pipes(true);
  constexpr int64_t kRows = 33, kBatch = 3, kDepth = 768;
  const test::HostTensor all = test::random_tensor({kBatch, kRows, kDepth}, 5);
  const auto result = [](Isa isa, int64_t batch, const float* rows) {
    const ir::Dims dims{batch, kRows, kDepth};
    const std::vector<test::HostTensor> inputs[] = {{test::HostTensor({element::f32, dims, rows}, nullptr)}};
    return test::run_on_cpu(product({dims}).graph(), isa, 2, inputs)[0][0];
  };
  for (const Isa isa : available_isas()) {
    const test::HostTensor batch = result(isa, kBatch, all.as<float>());
    for (int64_t n = 0; n < kBatch; ++n) {
      const test::HostTensor alone = result(isa, 1, all.as<float>() + n * kRows * kDepth);
      EXPECT_EQ(
          std::memcmp(batch.as<float>() + n * kRows * kOutputs, alone.as<float>(), kRows * kOutputs * sizeof(float)), 0)
          << isa_name(isa) << " place " << n;
    }
  }
}

TEST_F(PairedSelection, LayersHaveTheSameBitsOnAnyNumberOfThreads) {
  const test::AddPipes pipes(true);
  struct Layer {
    ir::Dims image;
    int64_t outputs, stride;
  };
  // Threads share positions, outputs or images; weights stay in L2 or do not.
  const Layer layers[] = {{{1, 192, 29, 31}, 506, 1}, {{1, 512, 7, 7}, 2048, 1}, {{1, 1500, 9, 9}, 500, 1},
                          {{1, 250, 15, 13}, 512, 2}, {{5, 500, 6, 6}, 512, 1},  {{0, 500, 6, 6}, 512, 1}};
  for (const auto& [image, outputs, stride] : layers) {
    SCOPED_TRACE(testing::PrintToString(image));
    const GraphMaker m = layer(image, outputs, stride);
    if (best_isa() == Isa::avx512) {
      EXPECT_TRUE(is_paired(kernel_of(m, Isa::avx512))) << kernel_of(m, Isa::avx512);
    }
    const std::vector<test::HostTensor> inputs[] = {{test::random_tensor(image, 7)}, {test::random_tensor(image, 8)}};
    test::expect_same_bits(m.graph(), m.graph(), inputs);
  }
}

}  // namespace
}  // namespace terroir::cpu
