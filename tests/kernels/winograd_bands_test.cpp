// Winograd convolutions whose results take the place of their sources: the bits of those that are written elsewhere.
#include "plugins/cpu/nodes/winograd_bands.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

std::vector<float> blocked(const ConvProblem& p, const WinoPlan& plan, const std::vector<float>& values) {
  std::vector<float> src(static_cast<size_t>(p.batch * plan.src.n), 0.0f);
  lay_out_source(p, plan.src, ConvFormat::blocked, plan.block, values, src.data());
  return src;
}

// Into every place that the result may take, with several threads; slices of a round in either order.
void check_bands(const WinoKernel& kernel, const ConvProblem& p, const Reference& r) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
  const WinoPlan plan = wino_plan(p, kernel);
  ASSERT_TRUE(can_overwrite_source(plan));
  const std::vector<float> src = blocked(p, plan, r.src);
  std::vector<float> packed(plan.packed_floats), expected(static_cast<size_t>(p.batch * plan.dst.n));
  kernel.pack(plan, {r.wei.data(), r.bias.data()}, packed.data(), 0, wino_units(plan));
  std::vector<float> scratch(plan.scratch_floats);
  PostOp relu{.kind = PostOpKind::relu};
  kernel.run(plan, {src.data(), packed.data(), expected.data(), &relu, 1, scratch.data()},
             {0, wino_units(plan), 0, p.batch * plan.rows.tiles * plan.cols.tiles, 0, p.d.out});

  WinoPlan small = plan;
  for (int halvings = 1; halvings <= wino_halvings(plan); ++halvings) {
    const size_t before = small.scratch_floats;
    small = wino_with_small_blocks(plan, halvings);
    EXPECT_LT(small.scratch_floats, before);
  }
  const int64_t blocks = p.groups * plan.ic_blocks, last = p.batch == 1 ? blocks - p.groups * plan.oc_blocks : 0;
  for (int64_t block = 0; block <= last; ++block) {
    for (const int64_t threads : {1, 2, 3, 8}) {
      const WinogradBands bands(small, threads);
      std::vector<float> memory = src, buffers(static_cast<size_t>(bands.buffer_floats()), std::nanf(""));
      float* const dst = memory.data() + block * plan.src.c;
      for (int64_t round = 0; round < bands.rounds(); ++round) {
        for (int64_t i = 0; i < bands.slices(); ++i) {
          const int64_t slice = round % 2 == 0 ? i : bands.slices() - 1 - i;
          scratch.assign(small.scratch_floats, std::nanf(""));
          bands.run(kernel, {memory.data(), packed.data(), dst, &relu, 1, scratch.data()}, buffers.data(), round,
                    slice);
        }
      }
      EXPECT_EQ(std::memcmp(dst, expected.data(), expected.size() * sizeof(float)), 0)
          << "block " << block << ", " << threads << " threads";
      // What of the source the result does not cover is as it was.
      EXPECT_EQ(std::memcmp(memory.data(), src.data(), static_cast<size_t>(block * plan.src.c) * sizeof(float)), 0);
      const size_t end = static_cast<size_t>(block * plan.src.c) + expected.size();
      EXPECT_EQ(std::memcmp(memory.data() + end, src.data() + end, (src.size() - end) * sizeof(float)), 0);
    }
  }
}

void check_bands(const ConvProblem& p) {
  const Reference r = reference(p);
  for (const Isa isa : available_isas())
    for (const WinoKernel& kernel : wino_kernels(isa))
      if (kernel.stride == 1) check_bands(kernel, p, r);
}

TEST(WinogradBands, RowsAroundTiles) {
  for (const int64_t rows : {9, 10, 11, 12, 13, 23, 40}) check_bands(problem_of(1, 1, 16, 16, padded(rows), padded(9)));
  for (const int64_t cols : {1, 3, 30, 61}) check_bands(problem_of(1, 1, 16, 16, padded(18), padded(cols)));
}

TEST(WinogradBands, PartsOfTheSource) {
  check_bands(problem_of(1, 1, 64, 32, padded(17), padded(13)));
  check_bands(problem_of(1, 1, 40, 17, padded(10), padded(21)));
}

TEST(WinogradBands, SeveralImagesAndGroups) {
  check_bands(problem_of(3, 1, 32, 32, padded(13), padded(10)));
  check_bands(problem_of(2, 2, 64, 64, padded(12), padded(11)));
}

TEST(WinogradBands, Depth) {
  check_bands(problem_of(1, 1, 32, 16, padded(14), padded(10), axis(19, 3, 1, 1, 1, 1)));
  check_bands(problem_of(2, 1, 16, 16, padded(9), padded(10), axis(5, 1, 1, 1, 0, 0)));
}

TEST(WinogradBands, PadsOfOneSide) {
  check_bands(problem_of(1, 1, 16, 16, axis(14, 3, 1, 1, 0, 2), axis(11, 3, 1, 1, 2, 0)));
  check_bands(problem_of(1, 1, 16, 16, axis(14, 3, 1, 1, -1, 3), axis(11, 3, 1, 1, 0, 2)));
}

// So many channels that weights are transformed again and again.
TEST(WinogradBands, StagedWeights) { check_bands(problem_of(1, 1, 256, 192, padded(13), padded(22))); }

TEST(WinogradBands, WhatCannotBeOverwritten) {
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      if (kernel.stride != 1) continue;
      const auto can = [&](const ConvProblem& p) { return can_overwrite_source(wino_plan(p, kernel)); };
      EXPECT_TRUE(can(problem_of(1, 1, 32, 16, padded(12), padded(12))));
      EXPECT_FALSE(can(problem_of(1, 1, 16, 32, padded(12), padded(12)))) << "more channels";
      EXPECT_FALSE(can(problem_of(2, 1, 32, 16, padded(12), padded(12)))) << "images of other sizes";
      EXPECT_FALSE(can(problem_of(1, 1, 16, 16, axis(12, 3, 1, 1, 0, 0), padded(12)))) << "fewer rows";
      EXPECT_FALSE(can(problem_of(1, 1, 16, 16, padded(12), axis(12, 3, 1, 1, 0, 0)))) << "fewer columns";
      EXPECT_FALSE(can(problem_of(1, 1, 16, 16, axis(12, 3, 1, 1, 2, 0), padded(12)))) << "reads two rows above";
    }
  }
}

// Weights that are transformed for each block of tiles are most of the work where blocks are few tiles.
TEST(WinogradBands, BlocksAreNotHalvedForMuchTime) {
  for (const Isa isa : available_isas()) {
    for (const WinoKernel& kernel : wino_kernels(isa)) {
      if (kernel.tile != 4 || kernel.stride != 1) continue;
      SCOPED_TRACE(kernel.name);
      const WinoPlan deep = wino_plan(problem_of(1, 1, 512, 512, padded(14), padded(14)), kernel);
      ASSERT_EQ(deep.weights, WinoWeights::staged);
      if (deep.fused) {
        EXPECT_EQ(wino_halvings(deep), 0);
      }
      const WinoPlan wide = wino_plan(problem_of(1, 1, 64, 64, padded(112), padded(112)), kernel);
      EXPECT_GT(wino_halvings(wide), 0);
      EXPECT_GE(wino_with_small_blocks(wide, wino_halvings(wide)).block_tiles, 12);
      EXPECT_EQ(wino_halvings(wino_plan(problem_of(0, 1, 64, 64, padded(112), padded(112)), kernel)), 0);
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
