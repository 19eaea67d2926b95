#include "runtime/memory/planner.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/memory/arena_buffer.hpp"

namespace terroir::memory {
namespace {

/// At their offsets in the buffer.
std::vector<Part> placed_parts(const Block& block, size_t offset) {
  std::vector<Part> parts = block.parts;
  if (parts.empty()) parts.push_back({0, block.size, block.first_use, block.last_use});
  for (Part& part : parts) part.offset += offset;
  return parts;
}

bool meet(const Part& a, const Part& b) {
  return a.size > 0 && b.size > 0 && a.first_use <= b.last_use && b.first_use <= a.last_use &&
         a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

void expect_valid(const std::vector<Block>& blocks, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), blocks.size());
  EXPECT_EQ(plan.total % 64, 0u);
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % std::max<size_t>(64, blocks[i].alignment), 0u);
    EXPECT_LE(plan.offsets[i] + blocks[i].size, plan.total);
    for (size_t j = 0; j < i; ++j)
      for (const Part& part : placed_parts(blocks[i], plan.offsets[i]))
        for (const Part& other : placed_parts(blocks[j], plan.offsets[j]))
          ASSERT_FALSE(meet(part, other)) << "blocks " << j << " and " << i << " overlap";
  }
}

TEST(MemoryPlanner, ReusesMemoryOfAChain) {
  // a -> b -> c -> d, equal sizes: two buffers suffice.
  const std::vector<Block> blocks{{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}, {1024, 3, 4}};
  const MemoryPlan plan = plan_memory(blocks);
  expect_valid(blocks, plan);
  EXPECT_EQ(plan.total, 2048u);
}

TEST(MemoryPlanner, ThoroughPlansAreSmallerAndTheSameEveryTime) {
  size_t quick = 0, thorough = 0, least = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::minstd_rand random(seed + 1);
    std::vector<Block> blocks;
    for (int64_t i = 0; i < 30; ++i) {
      const auto first = static_cast<int64_t>(random() % 30), last = first + static_cast<int64_t>(random() % 10);
      blocks.push_back({.size = 64 + random() % 4096, .first_use = first, .last_use = last});
    }
    const MemoryPlan plan = plan_memory(blocks, true);
    expect_valid(blocks, plan);
    EXPECT_EQ(plan.offsets, plan_memory(blocks, true).offsets);
    quick += plan_memory(blocks).total;
    thorough += plan.total;
    least += peak_bytes(blocks);
  }
  EXPECT_LT(thorough - least, (quick - least) / 2);
}

TEST(MemoryPlanner, ThoroughPlansOfManyPartsTakeFewTries) {
  // A joined tensor of thousands of parts is one block; what it takes to place it grows with its parts.
  Block joined{.size = size_t{4000} * 100, .last_use = 4001};
  for (int64_t i = 0; i < 4000; ++i) joined.parts.push_back({static_cast<size_t>(i) * 100, 100, i, 4001});
  const std::vector<Block> blocks{joined, {1000, 0, 3000}, {900, 10, 2000}, {500, 1000, 4000}};
  const MemoryPlan plan = plan_memory(blocks, true);
  EXPECT_EQ(plan.offsets, plan_memory(blocks).offsets);
}

TEST(MemoryPlanner, OfVeryManyPartsBlocksAreWholes) {
  // A tensor that grows, and what is gone before the last of it is there: too many parts to look at each.
  std::vector<Block> blocks;
  for (int64_t b = 0; b < 3; ++b) {
    Block growing{.size = size_t{4000} * 64, .first_use = 5000 * b, .last_use = 5000 * b + 4100};
    for (int64_t i = 0; i < 4000; ++i)
      growing.parts.push_back({static_cast<size_t>(i) * 64, 64, growing.first_use + i, growing.last_use});
    blocks.push_back(std::move(growing));
  }
  blocks.push_back({.size = 6400, .first_use = 0, .last_use = 100});
  blocks.push_back({.size = 6400, .first_use = 4100, .last_use = 5000});
  const MemoryPlan plan = plan_memory(blocks);
  expect_valid({blocks[0], blocks[3], blocks[4]}, {{plan.offsets[0], plan.offsets[3], plan.offsets[4]}, plan.total});
  EXPECT_EQ(plan.total, size_t{4000} * 64 + 6400);
  blocks[1].parts[7].size = 64 * 4001;
  EXPECT_THROW(plan_memory(blocks), Exception);
}

TEST(MemoryPlanner, TakesTheTightestGap) {
  // When the last block lives, the blocks at 0 and 2048 are gone: it fits both gaps, and the second is tighter.
  const std::vector<Block> blocks{{1000, 0, 1}, {990, 0, 9}, {500, 0, 1}, {490, 0, 9}, {450, 5, 9}};
  const MemoryPlan plan = plan_memory(blocks);
  expect_valid(blocks, plan);
  EXPECT_EQ(plan.offsets, (std::vector<size_t>{0, 1024, 2048, 2560, 2048}));
}

TEST(MemoryPlanner, WhatIsNotInUseYetIsOthers) {
  // A joined tensor whose second half is written late, and a value that is gone by then.
  const std::vector<Block> blocks{{2048, 0, 9, 64, {{0, 1024, 0, 9}, {1024, 1024, 6, 9}}}, {1024, 2, 5}};
  const MemoryPlan plan = plan_memory(blocks);
  expect_valid(blocks, plan);
  EXPECT_EQ(plan.offsets, (std::vector<size_t>{0, 1024}));
  EXPECT_EQ(plan.total, 2048u);
  EXPECT_EQ(peak_bytes(blocks), 2048u);
  // One step longer, and they meet.
  EXPECT_EQ(plan_memory({blocks[0], {1024, 2, 6}}).total, 3072u);
}

TEST(MemoryPlanner, TheBusiestStepIsTheFirstWithMostBytes) {
  EXPECT_EQ(busiest_step({}), 0);
  EXPECT_EQ(busiest_step({{1024, 0, 3}, {512, 2, 6}, {512, 4, 9}, {1024, 6, 7}}), 6);
  EXPECT_EQ(busiest_step({{1024, 1, 2}, {1024, 5, 6}}), 1);
  // Parts count by themselves.
  EXPECT_EQ(busiest_step({{2048, 0, 9, 64, {{0, 1024, 0, 3}, {1024, 1024, 3, 9}}}, {512, 5, 5}}), 3);
}

TEST(MemoryPlanner, PartsFitAroundPlacedOnes) {
  // The second block's first part is in use beside the first block, its second part is not: it begins before it.
  const std::vector<Block> blocks{{4096, 0, 3}, {2048, 2, 9, 64, {{0, 1024, 5, 9}, {1024, 1024, 2, 9}}}};
  const MemoryPlan plan = plan_memory(blocks);
  expect_valid(blocks, plan);
  EXPECT_EQ(plan.offsets, (std::vector<size_t>{0, 3072}));
}

TEST(MemoryPlanner, EdgeCases) {
  EXPECT_EQ(plan_memory({}).total, 0u);
  EXPECT_EQ(plan_memory({{0, 0, 5}}).total, 0u);
  EXPECT_EQ(plan_memory({{1, 0, 0}}).total, 64u);
  EXPECT_THROW(plan_memory({{1, 1, 0}}), Exception);
  EXPECT_THROW(plan_memory({{1, 0, 0, 48}}), Exception);
  EXPECT_THROW(plan_memory({{1, 0, 0, 0}}), Exception);
  EXPECT_THROW(plan_memory({{128, 0, 9, 64, {{64, 65, 0, 9}}}}), Exception);
  EXPECT_THROW(plan_memory({{128, 0, 9, 64, {{SIZE_MAX, 64, 0, 9}}}}), Exception);
  EXPECT_THROW(plan_memory({{128, 0, 9, 64, {{0, 64, 9, 0}}}}), Exception);
  EXPECT_THROW(plan_memory({{SIZE_MAX - 8, 0, 0}}), Exception);
  EXPECT_THROW(plan_memory(std::vector<Block>(9, Block{SIZE_MAX / 8, 0, 0})), Exception);
}

TEST(MemoryPlanner, RandomPlansAreValidDeterministicAndNotMuchAboveThePeak) {
  std::mt19937 random(7);
  double worst = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Block> blocks(1 + random() % 60);
    for (Block& block : blocks) {
      block.size = random() % 10 == 0 ? 0 : 64 * (1 + random() % 100);
      block.first_use = static_cast<int64_t>(random() % 40);
      block.last_use = block.first_use + static_cast<int64_t>(random() % 12);
      block.alignment = size_t{1} << random() % 9;
      const size_t parts = random() % 4;
      for (size_t i = 0; i < parts; ++i) {
        const int64_t first = block.first_use + static_cast<int64_t>(random() % 3);
        block.parts.push_back(
            {block.size / parts * i, block.size / parts, std::min(first, block.last_use), block.last_use});
      }
    }
    const MemoryPlan plan = plan_memory(blocks);
    expect_valid(blocks, plan);
    EXPECT_EQ(plan_memory(blocks).offsets, plan.offsets);
    EXPECT_GE(plan.total, peak_bytes(blocks));
    worst =
        std::max(worst, static_cast<double>(plan.total) / static_cast<double>(std::max<size_t>(1, peak_bytes(blocks))));
  }
  EXPECT_LT(worst, 1.6);
}

TEST(ArenaBuffer, LargeBuffersAreAlignedToHugePages) {
  const parallel::Arena threads(2);
  EXPECT_EQ(allocate_arena(0, threads).data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(allocate_arena(1000, threads).data()) % 64, 0u);
  for (const size_t megabytes : {2, 8}) {  // the size of one huge page, and of four
    AlignedBuffer large = allocate_arena((megabytes << 20) + 100, threads);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % (size_t{2} << 20), 0u);
    large.as<char>()[large.size() - 1] = 1;
  }
}

TEST(ArenaBuffer, GettingPagesKeepsWhatIsThere) {
  AlignedBuffer large = allocate_large((size_t{16} << 20) + 5);
  for (size_t i = 0; i < large.size(); i += 1000) large.as<char>()[i] = static_cast<char>(i % 97);
  get_pages(large, 1, large.size() - 1);
  get_pages(large, size_t{2} << 20, 10);
  let_pages_join(large);
  for (size_t i = 0; i < large.size(); i += 1000) ASSERT_EQ(large.as<char>()[i], static_cast<char>(i % 97)) << i;
  AlignedBuffer small = allocate_large(100);
  small.as<char>()[99] = 1;
  get_pages(small, 0, 100);
  let_pages_join(small);
  EXPECT_EQ(small.as<char>()[99], 1);
}

}  // namespace
}  // namespace terroir::memory
