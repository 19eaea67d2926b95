// Reorders between memory layouts that run in the plans of the zoo: none but at the ends of a model.
#include <gtest/gtest.h>

#include "tests/support/model_run.hpp"
#include "tests/support/vectors.hpp"
#include "tests/zoo/zoo.hpp"

namespace terroir::test {
namespace {

struct Reorders {
  const char* model;
  size_t inputs, outputs;  // how many run at the model's inputs and outputs, or at views of them
};

class ZooReorders : public testing::TestWithParam<Reorders> {};

TEST_P(ZooReorders, AreAtTheEndsOnly) {
  const auto xml = zoo_model(GetParam().model);
  if (xml.empty()) GTEST_SKIP() << GetParam().model << " was not generated (TERROIR_ZOO_DIR)";
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  Core core;
  if (const auto reason = missing_device(core, "CPU"); !reason.empty()) GTEST_SKIP() << reason;
  CompiledModel compiled = core.compile_model(xml.string(), "CPU", enable_profiling(true));
  InferRequest request = compiled.create_infer_request();
  request.infer();
  size_t inputs = 0;
  std::string others;
  size_t count = 0;
  for (const ProfilingInfo& layer : request.get_profiling_info()) {
    if (layer.status != ProfilingInfo::Status::EXECUTED || layer.node_type != "Reorder") continue;
    ++count;
    if (layer.details.find("the model's input") != std::string::npos)
      ++inputs;
    else
      others += layer.node_name + ": " + layer.details + "\n";
  }
  EXPECT_EQ(inputs, GetParam().inputs);
  EXPECT_EQ(count - inputs, GetParam().outputs) << others;
}

INSTANTIATE_TEST_SUITE_P(All, ZooReorders,
                         testing::Values(Reorders{"bert_base", 0, 0}, Reorders{"densenet121", 0, 0},
                                         Reorders{"efficientnet_b0", 0, 0}, Reorders{"mobilenet_v2", 0, 0},
                                         Reorders{"mobilenet_v3_large", 0, 0}, Reorders{"quartznet", 1, 0},
                                         Reorders{"resnet50", 0, 0}, Reorders{"resnext50", 0, 0},
                                         Reorders{"squeezenet", 0, 0}, Reorders{"unet", 0, 0}, Reorders{"unet3d", 0, 0},
                                         Reorders{"yolo", 0, 0}),
                         [](const auto& test) { return std::string(test.param.model); });

}  // namespace
}  // namespace terroir::test
