#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

ConvProblem grouped(int64_t groups, int64_t inputs, int64_t outputs, ConvAxis h, ConvAxis w, int64_t batch = 1) {
  ConvProblem p;
  p.batch = batch;
  p.groups = groups;
  p.ic = groups * inputs;
  p.oc = groups * outputs;
  p.h = h;
  p.w = w;
  return p;
}

ConvProblem depthwise(int64_t channels, ConvAxis h, ConvAxis w, int64_t batch = 1) {
  return grouped(channels, 1, 1, h, w, batch);
}

TEST(ConvDepthwise, Channels) {
  for (const int64_t c : {2, 3, 5, 8, 15, 16, 17, 30, 32, 33})
    check_family("conv_dw", depthwise(c, axis(4, 3, 1, 1, 1, 1), axis(9, 3, 1, 1, 1, 1), 2));
}

TEST(ConvDepthwise, WidthsAroundTheTile) {
  for (const int64_t k : {3, 5})
    for (const int64_t s : {1, 2})
      for (const int64_t w : {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 15, 16, 17, 27, 28, 29, 31, 57})
        check_family("conv_dw", depthwise(17, axis(6, k, s, 1, k / 2, k / 2), axis(w, k, s, 1, k / 2, k / 2)));
}

TEST(ConvDepthwise, KernelsStridesDilations) {
  for (const int64_t k : {1, 2, 3, 4, 5, 7, 11})
    for (const int64_t s : {1, 2, 3})
      for (const int64_t d : {1, 2})
        check_family("conv_dw", depthwise(20, axis(23, k, s, d, (k - 1) * d / 2, k / 2),
                                          axis(31, k, s, d, k / 2, (k - 1) * d / 2)));
}

TEST(ConvDepthwise, Pads) {
  for (const int64_t before : {0, 1, 2, 4, 7})
    for (const int64_t after : {0, 1, 3, 6})
      for (const int64_t k : {3, 5})
        for (const int64_t w : {5, 20})
          check_family("conv_dw", depthwise(16, axis(5, 3, 1, 1, after, before), axis(w, k, 1, 1, before, after)));
  check_family("conv_dw", depthwise(16, axis(9, 3, 1, 1, -2, 1), axis(12, 3, 1, 1, -1, -3)));
}

TEST(ConvDepthwise, LongKernelsOfOneRow) {
  for (const int64_t k : {9, 12, 33})
    for (const int64_t s : {1, 2})
      for (const int64_t w : {1, 7, 100, 480, 2100, 4200})
        for (const int64_t pad : {int64_t{0}, int64_t{5}, k / 2, k + 3})
          if (w + pad + k / 2 >= k) check_family("conv_dw", depthwise(17, ConvAxis{}, axis(w, k, s, 1, pad, k / 2), 2));
  check_family("conv_dw", depthwise(16, ConvAxis{}, axis(60, 9, 1, 1, -3, 4)));
  check_family("conv_dw", depthwise(16, axis(3, 1), axis(60, 11, 1, 1, 5, 5)));
  check_family("conv_dw", depthwise(16, axis(3, 1, 2, 1, 1, 1), axis(60, 11, 1, 1, 5, 5)));
}

// Only the first and the last position of a row miss taps; or others, too.
TEST(ConvDepthwise, WidthsOfLargeStrides) {
  for (const int64_t s : {3, 4})
    for (const int64_t k : {2, 3, 5, 7})
      for (const int64_t w : {1, 2, 4, 5, 7, 8, 13, 29, 43, 59})
        for (const int64_t pad : {k / 2, k - 1})
          check_family("conv_dw", depthwise(17, axis(5, k, s, 1, pad, pad), axis(w, k, s, 1, pad, pad)));
}

// Channels last, fewer than a block: the sources of two positions may be as far apart as two blocks.
TEST(ConvDepthwise, StridesOverFewChannels) {
  for (const int64_t c : {2, 4, 8})
    for (const int64_t s : {2, 4, 8})
      for (const int64_t k : {1, 2, 3})
        check_family("conv_dw", depthwise(c, axis(4, k, s, 1, k / 2, k / 2), axis(40 * s, k, s, 1, 0, 0)));
}

TEST(ConvDepthwise, StridesBeyondTheImage) {
  constexpr int64_t kLargest = INT32_MAX;
  check_family("conv_dw", depthwise(17, axis(9, 7, kLargest, 1, 3, 3), axis(9, 7, kLargest, 1, 3, 3)));
  check_family("conv_dw", depthwise(17, axis(9, 4, kLargest, kLargest, 0, kLargest * 3), axis(9, 7, 1, 1, 3, 3)));
}

// Taps that reach every number of a tile's positions, from either end, or none.
TEST(ConvDepthwise, TapsThatMissPositions) {
  for (const int64_t s : {1, 2, 3})
    for (const int64_t d : {2, 5, 13})
      for (const int64_t w : {1, 6, 13, 14, 15, 29, 43})
        for (const int64_t pad : {d, 2 * d + 1})
          check_family("conv_dw", depthwise(17, axis(5, 2, 1, 1, 1, 0), axis(w, 3, s, d, pad, 3 * d - pad)));
  // As many outputs as pads make of few sources: a tap misses positions at both ends.
  for (const int64_t w : {1, 2, 5})
    for (const int64_t s : {1, 2, 4})
      check_family("conv_dw", depthwise(16, axis(3, 4, 1, 1, 2, 2), axis(w, 4, s, 1, 17, 19)));
}

// Rows and tiles of one call, with all that may follow.
TEST(ConvDepthwise, PostOpsOfRowsOfTiles) {
  for (const int64_t c : {16, 19})
    for (const int64_t w : {9, 37}) check_post_ops(depthwise(c, axis(11, 3, 1, 2, 2, 2), axis(w, 4, 1, 2, 3, 3), 2));
  check_post_ops(depthwise(17, axis(9, 3, 3, 1, 1, 1), axis(40, 3, 3, 1, 1, 1)));
}

// Channels last, so many taps that rows are copied for each block; of fewer channels than lanes, too.
TEST(ConvDepthwise, ManyTapsOfChannelsLast) {
  for (const int64_t c : {2, 3, 7, 9, 16, 19, 33})
    for (const int64_t w : {1, 2, 6, 30})
      check_family("conv_dw", depthwise(c, axis(11, 9, 1, 1, 4, 4), axis(w, 9, 1, 1, 4, 4), 2));
  check_family("conv_dw", depthwise(17, axis(90, 7, 1, 1, 3, 3), axis(70, 7, 1, 1, 3, 3)));
  check_post_ops(depthwise(19, axis(9, 7, 1, 1, 3, 3), axis(37, 7, 1, 1, 3, 3)));
  check_post_ops(depthwise(32, axis(9, 9, 1, 1, 4, 4), axis(37, 9, 1, 1, 4, 4)));
}

// Narrow and wide images under large kernels.
TEST(ConvDepthwise, LargeKernels) {
  for (const int64_t k : {4, 7, 13})
    for (const int64_t w : {1, 3, 4, 5, 7, 9, 10, 11, 14, 29})
      for (const int64_t h : {1, 2, 3, 7, 8})
        check_family("conv_dw", depthwise(17, axis(h, k, 1, 1, k / 2, k / 2), axis(w, k, 1, 1, k / 2, k / 2)));
  for (const int64_t d : {2, 6})
    for (const int64_t w : {5, 8, 28})
      check_family("conv_dw", depthwise(17, axis(9, 3, 1, d, d, d), axis(w, 3, 1, d, d, d), 2));
  for (const int64_t s : {1, 2})
    check_family("conv_dw", depthwise(16, axis(15, 7, s, 1, 5, 1), axis(7, 7, 1, 1, 1, 5)));
  check_family("conv_dw", depthwise(16, axis(9, 7, 1, 1, 6, 6), axis(8, 7, 1, 1, -1, 6)));
}

TEST(ConvDepthwise, LargeKernelsOverLargeImages) {
  check_family("conv_dw", depthwise(16, axis(70, 7, 1, 1, 3, 3), axis(90, 7, 1, 1, 3, 3)));
  check_family("conv_dw", depthwise(9, axis(75, 7, 2, 1, 3, 3), axis(83, 9, 1, 2, 8, 8)));
}

TEST(ConvDepthwise, LargeKernelsOverSlices) {
  for (const int64_t stride : {1, 2}) {
    ConvProblem p = depthwise(17, axis(6, 7, 1, 1, 3, 3), axis(7, 7, 1, 1, 3, 3), 2);
    p.d = axis(5, 1, stride);
    check_family("conv_dw", p);
    p.w = axis(33, 7, 1, 1, 3, 3);
    check_family("conv_dw", p);
  }
}

// Rows that many kernel rows miss, and images lower than the kernel.
TEST(ConvDepthwise, RowsOutside) {
  for (const int64_t k : {3, 5})
    for (const int64_t s : {1, 2})
      for (const int64_t h : {1, 2, 3, 6})
        for (const int64_t pad : {0, 1, 4})
          check_family("conv_dw", depthwise(16, axis(h, 3, s, 1, 2 + pad, pad), axis(15, k, s, 1, k / 2, k / 2)));
}

TEST(ConvDepthwise, LongRows) {
  for (const int64_t k : {33, 39, 75})
    for (const int64_t t : {1, 27, 28, 29, 61, 256})
      check_family("conv_dw", depthwise(24, ConvAxis{}, axis(t, k, 1, 1, k / 2, k / 2)));
}

TEST(ConvDepthwise, ThreeDimensions) {
  ConvProblem p = depthwise(17, axis(5, 3, 1, 1, 1, 1), axis(6, 3, 1, 1, 1, 1), 2);
  p.d = axis(4, 3, 1, 1, 1, 1);
  check_family("conv_dw", p);
  p.d = axis(7, 2, 2, 2, 1, 0);
  p.w = axis(9, 4, 1, 1, 1, 1);
  check_family("conv_dw", p);
  for (const int64_t w : {5, 16, 30}) {
    p = depthwise(17, axis(7, 3, 2, 2, 2, 2), axis(w, 3, 1, 2, 2, 2), 2);
    p.d = axis(5, 3, 1, 2, 2, 2);
    check_family("conv_dw", p);
    p.h = axis(7, 1);
    check_family("conv_dw", p);
  }
}

TEST(ConvSmallGroups, ChannelsPerGroup) {
  for (const int64_t c : {2, 4})
    for (const int64_t groups : {2, 3, 8, 32})
      for (const int64_t k : {1, 3, 5})
        check_family("conv_group",
                     grouped(groups, c, c, axis(5, k, 1, 1, k / 2, k / 2), axis(17, k, 1, 1, k / 2, k / 2), 2));
}

TEST(ConvSmallGroups, SomeKernelTakesEveryPowerOfTwo) {
  for (const int64_t c : {1, 2, 4, 8, 16, 32})
    check_family("f32_", grouped(4, c, c, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1)));
}

TEST(ConvSmallGroups, StridesAndWidths) {
  for (const int64_t s : {1, 2, 3})
    for (const int64_t w : {1, 3, 7, 8, 13, 14, 15, 29})
      check_family("conv_group", grouped(8, 4, 4, axis(7, 3, s, 1, 1, 1), axis(w, 3, s, 1, 1, 1)));
}

TEST(ConvSmallGroups, Multipliers) {
  for (const int64_t m : {2, 4, 8, 16, 32})
    check_family("conv_group", grouped(12, 1, m, axis(6, 3, 1, 1, 1, 1), axis(11, 3, 1, 1, 1, 1)));
  check_family("conv_group", grouped(16, 2, 4, axis(6, 3, 2, 1, 1, 1), axis(11, 5, 1, 1, 2, 2)));
  check_family("conv_group", grouped(6, 4, 32, axis(6, 3, 1, 1, 1, 1), axis(11, 3, 1, 2, 1, 1)));
}

// Each output has a lane of its own, in copies of source rows: also where the outputs of a channel straddle blocks.
TEST(ConvSmallGroups, SpreadSources) {
  for (const int64_t m : {2, 3, 4, 5, 7, 12, 16, 20})
    for (const int64_t groups : {2, 5, 11, 37})
      check_family("conv_group", grouped(groups, 1, m, axis(7, 5, 1, 1, 2, 2), axis(15, 7, 1, 1, 3, 3), 2));
  for (const int64_t m : {3, 5})
    for (const int64_t k : {1, 2, 3, 5})
      for (const int64_t s : {1, 2, 3})
        for (const int64_t d : {1, 2})
          check_family("conv_group", grouped(17, 1, m, axis(8, k, s, d, k / 2, 1), axis(19, k, s, d, k / 2, k - 1), 2));
  // Fewer rows than the image has at once, and rows that see pads alone.
  check_family("conv_group", grouped(6, 1, 3, axis(40, 3, 1, 1, 1, 1), axis(90, 3, 1, 1, 1, 1)));
  check_family("conv_group", grouped(6, 1, 3, axis(50, 7, 2, 1, 3, 3), axis(70, 4, 2, 1, 2, 1)));
  check_family("conv_group", grouped(6, 1, 3, axis(3, 2, 1, 1, 5, 5), axis(9, 3, 1, 1, 1, 1)));
  check_family("conv_group", grouped(7, 1, 3, ConvAxis{}, axis(100, 9, 1, 1, 4, 4), 2));
}

TEST(ConvSmallGroups, SpreadSourcesOfSlices) {
  ConvProblem p = grouped(7, 1, 3, axis(6, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1), 2);
  p.d = axis(4, 1, 1, 1, 1, 1);
  check_family("conv_group", p);
  p.d = axis(5, 1, 2);
  check_family("conv_group", p);
}

TEST(ConvSmallGroups, PostOpsOfSpreadSources) {
  check_post_ops(grouped(11, 1, 3, axis(9, 3, 1, 1, 1, 1), axis(21, 3, 1, 1, 1, 1), 2));
  check_post_ops(grouped(7, 1, 5, axis(9, 3, 1, 1, 1, 1), axis(21, 4, 2, 1, 1, 1)));
}

// Too wide to copy the rows of one output row: not spread.
TEST(ConvAnyGroups, MultipliersOfWideRows) {
  check_family("conv_group_any", grouped(3, 1, 3, axis(3, 3, 1, 1, 1, 1), axis(1400, 3, 1, 1, 1, 1)));
}

TEST(ConvAnyGroups, OddChannelsPerGroup) {
  for (const int64_t inputs : {1, 2, 3, 5, 12, 17})
    for (const int64_t outputs : {1, 3, 7, 20}) {
      if (inputs == 1 && outputs == 1) continue;
      check_family("conv_group_any", grouped(3, inputs, outputs, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 2, 1, 1, 1), 2));
    }
  check_family("conv_group_any", grouped(10, 3, 3, axis(5, 2, 1, 2, 1, 1), axis(40, 5, 1, 1, 2, 2)));
}

TEST(ConvTransposedDepthwise, KernelsStridesPads) {
  for (const int64_t c : {2, 15, 16, 33})
    for (const int64_t k : {1, 2, 3, 4, 5})
      for (const int64_t s : {1, 2, 3})
        for (const int64_t d : {1, 2})
          check_family("deconv_dw", transposed(depthwise(c, transposed_axis(3, k + 1, s, d, 1, 0),
                                                         transposed_axis(9, k, s, d, 0, 0), 2)));
  ConvAxis w = transposed_axis(33, 4, 2, 1, 1, 1);
  w.out += 1;
  ConvProblem p = depthwise(20, transposed_axis(4, 5, 2, 1, -1, 2), w);
  p.d = transposed_axis(3, 2, 2);
  check_family("deconv_dw", transposed(p));
}

TEST(ConvTransposedGroups, OddChannelsPerGroup) {
  for (const int64_t inputs : {1, 2, 3, 17})
    for (const int64_t outputs : {1, 3, 8, 20}) {
      if (inputs == 1 && outputs == 1) continue;
      check_family("deconv_group_any", transposed(grouped(3, inputs, outputs, transposed_axis(3, 3, 2, 1, 1, 0),
                                                          transposed_axis(17, 4, 3, 2, 1, 1), 2)));
    }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
