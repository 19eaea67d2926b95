#include "plugins/cpu/kernels/boxes/boxes.hpp"

#include <cstring>

#include "ops/reference/detection/box_overlap.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

using ops::reference::BoxBlock;
using ops::reference::BoxQuery;
using ops::reference::kBoxesInBlock;
using ops::reference::OverlapRule;
using Box = ops::reference::SizedBox<float>;

constexpr OverlapRule kRules[] = {OverlapRule::with_areas, OverlapRule::with_common, OverlapRule::touching,
                                  OverlapRule::touching_with_union};

/// On a grid, so that many touch, and quotients are simple fractions; some without extent, not finite, turned around or
/// so small that products are denormal.
std::vector<Box> awkward_boxes(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    const auto draw = [&](uint32_t most) { return static_cast<float>(engine() % most); };
    const float scale = i % 11 == 3 ? 1e-20f : 1;
    Box box{draw(8) * scale, draw(8) * scale, 0, 0, 0};
    box.x1 = box.x0 + draw(6) * scale, box.y1 = box.y0 + draw(6) * scale;
    if (i % 13 == 5) std::swap(box.x0, box.x1);
    box.area = (box.x1 - box.x0) * (box.y1 - box.y0);
    if (i % 17 == 2) box.x0 = kNaN;
    if (i % 17 == 9) box.x1 = kInf, box.area = kInf;
    if (i % 17 == 12) box.area = kNaN;
    boxes.push_back(box);
  }
  return boxes;
}

class BoxKernelsTest : public KernelTest {
 protected:
  /// Boxes in blocks that end where a guard page begins.
  static GuardedBuffer<BoxBlock<float>> in_blocks(const std::vector<Box>& boxes) {
    std::vector<BoxBlock<float>> blocks((boxes.size() + kBoxesInBlock - 1) / kBoxesInBlock);
    for (size_t i = 0; i < boxes.size(); ++i) {
      BoxBlock<float>& block = blocks[i / kBoxesInBlock];
      const size_t at = i % kBoxesInBlock;
      block.x0[at] = boxes[i].x0, block.y0[at] = boxes[i].y0, block.x1[at] = boxes[i].x1, block.y1[at] = boxes[i].y1;
      block.area[at] = boxes[i].area;
    }
    return GuardedBuffer<BoxBlock<float>>(blocks);
  }
};

TEST_P(BoxKernelsTest, ResultsAreThoseOfTheReferenceBitByBit) {
  const auto* const kernels = cpu::box_kernels(isa());
  if (isa() < cpu::Isa::avx2) {
    EXPECT_EQ(kernels, nullptr) << "the reference's loops serve this instruction set";
    return;
  }
  ASSERT_NE(kernels, nullptr);
  const std::vector<Box> candidates = awkward_boxes(70, 1);
  const auto n = static_cast<int64_t>(candidates.size());
  // Quotients of the grid, from both sides; those that decide nothing; those that a margin does not fit around.
  std::vector<float> thresholds = {-0.5f, 0.0f, -0.0f, 1e-40f, 1e-30f, 1.0f, 2.0f, kInf, -kInf, kNaN};
  for (const float quotient : {1 / 9.0f, 0.25f, 1 / 3.0f, 0.5f, 0.6f, 2 / 3.0f})
    thresholds.insert(thresholds.end(), {quotient, std::nextafter(quotient, 0.0f), std::nextafter(quotient, 1.0f),
                                         quotient * 1.0000005f});
  for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 33, 50}) {
    const auto blocks = in_blocks(awkward_boxes(static_cast<size_t>(count), static_cast<uint32_t>(count)));
    for (const int64_t first : {int64_t{0}, int64_t{5}, int64_t{16}, count})
      for (const OverlapRule rule : kRules)
        for (const float extra : {0.0f, 1.0f})
          for (const float threshold : thresholds) {
            const BoxQuery<float> query{blocks.data(), first, count, rule, extra, threshold};
            std::vector<int32_t> want(candidates.size()), found(candidates.size(), -1);
            want.resize(static_cast<size_t>(ops::reference::uncovered(query, candidates.data(), n, want.data())));
            found.resize(static_cast<size_t>(kernels->uncovered(query, candidates.data(), n, found.data())));
            ASSERT_EQ(found, want) << count << " from " << first << " rule " << int(rule) << " above " << threshold;
            if (rule != OverlapRule::with_areas) continue;
            for (const Box& box : candidates) {
              const auto wanted = ops::reference::met(query, box), met = kernels->met(query, box);
              ASSERT_EQ(met.above, wanted.above) << count << " from " << first << " above " << threshold;
              ASSERT_TRUE(std::memcmp(&met.squares, &wanted.squares, sizeof(float)) == 0 ||
                          (std::isnan(met.squares) && std::isnan(wanted.squares)))
                  << met.squares << " for " << wanted.squares << ", rule " << int(rule);
            }
          }
  }
}

TERROIR_INSTANTIATE_PER_ISA(BoxKernelsTest);

}  // namespace
}  // namespace terroir::testing
