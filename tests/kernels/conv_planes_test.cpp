// Convolutions whose lanes are output positions: groups of channels that are not whole blocks, and few channels.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "plugins/cpu/nodes/prepared_convolution.hpp"
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

bool is_planes(const ConvKernel& kernel) { return std::string(kernel.packing) == "pack_planes"; }

/// All kernels of the kind that accept the problem compute it; how many.
int64_t check_accepting(const ConvProblem& problem) {
  const Reference expected = reference(problem);
  int64_t accepting = 0;
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      if (!is_planes(kernel) || kernel.reject(problem, kernel)) continue;
      ++accepting;
      check_kernel(kernel, problem, expected);
    }
  return accepting;
}

/// So do some in every bucket that has the kind.
void check_planes(const ConvProblem& problem) {
  const auto isas = available_isas();
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (std::find(isas.begin(), isas.end(), isa) == isas.end()) continue;
    const auto kernels = conv_kernels(isa);
    EXPECT_TRUE(
        std::any_of(kernels.begin(), kernels.end(),
                    [&](const ConvKernel& kernel) { return is_planes(kernel) && !kernel.reject(problem, kernel); }))
        << isa_name(isa) << ": " << describe(problem);
  }
  check_accepting(problem);
}

TEST(ConvPlanes, BelongsToTheWideBuckets) {
  for (const Isa isa : available_isas()) {
    const auto kernels = conv_kernels(isa);
    EXPECT_EQ(std::any_of(kernels.begin(), kernels.end(), is_planes), isa == Isa::avx2 || isa == Isa::avx512)
        << isa_name(isa);
  }
}

TEST(ConvPlanes, ChannelsOfAGroup) {
  for (const int64_t channels : {3, 5, 6, 7, 9, 10, 11, 12, 13})
    for (const int64_t groups : {2, 5, 16, 17})
      check_planes(problem_of(2, groups, groups * channels, groups * channels, padded(6), padded(13)));
  for (const auto& [inputs, outputs] : {std::pair{3, 6}, {6, 3}, {5, 1}, {1, 5}, {12, 4}, {7, 9}})
    for (const int64_t groups : {3, 8, 33})
      check_planes(problem_of(1, groups, groups * inputs, groups * outputs, padded(7), padded(17)));
}

TEST(ConvPlanes, FewChannelsOfOneGroup) {
  for (const int64_t ic : {1, 2, 3, 5, 12})
    for (const int64_t oc : {1, 2, 3, 4, 6}) check_accepting(problem_of(2, 1, ic, oc, padded(9), padded(37)));
  for (const int64_t ic : {1, 3, 6, 12}) check_planes(problem_of(1, 1, ic, 3, axis(19, 5, 1, 1, 2, 2), axis(30, 5)));
}

// A column between rows of zeros less or more, and tiles that end with the plane, short ones too.
TEST(ConvPlanes, ColumnsAndRowsAroundTheTile) {
  for (const int64_t w : {1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 113})
    for (const int64_t h : {1, 2, 9}) check_accepting(problem_of(1, 4, 12, 24, padded(h), padded(w)));
  for (const int64_t oc : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12})
    for (const int64_t w : {20, 40, 90}) check_accepting(problem_of(1, 1, 2, oc, padded(5), padded(w)));
}

TEST(ConvPlanes, KernelsStridesDilations) {
  int64_t accepting = 0;
  for (const int64_t k : {2, 3, 5, 8})
    for (const int64_t stride : {1, 2, 3, 5})
      for (const int64_t dilation : {1, 2})
        for (const int64_t pad : {0, 1, 4}) {
          const ConvAxis h = axis(17, k > 3 ? 3 : k, stride, dilation, pad, 1),
                         w = axis(35, k, stride, dilation, pad, pad + 1);
          accepting += check_accepting(problem_of(1, 4, 12, 24, h, w));
          accepting += check_accepting(problem_of(1, 1, 3, 4, w, h));
        }
  EXPECT_GT(accepting, 0);
}

// Every second column, which vectors take up to the end of the source.
TEST(ConvPlanes, RowsOfEverySecondColumn) {
  for (const int64_t w : {31, 32, 33, 34, 63, 64, 65, 66, 67, 90})
    for (const int64_t pad : {0, 1, 3})
      check_planes(problem_of(1, 1, 2, 3, axis(9, 7, 2, 1, 3, 3), axis(w, 7, 2, 1, pad, 3)));
  check_planes(problem_of(2, 1, 3, 4, axis(20, 7, 2, 1, 3, 3), axis(90, 7, 2, 1, 3, 3), axis(6, 5, 1, 1, 2, 2)));
  check_accepting(problem_of(1, 1, 3, 4, axis(9, 5, 2, 2, 3, 3), axis(77, 5, 2, 2, -2, 3)));
}

TEST(ConvPlanes, PadsBeyondTheKernelAndCrops) {
  check_planes(problem_of(1, 4, 12, 12, axis(4, 3, 1, 1, 5, 5), axis(6, 3, 1, 1, 5, 6)));
  check_planes(problem_of(1, 4, 12, 12, axis(9, 3, 1, 1, -2, -1), axis(40, 3, 1, 1, -3, -5)));
  check_planes(problem_of(1, 1, 2, 3, axis(9, 5, 1, 1, 2, 2), axis(40, 5, 1, 1, -3, 4)));
  check_accepting(problem_of(1, 4, 12, 12, axis(9, 3, 2, 1, -2, -1), axis(40, 3, 2, 1, -3, -5)));
}

TEST(ConvPlanes, OtherRanks) {
  check_planes(problem_of(2, 3, 15, 15, {}, axis(70, 5, 1, 1, 2, 2)));
  check_planes(problem_of(1, 1, 1, 2, {}, axis(2100, 31, 1, 1, 15, 15)));
  check_planes(problem_of(1, 1, 2, 3, {}, axis(1100, 9, 1, 3, 11, 12)));
  check_accepting(problem_of(1, 1, 1, 3, {}, axis(2100, 31, 4, 1, 15, 15)));
  check_planes(problem_of(2, 3, 9, 18, padded(4), padded(9), padded(5)));
  check_planes(problem_of(1, 1, 2, 3, padded(6), padded(20), axis(5, 3, 2, 1, 1, 1)));
  // Slices of which no tap meets the source.
  check_planes(problem_of(1, 3, 9, 18, padded(4), padded(9), axis(2, 3, 1, 1, 4, 3)));
}

TEST(ConvPlanes, BandsOfRows) {
  for (const int64_t h : {8, 9, 17, 63, 130}) check_planes(problem_of(1, 1, 3, 3, padded(h), padded(21)));
  check_planes(problem_of(1, 17, 17 * 12, 17 * 12, padded(30), padded(41)));
  // The last one is shorter, with planes of every second row, or of several slices.
  check_accepting(problem_of(1, 1, 3, 3, axis(34, 3, 2, 1, 1, 1), padded(20)));
  check_planes(problem_of(1, 1, 3, 3, padded(61), padded(20), padded(3)));
  // And columns.
  for (const int64_t w : {1024, 1025, 1537})
    check_planes(problem_of(1, 1, 2, 3, axis(7, 5, 1, 1, 2, 2), axis(w, 5, 1, 1, 2, 2)));
  check_planes(problem_of(1, 3, 9, 9, padded(3), padded(1100)));
}

TEST(ConvPlanes, ChannelsOfImagesThatDoNotMix) {
  for (const int64_t c : {1, 2, 3, 4})
    check_planes(problem_of(2, c, c, c, axis(23, 5, 1, 1, 2, 2), axis(31, 5, 1, 1, 2, 2)));
  check_accepting(problem_of(1, 3, 3, 3, axis(40, 4, 2, 1, 1, 1), axis(60, 4, 2, 1, 1, 1)));
}

TEST(ConvPlanes, PostOps) {
  check_post_ops(problem_of(1, 4, 12, 12, padded(5), padded(9)));
  check_post_ops(problem_of(1, 1, 3, 3, axis(12, 5, 1, 1, 2, 2), axis(90, 5, 1, 1, 2, 2)));
  check_post_ops(problem_of(1, 5, 25, 15, padded(6), padded(75)));
}

// Kernels for other layers are faster there.
TEST(ConvPlanes, LeavesOthersAlone) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      if (!is_planes(kernel)) continue;
      for (const ConvProblem& p :
           {problem_of(1, 4, 64, 64, padded(28), padded(28)), problem_of(1, 8, 32, 32, padded(28), padded(28)),
            problem_of(1, 64, 64, 64, padded(28), padded(28)), problem_of(1, 1, 3, 64, padded(28), padded(28)),
            problem_of(1, 4, 12, 12, axis(28, 1), axis(28, 1)),
            transposed(problem_of(1, 1, 3, 3, padded(28), padded(28))),
            // Extents that nobody would run.
            problem_of(1, 1, 3, 3, axis(int64_t{1} << 40, 3, 1, 1, 1, 1), axis(int64_t{1} << 20, 3, 1, 1, 1, 1))})
        EXPECT_NE(kernel.reject(p, kernel), nullptr) << kernel.name << ": " << describe(p);
    }
}

TEST(ConvPlanes, TakeLessThanPaddedGroups) {
  for (const Isa isa : available_isas()) {
    if (isa < Isa::avx2) continue;
    const auto slowdown = [&](const ConvProblem& problem, ConvFormat format) {
      for (const ConvKernel& kernel : conv_kernels(isa))
        if (kernel.src == format && kernel.dst == format && !kernel.reject(problem, kernel))
          return conv_slowdown(problem, kernel);
      return 0.0;
    };
    for (const int64_t channels : {3, 6, 12}) {
      const ConvProblem p = problem_of(1, 32, 32 * channels, 32 * channels, padded(28), padded(28));
      EXPECT_GT(slowdown(p, ConvFormat::blocked), 1) << isa_name(isa) << ": " << describe(p);
      EXPECT_LT(slowdown(p, ConvFormat::blocked), slowdown(p, ConvFormat::nhwc))
          << isa_name(isa) << ": " << describe(p);
    }
  }
}

// Those who cut an image into rows of their own take kernels whose units are rows.
TEST(ConvPlanes, AreNoKernelsOfImagesInRows) {
  const ConvProblem p = problem_of(1, 1, 1, 4, padded(64), padded(64));
  for (const Isa isa : available_isas()) {
    const ConvKernel* const kernel = find_image_kernel(p, isa);
    ASSERT_NE(kernel, nullptr) << isa_name(isa);
    EXPECT_FALSE(is_planes(*kernel)) << kernel->name;
    const ConvKernel* const any = find_conv_kernel(p, isa, ConvFormat::plain, ConvFormat::blocked);
    ASSERT_NE(any, nullptr) << isa_name(isa);
    EXPECT_EQ(is_planes(*any), isa >= Isa::avx2) << any->name;
  }
}

// Blocks of few channels are mostly padding, which would be read again for each of several kernel slices.
TEST(ConvPlanes, TakeVideoFromPlanes) {
  const ConvProblem p =
      problem_of(1, 1, 3, 4, axis(112, 7, 2, 1, 3, 3), axis(112, 7, 2, 1, 3, 3), axis(8, 5, 1, 1, 2, 2));
  for (const Isa isa : available_isas()) {
    if (isa < Isa::avx2) continue;
    const auto slowdown = [&](ConvFormat format) {
      for (const ConvKernel& kernel : conv_kernels(isa))
        if (is_planes(kernel) && kernel.src == format && kernel.dst == ConvFormat::blocked && !kernel.reject(p, kernel))
          return conv_slowdown(p, kernel);
      return std::numeric_limits<double>::infinity();
    };
    EXPECT_LT(slowdown(ConvFormat::plain), slowdown(ConvFormat::blocked)) << isa_name(isa);
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
