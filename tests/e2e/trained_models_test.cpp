// Trained models as their publishers ship them, IR v10 and v11, against outputs recorded from OpenVINO's CPU device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ir/xml/reader.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/support/model_run.hpp"

namespace terroir::test {
namespace {

struct TrainedModel {
  const char* name;
  Tolerance tolerance;
  bool detections;  // rows of 7 numbers, undefined after the first image id of -1
};

std::ostream& operator<<(std::ostream& out, const TrainedModel& model) { return out << model.name; }

constexpr TrainedModel kModels[] = {{"samplenet", {1e-4, 1e-5}, false},
                                    {"landmarks-regression-retail-0009", {1e-4, 1e-5}, false},
                                    {"face-detection-retail-0004", {1e-4, 1e-5}, true},
                                    {"face-detection-adas-0001-fp16", {1e-3, 1e-5}, true}};

class TrainedModelsOnDevice : public testing::TestWithParam<std::tuple<TrainedModel, std::string>> {};

constexpr int64_t kRow = 7;  // image, label, confidence, box

/// Detections up to the row that ends them.
std::vector<const float*> rows_of(const ir::TensorView& detections) {
  std::vector<const float*> rows;
  const auto* data = detections.as<float>();
  for (int64_t i = 0; i + kRow <= detections.count() && data[i] >= 0; i += kRow) rows.push_back(data + i);
  return rows;
}

/// As difference(), but detections of the same confidence, within the tolerance, may come in any order.
std::string detection_difference(const ir::TensorView& expected, const ir::TensorView& actual, Tolerance tolerance) {
  const auto wanted = rows_of(expected);
  auto open = rows_of(actual);
  if (open.size() != wanted.size())
    return std::to_string(open.size()) + " detections, expected " + std::to_string(wanted.size());
  const auto differ = [&](const float* a, const float* b, int64_t count) {
    return difference({element::f32, {count}, a}, {element::f32, {count}, b}, tolerance);
  };
  for (size_t i = 0; i < wanted.size(); ++i)
    if (auto text = differ(wanted[i], open[i], 3); !text.empty()) return "row " + std::to_string(i) + ": " + text;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto same = [&](const float* row) { return differ(wanted[i], row, kRow).empty(); };
    const auto found = std::find_if(open.begin(), open.end(), same);
    if (found == open.end()) return "there is no detection like row " + std::to_string(i);
    open.erase(found);
  }
  return {};
}

TEST_P(TrainedModelsOnDevice, MatchRecordedOutputs) {
  const auto& [model, device] = GetParam();
  const auto folder = shared_folder() / "models";
  if (shared_folder().empty()) GTEST_SKIP() << "no recorded models (TERROIR_SHARED_DIR)";
  Core core;
  if (const auto reason = missing_device(core, device); !reason.empty()) GTEST_SKIP() << reason;
  const auto recorded = [&](const char* suffix) {
    return read_npy(folder / "expected" / (std::string(model.name) + suffix));
  };
  const Tensor input = to_tensor(recorded(".in0.npy"));
  const HostTensor expected = recorded(".out0.npy");
  const auto read = core.read_model((folder / (std::string(model.name) + ".xml")).string());
  Tensor first;
  for (const int threads : {1, 2}) {
    CompiledModel compiled = core.compile_model(read, device, inference_num_threads(threads));
    ASSERT_EQ(compiled.inputs().size(), 1u);
    ASSERT_EQ(compiled.outputs().size(), 1u);
    const Tensor output = infer(compiled, {input})[0];
    const ir::TensorView actual = view_of(output);
    ASSERT_EQ(actual.dims, expected.dims());
    const std::string text = model.detections ? detection_difference(expected.view(), actual, model.tolerance)
                                              : difference(expected.view(), actual, model.tolerance);
    EXPECT_EQ(text, "") << "with " << threads << " threads";
    if (threads == 1)
      first = output;
    else
      EXPECT_EQ(std::memcmp(first.data(), output.data(), output.get_byte_size()), 0)
          << "other bits with two threads than with one";
    if (device == "INTERPRETER") break;  // it has one thread
  }
}

// The portable rewrites of the CPU device change no result: the oracle agrees on the rewritten model.
TEST(TrainedModels, MatchAfterPortableRewrites) {
  const auto folder = shared_folder() / "models";
  if (shared_folder().empty()) GTEST_SKIP() << "no recorded models (TERROIR_SHARED_DIR)";
  for (const TrainedModel& model : kModels) {
    SCOPED_TRACE(model.name);
    const std::string name = model.name;
    const auto graph = ir::read_model((folder / (name + ".xml")).string(), {}, ops::builtin_registry());
    const HostTensor input = read_npy(folder / "expected" / (name + ".in0.npy"));
    const HostTensor expected = read_npy(folder / "expected" / (name + ".out0.npy"));
    const auto rewritten = cpu::rewrite_portable(*graph);
    const auto actual = interpreter::run(*rewritten, {&input.view(), 1})[0];
    const std::string text = model.detections ? detection_difference(expected.view(), actual.view(), model.tolerance)
                                              : difference(expected.view(), actual.view(), model.tolerance);
    EXPECT_EQ(text, "");
  }
}

INSTANTIATE_TEST_SUITE_P(E2e, TrainedModelsOnDevice,
                         testing::Combine(testing::ValuesIn(kModels),
                                          testing::Values(std::string("INTERPRETER"), std::string("CPU"))),
                         [](const auto& test) {
                           std::string name = std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace terroir::test
