// Winograd convolutions with taps along one axis: against a double-precision direct sum within the bound that selection
// relies on, at sizes around tiles, phases and blocks, in memory that ends at a guard page.
#include "plugins/cpu/kernels/conv_wino/one_axis_conv.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/kernels/bounded_kernel_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

std::vector<const ConvKernel*> one_axis_kernels() { return kernels_of_isas(one_axis_kernel); }

void check_one_axis(const ConvProblem& p) { check_bounded_kernel(one_axis_kernel, one_axis_error_bound, p); }

ConvAxis across(int64_t extent) { return axis(extent, 1); }

// Padded so that the extent stays, with one element more before where the taps are even.
ConvAxis same(int64_t in, int64_t taps, int64_t dilation = 1) {
  const int64_t all = (taps - 1) * dilation;
  return axis(in, taps, 1, dilation, all - all / 2, all / 2);
}

TEST(ConvOneAxis, ExistsWhereVectorsAreWide) {
  for (const Isa isa : available_isas())
    EXPECT_EQ(one_axis_kernel(isa) != nullptr, isa == Isa::avx2 || isa == Isa::avx512) << isa_name(isa);
}

TEST(ConvOneAxis, Taps) {
  for (int64_t taps = 2; taps <= 32; ++taps) {
    check_one_axis(problem_of(1, 1, 19, 35, across(1), same(37 + taps, taps)));
    check_one_axis(problem_of(1, 1, 16, 16, same(21, taps), across(5)));
  }
}

TEST(ConvOneAxis, ExtentsAroundTiles) {
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 55, 56, 57, 225})
    for (const int64_t taps : {2, 3, 4, 7}) {
      check_one_axis(problem_of(1, 1, 16, 16, across(1), same(size, taps)));
      check_one_axis(problem_of(1, 1, 16, 16, across(3), same(size, taps)));
      check_one_axis(problem_of(1, 1, 16, 16, same(size, taps), across(3)));
    }
}

TEST(ConvOneAxis, EachAxisOfAVolume) {
  const ConvAxis taps = same(6, 3);
  check_one_axis(problem_of(1, 1, 17, 33, across(4), across(7), taps));
  check_one_axis(problem_of(1, 1, 17, 33, taps, across(7), across(5)));
  check_one_axis(problem_of(1, 1, 17, 33, across(4), taps, across(5)));
}

TEST(ConvOneAxis, ChannelsAroundBlocksAndUnits) {
  for (const int64_t ic : {1, 7, 8, 15, 16, 17, 40})
    for (const int64_t oc : {1, 8, 16, 17, 33, 48, 49, 80})
      check_one_axis(problem_of(1, 1, ic, oc, across(2), same(30, 3)));
}

TEST(ConvOneAxis, MoreTilesThanAreWorkedOnAtOnce) {
  check_one_axis(problem_of(1, 1, 20, 40, across(3), same(601, 3)));
  check_one_axis(problem_of(1, 1, 130, 40, across(1), same(403, 9)));
}

// Of more than 4 MB in the transformed domain.
TEST(ConvOneAxis, WeightsThatRunsTransform) {
  for (const ConvProblem& p :
       {problem_of(1, 1, 450, 410, across(1), same(30, 3)), problem_of(2, 1, 310, 300, same(9, 7), across(2))}) {
    check_one_axis(p);
    for (const ConvKernel* kernel : one_axis_kernels()) {
      ConvPlan plan;
      kernel->plan(p, *kernel, plan);
      EXPECT_LT(plan.packed_floats, static_cast<size_t>(p.ic * p.oc * 8)) << kernel->name;
    }
  }
}

TEST(ConvOneAxis, Dilations) {
  for (const int64_t dilation : {2, 3, 5, 16, 40})
    for (const int64_t size : {1, 4, 13, 33, 64}) {
      check_one_axis(problem_of(1, 1, 16, 24, across(2), same(size, 3, dilation)));
      check_one_axis(problem_of(1, 1, 16, 24, same(size, 3, dilation), across(3)));
      check_one_axis(problem_of(1, 1, 16, 24, across(1), axis(size, 7, 1, dilation, 6 * dilation, 0)));
    }
}

TEST(ConvOneAxis, Strides) {
  for (const int64_t stride : {2, 3, 4, 7})
    for (const int64_t taps : {2, 3, 4, 5, 7, 8, 9, 13}) {
      check_one_axis(problem_of(1, 1, 19, 35, across(2), axis(61, taps, stride, 1, taps / 2, taps / 2)));
      check_one_axis(problem_of(1, 1, 16, 16, axis(37, taps, stride, 1, 1, 0), across(5)));
    }
  for (const int64_t size : {3, 4, 5, 6, 9, 10, 11, 12, 21, 100})
    for (const int64_t before : {0, 1, 2, 7})
      check_one_axis(problem_of(1, 1, 16, 16, across(1), axis(size, 3, 2, 1, before, 3 - before)));
  check_one_axis(problem_of(2, 1, 310, 300, axis(19, 7, 2, 1, 3, 3), across(2)));
}

// A stride of outputs for each input.
ConvProblem upsampling(int64_t ic, int64_t oc, int64_t in, int64_t kernel, int64_t stride, int64_t rows = 1) {
  ConvAxis w = transposed_axis(in, kernel, stride, 1, std::max<int64_t>(kernel - stride, 0) / 2);
  w.out = in * stride;
  return transposed(problem_of(1, 1, ic, oc, across(rows), w));
}

TEST(ConvOneAxis, Transposed) {
  for (const int64_t stride : {1, 2, 3, 4, 8})
    for (const int64_t kernel : {3, 4, 5, 7, 8, 12, 16, 20, 32})
      if (kernel > stride) check_one_axis(upsampling(19, 35, 11, kernel, stride));
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 9, 57, 130}) {
    check_one_axis(upsampling(16, 16, size, 4, 2));
    check_one_axis(upsampling(16, 16, size, 16, 8, 3));
  }
  for (const int64_t ic : {1, 7, 15, 17, 40})
    for (const int64_t oc : {1, 8, 17, 48, 80}) check_one_axis(upsampling(ic, oc, 9, 4, 2));
  // Along rows; with pads of any size, and more outputs than inputs reach.
  check_one_axis(transposed(problem_of(2, 1, 20, 34, transposed_axis(9, 4, 2, 1, 1, 1), across(5))));
  for (int64_t pad = 0; pad <= 5; ++pad)
    for (const int64_t out : {2, 8, 18, 30}) {
      ConvAxis w = transposed_axis(9, 4, 2);
      w.pad = pad;
      w.out = out;
      check_one_axis(transposed(problem_of(1, 1, 16, 16, across(2), w)));
    }
  // Weights that runs transform.
  check_one_axis(upsampling(310, 300, 9, 16, 8));
}

TEST(ConvOneAxis, Pads) {
  for (const int64_t before : {0, 1, 2, 9})
    for (const int64_t after : {0, 1, 8})
      for (const int64_t taps : {2, 3, 5})
        check_one_axis(problem_of(1, 1, 16, 16, across(2), axis(14, taps, 1, 1, before, after)));
  // Cropped; and nothing but padding at both ends.
  check_one_axis(problem_of(1, 1, 16, 16, across(2), axis(30, 3, 1, 1, -3, -2)));
  check_one_axis(problem_of(1, 1, 16, 16, axis(30, 5, 1, 2, -1, 2), across(2)));
  check_one_axis(problem_of(1, 1, 16, 16, across(1), axis(2, 3, 1, 1, 20, 30)));
}

TEST(ConvOneAxis, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  check_images_of_a_batch(one_axis_kernels(), problem_of(1, 1, 20, 34, across(3), same(131, 5)));
  check_images_of_a_batch(one_axis_kernels(), problem_of(1, 1, 20, 34, same(19, 3), across(17)));
  check_images_of_a_batch(one_axis_kernels(), upsampling(20, 34, 61, 4, 2));
}

TEST(ConvOneAxis, PostOps) {
  check_post_ops_of(one_axis_kernels(), problem_of(1, 1, 20, 37, across(1), same(131, 3)));
  check_post_ops_of(one_axis_kernels(), problem_of(1, 1, 20, 37, same(14, 2), across(19)));
  check_post_ops_of(one_axis_kernels(), problem_of(1, 1, 20, 37, across(2), same(41, 4, 3)));
  check_post_ops_of(one_axis_kernels(), upsampling(20, 37, 41, 16, 8));
}

TEST(ConvOneAxis, RefusesWhatItCannotDo) {
  for (const ConvKernel* kernel : one_axis_kernels()) {
    const auto refuses = [&](const ConvProblem& p) { return kernel->reject(p, *kernel) != nullptr; };
    const ConvProblem good = problem_of(1, 1, 16, 16, across(4), same(20, 3));
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(problem_of(1, 2, 16, 16, across(4), same(20, 3))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, same(20, 3), same(20, 3))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, across(4), across(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, across(4), same(60, 33))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, across(4), axis(20, 3, 2, 2, 1, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, axis(8, 1, 2), same(20, 3))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 16, 16, axis(8, 1, 1, 1, 1, 0), same(20, 3))));
    EXPECT_FALSE(refuses(upsampling(16, 16, 10, 16, 8)));
    EXPECT_TRUE(refuses(upsampling(16, 16, 10, 2, 2))) << "one tap per phase";
    EXPECT_TRUE(refuses(upsampling(16, 16, 10, 33, 8)));
    EXPECT_TRUE(refuses(transposed(problem_of(1, 1, 16, 16, across(1), {1, 1'000'000'000, 2, 1'000'000'000, 1, 1}))));
    ConvProblem ragged = upsampling(16, 16, 10, 4, 2);
    --ragged.w.out;
    EXPECT_TRUE(refuses(ragged)) << "phases of 10 and 9";
    EXPECT_TRUE(refuses(transposed(problem_of(1, 2, 32, 32, across(1), transposed_axis(10, 4, 2, 1, 1, 1)))));
    EXPECT_TRUE(refuses(transposed(problem_of(1, 1, 16, 16, across(1), transposed_axis(10, 4, 2, 2, 1, 1)))));
  }
}

TEST(ConvOneAxis, BoundsTheErrorOfItsWeights) {
  for (const int64_t taps : {2, 3, 4, 7}) {
    SCOPED_TRACE(taps);
    const ConvProblem p = problem_of(1, 1, 3, 2, across(1), same(20, taps));
    const auto per_output = static_cast<size_t>(3 * taps);
    std::vector<float> weights(2 * per_output, 0.25f);
    const double even = one_axis_error_bound(p, weights.data());
    EXPECT_GT(even, 1e-6);
    EXPECT_LT(even, kWinoTolerance);
    // All of one output in the tap that rounding reaches most: worse, whatever the other output has.
    std::fill_n(weights.begin(), per_output, 0.0f);
    double worst = 0;
    for (size_t tap = 0; tap < static_cast<size_t>(taps); ++tap) {
      std::vector<float> one = weights;
      one[tap] = 1;
      worst = std::max(worst, one_axis_error_bound(p, one.data()));
    }
    EXPECT_GT(worst, 1.01 * even);
    EXPECT_LT(worst, kWinoTolerance);
    EXPECT_EQ(one_axis_error_bound(p, std::vector<float>(2 * per_output, 0.0f).data()), 0);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f}) {
      weights[per_output] = bad;
      EXPECT_FALSE(one_axis_error_bound(p, weights.data()) <= kWinoTolerance) << bad;
    }
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
