#include <array>
#include <cstring>
#include <numeric>

#include "plugins/cpu/kernels/conv/conv_tile.hpp"
#include "plugins/cpu/kernels/conv/gather.hpp"
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

ConvProblem conv2d(int64_t ic, int64_t oc, ConvAxis h, ConvAxis w, int64_t groups = 1, int64_t batch = 1) {
  return problem_of(batch, groups, ic, oc, h, w);
}

ConvProblem transposed2d(int64_t ic, int64_t oc, ConvAxis h, ConvAxis w, int64_t groups = 1) {
  ConvProblem p = conv2d(ic, oc, h, w, groups);
  p.transposed = true;
  return p;
}

TEST(ConvFirst, CopiesOfSomeRowsWithZerosBesideThem) {
  for (const int64_t ic : {1, 3})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t dilation : {1, 2})
        check_family("conv_first", problem_of(2, 1, ic, 20, axis(41, 3, stride, dilation, 1, 2),
                                              axis(ic == 1 ? 300 : 100, 5, stride, 1, 2, 1)));
  // Rows and columns of windows that see nothing; rows that are cropped; few rows; pads on the right alone.
  check_family("conv_first", problem_of(1, 1, 3, 16, axis(9, 3, 1, 1, 6, 7), axis(20, 3, 1, 1, 7, 6)));
  check_family("conv_first", problem_of(1, 1, 3, 16, axis(60, 3, 1, 1, -9, -5), axis(70, 3, 1, 1, 1, 1)));
  check_family("conv_first", problem_of(3, 1, 2, 33, axis(1, 3, 1, 1, 1, 1), axis(500, 3, 1, 1, 0, 2)));
  check_family("conv_first", problem_of(1, 1, 1, 64, axis(49, 10, 2, 1, 4, 5), axis(10, 4, 2, 1, 1, 1)));
  // Every window lies in the pads on the left.
  check_family("conv_first", problem_of(2, 1, 3, 16, axis(4, 3, 1, 1, 1, 1), axis(5, 1, 1, 1, 8, -10)));
  check_family("conv_first", problem_of(2, 1, 3, 16, axis(4, 3, 1, 1, 1, 1), axis(5, 3, 1, 1, 7, -5)));
}

TEST(ConvFirst, CopiesOfSomePlanesAndRows) {
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t dilation : {1, 2})
      for (const int64_t pad : {-1, 0, 2}) {
        const ConvAxis depth = axis(7, 3, stride, dilation, pad, 1);
        check_family("conv_first",
                     problem_of(2, 1, 2, 40, axis(11, 3, stride, 1, 1, pad), axis(19, 5, 2, 1, 2, 2), depth));
      }
  // Planes that windows of one kernel plane do not see, and more rows than are copied at once.
  check_family("conv_first", problem_of(1, 1, 3, 64, axis(40, 7, 2, 1, 3, 3), axis(90, 7, 2, 1, 3, 3), axis(5, 1, 2)));
  check_family("conv_first",
               problem_of(1, 1, 3, 33, axis(70, 7, 1, 1, 3, 3), axis(60, 7, 2, 1, 3, 3), axis(9, 7, 2, 1, 3, 3)));
  check_family("conv_first",
               problem_of(1, 1, 1, 16, axis(5, 3, 1, 1, 4, 4), axis(8, 3, 1, 1, 1, 1), axis(3, 3, 1, 1, 5, 4)));
}

TEST(ConvDirect, ChannelsThatFillNoBlock) {
  for (const int64_t ic : {1, 3, 5, 8, 16, 17, 30, 33})
    for (const int64_t oc : {1, 3, 8, 16, 17, 30, 49, 65})
      check_family("conv_direct", conv2d(ic, oc, axis(3, 3, 1, 1, 1, 1), axis(5, 3, 1, 1, 1, 1)));
}

TEST(ConvDirect, WidthsAroundTheTile) {
  // Register tiles hold 2 to 14 columns.
  for (const int64_t w : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 23, 27, 28, 29, 41})
    check_family("conv_direct", conv2d(16, 32, axis(3, 3, 1, 1, 1, 1), axis(w, 3, 1, 1, 1, 1)));
}

TEST(ConvDirect, HeightsAroundTheTile) {
  for (const int64_t h : {1, 2, 3, 4, 5, 7})
    for (const int64_t w : {1, 3, 7})
      check_family("conv_direct", conv2d(8, 24, axis(h, 3, 1, 1, 1, 1), axis(w, 3, 1, 1, 1, 1)));
}

TEST(ConvDirect, RowsOfEverySecondPosition) {
  // Whole tiles of two rows, and borders that miss more taps than the first and the last of a row.
  for (const int64_t w : {27, 28, 29, 56})
    for (const int64_t h : {5, 6})
      for (const int64_t k : {3, 4})
        for (const int64_t pad : {0, 1, 2})
          for (const int64_t pad_end : {0, 1, 2, 3})
            check_family("conv_direct", conv2d(32, 32, axis(h, k, 2, 1, pad, pad), axis(w, k, 2, 1, pad, pad_end), 2));
}

TEST(ConvDirect, RowsThatAreOneTile) {
  // Groups of rows that meet all kernel rows are one call, those before and behind them are not.
  for (const int64_t h : {1, 2, 3, 4, 5, 9, 14, 15})
    for (const int64_t w : {7, 14, 15, 28})
      for (const int64_t stride : {1, 2, 3})
        for (const int64_t pad : {0, 1, 2, 4})
          for (const int64_t pad_end : {0, 1, 3}) {
            if (h + pad + pad_end < 3) continue;
            check_family("conv_direct",
                         conv2d(16, 16, axis(h, 3, stride, 1, pad, pad_end), axis(w, 3, stride, 1, 1, 1), 1, 2));
          }
  ConvProblem volume = conv2d(17, 13, axis(9, 3, 1, 2, 1, 2), axis(7, 3, 1, 1, 1, 1));
  volume.d = axis(5, 3, 1, 1, 1, 1);
  check_family("conv_direct", volume);
}

// Of many weights, which are read once: what the windows of all positions see is copied.
TEST(ConvDirect, FewPositionsOfManyWeights) {
  const auto copies = [](const ConvProblem& p) {
    for (const ConvKernel& kernel : conv_kernels(Isa::avx512)) {
      if (std::strcmp(kernel.name, "f32_conv_direct_nChw16c__avx512") != 0) continue;
      ConvPlan plan;
      kernel.plan(p, kernel, plan);
      EXPECT_TRUE(plan.copies_windows) << describe(p);
    }
    check_family("conv_direct", p);
  };
  copies(conv2d(272, 300, axis(5, 3), axis(5, 3), 1, 2));
  copies(conv2d(256, 257, axis(8, 4, 2, 1, 1, 1), axis(8, 4, 2, 1, 1, 1)));
  copies(conv2d(256, 288, axis(9, 3, 1, 2, 0, 0), axis(6, 3, 1, 2, 1, 0)));
  copies(conv2d(512, 512, axis(9, 1, 2), axis(5, 3, 2, 1, 0, 1)));
  ConvProblem volume = conv2d(64, 400, axis(5, 3), axis(4, 3, 1, 1, 0, 1), 1, 2);
  volume.d = axis(4, 3, 1, 1, 1, 0);
  copies(volume);
}

TEST(ConvDirect, KernelsStridesDilations) {
  for (const int64_t k : {1, 2, 3, 5, 7, 11})
    for (const int64_t s : {1, 2, 3})
      for (const int64_t d : {1, 2}) {
        const int64_t pad = (k - 1) * d / 2;
        check_family("conv_direct", conv2d(5, 17, axis(23, k, s, d, pad, pad), axis(29, k, s, d, pad, pad)));
      }
}

// What a plan costs is no number of 64 bits here.
TEST(ConvFirst, StridesAndPadsWithoutBounds) {
  constexpr int64_t kMost = INT32_MAX;
  check_family("conv_first", conv2d(3, 16, axis(4, 3, kMost, 1, kMost, 0), axis(5, 3, kMost, 1, kMost, 0)));
}

TEST(ConvFirst, WideSteps) {
  for (const int64_t stride : {3, 8, 16, 32})
    for (const int64_t k : {1, 2})
      for (const int64_t w : {13, 47})  // one tile, several
        check_family("conv_first", conv2d(3, 20, axis(stride + 2, k, stride), axis(w * stride + 1, k, stride)));
}

TEST(ConvDirect, OnePositionSumsInSeveralParts) {
  for (const int64_t ic : {1, 3, 4, 15, 16, 17, 35, 48})
    for (const int64_t oc : {1, 8, 24, 47, 64, 83, 240})
      check_family("conv_1x1", conv2d(ic, oc, axis(1, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 0), 1, 2));
  // Enough weights for two threads: units are chosen for their halves.
  for (const int64_t oc : {112, 240, 321})
    check_family("conv_1x1", conv2d(300, oc, axis(1, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 0)));
  check_family("conv_1x1", conv2d(32, 96, axis(5, 1, 7, 1, 0, 0), axis(3, 1, 4, 1, 0, 0), 2));
  // Larger kernels, of which some taps meet padding.
  for (const int64_t ic : {5, 16, 33})
    for (const int64_t pad : {0, 1})
      check_family("conv_direct", conv2d(ic, 40, axis(3, 3 + pad, 5, 1, pad, 0), axis(4, 4 + pad, 5, 1, 0, pad)));
  check_family("deconv_direct", transposed2d(20, 33, axis(1, 2, 2, 1, 0, 1), transposed_axis(1, 3, 1, 1, 1, 1)));
}

TEST(ConvDirect, AsymmetricPads) {
  for (const int64_t before : {0, 1, 2, 5})
    for (const int64_t after : {0, 3, 6})
      for (const int64_t s : {1, 2})
        check_family("conv_direct", conv2d(16, 16, axis(5, 3, s, 1, after, before), axis(7, 5, s, 1, before, after)));
}

TEST(ConvDirect, NegativePadCrops) {
  check_family("conv_direct", conv2d(16, 16, axis(9, 3, 1, 1, -2, 1), axis(12, 3, 1, 1, -1, -3)));
}

TEST(ConvDirect, KernelLargerThanTheTensor) {
  check_family("conv_direct", conv2d(16, 20, axis(2, 5, 1, 1, 4, 4), axis(3, 11, 1, 1, 8, 8)));
  check_family("conv_direct", conv2d(16, 20, axis(3, 3, 1, 4, 4, 4), axis(2, 3, 1, 5, 5, 5)));
}

TEST(ConvDirect, OneDimension) {
  for (const int64_t k : {33, 75}) {
    ConvProblem p = conv2d(20, 40, ConvAxis{}, axis(61, k, 1, 1, k / 2, k / 2), 1, 2);
    check_family("conv_direct", p);
    p.w = axis(61, k, 2, 1, k / 2, k / 2);
    check_family("conv_direct", p);
  }
}

TEST(ConvDirect, ThreeDimensions) {
  for (const int64_t s : {1, 2}) {
    ConvProblem p = conv2d(17, 33, axis(6, 3, s, 1, 1, 1), axis(6, 3, s, 1, 1, 1), 1, 2);
    p.d = axis(4, 3, s, 1, 1, 1);
    check_family("conv_direct", p);
    p.d = axis(5, 2, 1, 2, 0, 1);
    check_family("conv_direct", p);
  }
}

TEST(ConvDirect, GroupsOfWholeBlocks) {
  check_family("conv_direct", conv2d(48, 96, axis(5, 3, 1, 1, 1, 1), axis(9, 3, 1, 1, 1, 1), 3));
  check_family("conv_direct", conv2d(64, 32, axis(5, 3, 2, 1, 1, 1), axis(9, 3, 2, 1, 1, 1), 2, 2));
}

// The reduction goes in rounds, with the sums of the earlier ones in dst.
TEST(ConvDirect, WeightsBeyondTheCache) {
  check_family("conv_direct", conv2d(603, 83, axis(7, 3, 1, 1, 1, 1), axis(6, 3, 1, 1, 1, 1)));
  check_family("conv_direct", conv2d(603, 83, axis(5, 3, 2, 1, 1, 1), axis(7, 3, 2, 1, 1, 1), 1, 2));
  check_family("conv_1x1", conv2d(4099, 130, axis(3, 1), axis(5, 1)));
  check_family("conv_1x1", conv2d(4096, 130, axis(3, 1), axis(5, 1)));
}

// Sources of the next group are fetched ahead.
TEST(ConvDirect, GroupsBeyondTheCache) {
  for (const int64_t images : {1, 2})
    check_family("conv_direct", conv2d(512, 512, axis(27, 3, 2, 1, 1, 1), axis(28, 3, 2, 1, 1, 0), 32, images));
  ConvProblem volume = conv2d(96, 32, axis(20, 1), axis(40, 3, 1, 1, 1, 1), 2);
  volume.d = axis(8, 1);
  check_family("conv_direct", volume);
}

// Units of channels that are left have longer tiles, of whole blocks or not.
TEST(ConvPointwise, ChannelsThatAreLeft) {
  for (const int64_t ic : {8, 40, 200})
    for (const int64_t oc : {40, 72, 80, 88, 100, 112})
      for (const int64_t columns : {13, 29, 98}) check_family("conv_1x1", conv2d(ic, oc, axis(1, 1), axis(columns, 1)));
}

TEST(ConvPointwise, MergedAxes) {
  for (const int64_t hw : {1, 2, 5, 7, 14})
    for (const int64_t c : {1, 17, 64}) check_family("conv_1x1", conv2d(c, c + 3, axis(hw, 1), axis(hw + 1, 1), 1, 2));
  ConvProblem p = conv2d(30, 70, axis(3, 1), axis(5, 1), 1, 2);
  p.d = axis(4, 1);
  check_family("conv_1x1", p);
}

// Tiles of few sums where the reduction is short, and those of its neighbours that are not.
TEST(ConvPointwise, ShortReductions) {
  for (const int64_t ic : {1, 16, 64, 65})
    for (const int64_t oc : {16, 40, 80, 96})
      for (const int64_t w : {2, 5, 8, 11, 16, 33}) check_family("conv_1x1", conv2d(ic, oc, axis(1, 1), axis(w, 1)));
}

// Two positions share a vector where the last block is at most half full.
TEST(ConvPointwise, HalfBlocks) {
  for (const int64_t ic : {5, 80})
    for (const int64_t oc : {17, 20, 24, 25, 40, 72})
      for (const int64_t w : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29})
        check_family("conv_1x1", conv2d(ic, oc, axis(1, 1), axis(w, 1)));
  check_family("conv_1x1", conv2d(100, 24, axis(7, 1), axis(9, 1), 1, 2));
  // In rounds over the input channels.
  check_family("conv_1x1", conv2d(4500, 24, axis(1, 1), axis(15, 1)));
}

// The last source indices go position by position.
TEST(ConvPointwise, ShortTiles) {
  for (const int64_t ic : {4, 6, 16, 18, 20, 24, 30, 64, 70})
    for (const int64_t oc : {32, 48, 60, 64, 76, 80, 128})
      for (const int64_t w : {1, 4, 5, 7, 8, 9, 10, 23, 36, 77})
        check_family("conv_1x1", conv2d(ic, oc, axis(1, 1), axis(w, 1)));
  check_family("conv_1x1", conv2d(32, 96, axis(7, 1), axis(9, 1), 1, 2));
  check_family("conv_1x1", conv2d(64, 192, axis(5, 1), axis(9, 1), 2));
}

TEST(ConvPointwise, Strides) {
  for (const int64_t s : {2, 3}) check_family("conv_1x1", conv2d(24, 48, axis(14, 1, s), axis(15, 1, s), 1, 2));
}

TEST(ConvPointwise, PadsOnOneSide) {
  for (const int64_t c : {16, 17, 48})
    for (const int64_t before : {0, 1})
      for (const int64_t after : {0, 1, 3})
        check_family("conv_direct", conv2d(c, 24, axis(5, 1, 1, 1, after, before), axis(9, 1, 1, 1, before, after)));
}

TEST(ConvPointwise, ManyChannels) {
  check_family("conv_1x1", conv2d(960, 130, axis(1, 1), axis(1, 1)));
  check_family("conv_1x1", conv2d(64, 1000, axis(1, 1), axis(3, 1)));
}

TEST(ConvFirst, PlainSource) {
  for (const int64_t ic : {1, 2, 3, 4, 16})
    for (const int64_t s : {1, 2, 3})
      for (const int64_t k : {1, 3, 6, 7})
        for (const int64_t d : {1, 2})
          check_family("conv_first",
                       conv2d(ic, 24, axis(19, k, s, d, k / 2, k / 2), axis(31, k, s, d, k / 2, k / 3), 1, 2));
  ConvProblem p = conv2d(1, 16, axis(7, 3, 1, 1, 1, 1), axis(9, 3, 1, 1, 1, 1));
  p.d = axis(5, 3, 1, 1, 1, 1);
  check_family("conv_first", p);
}

TEST(ConvTransposed, KernelsStridesPads) {
  for (const int64_t k : {1, 2, 3, 4, 5})
    for (const int64_t s : {1, 2, 3})
      for (const int64_t pad : {0, 1})
        check_family("deconv_direct", transposed2d(17, 40, transposed_axis(4, k + 2 * pad, s, 1, pad, pad),
                                                   transposed_axis(9, k + 2 * pad, s, 1, pad, 0)));
}

TEST(ConvTransposed, Dilations) {
  for (const int64_t s : {1, 2, 3, 4})
    for (const int64_t d : {2, 3, 4})
      check_family("deconv_direct",
                   transposed2d(8, 16, transposed_axis(5, 3, s, d, 1, 1), transposed_axis(15, 4, s, d, 2, 1)));
}

TEST(ConvTransposed, OutputPaddingAndGroups) {
  ConvAxis h = transposed_axis(5, 3, 2, 1, 1, 1), w = transposed_axis(7, 3, 3, 1, 0, 0);
  h.out += 1;
  w.out += 2;
  check_family("deconv_direct", transposed2d(32, 48, h, w));
  check_family("deconv_direct", transposed2d(32, 64, h, w, 2));
  ConvProblem p = transposed2d(20, 10, transposed_axis(3, 2, 2), transposed_axis(3, 2, 2));
  p.d = transposed_axis(2, 2, 2);
  check_family("deconv_direct", p);
}

TEST(ConvTransposed, GroupsOfAnyChannelsInNhwc) {
  for (const int64_t inputs : {1, 3, 16, 21})
    for (const int64_t outputs : {2, 7, 16, 19})
      check_family("deconv_direct_nhwc", transposed2d(3 * inputs, 3 * outputs, transposed_axis(4, 3, 2, 1, 1, 0),
                                                      transposed_axis(8, 4, 3, 1, 0, 1), 3));
}

TEST(ConvNhwc, GroupsOfAnyChannels) {
  for (const int64_t inputs : {1, 3, 16, 21})
    for (const int64_t outputs : {2, 7, 16, 19})
      check_family("conv_direct_nhwc",
                   conv2d(3 * inputs, 3 * outputs, axis(4, 3, 1, 1, 1, 1), axis(17, 3, 2, 1, 1, 1), 3, 2));
}

// Units of three blocks, where kernels do not know the step; the last block of a group partly there.
TEST(ConvNhwc, UnitsOfThreeBlocks) {
  for (const int64_t outputs : {40, 48, 72, 120})
    for (const int64_t w : {3, 7, 9, 10, 14, 20})
      check_family("conv_direct_nhwc", conv2d(2 * 24, 2 * outputs, axis(4, 3, 1, 1, 1, 1), axis(w, 3, 1, 1, 1, 1), 2));
  for (const int64_t w : {13, 21, 40})
    check_family("conv_direct_nChw", conv2d(24, 40, axis(9, 3, 3, 1, 1, 1), axis(w, 3, 3, 1, 1, 1)));
}

// Kernel columns and channels in one loop, and around its limit of four blocks.
TEST(ConvNhwc, FewChannels) {
  for (const int64_t ic : {1, 2, 3, 4, 7, 31, 63, 65})
    for (const int64_t d : {1, 2})
      check_family("conv_direct_nhwc", conv2d(ic, 24, axis(9, 3, 2, 1, 1, 1), axis(31, 7, 2, d, 3, 2), 1, 2));
}

TEST(ConvBorder, ChangesOfLayout) {
  for (const int64_t c : {1, 3, 16, 19, 40})
    for (const char* family : {"conv_direct_nhwc_to_nChw", "_to_nhwc", "_to_plain"}) {
      check_family(family, conv2d(c, c + 2, axis(5, 3, 1, 1, 1, 1), axis(21, 3, 1, 1, 1, 1), 1, 2));
      check_family(family, conv2d(c, 33, axis(7, 1), axis(9, 1), 1, 2));
    }
  check_family("_to_plain", conv2d(32, 64, axis(5, 3, 2, 1, 1, 1), axis(35, 3, 2, 1, 1, 1), 2));
}

TEST(ConvReject, GivesReasons) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      ConvProblem p = conv2d(32, 32, axis(5, 3), axis(5, 3));
      p.w.stride = 0;
      EXPECT_STREQ(k.reject(p, k), "strides and dilations must be positive") << k.name;
      p.w.stride = 1;
      p.groups = 3;
      EXPECT_STREQ(k.reject(p, k), "channels are not a multiple of groups") << k.name;
      p.groups = 1;
      p.w.in = 0;
      EXPECT_STREQ(k.reject(p, k), "extents must be positive") << k.name;
    }
}

TEST(ConvGridTest, SlicesCoverTheGridOnce) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      const ConvProblem p = conv2d(64, 112, axis(28, 3, 1, 1, 1, 1), axis(28, 3, 1, 1, 1, 1), 1, 3);
      if (k.reject(p, k)) continue;
      ConvPlan plan;
      k.plan(p, k, plan);
      for (const int64_t threads : {1, 2, 4, 5, 12, 64}) {
        int64_t units = 0;
        const ConvSplit split = conv_split(plan, threads);
        EXPECT_LE(split.part_count(), threads);
        if (threads == 1) {
          EXPECT_EQ(split.count(), 1) << k.name;
        }
        for (int64_t i = 0; i < split.count(); ++i) {
          const ConvTile t = conv_slice(plan, split, i), part = conv_part(plan, split, i / split.per_part());
          const int64_t size = (t.n1 - t.n0) * (t.oc1 - t.oc0) * (t.sp1 - t.sp0);
          EXPECT_GT(size, 0) << k.name << " " << threads << " slice " << i;
          EXPECT_TRUE(t.n0 >= part.n0 && t.n1 <= part.n1 && t.oc0 >= part.oc0 && t.oc1 <= part.oc1 &&
                      t.sp0 >= part.sp0 && t.sp1 <= part.sp1)
              << k.name << " " << threads << " slice " << i;
          units += size;
        }
        EXPECT_EQ(units, plan.grid.n * plan.grid.oc * plan.grid.sp) << k.name << " " << threads;
      }
    }
}

TEST(ConvGatherTest, TakesThePositionsThatAStridedKernelReads) {
  for (const int64_t block : {8, 16}) {
    ConvProblem p = conv2d(block + 3, 130, axis(7, 1, 2), axis(11, 1, 3), 1, 2);
    p.d = axis(3, 1, 2);
    const int64_t blocks = 2, in = 3 * 7 * 11;
    std::vector<float> src(static_cast<size_t>(2 * blocks * in * block));
    std::iota(src.begin(), src.end(), 0.0f);  // every float tells where it comes from
    std::vector<float> gathered(static_cast<size_t>(conv_gathered_floats(p, block)), -1.0f);
    ASSERT_EQ(conv_gather_pieces(p, block), 2 * blocks);
    for (int64_t i = conv_gather_pieces(p, block); i-- > 0;)
      for (const Stretch positions : {Stretch{0, 3}, Stretch{3, 18}, Stretch{18, 18}, Stretch{18, 32}})
        conv_gather(p, block, src.data(), gathered.data(), {i, i + 1}, positions);
    const ConvProblem dense = conv_gathered(p);
    EXPECT_EQ(dense.w.in, 4);
    EXPECT_EQ(dense.w.out, 4);
    size_t at = 0;
    for (int64_t piece = 0; piece < 2 * blocks; ++piece)
      for (int64_t d = 0; d < 2; ++d)
        for (int64_t h = 0; h < 4; ++h)
          for (int64_t w = 0; w < 4; ++w)
            for (int64_t l = 0; l < block; ++l, ++at)
              ASSERT_EQ(gathered[at],
                        src[static_cast<size_t>((piece * in + (d * 2 * 7 + h * 2) * 11 + w * 3) * block + l)])
                  << piece << " " << d << " " << h << " " << w;
    EXPECT_EQ(at, gathered.size());
  }
}

// What a plan that gathers leaves behind while it computes the first unit, and the outputs of that unit.
void check_first_unit(const ConvKernel& kernel, const ConvProblem& p) {
  ConvPlan strided{}, dense{};
  kernel.plan(p, kernel, strided);
  kernel.plan(conv_gathered(p), kernel, dense);
  ASSERT_TRUE(strided.gathers) << kernel.name << " width " << p.w.in;
  // Also where the dense plan prefers other units: any tile of a row without strides sums alike.
  dense.oc_blocks = strided.oc_blocks;
  dense.w_tile = dense.w_tile_last = strided.w_tile;
  dense.grid.oc = strided.grid.oc;
  const auto numbered = [](size_t floats) {
    std::vector<float> values(floats);
    for (size_t i = 0; i < floats; ++i) values[i] = static_cast<float>(i * 2654435761u % 1021) / 512 - 1;
    return values;
  };
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  const int64_t oc_blocks = (p.oc + strided.block - 1) / strided.block;
  const std::vector<float> src = numbered(static_cast<size_t>(p.batch * p.ic * in)),
                           weights = numbered(static_cast<size_t>(p.ic * p.oc)),
                           bias = numbered(static_cast<size_t>(p.oc));
  std::vector<float> packed(dense.packed_floats);
  kernel.pack(dense, kernel, {weights.data(), bias.data()}, packed.data(), 0, kernel.pack_pieces(dense));
  const auto gathered_floats = static_cast<size_t>(conv_gathered_floats(p, strided.block));
  std::vector<float> expected(gathered_floats), gathered(gathered_floats + 16, -7.0f);
  conv_gather(p, strided.block, src.data(), expected.data(), {0, conv_gather_pieces(p, strided.block)}, {0, out});
  std::vector<float> from_dense(static_cast<size_t>(p.batch * oc_blocks * strided.block * out), -7.0f),
      from_strided = from_dense;
  ConvArgs args{expected.data(), packed.data(), from_dense.data(), nullptr, 0, nullptr};
  kernel.run(dense, args, {0, p.batch, 0, 1, 0, dense.grid.sp});
  args.src = src.data();
  args.dst = from_strided.data();
  args.gathered = gathered.data();
  // Threads share rows, and parts of them.
  const int64_t sp = strided.grid.sp;
  for (const Stretch rows : {Stretch{sp / 3, sp}, Stretch{0, sp / 3}})
    kernel.run(strided, args, {0, p.batch, 0, 1, rows.begin, rows.end});
  EXPECT_EQ(from_strided, from_dense) << kernel.name << " width " << p.w.in;
  EXPECT_EQ(std::vector(gathered.begin() + static_cast<std::ptrdiff_t>(gathered_floats), gathered.end()),
            std::vector(16, -7.0f));
  gathered.resize(gathered_floats);
  EXPECT_EQ(gathered, expected) << kernel.name << " width " << p.w.in;
}

TEST(ConvGatherTest, OnTheWayThroughTheFirstUnit) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      if (isa != Isa::avx512 || k.src != ConvFormat::blocked || k.dst != ConvFormat::blocked) continue;
      const auto layer = [](int64_t ic, int64_t oc, int64_t h, int64_t w) {
        return conv2d(ic, oc, axis(h, 1, 2), axis(w, 1, 2), 1, 2);
      };
      // As in residual networks; rows of one tile, of several, of tiles whose widths differ.
      if (k.reject(layer(256, 512, 56, 56), k)) continue;
      for (const ConvProblem& p : {layer(256, 512, 56, 56), layer(512, 1024, 28, 28)}) {
        ConvPlan strided, dense;
        k.plan(p, k, strided);
        k.plan(conv_gathered(p), k, dense);
        EXPECT_EQ(strided.oc_blocks, dense.oc_blocks) << k.name;
      }
      check_first_unit(k, layer(256, 512, 56, 56));
      for (const int64_t w : {34, 37, 55, 57, 58, 83}) check_first_unit(k, layer(48, 512, 5, w));
      ConvProblem volume = layer(32, 512, 6, 56);
      volume.d = axis(5, 1, 3);
      check_first_unit(k, volume);
      ConvPlan plan;
      k.plan(layer(40, 512, 56, 56), k, plan);
      EXPECT_FALSE(plan.gathers) << "the last block of sources is not whole";
      k.plan(conv2d(64, 512, axis(56, 1, 1), axis(56, 1, 3)), k, plan);
      EXPECT_FALSE(plan.gathers) << "another step";
      k.plan(layer(512, 1024, 28, 28), k, plan);
      EXPECT_FALSE(plan.gathers) << "short rows";
      k.plan(layer(64, 512, 28, 2), k, plan);
      EXPECT_FALSE(plan.gathers) << "one position a row";
    }
}

TEST(ConvGatherTest, OnlyStridedPointwiseLayersOfManyOutputs) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      if (k.src != ConvFormat::blocked) continue;
      EXPECT_TRUE(conv_gathers(conv2d(64, 128, axis(14, 1, 2), axis(14, 1, 2)), k)) << k.name;
      EXPECT_FALSE(conv_gathers(conv2d(64, 128, axis(14, 1), axis(14, 1)), k)) << k.name;
      EXPECT_FALSE(conv_gathers(conv2d(64, 64, axis(14, 1, 2), axis(14, 1, 2)), k)) << k.name;
      EXPECT_FALSE(conv_gathers(conv2d(64, 128, axis(14, 3, 2, 1, 1, 1), axis(14, 1, 2)), k)) << k.name;
      EXPECT_FALSE(conv_gathers(conv2d(64, 128, axis(14, 1, 2, 1, 1, 1), axis(14, 1, 2)), k)) << k.name;
    }
}

// Each of which reads cache lines that hold channels of others.
TEST(ConvGridTest, RowsOfGroupsSideBySideStayInCache) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      const ConvProblem p = conv2d(16 * 28, 16 * 28, padded(200), padded(200), 16);
      if (k.src != ConvFormat::nhwc || std::string(k.packing) != "pack_dense" || k.reject(p, k)) continue;
      ConvPlan plan;
      k.plan(p, k, plan);
      const int64_t unit_bytes = p.ic * p.h.in * p.w.in * 4 / plan.grid.sp;
      EXPECT_LE(plan.cached_rows, std::max<int64_t>(1, cache_sizes().l2 / 2 / unit_bytes)) << k.name;
      EXPECT_LT(plan.cached_rows, plan.grid.sp) << k.name;
    }
}

TEST(ConvGridTest, WeightsOfUnitsFollowOneAnother) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      for (const int64_t groups : {1, 3}) {  // whole blocks and not, the last unit of a group short
        const ConvProblem p = conv2d(64 * groups, (groups == 1 ? 109 : 112) * groups, axis(5, 3), axis(5, 3), groups);
        if (k.reject(p, k) || std::string(k.packing) != "pack_dense") continue;
        ConvPlan plan;
        k.plan(p, k, plan);
        int64_t at = conv_weights_of(plan, 0, 0).begin;
        EXPECT_GE(at, p.oc) << k.name;
        EXPECT_LE(at, p.oc + 16 * groups) << k.name;
        for (int64_t unit = 0; unit < plan.grid.oc; ++unit) {
          const ConvWeightsRange range = conv_weights_of(plan, unit, unit + 1);
          EXPECT_EQ(range.begin, at) << k.name << " unit " << unit;
          at += range.count;
        }
        EXPECT_EQ(at, static_cast<int64_t>(plan.packed_floats)) << k.name;
      }
    }
}

TEST(ConvGridTest, NoSecondThreadForNextToNothing) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      const auto parts_of = [&](const ConvProblem& p) {
        ConvPlan plan;
        k.plan(p, k, plan);
        return conv_split(plan, 2).part_count();
      };
      const ConvProblem small = conv2d(32, 128, axis(1, 1), axis(1, 1)),
                        large = conv2d(960, 240, axis(1, 1), axis(1, 1));
      const ConvProblem few_positions = conv2d(32, 32, axis(2, 1), axis(2, 1));
      if (!k.reject(few_positions, k)) {
        EXPECT_EQ(parts_of(few_positions), 1) << k.name;
      }
      if (k.reject(small, k)) continue;
      EXPECT_EQ(parts_of(small), 1) << k.name;
      EXPECT_EQ(parts_of(large), 2) << k.name;
    }
}

TEST(ConvGridTest, AShortLastUnitDoesNotMakePartsUneven) {
  // 7 blocks of 16 channels in units of 4: two units are no two halves. 32 in units of 3: one thread has 17.
  const ConvProblem problems[] = {conv2d(672, 112, axis(14, 1), axis(14, 1)), conv2d(2048, 512, axis(7, 1), axis(7, 1)),
                                  conv2d(512, 512, axis(14, 3, 2, 1, 1, 1), axis(14, 3, 2, 1, 1, 1))};
  const double most[] = {0.55, 0.5, 0.5};
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa))
      for (size_t n = 0; n < std::size(problems); ++n) {
        const ConvProblem& p = problems[n];
        if (k.reject(p, k)) continue;
        ConvPlan plan;
        k.plan(p, k, plan);
        const int64_t blocks = (p.oc + plan.block - 1) / plan.block;
        const ConvSplit split = conv_split(plan, 2);
        for (int64_t i = 0; i < split.part_count(); ++i) {
          const ConvTile t = conv_part(plan, split, i);
          const int64_t part = std::min(t.oc1 * plan.oc_blocks, blocks) - t.oc0 * plan.oc_blocks;
          const double share = static_cast<double>(part * (t.sp1 - t.sp0)) / static_cast<double>(blocks * plan.grid.sp);
          EXPECT_LE(share, most[n]) << k.name << " problem " << n << " part " << i;
        }
      }
}

TEST(ConvGridTest, TilesDoNotDependOnTheBatch) {
  const ConvProblem problems[] = {conv2d(27, 16, {6, 6, 3, 1, 1, 1}, axis(12, 3, 1, 1, 1, 1)),
                                  conv2d(64, 48, axis(13, 3, 2, 1, 1, 1), axis(9, 3, 2, 1, 1, 1)),
                                  conv2d(3, 32, axis(40, 3, 2, 1, 1, 1), axis(40, 3, 2, 1, 1, 1)),
                                  conv2d(512, 512, axis(14, 3, 2, 1, 1, 1), axis(14, 3, 2, 1, 1, 1)),
                                  conv2d(96, 176, axis(7, 1), axis(7, 1))};
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa))
      for (const ConvProblem& problem : problems) {
        if (k.reject(problem, k)) continue;
        ConvPlan one, several;
        k.plan(problem, k, one);
        for (int64_t batch = 2; batch <= 5; ++batch) {
          ConvProblem p = problem;
          p.batch = batch;
          k.plan(p, k, several);
          EXPECT_EQ(several.oc_blocks, one.oc_blocks) << k.name << " " << p.ic << " to " << p.oc;
          EXPECT_EQ(several.rows, one.rows) << k.name << " " << p.ic << " to " << p.oc;
          EXPECT_EQ(several.w_tile, one.w_tile) << k.name << " " << p.ic << " to " << p.oc;
        }
      }
}

/// Of the AVX-512 kernel of that name.
ConvPlan avx512_plan(const std::string& name, const ConvProblem& p) {
  ConvPlan plan;
  for (const ConvKernel& k : conv_kernels(Isa::avx512))
    if (k.name == name) k.plan(p, k, plan);
  return plan;
}

ConvPlan pointwise_plan(int64_t ic, int64_t oc, int64_t side) {
  return avx512_plan("f32_conv_1x1_nChw16c__avx512", conv2d(ic, oc, axis(side, 1), axis(side, 1)));
}

TEST(ConvGridTest, LongReductionsTakeFourBlocksAtOnce) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  EXPECT_EQ(pointwise_plan(256, 1024, 14).oc_blocks, 4);
  EXPECT_EQ(pointwise_plan(512, 128, 28).oc_blocks, 4);
  EXPECT_EQ(pointwise_plan(1152, 192, 7).oc_blocks, 3) << "not two";
}

TEST(ConvGridTest, ShortReductionsTakeThreeOrFourBlocksAtOnce) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  EXPECT_EQ(pointwise_plan(16, 96, 112).oc_blocks, 3);
  EXPECT_EQ(pointwise_plan(112, 672, 14).oc_blocks, 3) << "two threads of a chain would part a unit of four";
  for (const auto& [ic, oc, side] : {std::array{64, 64, 56}, std::array{32, 128, 27}, std::array{128, 128, 56}}) {
    const ConvPlan plan = pointwise_plan(ic, oc, side);
    EXPECT_EQ(plan.oc_blocks, 4) << oc;
    EXPECT_TRUE(has_short_tile(plan.oc_blocks, plan.w_tile)) << oc;
  }
  // Of 15 units of four blocks one of two threads would get 8.
  EXPECT_EQ(pointwise_plan(160, 960, 7).oc_blocks, 3);
}

TEST(ConvGridTest, FirstLayersOfLargeStepsTakeTwoBlocksAtOnce) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  const auto unit = [](int64_t oc, ConvAxis side) {
    return avx512_plan("f32_conv_first_nChw16c__avx512", conv2d(3, oc, side, side)).oc_blocks;
  };
  EXPECT_EQ(unit(96, axis(224, 4, 4)), 2) << "as ConvNeXt begins";
  EXPECT_EQ(unit(128, axis(224, 4, 4)), 2);
  EXPECT_EQ(unit(48, axis(224, 4, 4)), 3) << "all there are";
}

TEST(ConvGridTest, PointwiseWeightsFromMemoryGoInRoundsOfL1) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  const CacheSizes& caches = cache_sizes();
  const auto bytes_in_round = [](const ConvPlan& plan) {
    const int64_t lanes = plan.oc_blocks * plan.block, positions = 25;
    return 4 * (positions * lanes + plan.ic_chunk * plan.block * (positions + lanes));
  };
  const int64_t deep = 4096;
  for (const int64_t ic : {deep, int64_t{512}}) {  // with weights in L3: in rounds of L2, and in one
    const int64_t oc = caches.l2 / ic + 64;
    ConvProblem problem = conv2d(ic, oc, axis(5, 1), axis(5, 1));
    const ConvPlan warm = pointwise_plan(ic, oc, 5);
    ASSERT_GT(warm.packed_floats * 4, static_cast<size_t>(2 * caches.l2));
    problem.cold_weights = true;
    const ConvPlan cold = avx512_plan("f32_conv_1x1_nChw16c__avx512", problem);
    ASSERT_GT(cold.ic_chunk, 0);
    EXPECT_LE(bytes_in_round(cold), caches.l1d);
    EXPECT_EQ(warm.ic_chunk > 0, ic == deep);
    EXPECT_GT(warm.ic_chunk == 0 ? ic / warm.block : warm.ic_chunk, 2 * cold.ic_chunk);
    check_family("conv_1x1", problem);
  }
  // Those that fit L2 go in rounds of L2, or in one.
  ConvProblem small = conv2d(1152, 192, axis(7, 1), axis(7, 1));
  small.cold_weights = true;
  EXPECT_EQ(avx512_plan("f32_conv_1x1_nChw16c__avx512", small).ic_chunk, pointwise_plan(1152, 192, 7).ic_chunk);
}

TEST(ConvGridTest, TheLastUnitOfAShortReductionHasLongerTiles) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  for (const ConvPlan& plan : {pointwise_plan(24, 72, 56), pointwise_plan(40, 120, 28)}) {
    EXPECT_EQ(plan.oc_blocks, 3) << plan.problem.oc;
    EXPECT_GT(plan.w_tile_last, 2 * plan.w_tile) << plan.problem.oc;
  }
}

TEST(ConvGridTest, ResultsThatAreTurnedOverComeInLongTiles) {
  if (!isa_available(Isa::avx512)) GTEST_SKIP() << "no avx512";
  const ConvProblem p = conv2d(128, 255, axis(52, 1), axis(52, 1));
  EXPECT_EQ(avx512_plan("f32_conv_direct_nChw16c_to_plain__avx512", p).w_tile, 14);
  EXPECT_LT(pointwise_plan(128, 255, 52).w_tile, 7) << "blocks of channels have no need";
}

TEST(ConvGridTest, HalfBlocksLieInUnitsThatDoNotMultiplyTheirPadding) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& k : conv_kernels(isa)) {
      if (isa != Isa::avx512 || k.src != ConvFormat::blocked) continue;
      for (const int64_t oc : {24, 40, 72, 120}) {
        const ConvProblem p = conv2d(40, oc, axis(28, 1), axis(28, 1));
        if (k.reject(p, k)) continue;
        ConvPlan plan;
        k.plan(p, k, plan);
        const int64_t blocks = (oc + plan.block - 1) / plan.block, rest = blocks % plan.oc_blocks;
        EXPECT_TRUE(rest == 0 ? has_half_tile(plan.oc_blocks, plan.w_tile) : has_half_tile(rest, plan.w_tile_last))
            << k.name << " " << oc;
      }
    }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
