// Convolutions to a few plain channels, also transposed: sums whose lanes are input channels.
#include <algorithm>

#include "tests/kernels/conv_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

bool is_few(const ConvKernel& kernel) { return std::string(kernel.packing) == "pack_few"; }

bool is_for_transposed(const ConvKernel& kernel) {
  return std::string(kernel.name).find("_deconv_") != std::string::npos;
}

ConvProblem transposed_problem(int64_t batch, int64_t ic, int64_t oc, ConvAxis h, ConvAxis w, ConvAxis d = {}) {
  ConvProblem problem = problem_of(batch, 1, ic, oc, h, w, d);
  problem.transposed = true;
  return problem;
}

/// Every kernel of the kind accepts the problem and computes it.
void check_few(const ConvProblem& problem) {
  const Reference expected = reference(problem);
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      if (!is_few(kernel) || is_for_transposed(kernel) != problem.transposed) continue;
      ASSERT_EQ(kernel.reject(problem, kernel), nullptr) << kernel.name << ": " << describe(problem);
      check_kernel(kernel, problem, expected);
    }
}

TEST(ConvFew, BelongsToTheWideBuckets) {
  for (const Isa isa : available_isas()) {
    const auto kernels = conv_kernels(isa);
    EXPECT_EQ(std::any_of(kernels.begin(), kernels.end(), is_few), isa == Isa::avx2 || isa == Isa::avx512)
        << isa_name(isa);
  }
}

TEST(ConvFew, Channels) {
  for (const int64_t ic : {16, 17, 30, 32, 33, 39, 64})
    for (int64_t oc = 1; oc <= (ic < 64 ? 4 : 7); ++oc) check_few(problem_of(2, 1, ic, oc, padded(5), padded(23)));
}

TEST(ConvFew, PointwiseRowsAroundTheTileAndTheUnit) {
  for (const int64_t w : {16, 17, 23, 31, 32, 33, 255, 256, 257, 300})
    for (const int64_t h : {1, 3}) check_few(problem_of(1, 1, 40, 3, axis(h, 1), axis(w, 1)));
  check_few(problem_of(1, 1, 32, 2, axis(130, 1), axis(257, 1)));
}

TEST(ConvFew, KernelsStridesDilations) {
  for (const int64_t k : {1, 2, 3, 5, 9})
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t dilation : {1, 2})
        for (const int64_t pad : {0, 1, 4})
          check_few(problem_of(1, 1, 24, 3, axis(11, k > 3 ? 3 : k, stride, dilation, pad, 1),
                               axis(83, k, stride, dilation, pad, pad + 1)));
}

TEST(ConvFew, UnitsThatEndBetweenBorders) {
  for (const int64_t w : {256, 257, 258, 270, 515})
    check_few(problem_of(1, 1, 16, 2, axis(64, 3, 1, 1, 1, 1), axis(w, 5, 1, 1, 2, 2)));
}

TEST(ConvFew, PadsBeyondTheKernelAndCrops) {
  check_few(problem_of(1, 1, 16, 2, axis(4, 3, 1, 1, 5, 5), axis(20, 3, 1, 1, 5, 6)));
  check_few(problem_of(1, 1, 16, 2, axis(9, 3, 1, 1, -2, -1), axis(40, 3, 1, 1, -3, -5)));
}

TEST(ConvFew, OtherRanks) {
  check_few(problem_of(2, 1, 20, 3, {}, axis(70, 5, 1, 1, 2, 2)));
  check_few(problem_of(2, 1, 20, 3, padded(4), padded(20), axis(5, 3, 2, 1, 1, 1)));
  check_few(problem_of(2, 1, 16, 2, axis(6, 1), axis(7, 1), axis(5, 1)));
}

TEST(ConvFew, RowsShorterThanATile) {
  for (const int64_t w : {5, 9, 15}) check_few(problem_of(2, 1, 64, 1, padded(5), padded(w)));
}

TEST(ConvFew, TransposedChannels) {
  for (const int64_t ic : {16, 17, 30, 64})
    for (const int64_t oc : {1, 2, 3, 4, 7})
      if (ic == 64 || oc < 3)
        check_few(transposed_problem(2, ic, oc, transposed_axis(3, 4, 2, 1, 1, 1), transposed_axis(32, 4, 2, 1, 1, 1)));
}

TEST(ConvFew, TransposedKernelsStridesDilations) {
  for (const int64_t k : {1, 2, 3, 4, 9})
    for (const int64_t stride : {1, 2, 3, 5})
      for (const int64_t dilation : {1, 2, 3})
        for (const int64_t pad : {0, 1, 4}) {
          if ((k - 1) * dilation + 1 <= pad) continue;
          check_few(transposed_problem(1, 200, 2,
                                       transposed_axis(3, k, std::min<int64_t>(stride, 3), dilation, pad > 0, 0),
                                       transposed_axis(40, k, stride, dilation, pad, pad / 2)));
        }
}

TEST(ConvFew, TransposedRowsAroundTheTileAndTheUnit) {
  for (const int64_t w : {15, 16, 17, 33, 127, 128, 129, 300})
    for (const int64_t h : {1, 64})
      check_few(transposed_problem(1, 48, 2, transposed_axis(h, 3, 1, 1, 1, 1), transposed_axis(w, 5, 2, 1, 2, 1)));
  check_few(transposed_problem(1, 80, 1, {}, transposed_axis(333, 16, 8)));
  check_few(transposed_problem(1, 80, 1, {}, transposed_axis(32, 130, 64)));
}

// Neighbours that see the same sources go together, by as many as there are of one length.
TEST(ConvFew, TransposedColumnsOfOneOutput) {
  for (const int64_t stride : {2, 3, 5, 8, 11})
    for (const int64_t k : {stride, 2 * stride, 3 * stride - 2})
      for (const int64_t pad : {0, 1, 4}) {
        if (k <= pad) continue;
        ConvAxis w = transposed_axis(37, k, stride, 1, pad, pad / 2);
        w.out += pad % 3;
        check_few(transposed_problem(1, 40, 1, {}, w));
      }
  check_few(transposed_problem(2, 70, 1, transposed_axis(5, 9, 3, 1, 4, 4), transposed_axis(70, 9, 3, 1, 4, 4)));
  check_few(transposed_problem(1, 40, 1, {}, transposed_axis(37, 5, 3, 2, 2, 1)));
  check_few(transposed_problem(1, 1030, 1, {}, transposed_axis(67, 16, 8, 1, 4, 4)));
}

TEST(ConvFew, TransposedOutputsThatNothingReaches) {
  ConvAxis h = transposed_axis(4, 2, 3), w = transposed_axis(20, 2, 3);
  h.out += 2;  // output_padding
  w.out += 1;
  check_few(transposed_problem(2, 40, 2, h, w));
  check_few(transposed_problem(1, 40, 2, transposed_axis(4, 3, 2, 1, -3, -1), transposed_axis(20, 3, 2, 1, -2, -5)));
}

TEST(ConvFew, TransposedInThreeDimensions) {
  check_few(transposed_problem(2, 36, 2, transposed_axis(4, 3, 2, 1, 1, 0), transposed_axis(17, 2, 2),
                               transposed_axis(3, 4, 2, 1, 1, 1)));
}

TEST(ConvFew, PostOps) {
  check_post_ops(problem_of(2, 1, 32, 2, axis(5, 1), axis(67, 1)));
  check_post_ops(problem_of(2, 1, 19, 3, padded(5), padded(37)));
  check_post_ops(problem_of(1, 1, 80, 8, padded(3), padded(18)));
  check_post_ops(transposed_problem(2, 64, 3, transposed_axis(3, 4, 2, 1, 1, 1), transposed_axis(19, 4, 2, 1, 1, 1)));
  check_post_ops(transposed_problem(2, 64, 1, {}, transposed_axis(19, 16, 8, 1, 4, 4)));
}

TEST(ConvFew, StandsWhereItPays) {
  const struct {
    ConvProblem problem;
    const char* reason;  // of 16 lanes
  } cases[] = {
      {problem_of(1, 1, 32, 2, axis(16, 1), axis(16, 1)), nullptr},
      {problem_of(1, 1, 64, 8, axis(16, 3), axis(18, 3)), nullptr},
      {problem_of(1, 1, 64, 9, axis(16, 3), axis(18, 3)), "more than 8 output channels"},
      {problem_of(1, 1, 16, 4, axis(16, 1), axis(16, 1)), "too few input channels for so many outputs"},
      {problem_of(1, 1, 32, 2, axis(16, 3), axis(17, 3)), nullptr},
      {problem_of(1, 1, 96, 4, axis(1, 1), axis(1, 1)), "too few input channels for so many outputs"},
      {problem_of(1, 2, 64, 2, axis(16, 1), axis(16, 1)), "grouped"},
      {transposed_problem(1, 64, 3, axis(16, 1), axis(16, 1)), "transposed"},
  };
  const struct {
    ConvProblem problem;
    const char* reason;
  } transposed_cases[] = {
      {transposed_problem(1, 64, 3, transposed_axis(32, 4, 2), transposed_axis(32, 4, 2)), nullptr},
      {transposed_problem(1, 24, 5, transposed_axis(32, 2, 2), transposed_axis(32, 2, 2)),
       "too few input channels for so many outputs"},
      {transposed_problem(1, 64, 9, transposed_axis(32, 4, 2), transposed_axis(32, 4, 2)),
       "more than 8 output channels"},
      {transposed_problem(1, 64, 1, {}, transposed_axis(32, 80, 65)), "a stride of more than 64 columns"},
      {problem_of(1, 1, 64, 3, axis(16, 1), axis(16, 1)), "not transposed"},
  };
  for (const ConvKernel& kernel : conv_kernels(Isa::avx512)) {
    if (!is_few(kernel)) continue;
    if (is_for_transposed(kernel)) {
      for (const auto& c : transposed_cases)
        EXPECT_STREQ(kernel.reject(c.problem, kernel), c.reason) << describe(c.problem);
    } else {
      for (const auto& c : cases) EXPECT_STREQ(kernel.reject(c.problem, kernel), c.reason) << describe(c.problem);
    }
  }
}

TEST(ConvFew, PackedWeights) {
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : conv_kernels(isa)) {
      ConvProblem p = problem_of(1, 1, 19, 5, axis(9, 3), axis(40, 5));
      if (!is_few(kernel)) continue;
      p.transposed = is_for_transposed(kernel);
      ASSERT_EQ(kernel.reject(p, kernel), nullptr);
      ConvPlan plan;
      kernel.plan(p, kernel, plan);
      std::vector<float> weights(static_cast<size_t>(5 * 19 * 15));
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i + 1);
      const float bias[] = {-1, -2, -3, -4, -5};
      std::vector<float> expected(bias, bias + 5);
      expected.resize(16);
      for (const auto& [first, end] : {std::pair{0, 2}, std::pair{2, 5}})  // groups of outputs
        for (int64_t tap = 0; tap < 15; ++tap)
          for (int64_t i0 = 0; i0 < 19; i0 += plan.block)
            for (int64_t o = first; o < end; ++o)
              for (int64_t i = i0; i < i0 + plan.block; ++i)
                expected.push_back(
                    i < 19 ? weights[static_cast<size_t>((p.transposed ? i * 5 + o : o * 19 + i) * 15 + tap)] : 0.0f);
      GuardedFloats packed(plan.packed_floats, std::nanf(""));
      ASSERT_EQ(packed.size(), expected.size());
      kernel.pack(plan, kernel, {weights.data(), bias}, packed.data(), 0, kernel.pack_pieces(plan));
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(packed.data()[i], expected[i]) << "float " << i;
    }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
