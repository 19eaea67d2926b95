// Winograd convolutions of first layers, stride 2: against a double-precision direct sum within the bound that
// selection relies on, at sizes around tiles, strips and blocks, in memory that ends at a guard page.
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "tests/kernels/conv_harness.hpp"
#include "tests/kernels/post_op_chains.hpp"

namespace terroir::cpu::conv_test {
namespace {

std::vector<const ConvKernel*> kernels() {
  std::vector<const ConvKernel*> found;
  for (const Isa isa : available_isas())
    if (const ConvKernel* kernel = polyphase_kernel(isa)) found.push_back(kernel);
  return found;
}

// A kernel with its tensors for one problem.
class Bench {
 public:
  Bench(const ConvKernel& kernel, const ConvProblem& p, const Reference& values)
      : kernel_(kernel),
        plan(plan_of(kernel, p)),
        src_(static_cast<size_t>(p.batch * plan.src.n), 0.0f),
        packed_(plan.packed_floats, std::nanf("")),
        scratch_(plan.scratch_floats, std::nanf("")) {
    std::copy(values.src.begin(), values.src.end(), src_.data());
    // In pieces, last first: they are independent.
    for (int64_t piece = kernel.pack_pieces(plan); piece-- > 0;)
      kernel.pack(plan, kernel, {values.wei.data(), values.bias.data()}, packed_.data(), piece, piece + 1);
  }

  int64_t dst_offset(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return offset(plan.dst, ConvFormat::blocked, plan.block, n, c, 0, h, w);
  }
  size_t dst_floats() const { return static_cast<size_t>(plan.problem.batch * plan.dst.n); }
  const GuardedFloats& packed() const { return packed_; }

  void run(float* dst, const ConvTile& box, const std::vector<PostOp>& ops = {}) {
    std::fill_n(scratch_.data(), scratch_.size(), std::nanf(""));
    const ConvArgs args{src_.data(),    packed_.data(), dst, ops.data(), static_cast<int64_t>(ops.size()),
                        scratch_.data()};
    kernel_.run(plan, args, box);
  }
  void run_sliced(float* dst, int64_t threads, const std::vector<PostOp>& ops = {}) {
    ConvSplit split = conv_split(plan, threads);
    // Work as small as this is not cut further on its own account.
    if (threads > 1 && split.per_part() == 1 && split.count() > 0) {
      const ConvTile part = conv_part(plan, split, 0);
      split.slices.sp = std::clamp<int64_t>(part.sp1 - part.sp0, 1, 3);
    }
    for (int64_t i = split.count(); i-- > 0;) run(dst, conv_slice(plan, split, i), ops);
  }
  void run_misaligned(float* dst) {
    std::vector<float> src(src_.size() + 1), packed(packed_.size() + 1), scratch(scratch_.size() + 1);
    std::copy_n(src_.data(), src_.size(), src.data() + 1);
    std::copy_n(packed_.data(), packed_.size(), packed.data() + 1);
    const ConvArgs args{src.data() + 1, packed.data() + 1, dst, nullptr, 0, scratch.data() + 1};
    kernel_.run(plan, args, conv_slice(plan, conv_split(plan, 1), 0));
  }

 private:
  static ConvPlan plan_of(const ConvKernel& kernel, const ConvProblem& p) {
    ConvPlan plan;
    kernel.plan(p, kernel, plan);
    return plan;
  }

  const ConvKernel& kernel_;

 public:
  const ConvPlan plan;

 private:
  GuardedFloats src_, packed_, scratch_;
};

void expect_same_bits(const GuardedFloats& a, const float* b, const char* what) {
  EXPECT_EQ(std::memcmp(a.data(), b, a.size() * sizeof(float)), 0) << what;
}

void check(const ConvKernel& kernel, const ConvProblem& p, const Reference& r) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
  ASSERT_EQ(kernel.reject(p, kernel), nullptr);
  Bench bench(kernel, p, r);
  for (size_t i = 0; i < bench.packed().size(); ++i)
    ASSERT_FALSE(std::isnan(bench.packed().data()[i])) << "packing left out " << i;
  const float nan = std::nanf("");
  GuardedFloats dst(bench.dst_floats(), nan);
  bench.run_sliced(dst.data(), 1);

  const double bound = polyphase_error_bound(p, r.wei.data());
  EXPECT_LT(bound, kWinoTolerance);
  const auto taps = static_cast<size_t>(p.ic * p.h.kernel * p.w.kernel);
  int64_t wrong = 0;
  size_t at = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = 0; c < p.oc; ++c) {
      double largest = 0;
      for (size_t i = 0; i < taps; ++i)
        largest += std::abs(static_cast<double>(r.wei[static_cast<size_t>(c) * taps + i]));
      for (int64_t h = 0; h < p.h.out; ++h)
        for (int64_t w = 0; w < p.w.out; ++w, ++at) {
          const double got = dst.data()[bench.dst_offset(n, c, h, w)], tolerance = bound * largest + 1e-7;
          if (!(std::abs(got - r.dst[at]) <= tolerance) && ++wrong <= 5)
            ADD_FAILURE() << "n " << n << " c " << c << " h " << h << " w " << w << ": got " << got << ", expected "
                          << r.dst[at] << " +- " << tolerance;
        }
    }
  ASSERT_EQ(wrong, 0);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = p.oc; c % bench.plan.block != 0; ++c)
      for (int64_t h = 0; h < p.h.out; ++h)
        for (int64_t w = 0; w < p.w.out; ++w)
          ASSERT_EQ(dst.data()[bench.dst_offset(n, c, h, w)], 0.0f) << "tail channel " << c;

  for (const int64_t threads : {2, 3, 8}) {
    GuardedFloats other(dst.size(), nan);
    bench.run_sliced(other.data(), threads);
    expect_same_bits(dst, other.data(), "slices");
  }
  GuardedFloats single(dst.size(), nan), misaligned(dst.size() + 1, nan);
  const ConvGrid& grid = bench.plan.grid;
  for (int64_t n = grid.n; n-- > 0;)
    for (int64_t sp = grid.sp; sp-- > 0;) bench.run(single.data(), {n, n + 1, 0, grid.oc, sp, sp + 1});
  expect_same_bits(dst, single.data(), "single strips");
  bench.run_misaligned(misaligned.data());
  expect_same_bits(dst, misaligned.data(), "misaligned bases");
  EXPECT_TRUE(std::isnan(misaligned.data()[dst.size()])) << "wrote past the end";
}

void check_everywhere(const ConvProblem& p) {
  const Reference r = reference(p);
  for (const ConvKernel* kernel : kernels()) check(*kernel, p, r);
}

ConvAxis strided(int64_t in, int64_t kernel = 7) { return axis(in, kernel, 2, 1, kernel / 2, kernel / 2); }

TEST(ConvPolyphase, ExistsWhereVectorsAreWide) {
  for (const Isa isa : available_isas())
    EXPECT_EQ(polyphase_kernel(isa) != nullptr, isa == Isa::avx2 || isa == Isa::avx512) << isa_name(isa);
}

TEST(ConvPolyphase, ExtentsAroundTilesAndStrips) {
  for (const int64_t size : {1, 2, 4, 5, 6, 7, 11, 12, 13, 23})
    check_everywhere(problem_of(1, 1, 3, 16, strided(size), strided(9)));
  for (const int64_t size : {1, 5, 6, 7, 8, 35, 36, 37, 47, 48, 49, 50, 64, 95, 96, 97, 101})
    check_everywhere(problem_of(1, 1, 3, 16, strided(8), strided(size)));
}

TEST(ConvPolyphase, ChannelsAroundBlocksAndUnits) {
  for (const int64_t ic : {1, 2, 3, 4})
    for (const int64_t oc : {1, 7, 8, 16, 17, 33, 40, 67})
      check_everywhere(problem_of(1, 1, ic, oc, strided(13), strided(60)));
}

TEST(ConvPolyphase, Kernels) {
  for (const int64_t h : {5, 6, 7})
    for (const int64_t w : {5, 6, 7})
      for (const int64_t ic : {2, 3}) check_everywhere(problem_of(1, 1, ic, 20, strided(17, h), strided(53, w)));
}

TEST(ConvPolyphase, Pads) {
  for (const int64_t before : {0, 1, 2, 3, 5})
    for (const int64_t after : {0, 2, 3})
      check_everywhere(problem_of(1, 1, 3, 16, axis(14, 7, 2, 1, before, after), axis(51, 7, 2, 1, after, before)));
  // Cropped at the beginning, and padded beyond whole strips.
  check_everywhere(problem_of(1, 1, 3, 16, axis(20, 7, 2, 1, -3, -1), axis(70, 6, 2, 1, -2, 0)));
  check_everywhere(problem_of(1, 1, 3, 16, axis(3, 7, 2, 1, 17, 19), axis(4, 7, 2, 1, 110, 120)));
}

TEST(ConvPolyphase, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  for (const ConvKernel* kernel : kernels()) {
    const ConvProblem one = problem_of(1, 1, 3, 34, strided(19), strided(70));
    ConvProblem three = one;
    three.batch = 3;
    const Reference alone = reference(one);
    Reference batch = reference(three);
    batch.wei = alone.wei;
    batch.bias = alone.bias;
    Bench single(*kernel, one, alone);
    std::vector<float> expected(single.dst_floats());
    single.run_sliced(expected.data(), 1);
    for (size_t place = 0; place < 3; ++place) {
      SCOPED_TRACE(std::string(kernel->name) + " place " + std::to_string(place));
      // Neighbours that would spoil whatever they touched.
      std::fill(batch.src.begin(), batch.src.end(), std::numeric_limits<float>::infinity());
      std::copy(alone.src.begin(), alone.src.end(),
                batch.src.begin() + static_cast<std::ptrdiff_t>(place * alone.src.size()));
      Bench whole(*kernel, three, batch);
      std::vector<float> got(whole.dst_floats());
      whole.run_sliced(got.data(), 2);
      EXPECT_EQ(std::memcmp(got.data() + place * expected.size(), expected.data(), expected.size() * sizeof(float)), 0);
    }
  }
}

TEST(ConvPolyphase, PostOps) {
  const ConvProblem p = problem_of(1, 1, 3, 37, strided(13), strided(121));
  const Reference r = reference(p);
  for (const ConvKernel* kernel : kernels()) {
    Bench bench(*kernel, p, r);
    check_post_op_chains(bench, p, kernel->name,
                         [&](int64_t c, int64_t h, int64_t w) { return bench.dst_offset(0, c, h, w); });
  }
}

TEST(ConvPolyphase, RefusesWhatItCannotDo) {
  for (const ConvKernel* kernel : kernels()) {
    const auto refuses = [&](const ConvProblem& p) { return kernel->reject(p, *kernel) != nullptr; };
    const ConvProblem good = problem_of(1, 1, 3, 16, strided(20), strided(20));
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(problem_of(1, 1, 5, 16, strided(20), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 2, 4, 16, strided(20), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20, 4), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), strided(20, 8))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, axis(20, 7, 1, 1, 3, 3), strided(20))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), axis(20, 5, 2, 2, 3, 3))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), strided(20), axis(4, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 3, 16, strided(20), strided(20), axis(1, 1, 3, 1, 1, 1))));
    ConvProblem transposed = good;
    transposed.transposed = true;
    EXPECT_TRUE(refuses(transposed));
  }
}

TEST(ConvPolyphase, BoundsTheErrorOfItsWeights) {
  const ConvProblem p = problem_of(1, 1, 3, 2, strided(20), strided(20));
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
