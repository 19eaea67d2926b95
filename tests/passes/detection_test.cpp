// Detection, pooling over regions and sampling on the CPU device against the interpreter, on every instruction set,
// with 1 and 2 threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "plugins/cpu/nodes/region_taps.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

/// `values(i)` in a tensor.
template <class Value>
HostTensor tensor_of(const ir::Dims& dims, Value value) {
  HostTensor tensor(element::f32, dims);
  for (int64_t i = 0; i < tensor.view().count(); ++i) tensor.writable().as<float>()[i] = value(i);
  return tensor;
}

/// [..., 4] corners, some beyond an image of `size`, some empty.
HostTensor boxes(const ir::Dims& dims, float size) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> start(-0.2f * size, size), extent(-0.02f * size, 0.7f * size);
  float x = 0, y = 0;
  return tensor_of(dims, [&](int64_t i) {
    if (i % 4 == 0) return x = start(engine);
    if (i % 4 == 1) return y = start(engine);
    return (i % 4 == 2 ? x : y) + extent(engine);
  });
}

void expect_same(const GraphMaker& m, std::vector<HostTensor> inputs, double relative = 2e-5) {
  std::vector<std::vector<HostTensor>> sets;
  sets.push_back(std::move(inputs));
  expect_same_as_interpreter(m.graph(), sets, relative);
}

struct Regions {
  int64_t channels;
  const char* mode = "avg";
  const char* aligned = "asymmetric";
  int sampling = 2;
  int64_t batch = 2, height = 11, width = 9, count = 13;
};

void check_roi_align(const Regions& r) {
  SCOPED_TRACE(::testing::Message() << r.channels << " channels, " << r.mode << ", " << r.aligned << ", sampling "
                                    << r.sampling);
  GraphMaker m;
  std::vector<int64_t> images;
  for (int64_t i = 0; i < r.count; ++i) images.push_back(i % 5 == 4 ? -1 : i % r.batch);
  m.result(m.op("ROIAlign",
                {m.input({r.batch, r.channels, r.height, r.width}), m.input({r.count, 4}), m.integers(images)},
                {{"pooled_h", "3"},
                 {"pooled_w", "4"},
                 {"sampling_ratio", std::to_string(r.sampling)},
                 {"spatial_scale", "0.25"},
                 {"mode", r.mode},
                 {"aligned_mode", r.aligned}}));
  std::vector<HostTensor> inputs;
  inputs.push_back(random_tensor({r.batch, r.channels, r.height, r.width}, 1));
  inputs.push_back(boxes({r.count, 4}, 4 * static_cast<float>(r.height)));
  expect_same(m, std::move(inputs));
}

TEST(RoiAlign, ChannelsAroundTheVectors) {
  for (const int64_t channels : {1, 3, 4, 7, 8, 9, 16, 17, 33, 64, 67}) check_roi_align({channels});
}

TEST(RoiAlign, Modes) {
  for (const char* mode : {"avg", "max"})
    for (const char* aligned : {"asymmetric", "half_pixel_for_nn", "half_pixel"})
      for (const int sampling : {0, 1, 2, 9}) check_roi_align({5, mode, aligned, sampling});
}

// Cells that read more places of the map than are summed at once, more samples than an axis keeps, and regions of more
// taps than are kept.
TEST(RoiAlign, LargeCells) {
  for (const int sampling : {0, 16, 17}) check_roi_align({5, "avg", "half_pixel", sampling, 1, 90, 70, 6});
}

TEST(RoiAlign, MemoryOfARegionPerThread) {
  constexpr size_t kRegion = 512 * 49 * sizeof(float), kTaps = (3 * 4096 + 64) * sizeof(float);
  for (const char* mode : {"max", "avg"}) {
    GraphMaker m;
    m.result(m.op("ROIAlign", {m.input({1, 512, 50, 40}), m.input({1000, 4}), m.integers(std::vector<int64_t>(1000))},
                  {{"pooled_h", "7"},
                   {"pooled_w", "7"},
                   {"sampling_ratio", "0"},
                   {"spatial_scale", "0.25"},
                   {"mode", mode},
                   {"aligned_mode", "asymmetric"}},
                  "align"));
    const auto plan = plan_of(m);
    const cpu::Step& step = step_named(*plan, "align");
    EXPECT_EQ(step.kernel.substr(0, 18), "f32_roi_align_nchw") << step.kernel;
    for (const int threads : {1, 3})
      EXPECT_LE(step.executor->slot_need(threads).bytes, kRegion + (mode == std::string("avg") ? kTaps : 0)) << threads;
  }
}

TEST(RegionTaps, ATableHasRoomForSoMany) {
  alignas(64) static float memory[3 * 4096 + 64];
  ASSERT_LE(cpu::TapTable::floats(2), static_cast<int64_t>(std::size(memory)));
  cpu::TapTable table(memory);
  for (const int64_t taps : {4096, 4097, 5}) {
    table.begin(memory);
    EXPECT_EQ(table.takes(taps), taps <= 4096);
    EXPECT_EQ(table.full(), taps > 4096);
    if (table.full()) continue;
    for (int64_t i = 0; i < taps; ++i) table.add(i, 0.5);
    table.end_cell();
    EXPECT_EQ(table.taps(0).ends[0], taps);
  }
}

TEST(RoiAlign, BetweenConvolutions) {
  GraphMaker m;
  const ir::Value x = m.conv(m.input({1, 3, 12, 12}), 20, 3, 1);
  const ir::Value regions = m.op("ROIAlign", {x, m.constant({2, 4}, {0, 0, 7, 9, 2, 3, 11, 5}), m.integers({0, 0})},
                                 {{"pooled_h", "4"},
                                  {"pooled_w", "4"},
                                  {"sampling_ratio", "2"},
                                  {"spatial_scale", "1"},
                                  {"mode", "avg"},
                                  {"aligned_mode", "half_pixel"}},
                                 "rois");
  m.result(m.conv(regions, 5, 3, 2));
  expect_same_as_interpreter(m);
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_NE(kernel_on_cpu(m.graph(), isa, "rois").find("f32_roi_align_"), std::string::npos);
}

TEST(RoiAlign, Rotated) {
  for (const char* clockwise : {"true", "false"}) {
    GraphMaker m;
    m.result(m.op("ROIAlignRotated", {m.input({1, 9, 11, 13}), m.input({7, 5}), m.integers({0, 0, 0, 0, 0, 0, 0})},
                  {{"pooled_h", "3"},
                   {"pooled_w", "3"},
                   {"sampling_ratio", "2"},
                   {"spatial_scale", "0.5"},
                   {"clockwise_mode", clockwise}},
                  "", "opset15"));
    std::vector<HostTensor> inputs;
    inputs.push_back(random_tensor({1, 9, 11, 13}, 1));
    inputs.push_back(tensor_of({7, 5}, [](int64_t i) {
      return i % 5 == 4 ? 0.7f * static_cast<float>(i / 5) - 2 : 3 + static_cast<float>(i * 7 % 17);
    }));
    expect_same(m, std::move(inputs));
  }
}

TEST(RoiAlign, ImageBeyondTheBatchIsRefused) {
  GraphMaker m;
  m.result(
      m.op("ROIAlign", {m.input({1, 2, 3, 3}), m.constant({1, 4}, {0, 0, 1, 1}), m.integers({1})},
           {{"pooled_h", "1"}, {"pooled_w", "1"}, {"sampling_ratio", "1"}, {"spatial_scale", "1"}, {"mode", "avg"}}));
  std::vector<std::vector<HostTensor>> inputs(1);
  inputs[0].push_back(random_tensor({1, 2, 3, 3}, 1));
  try {
    run_on_cpu(m.graph(), cpu::Isa::scalar, 1, inputs);
    FAIL();
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("a region is of image 1, but there are 1"), std::string::npos)
        << error.what();
  }
}

TEST(RoiPooling, MaximumAndInterpolation) {
  for (const char* method : {"max", "bilinear"})
    for (const int64_t channels : {1, 9, 33}) {
      GraphMaker m;
      m.result(m.op("ROIPooling", {m.input({2, channels, 11, 9}), m.input({13, 5})},
                    {{"pooled_h", "3"}, {"pooled_w", "4"}, {"spatial_scale", "0.25"}, {"method", method}}, "",
                    "opset2"));
      const bool bilinear = std::string(method) == "bilinear";
      const HostTensor corners = boxes({13, 4}, bilinear ? 1.0f : 44.0f);
      std::vector<HostTensor> inputs;
      inputs.push_back(random_tensor({2, channels, 11, 9}, 1));
      inputs[0].writable().as<float>()[5] = std::nanf("");
      inputs.push_back(tensor_of({13, 5}, [&](int64_t i) {
        return i % 5 == 0 ? static_cast<float>(i / 5 % 3) - 1 : corners.as<float>()[i / 5 * 4 + i % 5 - 1];
      }));
      expect_same(m, std::move(inputs), bilinear ? 2e-5 : 0);
    }
}

TEST(RoiPooling, RowsBehindTheEndOfAList) {
  for (const char* method : {"max", "bilinear"}) {
    GraphMaker m;
    m.result(m.op("ROIPooling", {m.input({2, 3, 4, 4}), m.input({6, 5})},
                  {{"pooled_h", "1"}, {"pooled_w", "1"}, {"spatial_scale", "1"}, {"method", method}}, "", "opset2"));
    std::vector<HostTensor> inputs;
    inputs.push_back(random_tensor({2, 3, 4, 4}, 1));
    const float regions[] = {0, 0, 0, 1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0};
    inputs.push_back(tensor_of({6, 5}, [&](int64_t i) { return regions[i]; }));
    const std::vector<std::vector<HostTensor>> sets = {inputs};
    expect_same(m, std::move(inputs), 2e-5);
    for (const cpu::Isa isa : cpu::available_isas()) {
      const HostTensor pooled = run_on_cpu(m.graph(), isa, 1, sets)[0][0];
      for (int64_t i = 0; i < 18; ++i) EXPECT_EQ(pooled.as<float>()[i] == 0.0f, i >= 3 && i < 12) << i;
    }
  }
}

TEST(RoiPooling, LargeCells) {
  GraphMaker m;
  m.result(m.op("ROIPooling", {m.input({1, 9, 30, 21}), m.input({2, 5})},
                {{"pooled_h", "2"}, {"pooled_w", "1"}, {"spatial_scale", "1"}, {"method", "max"}}, "", "opset2"));
  std::vector<HostTensor> inputs;
  inputs.push_back(random_tensor({1, 9, 30, 21}, 1));
  const float regions[] = {0, 0, 0, 20, 29, 0, 3, 2, 10, 12};
  inputs.push_back(tensor_of({2, 5}, [&](int64_t i) { return regions[i]; }));
  expect_same(m, std::move(inputs), 0);
}

TEST(RoiFeatures, FromThePyramid) {
  for (const char* aligned : {"true", "false"}) {
    GraphMaker m;
    const ir::Value features = m.op(
        "ExperimentalDetectronROIFeatureExtractor",
        {m.input({9, 4}), m.input({1, 19, 60, 60}), m.input({1, 19, 30, 30})},
        {{"output_size", "3"}, {"sampling_ratio", "2"}, {"pyramid_scales", "4,8"}, {"aligned", aligned}}, "features");
    m.result(features);
    m.result({features.node, 1});
    std::vector<HostTensor> inputs;
    inputs.push_back(boxes({9, 4}, 500));
    inputs.push_back(random_tensor({1, 19, 60, 60}, 2));
    inputs.push_back(random_tensor({1, 19, 30, 30}, 3));
    expect_same(m, std::move(inputs));
  }
}

TEST(GridSample, EveryModeAndPadding) {
  for (const char* mode : {"bilinear", "bicubic", "nearest"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const char* corners : {"true", "false"})
        for (const int64_t channels : {1, 5, 33}) {
          SCOPED_TRACE(::testing::Message() << mode << ", " << padding << ", " << corners << ", " << channels);
          GraphMaker m;
          m.result(m.op("GridSample", {m.input({2, channels, 7, 6}), m.input({2, 5, 67, 2})},
                        {{"mode", mode}, {"padding_mode", padding}, {"align_corners", corners}}, "sampled"));
          std::vector<HostTensor> inputs;
          inputs.push_back(random_tensor({2, channels, 7, 6}, 1));
          inputs.push_back(random_tensor({2, 5, 67, 2}, 2, 1.7f));
          for (int64_t i = 0; i < 6; ++i)
            inputs[1].writable().as<float>()[i * 7] = i % 3 == 0   ? std::nanf("")
                                                      : i % 3 == 1 ? 1e30f
                                                                   : -std::numeric_limits<float>::infinity();
          const bool copies = std::string(mode) == "nearest";
          expect_same(m, std::move(inputs), copies ? 0 : 2e-5);
        }
}

TEST(GridSample, PixelsWithoutWeightCountForNothing) {
  for (const char* padding : {"zeros", "border", "reflection"})
    for (const int64_t channels : {1, 5, 33}) {
      SCOPED_TRACE(::testing::Message() << padding << ", " << channels);
      GraphMaker m;
      m.result(m.op("GridSample", {m.input({1, channels, 3, 5}), m.input({1, 30, 10, 2})},
                    {{"mode", "bilinear"}, {"padding_mode", padding}, {"align_corners", "true"}}, "sampled"));
      std::vector<HostTensor> inputs;
      inputs.push_back(random_tensor({1, channels, 3, 5}, 1));
      for (int64_t i = 0; i < channels * 15; ++i)
        if (i % 5 % 2 != 0)
          inputs[0].writable().as<float>()[i] = i % 2 != 0 ? std::nanf("") : std::numeric_limits<float>::infinity();
      // The pixels of every second column, exactly.
      inputs.push_back(tensor_of(
          {1, 30, 10, 2}, [](int64_t i) { return static_cast<float>(i % 2 == 0 ? i / 2 % 3 : i / 6 % 3) - 1.0f; }));
      expect_same(m, std::move(inputs), 0);
    }
}

// Of small planes, runs are computed at once; runs of larger ones are cut where they begin and end in a region.
TEST(RegionYolo, SigmoidAndSoftmax) {
  for (const char* softmax : {"true", "false"})
    for (const auto& [classes, width] : {std::pair{0, 13}, {1, 13}, {20, 13}, {1, 500}, {20, 150}}) {
      GraphMaker m;
      const int64_t channels = 3 * (classes + 5);
      m.result(m.op("RegionYolo", {m.input({2, channels, 5, width})},
                    {{"axis", "1"},
                     {"end_axis", "3"},
                     {"coords", "4"},
                     {"classes", std::to_string(classes)},
                     {"num", "3"},
                     {"do_softmax", softmax},
                     {"mask", "0,1"}},
                    "yolo"));
      expect_same_as_interpreter(m);
    }
}

std::string suppression_kernel(cpu::Isa isa) {
  return isa < cpu::Isa::avx2 ? "threaded:any" : std::string("box_suppression__") + cpu::isa_name(isa);
}

/// The reference, but on several threads and with comparisons of an instruction set: the same bits.
void check_threaded(GraphMaker& m, ir::Value layer, int outputs, std::vector<HostTensor> inputs) {
  for (int i = 0; i < outputs; ++i) m.result({layer.node, i});
  expect_same(m, std::move(inputs), 0);
}

TEST(ThreadedReferences, NonMaxSuppression) {
  for (const char* encoding : {"corner", "center"})
    for (const float sigma : {0.0f, 0.5f}) {
      GraphMaker m;
      const ir::Value nms = m.op("NonMaxSuppression",
                                 {m.input({2, 300, 4}), m.input({2, 7, 300}), m.scalar_integer(40), m.scalar(0.4f),
                                  m.scalar(0.3f), m.scalar(sigma)},
                                 {{"box_encoding", encoding}});
      std::vector<HostTensor> inputs;
      inputs.push_back(boxes({2, 300, 4}, 20));
      inputs.push_back(random_tensor({2, 7, 300}, 2));
      check_threaded(m, nms, 3, std::move(inputs));
    }
}

// It ends a stage, so no plan has its kernel.
TEST(ThreadedReferences, SuppressionBetweenStagesComparesByVectors) {
  GraphMaker m;
  const ir::Value nms = m.op("MulticlassNms", {m.input({1, 9, 4}), m.input({1, 2, 9})});
  for (int output = 0; output < 3; ++output) m.result({nms.node, output});
  plugin::Config config;
  config.profiling = true;
  DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU", config);
  std::vector<HostTensor> inputs;
  inputs.push_back(boxes({1, 9, 4}, 20));
  inputs.push_back(random_tensor({1, 2, 9}, 2));
  device.infer(inputs);
  std::vector<std::string> kernels;
  for (const ProfilingInfo& info : device.profile())
    if (info.node_type == "MulticlassNms") kernels.push_back(info.exec_type);
  EXPECT_EQ(kernels, std::vector<std::string>{suppression_kernel(cpu::active_isa())});
}

TEST(ThreadedReferences, DetectionOutput) {
  GraphMaker m;
  const ir::Value found =
      m.op("DetectionOutput", {m.input({2, 200 * 4}), m.input({2, 200 * 9}), m.input({1, 2, 200 * 4})},
           {{"keep_top_k", "50"}, {"top_k", "100"}, {"nms_threshold", "0.5"}, {"normalized", "true"}}, "boxes");
  std::vector<HostTensor> inputs;
  inputs.push_back(random_tensor({2, 200 * 4}, 1));
  inputs.push_back(random_tensor({2, 200 * 9}, 2));
  inputs.push_back(boxes({1, 2, 200 * 4}, 1));
  check_threaded(m, found, 1, std::move(inputs));
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "boxes"), suppression_kernel(isa));
}

TEST(ThreadedReferences, Proposals) {
  GraphMaker m;
  const ir::Value found =
      m.op("GenerateProposals",
           {m.constant({1, 3}, {80, 90, 1}), m.input({8, 9, 3, 4}), m.input({1, 12, 8, 9}), m.input({1, 3, 8, 9})},
           {{"min_size", "1"}, {"nms_threshold", "0.6"}, {"pre_nms_count", "180"}, {"post_nms_count", "100"}});
  std::vector<HostTensor> inputs;
  inputs.push_back(boxes({8, 9, 3, 4}, 80));
  inputs.push_back(random_tensor({1, 12, 8, 9}, 2));
  inputs.push_back(random_tensor({1, 3, 8, 9}, 3));
  check_threaded(m, found, 3, std::move(inputs));
}

TEST(ThreadedReferences, PoolingWithIndices) {
  GraphMaker m;
  const ir::Value pooled = m.op("MaxPool", {m.input({2, 37, 21, 19})},
                                {{"strides", "2,2"},
                                 {"kernel", "3,3"},
                                 {"dilations", "1,2"},
                                 {"pads_begin", "1,0"},
                                 {"pads_end", "0,1"},
                                 {"axis", "1"}},
                                "pool", "opset8");
  std::vector<HostTensor> inputs;
  inputs.push_back(random_tensor({2, 37, 21, 19}, 1));
  check_threaded(m, pooled, 2, std::move(inputs));
  EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "pool"), "f32_max_pool_places_nchw__scalar");
}

TEST(ThreadedReferences, RandomNumbersAreOneSequence) {
  GraphMaker m;
  const ir::Value sum = m.op("Add", {m.op("RandomUniform", {m.integers({70000}), m.scalar(-1), m.scalar(2)},
                                          {{"output_type", "f32"}, {"global_seed", "3"}, {"op_seed", "4"}}),
                                     m.input({1})});
  std::vector<HostTensor> inputs;
  inputs.push_back(tensor_of({1}, [](int64_t) { return 0.0f; }));
  check_threaded(m, sum, 1, std::move(inputs));
}

}  // namespace
}  // namespace terroir::test
