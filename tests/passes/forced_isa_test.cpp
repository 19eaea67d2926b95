// TERROIR_FORCE_ISA: the instruction set that was asked for is the one that ran.
#include <gtest/gtest.h>

#include <terroir/terroir.hpp>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

std::shared_ptr<Model> small_model() {
  ModelBuilder b("small");
  const auto x = b.parameter(element::f32, {1, 3, 8, 8}, "x");
  const auto w = b.constant(element::f32, Shape{20, 3, 3, 3}, std::vector<float>{0.125f});
  const auto conv =
      b.op("Convolution", "opset1", {x, w},
           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, "conv");
  const auto pool =
      b.op("AvgPool", "opset1", {b.op("ReLU", "opset1", {conv}, {}, "relu")},
           {{"strides", "2,2"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", "2,2"}, {"exclude-pad", "true"}},
           "pool");
  const auto axes = b.constant(element::i64, Shape{2}, {2, 3});
  const auto mean = b.op("ReduceMean", "opset1", {pool, axes}, {{"keep_dims", "false"}}, "mean");
  const auto v = b.constant(element::f32, Shape{20, 4}, std::vector<float>{0.25f});
  b.result(b.op("SoftMax", "opset1", {b.op("MatMul", "opset1", {mean, v}, {}, "product")}, {{"axis", "1"}}, "softmax"));
  return b.build();
}

TEST(ForcedIsa, RunsInEveryStep) {
  for (const cpu::Isa isa : cpu::available_isas()) {
    const ForcedIsa forced(cpu::isa_name(isa));
    Core core;
    auto compiled = core.compile_model(small_model(), "CPU", enable_profiling(true));
    auto request = compiled.create_infer_request();
    request.infer();
    const std::string suffix = std::string("__") + cpu::isa_name(isa);
    std::vector<std::string> executed;
    for (const ProfilingInfo& info : request.get_profiling_info()) {
      if (info.status != ProfilingInfo::Status::EXECUTED) continue;
      EXPECT_TRUE(info.exec_type.ends_with(suffix)) << info.node_name << " ran as " << info.exec_type;
      executed.push_back(info.node_name);
    }
    for (const char* name : {"conv", "pool", "mean", "product", "softmax"})
      EXPECT_NE(std::find(executed.begin(), executed.end(), name), executed.end()) << name;
  }
}

TEST(ForcedIsa, TheBestIsTheDefault) {
  const ForcedIsa unset("");  // counts as unset
  Core core;
  auto compiled = core.compile_model(small_model(), "CPU", enable_profiling(true));
  auto request = compiled.create_infer_request();
  request.infer();
  bool found = false;
  for (const ProfilingInfo& info : request.get_profiling_info()) {
    if (info.node_name != "conv") continue;
    found = true;
    EXPECT_TRUE(info.exec_type.ends_with(std::string("__") + cpu::isa_name(cpu::best_isa()))) << info.exec_type;
  }
  EXPECT_TRUE(found);
}

TEST(ForcedIsa, AnUnknownNameIsAnErrorThatListsTheAvailableOnes) {
  const ForcedIsa forced("avx1024");
  Core core;
  try {
    core.compile_model(small_model(), "CPU");
    FAIL() << "compiled";
  } catch (const Exception& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("TERROIR_FORCE_ISA"), std::string::npos) << text;
    EXPECT_NE(text.find("avx1024"), std::string::npos) << text;
    for (const cpu::Isa isa : cpu::available_isas())
      EXPECT_NE(text.find(cpu::isa_name(isa)), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace terroir::test
