// Trained models as their publishers ship them, IR v10 and v11, against outputs recorded from OpenVINO's CPU device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

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

class TrainedModels : public testing::TestWithParam<std::tuple<TrainedModel, std::string>> {};

/// How many leading elements of a list of detections are defined, the row that ends it included.
int64_t defined_elements(const ir::TensorView& detections) {
  constexpr int64_t kRow = 7;
  const auto* rows = detections.as<float>();
  for (int64_t i = 0; i < detections.count(); i += kRow)
    if (rows[i] < 0) return i;
  return detections.count();
}

TEST_P(TrainedModels, MatchRecordedOutputs) {
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
    int64_t compared = expected.view().count();
    if (model.detections) {
      compared = defined_elements(expected.view());
      EXPECT_EQ(defined_elements(actual), compared) << "another number of detections";
    }
    EXPECT_EQ(difference(expected.view(), actual, model.tolerance, compared), "") << "with " << threads << " threads";
    if (threads == 1)
      first = output;
    else
      EXPECT_EQ(std::memcmp(first.data(), output.data(), static_cast<size_t>(compared) * sizeof(float)), 0)
          << "other bits with two threads than with one";
    if (device == "INTERPRETER") break;  // it has one thread
  }
}

INSTANTIATE_TEST_SUITE_P(E2e, TrainedModels,
                         testing::Combine(testing::ValuesIn(kModels),
                                          testing::Values(std::string("INTERPRETER"), std::string("CPU"))),
                         [](const auto& test) {
                           std::string name = std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace terroir::test
