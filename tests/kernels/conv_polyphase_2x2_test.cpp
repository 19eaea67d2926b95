// Winograd convolutions of first layers with 3x3 kernels and stride 2, at sizes around tiles, strips, blocks and units,
// against a double-precision direct sum; see bounded_kernel_harness.hpp.
#include <algorithm>
#include <limits>
#include <vector>

#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"
#include "tests/kernels/bounded_kernel_harness.hpp"
#include "tests/kernels/strided_axis.hpp"

namespace terroir::cpu::conv_test {
namespace {

std::vector<const ConvKernel*> polyphase_2x2_kernels() { return kernels_of_isas(polyphase_2x2_kernel); }

void check_polyphase_2x2(const ConvProblem& p) {
  check_bounded_kernel(polyphase_2x2_kernel, polyphase_2x2_error_bound, p);
}

TEST(ConvPolyphase2x2, ExistsWhereRegistersAreMany) {
  for (const Isa isa : available_isas())
    EXPECT_EQ(polyphase_2x2_kernel(isa) != nullptr, isa == Isa::avx512) << isa_name(isa);
}

TEST(ConvPolyphase2x2, ExtentsAroundTilesAndStrips) {
  for (const int64_t oc : {16, 32}) {
    for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13})
      check_polyphase_2x2(problem_of(1, 1, 3, oc, strided(size), strided(9)));
    for (const int64_t size :
         {1, 2, 3, 4, 5, 15, 16, 17, 26, 27, 28, 29, 30, 31, 54, 55, 56, 57, 58, 85, 111, 113, 131})
      check_polyphase_2x2(problem_of(1, 1, 3, oc, strided(7), strided(size)));
  }
}

TEST(ConvPolyphase2x2, ChannelsAroundBlocksAndUnits) {
  for (const int64_t ic : {1, 2, 3, 4})
    for (const int64_t oc : {1, 7, 16, 17, 31, 32, 33, 48, 64, 67})
      check_polyphase_2x2(problem_of(1, 1, ic, oc, strided(6), strided(60)));
}

TEST(ConvPolyphase2x2, Pads) {
  for (const int64_t before : {0, 1, 2, 3})
    for (const int64_t after : {0, 1, 2})
      for (const int64_t oc : {16, 20})
        check_polyphase_2x2(
            problem_of(1, 1, 3, oc, axis(10, 3, 2, 1, before, after), axis(61, 3, 2, 1, after, before)));
  // Cropped at the beginning, and padded beyond whole strips.
  check_polyphase_2x2(problem_of(1, 1, 3, 16, axis(20, 3, 2, 1, -3, -1), axis(70, 3, 2, 1, -2, 0)));
  check_polyphase_2x2(problem_of(1, 1, 3, 32, axis(3, 3, 2, 1, 17, 19), axis(4, 3, 2, 1, 110, 120)));
}

TEST(ConvPolyphase2x2, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  check_images_of_a_batch(polyphase_2x2_kernels(), problem_of(1, 1, 3, 34, strided(11), strided(70)));
}

TEST(ConvPolyphase2x2, PostOps) {
  for (const int64_t oc : {37, 32, 20})
    check_post_ops_of(polyphase_2x2_kernels(), problem_of(1, 1, 3, oc, strided(13), strided(61)));
}

TEST(ConvPolyphase2x2, RefusesWhatItCannotDo) {
  for (const ConvKernel* kernel : polyphase_2x2_kernels()) {
    const auto refuses = [&](const ConvProblem& p) { return kernel->reject(p, *kernel) != nullptr; };
    const ConvProblem good = problem_of(1, 1, 3, 16, strided(20), strided(20));
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(problem_of(1, 1, 5, 16, strided(20), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 2, 4, 16, strided(20), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, axis(20, 2, 2), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), axis(20, 5, 2, 1, 2, 2))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, axis(20, 3, 1, 1, 1, 1), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), axis(20, 3, 2, 2, 1, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), strided(20), axis(4, 1))));
    ConvProblem transposed = good;
    transposed.transposed = true;
    EXPECT_TRUE(refuses(transposed));
  }
}

TEST(ConvPolyphase2x2, BoundsTheErrorOfItsWeights) {
  const ConvProblem p = problem_of(1, 1, 3, 2, strided(20), strided(20));
  std::vector<float> weights(2 * 27, 0.25f);
  const double even = polyphase_2x2_error_bound(p, weights.data());
  EXPECT_GT(even, 1e-6);
  EXPECT_LT(even, kWinoTolerance);
  // All of one output in a corner: worse, whatever the other output has.
  std::fill_n(weights.begin(), 27, 0.0f);
  weights[8] = 1;
  const double corner = polyphase_2x2_error_bound(p, weights.data());
  EXPECT_GT(corner, 3 * even);
  EXPECT_LT(corner, kWinoTolerance);
  weights[8] = 0;
  weights[4] = 1;
  EXPECT_LT(polyphase_2x2_error_bound(p, weights.data()), 2 * even);
  EXPECT_EQ(polyphase_2x2_error_bound(p, std::vector<float>(2 * 27, 0.0f).data()), 0);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e36f}) {
    weights[40] = bad;
    EXPECT_FALSE(polyphase_2x2_error_bound(p, weights.data()) <= kWinoTolerance) << bad;
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
