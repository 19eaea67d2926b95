// Steps that most of a large arena is for do with less: scratch for fewer tiles at once, the memory of their inputs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <terroir/terroir.hpp>

#include "ir/xml/writer.hpp"
#include "tests/passes/compared_runs.hpp"
#include "tests/passes/planned.hpp"
#include "tests/support/vectors.hpp"

namespace terroir::cpu {
namespace {

using test::GraphMaker;
using test::kNoVectors;
using test::plan_of;
using test::step_named;
using test::vectors;

constexpr int64_t kSide = 256;                                         // of images whose plans are too large
constexpr size_t kBytesOf16Channels = size_t{16} * kSide * kSide * 4;  // bytes of 16 channels

/// The last level of a U-Net: `convolution3` reads 64 joined channels and gives 32. Weights are small enough for
/// Winograd's algorithm. `also`: the joined tensor is a result, too.
GraphMaker last_level(bool also, int64_t batch = 1, int64_t side = kSide) {
  GraphMaker m;
  const auto conv = [&m](ir::Value x, int64_t to, const std::string& name, uint32_t seed) {
    return m.op("Convolution", {x, m.random({to, m.dims(x)[1], 3, 3}, seed, 0.1f)},
                {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, name);
  };
  auto skip = conv(m.input({batch, 3, side, side}), 32, "first", 1);
  auto deep = conv(m.op("ReLU", {skip}), 32, "second", 2);
  auto both = m.op("Concat", {deep, skip}, {{"axis", "1"}}, "joined");
  auto merged = m.op("ReLU", {conv(both, 32, "merging", 3)}, {}, "activation");
  m.result(m.conv(merged, 2, 1, 4));
  if (also) m.result(both);
  return m;
}

TEST(OverwrittenInput, TheLargestStepTakesThePlaceOfItsInput) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  const auto plan = plan_of(last_level(false), Isa::avx2);
  const Step& merging = step_named(*plan, "merging");
  EXPECT_NE(merging.kernel.find("winograd_4x4_3x3_nChw8c__avx2+in_place"), std::string::npos) << merging.kernel;
  EXPECT_EQ(merging.outputs[0].kind, Slot::Kind::arena);
  EXPECT_EQ(merging.outputs[0].offset, merging.inputs[0].offset);
  // What it reads, and little more.
  EXPECT_LT(plan->arena_bytes, 5 * kBytesOf16Channels);
}

TEST(OverwrittenInput, SlotsShareMemoryWithTensorsThen) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  constexpr int kThreads = 2;
  const auto plan = plan_of(last_level(false), Isa::avx2, false, kThreads);
  EXPECT_LT(plan->arena_bytes, 5 * kBytesOf16Channels);
  std::set<size_t> strides;  // each step's own, not those of all
  for (const Step& step : plan->steps) {
    const SlotNeed need = step.executor->slot_need(kThreads);
    if (need.bytes == 0) continue;
    strides.insert(step.slot_stride);
    EXPECT_GE(step.slot_stride, need.bytes) << step.name;
    EXPECT_LE(step.slots_offset + need.slots * step.slot_stride, plan->arena_bytes) << step.name;
  }
  EXPECT_GT(strides.size(), 1u);
}

TEST(OverwrittenInput, NotWhereThereIsRoom) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  const auto plan = plan_of(last_level(false, 1, kSide / 2), Isa::avx2);
  EXPECT_GT(plan->arena_bytes, size_t{4} << 20);
  EXPECT_EQ(step_named(*plan, "merging").kernel.find("in_place"), std::string::npos);
}

/// A convolution of a small image, beside one that is `times` as large per side, and read again behind it.
GraphMaker small_beside(int64_t times, int64_t side) {
  GraphMaker m;
  const std::string k = std::to_string(times), window = k + "," + k;
  const ir::Value wide = m.conv(m.input({1, 3, side * times, side * times}), 64, 3, 1);
  const ir::Value small = m.op(
      "AvgPool", {wide},
      {{"strides", window}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}, {"kernel", window}, {"exclude-pad", "true"}});
  const ir::Value y =
      m.op("Convolution", {m.conv(small, 512, 1, 4), m.random({64, 512, 3, 3}, 2, 0.1f)},
           {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}, "small");
  const ir::Value mean = m.op("ReduceMean", {y, m.integers({2, 3})}, {{"keep_dims", "true"}});
  m.result(m.conv(m.op("Multiply", {wide, mean}), 64, 3, 3, 2));
  return m;
}

TEST(OverwrittenInput, ScratchIsForFewerTilesFirst) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  if (cache_sizes().l2 < int64_t{1} << 20) GTEST_SKIP() << "a small L2 holds few tiles anyway";
  constexpr int kThreads = 4;
  const auto scratch_beside = [](int64_t times) {
    const auto plan = plan_of(small_beside(times, 20), Isa::avx2, false, kThreads);
    const Step& small = step_named(*plan, "small");
    EXPECT_TRUE(small.kernel.starts_with("f32_conv_winograd_4x4_3x3_nChw8c__avx2")) << small.kernel;
    return small.executor->slot_need(kThreads).bytes;
  };
  EXPECT_LT(scratch_beside(13), scratch_beside(1));
}

TEST(OverwrittenInput, NotWhatIsReadLater) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  const auto plan = plan_of(last_level(true), Isa::avx2);
  EXPECT_EQ(step_named(*plan, "merging").kernel.find("in_place"), std::string::npos);
}

TEST(OverwrittenInput, NotForABatchOfOtherChannels) {
  if (!vectors()) GTEST_SKIP() << kNoVectors;
  const auto plan = plan_of(last_level(false, 2), Isa::avx2);
  EXPECT_EQ(step_named(*plan, "merging").kernel.find("in_place"), std::string::npos);
}

TEST(OverwrittenInput, NotForAccuracyWhichHasNoSuchKernel) {
  const auto plan = plan_of(last_level(false), Isa::scalar, true);
  EXPECT_EQ(step_named(*plan, "merging").kernel.find("in_place"), std::string::npos);
}

TEST(OverwrittenInput, GivesTheSameBits) {
  const GraphMaker alone = last_level(false), both = last_level(true);
  const std::vector<std::vector<test::HostTensor>> inputs = {{test::random_tensor({1, 3, kSide, kSide}, 7)},
                                                             {test::random_tensor({1, 3, kSide, kSide}, 8)}};
  test::expect_same_bits(alone.graph(), both.graph(), inputs);
}

TEST(OverwrittenInput, IsKeptWithTheCompiledModel) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_overwritten_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Core core;
  ir::write_model(small_beside(11, 24).graph(), (folder / "small.xml").string());
  auto small = core.compile_model((folder / "small.xml").string(), "CPU");
  std::stringstream stored_small;
  small.export_model(stored_small);
  EXPECT_EQ(core.import_model(stored_small, "CPU").get_property(memory_footprint),
            small.get_property(memory_footprint));
  ir::write_model(last_level(false).graph(), (folder / "model.xml").string());
  auto compiled = core.compile_model((folder / "model.xml").string(), "CPU", enable_profiling(true));
  std::stringstream stored;
  compiled.export_model(stored);
  const auto [kernel, result] = test::run_once(compiled, "merging");
  const auto [again, same] = test::run_once(core.import_model(stored, "CPU", {enable_profiling(true)}), "merging");
  EXPECT_EQ(kernel, again);
  EXPECT_EQ(kernel.find("winograd") == std::string::npos, kernel.find("+in_place") == std::string::npos) << kernel;
  EXPECT_EQ(std::memcmp(result.data(), same.data(), result.get_byte_size()), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terroir::cpu
