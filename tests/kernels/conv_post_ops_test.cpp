#include "plugins/cpu/isa.hpp"
#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

ConvProblem problem(int64_t groups, int64_t ic, int64_t oc, ConvAxis h, ConvAxis w) {
  ConvProblem p;
  p.batch = 2;
  p.groups = groups;
  p.ic = ic;
  p.oc = oc;
  p.h = h;
  p.w = w;
  return p;
}

TEST(ConvPostOps, Dense) {
  check_post_ops(problem(1, 16, 32, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1)));
  check_post_ops(problem(1, 13, 43, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1)));
  check_post_ops(problem(1, 24, 40, axis(7, 1), axis(7, 1)));
}

TEST(ConvPostOps, FewPositionsOfManyWeights) { check_post_ops(problem(1, 256, 300, axis(5, 3), axis(5, 3))); }

// The last channels of a group, with those of the next one behind them.
TEST(ConvPostOps, GroupsOfAnyChannelsInNhwc) {
  check_post_ops(problem(3, 3 * 17, 3 * 20, axis(4, 1), axis(33, 1)));
  check_post_ops(problem(4, 4 * 16, 4 * 12, axis(3, 1, 2), axis(29, 1, 2)));
}

TEST(ConvPostOps, RowsThatAreOneTile) {
  check_post_ops(problem(1, 16, 16, axis(9, 3, 1, 1, 1, 1), axis(14, 3, 1, 1, 1, 1)));
  check_post_ops(problem(2, 32, 32, axis(13, 3, 2, 1, 1, 1), axis(28, 3, 2, 1, 1, 0)));
}

TEST(ConvPostOps, WeightsBeyondTheCache) {
  check_post_ops(problem(1, 603, 83, axis(3, 3, 1, 1, 1, 1), axis(5, 3, 1, 1, 1, 1)));
}

// The sums of a round are where the residual was.
TEST(ConvPostOps, WeightsFromMemoryInRoundsOfL1) {
  ConvProblem cold = problem(1, 512, cache_sizes().l2 / 512 + 64, axis(1, 1), axis(3, 1));
  cold.cold_weights = true;
  check_post_ops(cold);
}

TEST(ConvPostOps, First) {
  check_post_ops(problem(1, 3, 20, axis(9, 3, 2, 1, 1, 1), axis(31, 3, 2, 1, 1, 1)));
  // Several tiles of one width in a row.
  check_post_ops(problem(1, 3, 20, axis(3, 3, 1, 1, 1, 1), axis(149, 3, 1, 1, 1, 1)));
  check_post_ops(problem(1, 2, 9, axis(4, 3, 2, 1, 0, 0), axis(299, 3, 2, 1, 5, 5)));
}

TEST(ConvPostOps, RowsOfManyTiles) {
  for (const int64_t oc : {15, 32, 48, 64})
    for (const int64_t stride : {1, 2}) {
      check_post_ops(problem(1, 16, oc, axis(2, 1, stride, 1), axis(190, 1, stride, 1)));
      check_post_ops(problem(1, 20, oc, axis(4, 1, stride, 1, 1, 0), axis(113, 1, stride, 1)));
    }
}

TEST(ConvPostOps, HalfBlocks) {
  for (const int64_t oc : {20, 24, 40})
    for (const int64_t w : {9, 61}) check_post_ops(problem(1, 80, oc, axis(1, 1), axis(w, 1)));
}

TEST(ConvPostOps, ShortTiles) {
  for (const int64_t ic : {16, 24})
    for (const int64_t oc : {32, 64, 96})
      for (const int64_t w : {9, 61}) check_post_ops(problem(1, ic, oc, axis(1, 1), axis(w, 1)));
}

// Units of output channels are a loop of the kernel, but for the last one.
TEST(ConvPostOps, OnePositionOfManyUnits) {
  for (const int64_t oc : {128, 301}) check_post_ops(problem(1, 40, oc, axis(1, 1), axis(1, 1)));
  check_post_ops(problem(1, 168, 672, axis(1, 1), axis(1, 1)));
}

TEST(ConvPostOps, Depthwise) {
  check_post_ops(problem(32, 32, 32, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1)));
  check_post_ops(problem(19, 19, 19, axis(5, 5, 1, 1, 2, 2), axis(17, 7, 1, 1, 3, 3)));
  check_post_ops(problem(19, 19, 19, axis(7, 5, 2, 1, 2, 2), axis(9, 5, 2, 1, 2, 2)));
}

// More rows than are activated at once, of tiles of one width and of two.
TEST(ConvPostOps, DepthwiseRows) {
  for (const int64_t w : {14, 19, 60})
    for (const int64_t s : {1, 2})
      check_post_ops(problem(21, 21, 21, axis(40, 3, s, 1, 1, 1), axis(w * s, 3, s, 1, 1, 1)));
}

TEST(ConvPostOps, TransposedLanes) {
  ConvProblem p = problem(19, 19, 19, transposed_axis(4, 3, 2, 1, 1, 1), transposed_axis(7, 3, 2, 1, 1, 0));
  p.transposed = true;
  check_post_ops(p);
  p.oc = 38;
  check_post_ops(p);
}

TEST(ConvPostOps, GroupsOfAnyChannels) {
  check_post_ops(problem(3, 9, 21, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1)));
}

TEST(ConvPostOps, SmallGroups) { check_post_ops(problem(10, 40, 40, axis(5, 3, 1, 1, 1, 1), axis(17, 3, 1, 1, 1, 1))); }

TEST(ConvPostOps, Transposed) {
  ConvProblem p = problem(1, 16, 21, transposed_axis(4, 3, 2, 1, 1, 1), transposed_axis(7, 3, 2, 1, 1, 0));
  p.transposed = true;
  check_post_ops(p);
}

}  // namespace
}  // namespace terroir::cpu::conv_test
