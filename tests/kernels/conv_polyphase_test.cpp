// Winograd convolutions of first layers, stride 2: against a double-precision direct sum within the bound that
// selection relies on, at sizes around tiles, strips and blocks, in memory that ends at a guard page.
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/kernels/bounded_kernel_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

std::vector<const ConvKernel*> polyphase_kernels() { return kernels_of_isas(polyphase_kernel); }

void check_polyphase(const ConvProblem& p) { check_bounded_kernel(polyphase_kernel, polyphase_error_bound, p); }

// Of stride 2, padded so that half the extent is left.
ConvAxis halved(int64_t in, int64_t kernel = 7) { return axis(in, kernel, 2, 1, kernel / 2, kernel / 2); }

TEST(ConvPolyphase, ExistsWhereVectorsAreWide) {
  for (const Isa isa : available_isas())
    EXPECT_EQ(polyphase_kernel(isa) != nullptr, isa == Isa::avx2 || isa == Isa::avx512) << isa_name(isa);
}

TEST(ConvPolyphase, ExtentsAroundTilesAndStrips) {
  for (const int64_t size : {1, 2, 4, 5, 6, 7, 11, 12, 13, 23})
    check_polyphase(problem_of(1, 1, 3, 16, halved(size), halved(9)));
  for (const int64_t size : {1, 5, 6, 7, 8, 35, 36, 37, 47, 48, 49, 50, 64, 95, 96, 97, 101})
    check_polyphase(problem_of(1, 1, 3, 16, halved(8), halved(size)));
}

TEST(ConvPolyphase, ChannelsAroundBlocksAndUnits) {
  for (const int64_t ic : {1, 2, 3, 4})
    for (const int64_t oc : {1, 7, 8, 16, 17, 33, 40, 67})
      check_polyphase(problem_of(1, 1, ic, oc, halved(13), halved(60)));
}

TEST(ConvPolyphase, Kernels) {
  for (const int64_t h : {5, 6, 7})
    for (const int64_t w : {5, 6, 7})
      for (const int64_t ic : {2, 3}) check_polyphase(problem_of(1, 1, ic, 20, halved(17, h), halved(53, w)));
}

TEST(ConvPolyphase, Pads) {
  for (const int64_t before : {0, 1, 2, 3, 5})
    for (const int64_t after : {0, 2, 3})
      check_polyphase(problem_of(1, 1, 3, 16, axis(14, 7, 2, 1, before, after), axis(51, 7, 2, 1, after, before)));
  // Cropped at the beginning, and padded beyond whole strips.
  check_polyphase(problem_of(1, 1, 3, 16, axis(20, 7, 2, 1, -3, -1), axis(70, 6, 2, 1, -2, 0)));
  check_polyphase(problem_of(1, 1, 3, 16, axis(3, 7, 2, 1, 17, 19), axis(4, 7, 2, 1, 110, 120)));
}

TEST(ConvPolyphase, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  check_images_of_a_batch(polyphase_kernels(), problem_of(1, 1, 3, 34, halved(19), halved(70)));
}

TEST(ConvPolyphase, PostOps) {
  check_post_ops_of(polyphase_kernels(), problem_of(1, 1, 3, 37, halved(13), halved(121)));
}

TEST(ConvPolyphase, RefusesWhatItCannotDo) {
  for (const ConvKernel* kernel : polyphase_kernels()) {
    const auto refuses = [&](const ConvProblem& p) { return kernel->reject(p, *kernel) != nullptr; };
    const ConvProblem good = problem_of(1, 1, 3, 16, halved(20), halved(20));
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(problem_of(1, 1, 5, 16, halved(20), halved(20))));
    EXPECT_TRUE(refuses(problem_of(1, 2, 4, 16, halved(20), halved(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, halved(20, 4), halved(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, halved(20), halved(20, 8))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, axis(20, 7, 1, 1, 3, 3), halved(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, halved(20), axis(20, 5, 2, 2, 3, 3))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, halved(20), halved(20), axis(4, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, halved(20), halved(20), axis(1, 1, 3, 1, 1, 1))));
    ConvProblem transposed = good;
    transposed.transposed = true;
    EXPECT_TRUE(refuses(transposed));
  }
}

TEST(ConvPolyphase, BoundsTheErrorOfItsWeights) {
  const ConvProblem p = problem_of(1, 1, 3, 2, halved(20), halved(20));
  std::vector<float> weights(2 * 3 * 49, 0.25f);
  const double even = polyphase_error_bound(p, weights.data());
  EXPECT_GT(even, 1e-5);
  EXPECT_LT(even, kWinoTolerance);
  // All of one output in the tap that rounding reaches most: worse, whatever the other output has.
  std::fill_n(weights.begin(), 3 * 49, 0.0f);
  double worst = 0;
  for (size_t tap = 0; tap < 49; ++tap) {
    std::vector<float> one = weights;
    one[tap] = 1;
    worst = std::max(worst, polyphase_error_bound(p, one.data()));
  }
  EXPECT_GT(worst, 2 * even);
  EXPECT_LT(worst, kWinoTolerance);
  EXPECT_EQ(polyphase_error_bound(p, std::vector<float>(2 * 3 * 49, 0.0f).data()), 0);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f}) {
    weights[200] = bad;
    EXPECT_FALSE(polyphase_error_bound(p, weights.data()) <= kWinoTolerance) << bad;
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
