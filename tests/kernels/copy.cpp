// Copy plans against one element at a time: axes of every kind in every order, units of every size, tables, fills.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "plugins/cpu/kernels/copy/copy_plan.hpp"
#include "plugins/cpu/kernels/image/image.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::CopyAxis;
using cpu::CopyPlan;
using cpu::kFill;

/// The source of each index.
std::vector<int64_t> places(const CopyAxis& axis) {
  if (!axis.runs.empty()) return cpu::sources_of(axis.runs);
  std::vector<int64_t> places(static_cast<size_t>(axis.extent));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i) * axis.src_step;
  return places;
}

/// What the plan stands for; `sources`: places() of each axis.
void copy_one_by_one(const std::vector<CopyAxis>& axes, const std::vector<std::vector<int64_t>>& sources, int64_t bytes,
                     const uint8_t* src, uint8_t* dst, const uint8_t* fill, size_t axis = 0) {
  if (axis == axes.size()) {
    if (src)
      std::memcpy(dst, src, static_cast<size_t>(bytes));
    else if (fill)
      std::memcpy(dst, fill, static_cast<size_t>(bytes));
    else
      std::memset(dst, 0, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i < axes[axis].extent; ++i) {
    const int64_t at = sources[axis][static_cast<size_t>(i)];
    copy_one_by_one(axes, sources, bytes, src && at != kFill ? src + at : nullptr, dst + i * axes[axis].dst_step, fill,
                    axis + 1);
  }
}

/// The lowest and the highest byte that the axes reach, relative to index 0.
struct Reach {
  int64_t low = 0, high = 0;
};
Reach reach(const std::vector<CopyAxis>& axes, bool of_src) {
  Reach all;
  for (const CopyAxis& axis : axes) {
    Reach own{INT64_MAX, INT64_MIN};
    const std::vector<int64_t> sources = places(axis);
    for (int64_t i = 0; i < axis.extent; ++i) {
      const int64_t at = of_src ? sources[static_cast<size_t>(i)] : i * axis.dst_step;
      if (at == kFill) continue;
      own = {std::min(own.low, at), std::max(own.high, at)};
    }
    if (own.low > own.high) own = {};
    all = {all.low + own.low, all.high + own.high};
  }
  return all;
}

void check_copy(const std::vector<CopyAxis>& axes, int64_t bytes, const cpu::TileKernels& tiles, bool with_fill) {
  int64_t total = 1;
  for (const CopyAxis& axis : axes) total *= axis.extent;
  const Reach from = reach(axes, true), to = reach(axes, false);
  GuardedBuffer<uint8_t> src(from.high - from.low + bytes), dst(to.high - to.low + bytes);
  std::mt19937 engine(static_cast<uint32_t>(total));
  for (uint8_t& byte : src) byte = static_cast<uint8_t>(engine());
  std::vector<uint8_t> want(dst.begin(), dst.end());
  const uint8_t element[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const uint8_t* fill = with_fill ? element : nullptr;
  std::vector<std::vector<int64_t>> sources;
  for (const CopyAxis& axis : axes) sources.push_back(places(axis));
  if (total > 0) copy_one_by_one(axes, sources, bytes, src.data() - from.low, want.data() - to.low, fill);
  const CopyPlan plan(axes, bytes, -from.low, -to.low, tiles);
  for (int64_t task = plan.tasks(); task-- > 0;) plan.run(task, src.data(), dst.data(), fill);
  EXPECT_TRUE(dst.intact());
  ASSERT_TRUE(std::equal(dst.begin(), dst.end(), want.begin())) << axes.size() << " axes, " << bytes << " bytes";
}

/// Axes over a dense destination in the order given; the source has them in the order `of_src`.
std::vector<CopyAxis> permuted(const std::vector<int64_t>& extents, const std::vector<size_t>& of_src, int64_t bytes) {
  std::vector<CopyAxis> axes(extents.size());
  int64_t step = bytes;
  for (size_t i = extents.size(); i-- > 0; step *= extents[i]) axes[i] = {extents[i], step, 0};
  step = bytes;
  for (size_t i = of_src.size(); i-- > 0; step *= extents[of_src[i]]) axes[of_src[i]].src_step = step;
  return axes;
}

class Copy : public KernelTest {};

TEST_P(Copy, Permutations) {
  const std::vector<std::vector<int64_t>> shapes = {{5},          {2, 131},     {67, 3},        {17, 33}, {3, 2, 18},
                                                    {2, 4, 9, 5}, {1, 7, 1, 4}, {64, 65},       {5, 131}, {70, 7},
                                                    {6, 67},      {4, 40},      {2, 3, 2, 2, 3}};
  const cpu::ReorderKernels& kernels = cpu::reorder_kernels(isa());
  const cpu::TileKernels tiles{kernels.transpose_2d, kernels.stream_2d, cpu::image_kernels(isa()).split_pixels};
  for (const int64_t bytes : {1, 2, 3, 4, 8, 16}) {
    for (const auto& shape : shapes) {
      std::vector<size_t> order(shape.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      do check_copy(permuted(shape, order, bytes), bytes, tiles, false);
      while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

// Of whole cache lines, and of lines that begin within them.
TEST_P(Copy, LargePermutations) {
  const cpu::ReorderKernels& kernels = cpu::reorder_kernels(isa());
  const cpu::TileKernels tiles{kernels.transpose_2d, kernels.stream_2d, nullptr};
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{96, 22000}, {22000, 96}, {3, 330, 2200}})
    check_copy(permuted(shape, shape.size() == 2 ? std::vector<size_t>{1, 0} : std::vector<size_t>{0, 2, 1}, 4), 4,
               tiles, false);
}

// Short rows or columns that share cache lines whose places in the first cache are the same: few at once.
TEST_P(Copy, RowsThatShareLines) {
  const cpu::ReorderKernels& kernels = cpu::reorder_kernels(isa());
  const cpu::TileKernels tiles{kernels.transpose_2d, kernels.stream_2d, nullptr};
  for (const int64_t bytes : {1, 2, 4, 8}) {
    for (const int64_t columns : {8, 9, 24, 131}) {
      const std::vector<CopyAxis> axes = permuted({2, columns, 1024, 4}, {0, 3, 2, 1}, bytes);
      check_copy(axes, bytes, tiles, false);
      check_copy(permuted({2, 4, 1024, columns}, {0, 3, 2, 1}, bytes), bytes, tiles, false);
    }
  }
  EXPECT_EQ(CopyPlan(permuted({24, 1024, 4}, {2, 1, 0}, 4), 4, 0, 0, tiles).tasks(), 3 * 2);
  EXPECT_EQ(CopyPlan(permuted({4, 1024, 40}, {2, 1, 0}, 4), 4, 0, 0, tiles).tasks(), 3 * 4);
}

TEST_P(Copy, AxesThatRepeatSkipAndRunBackwards) {
  for (const int64_t bytes : {1, 2, 4, 6, 8}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 37}, {2, 5, 3}, {70000}, {3, 1, 4100}}) {
      for (int kind = 0; kind < 5; ++kind) {
        for (size_t changed = 0; changed < shape.size(); ++changed) {
          std::vector<size_t> order(shape.size());
          for (size_t i = 0; i < order.size(); ++i) order[i] = i;
          std::vector<CopyAxis> axes = permuted(shape, order, bytes);
          axes[changed].src_step *= std::vector<int64_t>{0, -1, 2, -3, 5}[static_cast<size_t>(kind)];
          check_copy(axes, bytes, {}, false);
        }
      }
    }
  }
}

TEST_P(Copy, TablesAndFills) {
  std::mt19937 engine(7);
  for (const int64_t bytes : {1, 2, 4, 8, 12}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{9}, {4, 33}, {3, 5, 2}, {2, 3, 66000 / bytes}}) {
      for (unsigned tables = 1; tables < (1u << shape.size()); ++tables) {
        std::vector<size_t> order(shape.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::vector<CopyAxis> axes = permuted(shape, order, bytes);
        for (size_t i = 0; i < axes.size(); ++i) {
          if (!(tables >> i & 1)) continue;
          const int64_t extent = axes[i].extent, border = extent / 4;
          const bool random = engine() % 3 == 0;
          for (int64_t k = 0; k < extent; ++k) {
            const int64_t at = random ? static_cast<int64_t>(engine()) % extent : k - border;
            const bool beside = at < 0 || at >= extent - 2 * border;
            append_run(axes[i].runs, 1, !beside ? at * axes[i].src_step : random ? 0 : kFill);
          }
        }
        check_copy(axes, bytes, {}, engine() % 2 == 0);
      }
    }
  }
}

TEST(CopyRowsTest, UnitsOfOneByteAndOthersRepeatFarAndNear) {
  for (const int64_t unit : {1, 2, 3, 4, 8, 16, 24, 100, 3000})
    for (const int64_t bytes : {1, 63, 4095, 4096, 4097, 8191, 20011})
      for (const bool last_differs : {false, true}) {
        std::vector<uint8_t> of(static_cast<size_t>(unit), 0x5a);
        if (last_differs) of.back() = 0x5b;
        const int64_t count = (bytes + unit - 1) / unit;
        std::vector<uint8_t> dst(static_cast<size_t>(count * unit) + 1, 0xee);
        cpu::repeat_unit(reinterpret_cast<const char*>(of.data()), reinterpret_cast<char*>(dst.data()), unit, count);
        for (size_t i = 0; i + 1 < dst.size(); ++i)
          ASSERT_EQ(dst[i], of[i % of.size()]) << unit << " bytes " << count << " times, byte " << i;
        EXPECT_EQ(dst.back(), 0xee);
      }
}

TEST(CopyPlanTest, WhatIsOneRunOfTheSource) {
  // Rows 2 to 4 of a matrix of 5 columns.
  EXPECT_TRUE(CopyPlan({{3, 20, 20}, {5, 4, 4}}, 4, 40).is_one_run());
  EXPECT_FALSE(CopyPlan({{3, 16, 20}, {4, 4, 4}}, 4).is_one_run());
  EXPECT_FALSE(CopyPlan({{5, 4, -4}}, 4, 16).is_one_run());
  EXPECT_FALSE(CopyPlan({{5, 1, 0}}, 1).is_one_run());
  EXPECT_TRUE(CopyPlan({{1, 4, 20}}, 4, 8).is_one_run());
  // One run of neighbours is none.
  const CopyPlan plan({{3, 4, 0, {{0, 3, 8, 4}}}}, 4);
  EXPECT_TRUE(plan.is_one_run());
  EXPECT_EQ(plan.src_begin(), 8);
}

TEST(CopyPlanTest, NothingToDo) {
  EXPECT_EQ(CopyPlan({{0, 4, 4}, {5, 4, 4}}, 4).tasks(), 0);
  EXPECT_EQ(CopyPlan({{5, 0, 8}, {0, 4, -4}}, 4).tasks(), 0);
}

TERROIR_INSTANTIATE_PER_ISA(Copy);

}  // namespace
}  // namespace terroir::testing
