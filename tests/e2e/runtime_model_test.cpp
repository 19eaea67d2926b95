// What the CPU device shows of trained models: every layer of the file is found again, and the graph hangs together.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/support/model_run.hpp"

namespace terroir::test {
namespace {

class RuntimeModelOfTrained : public testing::TestWithParam<const char*> {};

TEST_P(RuntimeModelOfTrained, NamesTheLayersOfTheFile) {
  if (shared_folder().empty()) GTEST_SKIP() << "no trained models";
  Core core;
  const auto model = core.read_model(shared_folder() / "models" / (std::string(GetParam()) + ".xml"));
  CompiledModel compiled = core.compile_model(model, "CPU", enable_profiling(true));
  InferRequest request = compiled.create_infer_request();
  request.infer();
  const auto shown = compiled.get_runtime_model();
  EXPECT_EQ(shown->inputs().size(), model->inputs().size());
  EXPECT_EQ(shown->outputs().size(), model->outputs().size());
  std::set<std::string> names, kernels;
  size_t steps = 0;
  for (const auto& node : shown->get_ordered_ops()) {
    AnyMap info = node->get_rt_info();
    std::istringstream list(info.at("originalLayersNames").as<std::string>());
    for (std::string name; std::getline(list, name, ',');) names.insert(name);
    if (node->description() != "ExecutionNode") continue;
    kernels.insert(info.at("primitiveType").as<std::string>());
    steps += info.at("primitiveType").as<std::string>() != "no copy";
    if (info.at("primitiveType").as<std::string>() != "no copy") {
      EXPECT_NE(info.at("execTimeMcs").as<std::string>(), "not_executed") << *node;
    }
    EXPECT_GT(node->get_input_size() + node->get_output_size(), 0u);
  }
  size_t executed = 0;
  for (const ProfilingInfo& info : request.get_profiling_info()) {
    if (info.status != ProfilingInfo::Status::EXECUTED || info.node_type == "Result") continue;
    ++executed;
    EXPECT_EQ(kernels.count(info.exec_type), 1u) << info.exec_type;
  }
  EXPECT_EQ(steps, executed);
  // Those that are computed while compiling, or no work, are not there; convolutions always are.
  for (const auto& node : model->get_ops()) {
    if (node->description().find("Convolution") != std::string::npos) {
      EXPECT_EQ(names.count(node->get_friendly_name()), 1u) << *node;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RuntimeModelOfTrained,
                         testing::Values("samplenet", "landmarks-regression-retail-0009", "face-detection-retail-0004",
                                         "face-detection-adas-0001-fp16"));

}  // namespace
}  // namespace terroir::test
