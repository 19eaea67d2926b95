// Well-known topologies with generated weights, on the CPU with one and two threads, with the best instruction set or
// the one that TERROIR_FORCE_ISA names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "tests/support/model_run.hpp"
#include "tests/support/scoped_variable.hpp"
#include "tests/zoo/zoo.hpp"

namespace terroir::test {
namespace {

std::vector<Tensor> inputs_of(const CompiledModel& compiled) {
  std::vector<Tensor> inputs;
  for (const auto& port : compiled.inputs()) inputs.push_back(counted_input(port.get_element_type(), port.get_shape()));
  return inputs;
}

/// The instruction sets named at the end of implementations: "f32_conv_direct_nChw8c__avx2".
std::vector<cpu::Isa> used_isas(const std::vector<ProfilingInfo>& profile) {
  std::vector<cpu::Isa> used;
  for (const ProfilingInfo& layer : profile) {
    const size_t mark = layer.exec_type.rfind("__");
    if (mark == std::string::npos) continue;
    if (const auto isa = cpu::parse_isa(layer.exec_type.substr(mark + 2))) used.push_back(*isa);
  }
  return used;
}

class Zoo : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { prepare("CPU"); }
  /// Reads the model, or skips.
  void prepare(const std::string& device) {
    if (shared_folder().empty()) GTEST_SKIP() << "no expected outputs (TERROIR_SHARED_DIR)";
    if (const auto reason = missing_device(core_, device); !reason.empty()) GTEST_SKIP() << reason;
    const auto xml = zoo_folder() / (std::string(GetParam()) + ".xml");
    ASSERT_TRUE(std::filesystem::exists(xml)) << xml << " was not generated (TERROIR_ZOO_DIR)";
    model_ = core_.read_model(xml.string());
  }
  /// `tolerance`: of the output's largest value.
  void expect_match(size_t output, const Tensor& actual, double tolerance = 1e-3) const {
    const auto file =
        shared_folder() / "zoo" / "expected" / (std::string(GetParam()) + ".out" + std::to_string(output) + ".npy");
    EXPECT_EQ(difference_to_scale(read_npy(file).view(), view_of(actual), tolerance), "") << "output " << output;
  }
  Core core_;
  std::shared_ptr<Model> model_;
};

class ZooOnInterpreter : public Zoo {
 protected:
  void SetUp() override { prepare("INTERPRETER"); }
};

TEST_P(Zoo, MatchesExpectedOutputsWithOneAndTwoThreads) {
  std::vector<Tensor> first;
  for (int threads : {1, 2}) {
    CompiledModel compiled = core_.compile_model(model_, "CPU", inference_num_threads(threads), enable_profiling(true));
    InferRequest request = compiled.create_infer_request();
    const auto inputs = inputs_of(compiled);
    for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    for (size_t i = 0; i < compiled.outputs().size(); ++i) {
      const Tensor output = request.get_output_tensor(i);
      SCOPED_TRACE(std::to_string(threads) + " threads");
      // Where a value lies half way between two levels, rounding decides which one the next layers get: in f32, too,
      // two right programs differ by this much.
      expect_match(i, output, std::string_view(GetParam()).ends_with("-int8") ? 5e-2 : 1e-3);
      if (threads == 1) {
        first.push_back(output);
      } else {
        EXPECT_EQ(std::memcmp(first[i].data(), output.data(), output.get_byte_size()), 0)
            << "output " << i << " has other bits with two threads than with one";
      }
    }
    const auto used = used_isas(request.get_profiling_info());
    EXPECT_TRUE(std::count(used.begin(), used.end(), cpu::active_isa()) > 0)
        << "no layer ran with " << cpu::isa_name(cpu::active_isa());
    for (const cpu::Isa isa : used) EXPECT_LE(isa, cpu::active_isa()) << "a layer ran with " << cpu::isa_name(isa);
  }
}

/// Whether some layer computes in a way, of which ACCURACY rules some out.
bool uses(const std::vector<ProfilingInfo>& profile, std::string_view way) {
  return std::any_of(profile.begin(), profile.end(),
                     [&](const ProfilingInfo& layer) { return layer.exec_type.find(way) != std::string::npos; });
}

TEST_P(Zoo, MatchesExpectedOutputsCloselyForAccuracy) {
  for (const auto mode : {hint::ExecutionMode::ACCURACY, hint::ExecutionMode::PERFORMANCE}) {
    CompiledModel compiled = core_.compile_model(model_, "CPU", hint::execution_mode(mode), enable_profiling(true));
    InferRequest request = compiled.create_infer_request();
    const auto inputs = inputs_of(compiled);
    for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    if (mode == hint::ExecutionMode::PERFORMANCE) {
      const std::string name = GetParam();
      const bool dense_3x3 = name == "unet" || name == "unet3d" || name == "resnet50" || name == "yolo";
      if (dense_3x3 && !cpu::wino_kernels(cpu::active_isa()).empty()) {
        EXPECT_TRUE(uses(request.get_profiling_info(), "winograd"));
      }
      continue;
    }
    for (const char* way : {"winograd", "paired"}) EXPECT_FALSE(uses(request.get_profiling_info(), way)) << way;
    for (size_t i = 0; i < compiled.outputs().size(); ++i) expect_match(i, request.get_output_tensor(i), 1e-5);
  }
}

class ZooInBf16 : public Zoo {
  void SetUp() override {
    if (!WithBf16::is_available()) GTEST_SKIP() << "no products of bf16";
    prepare("CPU");
  }
  WithBf16 kernels_;
};

TEST_P(ZooInBf16, MatchesExpectedOutputsRoughly) {
  CompiledModel compiled =
      core_.compile_model(model_, "CPU", hint::inference_precision(element::bf16), enable_profiling(true));
  EXPECT_EQ(compiled.get_property(hint::inference_precision), element::bf16);
  InferRequest request = compiled.create_infer_request();
  const auto inputs = inputs_of(compiled);
  for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  EXPECT_TRUE(uses(request.get_profiling_info(), "bf16_"));
  // Of values that have 8 bits each, some dozens of layers behind each other.
  for (size_t i = 0; i < compiled.outputs().size(); ++i) expect_match(i, request.get_output_tensor(i), 0.05);
}

TEST_P(ZooOnInterpreter, MatchesExpectedOutputs) {
  CompiledModel compiled = core_.compile_model(model_, "INTERPRETER");
  const auto outputs = infer(compiled, inputs_of(compiled));
  for (size_t i = 0; i < outputs.size(); ++i) expect_match(i, outputs[i]);
}

class ZooWithUnknownBatch : public Zoo {};

/// The tensor twice, along axis 0.
Tensor doubled(const Tensor& tensor) {
  Shape shape = tensor.get_shape();
  shape[0] *= 2;
  Tensor twice(tensor.get_element_type(), shape);
  for (size_t half : {0, 1})
    std::memcpy(static_cast<char*>(twice.data()) + half * tensor.get_byte_size(), tensor.data(),
                tensor.get_byte_size());
  return twice;
}

TEST_P(ZooWithUnknownBatch, GivesEachSampleItsOutput) {
  const Tensor sample = counted_input(model_->input().get_element_type(), model_->input().get_shape());
  PartialShape shape = model_->input().get_partial_shape();
  shape[0] = Dimension::dynamic();
  model_->reshape(shape);
  CompiledModel compiled = core_.compile_model(model_, "CPU");
  InferRequest request = compiled.create_infer_request();
  for (const size_t batch : {1, 2, 1}) {
    SCOPED_TRACE("batch " + std::to_string(batch));
    request.set_input_tensor(batch == 1 ? sample : doubled(sample));
    request.infer();
    const Tensor output = request.get_output_tensor();
    ASSERT_EQ(output.get_shape()[0], batch);
    Coordinate begin(std::vector<size_t>(output.get_shape().size(), 0)), end(output.get_shape());
    for (size_t i = 0; i < batch; ++i) {
      begin[0] = i;
      end[0] = i + 1;
      expect_match(0, Tensor(output, begin, end));
    }
  }
}

const auto kFloats =
    testing::Values("bert_base", "densenet121", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large", "quartznet",
                    "resnet50", "resnext50", "squeezenet", "unet", "unet3d", "yolo");
INSTANTIATE_TEST_SUITE_P(All, Zoo, kFloats, name_of_test);
INSTANTIATE_TEST_SUITE_P(All, ZooInBf16, kFloats, name_of_test);
INSTANTIATE_TEST_SUITE_P(Quantised, Zoo,
                         testing::Values("bert_base-int8", "mobilenet_v2-int8", "resnet50-int8", "squeezenet-int8"),
                         name_of_test);
// Those without a reshape to a fixed batch.
INSTANTIATE_TEST_SUITE_P(Quick, ZooWithUnknownBatch, testing::Values("quartznet", "unet"), name_of_test);
INSTANTIATE_TEST_SUITE_P(Quick, ZooOnInterpreter,
                         testing::Values("efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large", "squeezenet"),
                         name_of_test);
// Minutes in all; not in ctest.
INSTANTIATE_TEST_SUITE_P(Slow, ZooOnInterpreter,
                         testing::Values("bert_base", "densenet121", "quartznet", "resnet50", "resnext50", "unet",
                                         "unet3d", "yolo"),
                         name_of_test);

}  // namespace
}  // namespace terroir::test
