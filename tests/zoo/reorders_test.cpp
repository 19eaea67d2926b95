// Reorders between memory layouts that run in the plans of the zoo: none but at the ends of a model.
#include <gtest/gtest.h>

#include "tests/support/model_run.hpp"
#include "tests/support/scoped_variable.hpp"
#include "tests/support/vectors.hpp"
#include "tests/zoo/zoo.hpp"

namespace terroir::test {
namespace {

struct Reorders {
  const char* model;
  size_t inputs, outputs;  // how many run at the model's inputs and outputs, or at views of them
  size_t blocked = 0;  // at most so many more where kernels whose results are blocked, paired or bf16x3, pay for them
};

class ZooReorders : public testing::TestWithParam<Reorders> {};

TEST_P(ZooReorders, AreAtTheEndsOnly) {
  const auto xml = zoo_model(GetParam().model);
  if (xml.empty()) GTEST_SKIP() << GetParam().model << " was not generated (TERROIR_ZOO_DIR)";
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  Core core;
  if (const auto reason = missing_device(core, "CPU"); !reason.empty()) GTEST_SKIP() << reason;
  for (const bool add_pipes : {false, true}) {
    SCOPED_TRACE(add_pipes ? "pipes for additions" : "shared pipes");
    const AddPipes pipes(add_pipes);
    CompiledModel compiled = core.compile_model(xml.string(), "CPU", enable_profiling(true));
    InferRequest request = compiled.create_infer_request();
    request.infer();
    size_t inputs = 0, count = 0;
    bool paired = false, blocked = false;
    std::string others;
    for (const ProfilingInfo& layer : request.get_profiling_info()) {
      paired = paired || layer.exec_type.find("_paired_") != std::string::npos;
      blocked = blocked || paired || layer.exec_type.starts_with("bf16x3_");
      if (layer.status != ProfilingInfo::Status::EXECUTED || layer.node_type != "Reorder") continue;
      ++count;
      if (layer.details.find("the model's input") != std::string::npos)
        ++inputs;
      else
        others += layer.node_name + ": " + layer.details + "\n";
    }
    EXPECT_EQ(inputs, GetParam().inputs);
    EXPECT_GE(count - inputs, GetParam().outputs) << others;
    EXPECT_LE(count - inputs, GetParam().outputs + (blocked ? GetParam().blocked : 0)) << others;
    if (!add_pipes) {
      EXPECT_FALSE(paired);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooReorders,
                         testing::Values(Reorders{"bert_base", 0, 0}, Reorders{"densenet121", 0, 0},
                                         Reorders{"efficientnet_b0", 0, 0}, Reorders{"mobilenet_v2", 0, 0},
                                         Reorders{"mobilenet_v3_large", 0, 0}, Reorders{"quartznet", 1, 0},
                                         Reorders{"resnet50", 0, 0}, Reorders{"resnext50", 0, 0},
                                         Reorders{"squeezenet", 0, 0}, Reorders{"unet", 0, 0}, Reorders{"unet3d", 0, 0},
                                         Reorders{"yolo", 0, 0, 3}),
                         [](const auto& test) { return std::string(test.param.model); });

}  // namespace
}  // namespace terroir::test
