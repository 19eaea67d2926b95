// An inference of known shapes allocates nothing once everything has been made.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <terroir/terroir.hpp>

#include "plugins/cpu/plugin.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace {

thread_local bool counting = false;
thread_local int64_t allocations = 0;

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (counting) ++allocations;
  alignment = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) == 0 ? memory : nullptr;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate_or_null(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Every form, so that none is a sanitizer's, which would refuse to see its memory freed here.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace terroir::test {
namespace {

/// Allocations of this thread while `body` runs.
template <class Body>
int64_t allocations_of(Body body) {
  allocations = 0;
  counting = true;
  body();
  counting = false;
  return allocations;
}

/// Something of every family of kernels.
GraphMaker convnet() {
  GraphMaker m;
  auto x = m.op("ReLU", {m.conv(m.input({1, 3, 16, 16}), 20, 3, 1, 2)});
  auto y = m.op("HSwish", {m.op("Add", {m.depthwise(x, 3, 2), m.random({1, 20, 1, 1}, 3)})});
  auto gate = m.op("Sigmoid", {m.conv(m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}}), 20, 1, 4)});
  auto z = m.op("Add", {m.conv(m.op("Multiply", {y, gate}), 20, 1, 5), x});
  auto pooled = m.op("MaxPool", {z},
                     {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}}, "", "opset1");
  auto joined = m.op("Concat", {pooled, m.op("Tanh", {pooled})}, {{"axis", "1"}});
  auto split = m.op("Split", {joined, m.scalar_integer(1)}, {{"num_splits", "2"}});
  auto normal = m.op("MVN", {{split.node, 1}, m.integers({2, 3})},
                     {{"normalize_variance", "true"}, {"eps", "1e-3"}, {"eps_mode", "inside_sqrt"}});
  auto large = m.op("Interpolate", {normal, m.integers({8, 8}), m.constant({2}, {2, 2}), m.integers({2, 3})},
                    {{"mode", "nearest"},
                     {"shape_calculation_mode", "sizes"},
                     {"coordinate_transformation_mode", "asymmetric"},
                     {"nearest_mode", "floor"}},
                    "", "opset4");
  m.result(m.op("Transpose", {large, m.integers({0, 2, 3, 1})}));
  auto flat = m.op("Reshape", {split, m.integers({1, -1})}, {{"special_zero", "false"}});
  auto product = m.op("MatMul", {flat, m.random({320, 10}, 6)});
  m.result(m.op("SoftMax", {m.op("Multiply", {product, m.op("Exp", {product})})}, {{"axis", "1"}}, "", "opset1"));
  m.result(m.op("MatMul", {product, m.op("Reshape", {m.op("Abs", {product}), m.integers({10, 1})},
                                         {{"special_zero", "false"}})}));
  m.result(m.op("Gather", {product, m.integers({1, 3}), m.scalar_integer(1)}));
  return m;
}

/// The families that came later, each by its kernel: Winograd, deformable convolution, weights of the run, norms,
/// attention.
GraphMaker later_families() {
  GraphMaker m;
  auto x = m.input({1, 64, 24, 24});
  auto wino = m.conv(x, 64, 3, 1);
  const AttributeTexts window = {
      {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"auto_pad", "explicit"}};
  auto deformed =
      m.op("DeformableConvolution", {wino, m.random({1, 18, 24, 24}, 2), m.random({8, 64, 3, 3}, 3)}, window);
  auto normal = m.op("NormalizeL2", {deformed, m.integers({1})}, {{"eps", "1e-6"}, {"eps_mode", "add"}});
  auto weights = m.op(
      "Reshape", {m.op("ReduceMean", {wino, m.integers({2, 3})}, {{"keep_dims", "true"}}), m.integers({8, 8, 1, 1})},
      {{"special_zero", "false"}});
  auto late = m.op("Convolution", {normal, weights},
                   {{"strides", "2,2"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
  auto tokens = m.op("Reshape", {late, m.integers({1, 2, 48, 12})}, {{"special_zero", "false"}});
  m.result(m.op("ScaledDotProductAttention", {tokens, tokens, tokens}, {{"causal", "false"}}));
  return m;
}

/// Recurrent layers, sums of products by their equation, spectra, bags of embeddings.
GraphMaker sequences() {
  GraphMaker m;
  const auto x = m.input({2, 5, 8});
  const auto lstm = m.op("LSTMSequence",
                         {x, m.random({2, 2, 9}, 1), m.random({2, 2, 9}, 2), m.integers({5, 3}),
                          m.random({2, 36, 8}, 3), m.random({2, 36, 9}, 4), m.random({2, 36}, 5)},
                         {{"hidden_size", "9"}, {"direction", "bidirectional"}});
  const auto gru = m.op("GRUCell",
                        {m.op("Einsum", {lstm, m.random({5, 4}, 6)}, {{"equation", "bdth,tk->bk"}}),
                         m.random({2, 6}, 7), m.random({18, 4}, 8), m.random({18, 6}, 9)},
                        {{"hidden_size", "6"}});
  m.result(gru);
  m.result(m.op("IDFT", {m.op("RDFT", {x, m.integers({2, 1})}), m.integers({1})}));
  const auto signal = m.op("Reshape", {x, m.integers({2, 40})}, {{"special_zero", "false"}});
  m.result(m.op("STFT", {signal, m.random({8}, 1), m.scalar_integer(8), m.scalar_integer(3)},
                {{"transpose_frames", "false"}}));
  m.result(m.op("EmbeddingBagOffsetsSum", {signal, m.integers({1, 0, 1}), m.integers({0, 2})}));
  return m;
}

/// Selection, and pooling over regions.
GraphMaker regions() {
  GraphMaker m;
  auto x = m.conv(m.input({1, 3, 20, 20}), 20, 3, 1);
  auto boxes = m.constant({3, 4}, {1, 1, 9, 14, 4, 3, 17, 12, 0, 0, 19, 19});
  auto aligned = m.op("ROIAlign", {x, boxes, m.integers({0, 0, 0})},
                      {{"pooled_h", "3"},
                       {"pooled_w", "3"},
                       {"sampling_ratio", "0"},
                       {"spatial_scale", "1"},
                       {"mode", "avg"},
                       {"aligned_mode", "half_pixel"}});
  m.result(aligned);
  m.result(m.op("ROIPooling", {x, m.constant({2, 5}, {0, 1, 1, 9, 14, 0, 4, 3, 17, 12})},
                {{"pooled_h", "2"}, {"pooled_w", "2"}, {"spatial_scale", "1"}, {"method", "max"}}, "", "opset2"));
  m.result(m.op("GridSample", {x, m.random({1, 5, 7, 2}, 2)},
                {{"mode", "bicubic"}, {"padding_mode", "reflection"}, {"align_corners", "false"}}));
  m.result(m.op("TopK", {aligned, m.scalar_integer(7)}, {{"axis", "1"}, {"mode", "max"}, {"sort", "value"}}));
  return m;
}

class FixedOutputs final : public plugin::OutputBinder {
 public:
  void* bind(size_t index, element::Type, const ir::Dims&) override { return memory_[index]; }

 private:
  alignas(64) float memory_[8][1 << 14];
};

TEST(Allocations, CountingWorks) {
  EXPECT_GT(allocations_of([] { std::vector<int> values(100); }), 0);
}

int64_t allocations_of_a_request(const GraphMaker& m, const HostTensor& input) {
  plugin::Config config;
  config.threads = 1;
  config.profiling = false;
  const auto compiled = cpu::make_cpu_plugin()->compile(m.graph().clone(), config);
  const auto request = compiled->create_request();
  const auto outputs = std::make_unique<FixedOutputs>();
  const parallel::Arena arena(1);
  const std::atomic<bool> cancelled{false};
  const auto infer = [&] { request->infer({&input.view(), 1}, *outputs, {arena, cancelled}); };
  infer();
  return allocations_of(infer);
}

TEST(Allocations, NoneInARequestOfTheDevice) {
  EXPECT_EQ(allocations_of_a_request(convnet(), random_tensor({1, 3, 16, 16}, 1)), 0);
}

TEST(Allocations, NoneInTheLaterFamilies) {
  const GraphMaker m = later_families();
  const auto plan = plan_of(m, cpu::active_isa());
  std::string kernels;
  for (const cpu::Step& step : plan->steps) {
    EXPECT_FALSE(step.is_reference) << step.where;
    kernels += step.kernel + " ";
  }
  for (const char* family : {"winograd", "deform", "+pack", "attention"})
    EXPECT_NE(kernels.find(family), std::string::npos) << family << " is not among " << kernels;
  EXPECT_EQ(allocations_of_a_request(m, random_tensor({1, 64, 24, 24}, 1)), 0);
}

TEST(Allocations, NoneInSequences) {
  const GraphMaker m = sequences();
  const auto plan = plan_of(m, cpu::active_isa());
  for (const cpu::Step& step : plan->steps) EXPECT_FALSE(step.is_reference) << step.where;
  EXPECT_EQ(allocations_of_a_request(m, random_tensor({2, 5, 8}, 1)), 0);
}

TEST(Allocations, NoneInRegions) {
  const GraphMaker m = regions();
  const auto plan = plan_of(m, cpu::active_isa());
  for (const cpu::Step& step : plan->steps) EXPECT_FALSE(step.is_reference) << step.where;
  EXPECT_EQ(allocations_of_a_request(m, random_tensor({1, 3, 20, 20}, 1)), 0);
}

TEST(Allocations, NoneInARequestOfTheApi) {
  ModelBuilder b("tiny");
  const auto x = b.parameter(element::f32, {1, 3, 8, 8}, "x");
  const auto w = b.constant(element::f32, Shape{4, 3, 1, 1}, std::vector<float>{0.5f});
  b.result(b.op("ReLU", "opset1",
                {b.op("Convolution", "opset1", {x, w},
                      {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}})}));
  Core core;
  const auto model = b.build();
  for (const AnyMap& properties : {AnyMap{inference_num_threads(1)}, AnyMap{task_executor(run_on_caller())}}) {
    auto compiled = core.compile_model(model, "CPU", properties);
    auto request = compiled.create_infer_request();
    request.infer();
    request.infer();
    EXPECT_EQ(allocations_of([&] { request.infer(); }), 0);
  }
}

}  // namespace
}  // namespace terroir::test
