// Selection, detection and pooling over regions at the sizes of well-known networks: the reference on one thread, then
// the CPU device on one thread and on all, as whole models of one layer. The data matter for these ops: boxes overlap
// in clusters, few scores are high. On one thread also beside a plain copy of its bytes: see beside_copy.hpp.
//   bench_detection [PART_OF_A_NAME]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/plugin.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "runtime/parallel/available_threads.hpp"
#include "tests/bench/detection.hpp"
#include "tests/bench/machine_peak.hpp"
#include "tests/support/attribute_setter.hpp"

namespace {

using terroir::AlignedBuffer;
using terroir::PartialShape;
using terroir::interpreter::HostTensor;
namespace bench = terroir::bench;
namespace cpu = terroir::cpu;
namespace element = terroir::element;
namespace ir = terroir::ir;
namespace ops = terroir::ops;
namespace plugin = terroir::plugin;
namespace test = terroir::test;

std::mt19937 engine(3);

struct Operand {
  HostTensor tensor;
  bool constant = false;
  bool only_shape = false;  // whose elements are not read
};

float draw(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine); }

Operand floats(const ir::Dims& dims, const std::function<float(int64_t)>& value) {
  HostTensor tensor(element::f32, dims);
  for (int64_t i = 0; i < tensor.view().count(); ++i) tensor.writable().as<float>()[i] = value(i);
  return {std::move(tensor), false, false};
}

Operand uniform(const ir::Dims& dims, float low, float high) {
  return floats(dims, [=](int64_t) { return draw(low, high); });
}

Operand shape_of(const ir::Dims& dims) { return {HostTensor(element::f32, dims), false, true}; }

/// Most of them small, as those of a detector are.
Operand scores(const ir::Dims& dims, float exponent = 8) {
  return floats(dims, [=](int64_t) { return std::pow(draw(0, 1), exponent); });
}

/// [..., 4] corners in an image of `size` pixels, in clusters around as many centres as a picture has objects.
Operand boxes(const ir::Dims& dims, float size) {
  constexpr int kObjects = 24;
  float x[kObjects], y[kObjects], extent[kObjects];
  for (int i = 0; i < kObjects; ++i) {
    extent[i] = draw(0.05f, 0.4f) * size;
    x[i] = draw(0, size - extent[i]);
    y[i] = draw(0, size - extent[i]);
  }
  int object = 0;
  return floats(dims, [=](int64_t i) mutable {
    if (i % 4 == 0) object = static_cast<int>(engine() % kObjects);
    const float shift = draw(-0.1f, 0.1f) * extent[object];
    const float corner = i % 2 == 0 ? x[object] : y[object];
    return corner + shift + (i % 4 >= 2 ? extent[object] : 0);
  });
}

/// Rows of regions: an image of the batch, then corners.
Operand regions(int64_t rows, float size) {
  const Operand corners = boxes({rows, 4}, size);
  return floats({rows, 5},
                [&](int64_t i) { return i % 5 == 0 ? 0 : corners.tensor.as<float>()[i / 5 * 4 + i % 5 - 1]; });
}

template <class T>
Operand constant(const ir::Dims& dims, const std::vector<T>& values) {
  HostTensor tensor(element::from<T>(), dims);
  std::memcpy(tensor.writable().data, values.data(), values.size() * sizeof(T));
  return {std::move(tensor), true, false};
}

Operand integer(int64_t value) { return constant<int64_t>({}, {value}); }
Operand real(float value) { return constant<float>({}, {value}); }

struct Row {
  const char* name;
  const char* type;
  const char* opset;
  test::AttributeTexts attributes;
  std::vector<Operand> operands;
};

std::unique_ptr<ir::Graph> graph_of(const Row& row) {
  const auto builtin = [](std::string_view type) -> const ir::OpSchema& {
    return ops::builtin_registry().get(type, "opset16");
  };
  auto graph = std::make_unique<ir::Graph>("layer");
  std::vector<ir::Value> inputs;
  for (const Operand& operand : row.operands) {
    const ir::TensorView& view = operand.tensor.view();
    const std::string name = "operand" + std::to_string(inputs.size());
    if (operand.constant) {
      const auto buffer = std::make_shared<AlignedBuffer>(view.bytes());
      std::memcpy(buffer->data(), view.data, view.bytes());
      inputs.push_back(
          {graph->add_constant(builtin(ir::kConstType), name, {{view.type, view.dims, buffer->data()}, buffer}), 0});
    } else {
      const ir::ParameterAttrs parameter{PartialShape(ir::to_shape(view.dims)), view.type};
      inputs.push_back({graph->add(builtin(ir::kParameterType), name, ir::make_attributes_of(parameter)), 0});
    }
  }
  const ir::OpSchema& schema = ops::builtin_registry().get(row.type, row.opset);
  auto attributes = schema.make_attributes();
  test::set_attributes(*attributes, row.attributes);
  const ir::NodeId layer = graph->add(schema, "layer", std::move(attributes), inputs);
  ir::infer_graph(*graph);
  for (size_t i = 0; i < graph->node(layer).outputs.size(); ++i)
    graph->add(builtin(ir::kResultType), "result" + std::to_string(i), nullptr, {{layer, static_cast<int32_t>(i)}});
  ir::infer_graph(*graph);
  return graph;
}

/// Keeps memory for outputs, so that it is not fresh in every run.
class Outputs final : public plugin::OutputBinder {
 public:
  explicit Outputs(size_t count) : buffers_(count), sizes_(count) {}
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    sizes_[index] = ir::byte_size(type, ir::element_count(dims));
    if (!buffers_[index] || buffers_[index]->size() < sizes_[index])
      buffers_[index] = std::make_unique<AlignedBuffer>(sizes_[index]);
    return buffers_[index]->data();
  }
  double bytes() const { return std::accumulate(sizes_.begin(), sizes_.end(), 0.0); }

 private:
  std::vector<std::unique_ptr<AlignedBuffer>> buffers_;
  std::vector<size_t> sizes_;
};

/// Seconds of the best of several runs.
template <class Run>
double best_of(Run run) {
  using Clock = std::chrono::steady_clock;
  constexpr double kSeconds = 0.25;
  constexpr int kLeast = 3;
  double best = std::numeric_limits<double>::infinity();
  const auto begin = Clock::now();
  for (int i = 0; i < kLeast || std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds; ++i) {
    const auto start = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

void measure(const Row& row) {
  const auto graph = graph_of(row);
  std::vector<ir::TensorView> inputs;
  double input_bytes = 0;
  for (const Operand& operand : row.operands) {
    if (operand.constant) continue;
    inputs.push_back(operand.tensor.view());
    if (!operand.only_shape) input_bytes += static_cast<double>(inputs.back().bytes());
  }
  const terroir::interpreter::Program program(*graph);
  const double reference = best_of([&] { program.run(inputs); });
  std::printf("%-46s %9.3f", row.name, reference * 1e3);
  bench::BesideCopy beside;
  for (const int threads : {1, terroir::parallel::available_threads()}) {
    plugin::Config config;
    config.threads = threads;
    config.streams = 1;
    config.profiling = threads == 1;
    const auto compiled = cpu::make_cpu_plugin()->compile(graph->clone(), config);
    const auto request = compiled->create_request();
    const terroir::parallel::Arena arena(threads);
    const std::atomic<bool> cancelled{false};
    Outputs outputs(graph->results().size());
    const auto run = [&] { request->infer(inputs, outputs, {arena, cancelled}); };
    const double seconds = best_of(run);
    std::printf(" %9.3f", seconds * 1e3);
    const bench::Traffic traffic{input_bytes, outputs.bytes()};
    if (threads > 1) {
      std::printf(" %8.2f", traffic.all() / seconds * 1e-9);
    } else {
      const auto timed = [&] {
        const auto start = std::chrono::steady_clock::now();
        run();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      };
      beside = bench::beside_copy(timed, traffic, bench::detection_work_of(row.name), arena);
    }
  }
  std::printf(" %8.2f %8.2f %6.2f", beside.slower, beside.explained, beside.beyond);
  std::printf("\n");
  std::fflush(stdout);
}

const test::AttributeTexts kTop = {{"axis", "-1"}, {"mode", "max"}, {"sort", "value"}};
const test::AttributeTexts kTopOfChannels = {{"axis", "1"}, {"mode", "max"}, {"sort", "value"}};
const test::AttributeTexts kRoiAlign = {
    {"pooled_h", "7"}, {"pooled_w", "7"}, {"sampling_ratio", "2"}, {"spatial_scale", "0.0625"}, {"mode", "avg"}};
const test::AttributeTexts kGrid = {{"mode", "bilinear"}, {"padding_mode", "zeros"}, {"align_corners", "false"}};

using Rows = std::vector<std::function<Row()>>;

Rows rows() {
  Rows all;
  const auto add = [&all](auto make) { all.emplace_back(make); };
  add([] { return Row{"TopK 50257, k 50", "TopK", "opset11", kTop, {uniform({1, 50257}, -9, 9), integer(50)}}; });
  add([] { return Row{"TopK 32 x 1000, k 5", "TopK", "opset11", kTop, {uniform({32, 1000}, -9, 9), integer(5)}}; });
  add([] { return Row{"TopK 32 x 50257, k 1", "TopK", "opset11", kTop, {uniform({32, 50257}, -9, 9), integer(1)}}; });
  add([] {
    return Row{"TopK channels of 21 x 512 x 512, k 1",
               "TopK",
               "opset11",
               kTopOfChannels,
               {uniform({1, 21, 512, 512}, -9, 9), integer(1)}};
  });
  add([] { return Row{"TopK 242991, k 6000", "TopK", "opset11", kTop, {scores({1, 242991}), integer(6000)}}; });
  add([] {
    return Row{"Bucketize 1M, 100 bounds",
               "Bucketize",
               "opset3",
               {},
               {uniform({1 << 20}, 0, 100), floats({100}, [](int64_t i) { return static_cast<float>(i); })}};
  });
  add([] {
    return Row{"SearchSorted 1M in 1000",
               "SearchSorted",
               "opset15",
               {},
               {floats({1000}, [](int64_t i) { return static_cast<float>(i) * 0.1f; }), uniform({1 << 20}, 0, 100)}};
  });
  add([] {
    return Row{
        "Unique 100k", "Unique", "opset10", {}, {floats({100000}, [](int64_t) { return std::floor(draw(0, 20000)); })}};
  });
  add([] {
    return Row{"NonMaxSuppression 8400 x 80",
               "NonMaxSuppression",
               "opset9",
               {},
               {boxes({1, 8400, 4}, 640), scores({1, 80, 8400}), integer(300), real(0.65f), real(0.01f)}};
  });
  add([] {
    return Row{"NonMaxSuppression 1917 x 91",
               "NonMaxSuppression",
               "opset5",
               {},
               {boxes({1, 1917, 4}, 1), scores({1, 91, 1917}), integer(100), real(0.6f), real(0.1f)}};
  });
  add([] {
    return Row{"NonMaxSuppression soft 1917 x 91",
               "NonMaxSuppression",
               "opset5",
               {},
               {boxes({1, 1917, 4}, 1), scores({1, 91, 1917}), integer(100), real(0.6f), real(0.1f), real(0.5f)}};
  });
  add([] {
    return Row{"NMSRotated 1000 x 15",
               "NMSRotated",
               "opset13",
               {},
               {floats({1, 1000, 5},
                       [](int64_t i) { return i % 5 == 4  ? draw(-3, 3)
                                              : i % 5 < 2 ? draw(0, 400)
                                                          : draw(20, 80); }),
                scores({1, 15, 1000}, 4), integer(100), real(0.5f), real(0.1f)}};
  });
  add([] {
    return Row{"MulticlassNms 8400 x 80",
               "MulticlassNms",
               "opset9",
               {{"nms_top_k", "1000"}, {"keep_top_k", "300"}, {"score_threshold", "0.01"}, {"iou_threshold", "0.65"}},
               {boxes({1, 8400, 4}, 640), scores({1, 80, 8400})}};
  });
  add([] {
    return Row{"MatrixNms 3600 x 80",
               "MatrixNms",
               "opset8",
               {{"nms_top_k", "500"}, {"keep_top_k", "100"}, {"score_threshold", "0.1"}, {"decay_function", "linear"}},
               {boxes({1, 3600, 4}, 1), scores({1, 80, 3600})}};
  });
  add([] {
    return Row{"DetectionOutput 1917 x 91",
               "DetectionOutput",
               "opset8",
               {{"keep_top_k", "100"},
                {"top_k", "400"},
                {"nms_threshold", "0.6"},
                {"confidence_threshold", "0.01"},
                {"code_type", "caffe.PriorBoxParameter.CENTER_SIZE"},
                {"normalized", "true"}},
               {uniform({1, 1917 * 4}, -1, 1), scores({1, 1917 * 91}), floats({1, 2, 1917 * 4}, [](int64_t i) {
                  return i >= 1917 * 4 ? 0.1f : i % 4 < 2 ? draw(0, 0.7f) : draw(0.8f, 1.0f);
                })}};
  });
  add([] {
    return Row{
        "Proposal 14 x 14 x 9 x 16",
        "Proposal",
        "opset4",
        {{"base_size", "16"},
         {"pre_nms_topn", "6000"},
         {"post_nms_topn", "300"},
         {"nms_thresh", "0.7"},
         {"feat_stride", "16"},
         {"min_size", "16"},
         {"ratio", "0.5,1,2"},
         {"scale", "8,16,32"}},
        {scores({1, 18, 38, 63}, 2), uniform({1, 36, 38, 63}, -0.3f, 0.3f), constant<float>({3}, {600, 1000, 1})}};
  });
  add([] {
    return Row{"GenerateProposals 200 x 304 x 3",
               "GenerateProposals",
               "opset9",
               {{"min_size", "0"}, {"nms_threshold", "0.7"}, {"pre_nms_count", "2000"}, {"post_nms_count", "1000"}},
               {constant<float>({1, 3}, {800, 1216, 1}), boxes({200, 304, 3, 4}, 800),
                uniform({1, 12, 200, 304}, -0.3f, 0.3f), scores({1, 3, 200, 304}, 2)}};
  });
  add([] {
    return Row{"GenerateProposalsSingleImage 50 x 76 x 15",
               "ExperimentalDetectronGenerateProposalsSingleImage",
               "opset6",
               {{"min_size", "0"}, {"nms_threshold", "0.7"}, {"pre_nms_count", "6000"}, {"post_nms_count", "1000"}},
               {constant<float>({3}, {800, 1216, 1}), boxes({50 * 76 * 15, 4}, 800), uniform({60, 50, 76}, -0.3f, 0.3f),
                scores({15, 50, 76}, 2)}};
  });
  add([] {
    return Row{"ExperimentalDetectronDetectionOutput 1000 x 81",
               "ExperimentalDetectronDetectionOutput",
               "opset6",
               {{"score_threshold", "0.05"},
                {"nms_threshold", "0.5"},
                {"max_delta_log_wh", "4.1"},
                {"num_classes", "81"},
                {"post_nms_count", "2000"},
                {"max_detections_per_image", "100"},
                {"deltas_weights", "10,10,5,5"}},
               {boxes({1000, 4}, 800), uniform({1000, 81 * 4}, -1, 1), scores({1000, 81}, 4),
                constant<float>({1, 3}, {800, 1216, 1})}};
  });
  add([] {
    return Row{"ROIFeatureExtractor 1000, 256 x 7 x 7",
               "ExperimentalDetectronROIFeatureExtractor",
               "opset6",
               {{"output_size", "7"}, {"sampling_ratio", "2"}, {"pyramid_scales", "4,8,16,32"}, {"aligned", "false"}},
               {boxes({1000, 4}, 800), uniform({1, 256, 200, 304}, -1, 1), uniform({1, 256, 100, 152}, -1, 1),
                uniform({1, 256, 50, 76}, -1, 1), uniform({1, 256, 25, 38}, -1, 1)}};
  });
  add([] {
    return Row{"TopKROIs 4000, 1000",
               "ExperimentalDetectronTopKROIs",
               "opset6",
               {{"max_rois", "1000"}},
               {boxes({4000, 4}, 800), scores({4000})}};
  });
  add([] {
    return Row{"TopKROIs 300000, 1000",
               "ExperimentalDetectronTopKROIs",
               "opset6",
               {{"max_rois", "1000"}},
               {boxes({300000, 4}, 800), scores({300000})}};
  });
  add([] {
    return Row{"PriorGridGenerator 200 x 304 x 3",
               "ExperimentalDetectronPriorGridGenerator",
               "opset6",
               {},
               {boxes({3, 4}, 64), shape_of({1, 1, 200, 304}), shape_of({1, 3, 800, 1216})}};
  });
  add([] {
    return Row{"ROIAlign 1000, 256 x 7 x 7",
               "ROIAlign",
               "opset9",
               kRoiAlign,
               {uniform({1, 256, 50, 76}, -1, 1), boxes({1000, 4}, 800),
                constant<int64_t>({1000}, std::vector<int64_t>(1000, 0))}};
  });
  add([] {
    return Row{"ROIAlignRotated 300, 256 x 7 x 7",
               "ROIAlignRotated",
               "opset15",
               {{"pooled_h", "7"},
                {"pooled_w", "7"},
                {"sampling_ratio", "2"},
                {"spatial_scale", "0.0625"},
                {"clockwise_mode", "true"}},
               {uniform({1, 256, 50, 76}, -1, 1),
                floats({300, 5}, [](int64_t i) { return i % 5 == 4 ? draw(-3, 3) : draw(50, 500); }),
                constant<int64_t>({300}, std::vector<int64_t>(300, 0))}};
  });
  add([] {
    return Row{"ROIPooling max 300, 512 x 7 x 7",
               "ROIPooling",
               "opset2",
               {{"pooled_h", "7"}, {"pooled_w", "7"}, {"spatial_scale", "0.0625"}, {"method", "max"}},
               {uniform({1, 512, 38, 63}, -1, 1), regions(300, 600)}};
  });
  add([] {
    return Row{"PSROIPooling 300, 21 x 7 x 7",
               "PSROIPooling",
               "opset1",
               {{"output_dim", "21"}, {"group_size", "7"}, {"spatial_scale", "0.0625"}, {"mode", "average"}},
               {uniform({1, 21 * 49, 38, 63}, -1, 1), regions(300, 600)}};
  });
  add([] {
    return Row{"DeformablePSROIPooling 300, 81 x 7 x 7",
               "DeformablePSROIPooling",
               "opset1",
               {{"output_dim", "8"},
                {"group_size", "7"},
                {"spatial_scale", "0.0625"},
                {"mode", "bilinear_deformable"},
                {"spatial_bins_x", "4"},
                {"spatial_bins_y", "4"},
                {"trans_std", "0.1"},
                {"part_size", "7"}},
               {uniform({1, 8 * 49, 38, 63}, -1, 1), regions(300, 600), uniform({300, 2, 7, 7}, -1, 1)}};
  });
  add([] {
    return Row{"RegionYolo 3 x 85 x 52 x 52",
               "RegionYolo",
               "opset1",
               {{"axis", "1"},
                {"end_axis", "3"},
                {"coords", "4"},
                {"classes", "80"},
                {"num", "9"},
                {"do_softmax", "false"},
                {"mask", "0,1,2"},
                {"anchors", "10,13,16,30,33,23"}},
               {uniform({1, 255, 52, 52}, -4, 4)}};
  });
  add([] {
    return Row{"GridSample 64 x 128 x 128, bilinear",
               "GridSample",
               "opset9",
               kGrid,
               {uniform({1, 64, 128, 128}, -1, 1), uniform({1, 128, 128, 2}, -1.1f, 1.1f)}};
  });
  add([] {
    return Row{"GridSample 64 x 128 x 128, bicubic",
               "GridSample",
               "opset9",
               {{"mode", "bicubic"}, {"padding_mode", "reflection"}},
               {uniform({1, 64, 128, 128}, -1, 1), uniform({1, 128, 128, 2}, -1.1f, 1.1f)}};
  });
  add([] {
    return Row{"AdaptiveAvgPool 512 x 28 x 28 to 7 x 7",
               "AdaptiveAvgPool",
               "opset8",
               {},
               {uniform({4, 512, 28, 28}, -1, 1), constant<int64_t>({2}, {7, 7})}};
  });
  add([] {
    return Row{"AdaptiveMaxPool 512 x 28 x 28 to 7 x 7",
               "AdaptiveMaxPool",
               "opset8",
               {},
               {uniform({4, 512, 28, 28}, -1, 1), constant<int64_t>({2}, {7, 7})}};
  });
  add([] {
    return Row{"MaxPool with indices 64 x 256 x 256",
               "MaxPool",
               "opset8",
               {{"strides", "2,2"}, {"kernel", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"axis", "2"}},
               {uniform({1, 64, 256, 256}, -1, 1)}};
  });
  add([] {
    return Row{"CTCGreedyDecoderSeqLen 16 x 500 x 1000",
               "CTCGreedyDecoderSeqLen",
               "opset6",
               {},
               {uniform({16, 500, 1000}, -9, 9), constant<int64_t>({16}, std::vector<int64_t>(16, 500))}};
  });
  add([] {
    return Row{"CTCLoss 16 x 500 x 100",
               "CTCLoss",
               "opset4",
               {},
               {uniform({16, 500, 100}, -9, 9), constant<int32_t>({16}, std::vector<int32_t>(16, 500)),
                constant<int32_t>({16, 500}, std::vector<int32_t>(16 * 500, 7)),
                constant<int32_t>({16}, std::vector<int32_t>(16, 60))}};
  });
  add([] {
    return Row{"RandomUniform 1M",
               "RandomUniform",
               "opset8",
               {{"output_type", "f32"}, {"global_seed", "1"}, {"op_seed", "2"}},
               {constant<int64_t>({1}, {1 << 20}), real(0), real(1)}};
  });
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  std::printf(
      "copy: %.2f GB/s on one thread; ms of the reference, the device on 1 and %d threads, GB/s; slower, explained, "
      "beyond\n",
      terroir::bench::copy_bandwidth() * 1e-9, terroir::parallel::available_threads());
  for (const auto& make : rows()) {
    engine.seed(3);
    const Row row = make();
    if (std::string(row.name).find(part) != std::string::npos) measure(row);
  }
  return 0;
}
