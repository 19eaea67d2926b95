// Paired 1x1 convolutions, at sizes around tiles, blocks, units and rounds, against a double-precision direct sum; see
// bounded_kernel_harness.hpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "tests/kernels/bounded_kernel_harness.hpp"

namespace terroir::cpu::conv_test {
namespace {

// Of all instruction sets, between blocked layouts and with channels last.
std::vector<const ConvKernel*> all_kernels() {
  std::vector<const ConvKernel*> kernels;
  for (const Isa isa : available_isas())
    for (const ConvKernel& kernel : paired_kernels(isa)) kernels.push_back(&kernel);
  return kernels;
}

// Channels that come last are stored in whole vectors.
bool takes(const ConvKernel& kernel, const ConvProblem& p) {
  return kernel.dst == ConvFormat::blocked || p.oc % (2 * channel_block(kernel.isa)) == 0;
}

std::vector<const ConvKernel*> kernels_for(const ConvProblem& p) {
  std::vector<const ConvKernel*> kernels = all_kernels();
  std::erase_if(kernels, [&](const ConvKernel* kernel) { return !takes(*kernel, p); });
  return kernels;
}

double error_bound(const ConvProblem& p, const float* weights) noexcept {
  return paired_error_bound(p, paired_amplification(p, weights, p.oc));
}

void check_paired(const ConvProblem& p) {
  const Reference r = reference(p);
  for (const ConvKernel* kernel : kernels_for(p)) check_bounded_kernel(*kernel, error_bound, p, r);
}

ConvProblem pointwise(int64_t ic, int64_t oc, int64_t h, int64_t w, int64_t stride = 1, int64_t batch = 1) {
  return problem_of(batch, 1, ic, oc, axis(h, 1, stride), axis(w, 1, stride));
}

// Weights that do not stay in L2, so that inputs are taken in rounds.
int64_t many_inputs() { return cache_sizes().l2 / 2 / 4 / 64 + 40; }

TEST(ConvPaired, ExistsWhereRegistersAreMany) {
  for (const Isa isa : available_isas())
    for (const ConvFormat format : {ConvFormat::blocked, ConvFormat::nhwc, ConvFormat::plain})
      EXPECT_EQ(paired_kernel(isa, format) != nullptr, isa == Isa::avx512 && format != ConvFormat::plain)
          << isa_name(isa);
}

TEST(ConvPaired, PositionsAroundTiles) {
  for (int64_t w = 1; w <= 32; ++w) check_paired(pointwise(48, 32, 1, w));
  for (const int64_t w : {39, 40, 41, 99, 101, 230}) check_paired(pointwise(33, 32, 1, w));
  check_paired(pointwise(64, 32, 13, 17));
}

TEST(ConvPaired, ChannelsAroundBlocksAndUnits) {
  for (const int64_t ic : {1, 2, 3, 5, 14, 15, 16, 17, 18, 31, 32, 33, 47, 49, 64, 80})
    for (const int64_t oc : {17, 30, 31, 32, 49, 63, 64, 96}) check_paired(pointwise(ic, oc, 3, 5));
}

TEST(ConvPaired, InputsInRounds) {
  for (const int64_t more : {0, 1, 16}) check_paired(pointwise(many_inputs() + more, 64, 5, 5));
}

// Sources that do not fit half of L2: prepared some at a time, or, where weights would be read too often, more at once.
TEST(ConvPaired, PositionsInBatches) {
  for (const int64_t w : {61, 100, 118, 130, 250}) check_paired(pointwise(many_inputs(), 64, 1, w));
}

TEST(ConvPaired, Strides) {
  for (const int64_t stride : {2, 3})
    for (const int64_t size : {1, 2, 7, 14, 23}) check_paired(pointwise(40, 64, size, size + 1, stride));
  check_paired(pointwise(many_inputs(), 64, 9, 9, 2));
}

TEST(ConvPaired, AnImageHasTheSameBitsAloneAndAtAnyPlaceInABatch) {
  for (const ConvProblem& p : {pointwise(50, 50, 5, 7), pointwise(64, 64, 5, 7)})
    check_images_of_a_batch(kernels_for(p), p);
}

TEST(ConvPaired, PostOps) {
  for (const int64_t oc : {64, 50, 20}) {
    const ConvProblem p = pointwise(70, oc, 4, 9);
    check_post_ops_of(kernels_for(p), p);
  }
}

// Each position has a scale of its own, in a tile with others.
TEST(ConvPaired, SourcesAndWeightsOfAnyMagnitude) {
  const ConvProblem p = pointwise(70, 32, 1, 23);
  Reference r = reference(p);
  std::fill(r.bias.begin(), r.bias.end(), 0.0f);
  const auto position_scale = [](int64_t w) {
    constexpr float kScales[] = {1, 1e-6f, 1e6f, 0.1f, 20, 1e-30f, 1e25f, 0, 1e-38f};
    return kScales[w % 9];
  };
  const auto output_scale = [](int64_t o) { return std::ldexp(1.0f, static_cast<int>(o % 7 * 10 - 30)); };
  std::vector<double> magnitudes(static_cast<size_t>(p.oc));
  std::vector<double> expected(static_cast<size_t>(p.oc * p.w.out), 0.0);
  for (int64_t i = 0; i < p.ic; ++i)
    for (int64_t w = 0; w < p.w.out; ++w) r.src[static_cast<size_t>(i * p.w.out + w)] *= position_scale(w);
  for (int64_t o = 0; o < p.oc; ++o)
    for (int64_t i = 0; i < p.ic; ++i) {
      float& weight = r.wei[static_cast<size_t>(o * p.ic + i)];
      weight *= output_scale(o);
      magnitudes[static_cast<size_t>(o)] += std::abs(static_cast<double>(weight));
      for (int64_t w = 0; w < p.w.out; ++w)
        expected[static_cast<size_t>(o * p.w.out + w)] +=
            static_cast<double>(weight) * static_cast<double>(r.src[static_cast<size_t>(i * p.w.out + w)]);
    }
  const double bound = error_bound(p, r.wei.data());
  for (const ConvKernel* kernel : kernels_for(p)) {
    BoundedKernelBench bench(*kernel, p, r);
    GuardedFloats dst(bench.dst_floats(), std::nanf(""));
    bench.run_sliced(dst.data(), 1);
    for (int64_t o = 0; o < p.oc; ++o)
      for (int64_t w = 0; w < p.w.out; ++w) {
        const double tolerance =
            bound * magnitudes[static_cast<size_t>(o)] * static_cast<double>(position_scale(w)) + 1e-37;
        EXPECT_NEAR(static_cast<double>(dst.data()[bench.dst_offset(0, o, 0, w)]),
                    expected[static_cast<size_t>(o * p.w.out + w)], tolerance)
            << o << ' ' << w;
      }
  }
}

TEST(ConvPaired, WhatIsNoNumberStaysInItsPosition) {
  const ConvProblem p = pointwise(33, 20, 1, 14);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const Reference good = reference(p);
    Reference spoiled = good;
    spoiled.src[17 * 14 + 3] = bad;
    for (const ConvKernel* kernel : kernels_for(p)) {
      BoundedKernelBench whole(*kernel, p, good), with(*kernel, p, spoiled);
      GuardedFloats expected(whole.dst_floats(), 1.0f), got(whole.dst_floats(), 1.0f);
      whole.run_sliced(expected.data(), 1);
      with.run_sliced(got.data(), 2);
      for (int64_t c = 0; c < 32; ++c)
        for (int64_t w = 0; w < 14; ++w) {
          const auto at = static_cast<size_t>(whole.dst_offset(0, c, 0, w));
          if (w == 3 && c < p.oc) {
            EXPECT_TRUE(std::isnan(got.data()[at])) << c;
          } else {
            EXPECT_EQ(got.data()[at], expected.data()[at]) << c << ' ' << w;
          }
        }
    }
  }
}

// As the executor runs it: slices of units find the positions prepared, and fetch what follows them.
TEST(ConvPaired, SlicesKeepWhatTheyHavePrepared) {
  for (const ConvProblem& p :
       {pointwise(64, 128, 6, 6), pointwise(many_inputs(), 128, 5, 5), pointwise(40, 64, 30, 30, 1, 2)}) {
    const Reference r = reference(p);
    for (const ConvKernel* kernel : kernels_for(p)) {
      SCOPED_TRACE(describe(p));
      BoundedKernelBench bench(*kernel, p, r);
      GuardedFloats expected(bench.dst_floats(), std::nanf("")), got(bench.dst_floats(), std::nanf(""));
      bench.run_sliced(expected.data(), 1);
      for (const int64_t threads : {1, 2, 3, 8}) {
        ConvSplit split = paired_split(bench.plan, threads);
        if (split.slices.sp == 1) split.slices.oc = bench.plan.grid.oc / split.parts.oc;
        PairedKept kept;
        ConvLines lines[] = {{bench.packed().data(), 7}, {bench.packed().data() + 160, 30}};
        ConvAhead ahead{lines, 2, split.count()};
        std::fill_n(got.data(), got.size(), std::nanf(""));
        for (int64_t i = 0; i < split.count(); ++i)
          bench.run_kept(got.data(), conv_slice(bench.plan, split, i), conv_oc_ahead(bench.plan, split, i), kept,
                         ahead);
        expect_same_bits(expected, got.data(), "kept");
      }
    }
  }
}

TEST(ConvPaired, SplitsCoverTheWorkOnce) {
  for (const ConvKernel* kernel : all_kernels())
    for (const ConvProblem& p : {pointwise(64, 64, 56, 56), pointwise(512, 2048, 7, 7), pointwise(2048, 512, 7, 7),
                                 pointwise(1024, 256, 14, 14), pointwise(16, 32, 1, 1), pointwise(256, 64, 9, 9, 1, 5),
                                 pointwise(256, 64, 9, 9, 1, 0)})
      for (const int64_t threads : {1, 2, 3, 4, 8, 64}) {
        ConvPlan plan;
        kernel->plan(p, *kernel, plan);
        const ConvSplit split = paired_split(plan, threads);
        EXPECT_LE(split.part_count(), threads);
        std::vector<int> times(static_cast<size_t>(plan.grid.n * plan.grid.oc * plan.grid.sp));
        for (int64_t i = 0; i < split.count(); ++i) {
          const ConvTile s = conv_slice(plan, split, i);
          for (int64_t n = s.n0; n < s.n1; ++n)
            for (int64_t oc = s.oc0; oc < s.oc1; ++oc)
              for (int64_t sp = s.sp0; sp < s.sp1; ++sp)
                ++times[static_cast<size_t>((n * plan.grid.oc + oc) * plan.grid.sp + sp)];
        }
        EXPECT_EQ(std::count(times.begin(), times.end(), 1), static_cast<std::ptrdiff_t>(times.size()))
            << describe(p) << " on " << threads;
      }
}

// A matrix of an input's outputs in each row, as a transposed convolution of one tap and products of matrices have it.
TEST(ConvPaired, TransposedWeightsGiveTheSameBits) {
  for (const ConvProblem& p : {pointwise(70, 64, 4, 9), pointwise(33, 50, 1, 14), pointwise(many_inputs(), 96, 5, 5)}) {
    const Reference plain = reference(p);
    ConvProblem transposed = p;
    transposed.transposed = true;
    Reference turned = plain;
    for (int64_t o = 0; o < p.oc; ++o)
      for (int64_t i = 0; i < p.ic; ++i)
        turned.wei[static_cast<size_t>(i * p.oc + o)] = plain.wei[static_cast<size_t>(o * p.ic + i)];
    EXPECT_NEAR(error_bound(transposed, turned.wei.data()), error_bound(p, plain.wei.data()), 1e-9);
    for (const ConvKernel* kernel : kernels_for(p)) {
      SCOPED_TRACE(describe(p));
      BoundedKernelBench bench(*kernel, p, plain), other(*kernel, transposed, turned);
      GuardedFloats expected(bench.dst_floats(), std::nanf("")), got(bench.dst_floats(), std::nanf(""));
      bench.run_sliced(expected.data(), 1);
      other.run_sliced(got.data(), 2);
      expect_same_bits(expected, got.data(), "transposed");
    }
  }
}

// Of a matrix whose columns are looked at some at a time.
TEST(ConvPaired, BoundsTheErrorOfSomeOutputs) {
  ConvProblem p = pointwise(40, 300, 8, 8);
  std::vector<float> weights(40 * 300, 0.01f);
  weights[7 * 300 + 290] = 100;
  const double first = paired_amplification(p, weights.data(), 0);
  EXPECT_EQ(first, 0);
  p.transposed = true;
  const double before = paired_amplification(p, weights.data(), 290), odd = paired_amplification(p, &weights[290], 1),
               behind = paired_amplification(p, &weights[291], 9);
  EXPECT_GT(before, 0);
  EXPECT_EQ(before, behind);
  EXPECT_GT(odd, 2 * before);
  EXPECT_EQ(paired_amplification(p, weights.data(), 300), odd);
}

TEST(ConvPaired, RefusesWhatItCannotDo) {
  for (const ConvKernel* kernel : all_kernels()) {
    const auto refuses = [&](const ConvProblem& p) { return kernel->reject(p, *kernel) != nullptr; };
    const ConvProblem good = pointwise(64, 64, 8, 8);
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(pointwise(64, 48, 8, 8)));
    EXPECT_TRUE(refuses(problem_of(1, 2, 64, 64, axis(8, 1), axis(8, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 64, 64, axis(8, 1, 1, 1, 1, 1), axis(8, 1))));
    EXPECT_TRUE(refuses(problem_of(1, 1, 64, 64, axis(8, 3, 1, 1, 1, 1), axis(8, 1))));
    EXPECT_EQ(refuses(pointwise(64, 50, 8, 8)), kernel->dst == ConvFormat::nhwc);
    ConvProblem transposed = good;
    transposed.transposed = true;
    EXPECT_FALSE(refuses(transposed));
    transposed.h = transposed_axis(8, 1, 2);
    EXPECT_TRUE(refuses(transposed));
  }
}

TEST(ConvPaired, PaysWhereOutputsAndInputsAreMany) {
  for (const ConvKernel* kernel : all_kernels()) {
    const auto speedup = [&](const ConvProblem& p) { return paired_speedup(p, *kernel); };
    EXPECT_GT(speedup(pointwise(512, 2048, 7, 7)), 1.2);
    EXPECT_GT(speedup(pointwise(1024, 256, 14, 14)), 1.1);
    EXPECT_LT(speedup(pointwise(32, 32, 56, 56)), 1.0);
    EXPECT_LT(speedup(pointwise(512, 512, 1, 1)), 1.0);
  }
}

TEST(ConvPaired, BoundsTheErrorOfItsWeights) {
  const ConvProblem p = pointwise(300, 2, 8, 8);
  std::vector<float> weights(600, 0.01f);
  const double even = error_bound(p, weights.data());
  EXPECT_GT(even, 1e-6);
  EXPECT_LT(even, kWinoTolerance / 10);
  // The magnitude of an output's weights does not matter, but that they are alike does.
  for (size_t i = 300; i < 600; ++i) weights[i] *= 1024;
  EXPECT_DOUBLE_EQ(error_bound(p, weights.data()), even);
  weights[77] = 100;
  EXPECT_GT(error_bound(p, weights.data()), 10 * even);
  EXPECT_EQ(error_bound(p, std::vector<float>(600, 0.0f).data()), 0);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf(""), 1e30f}) {
    weights[400] = bad;
    EXPECT_FALSE(error_bound(p, weights.data()) <= kWinoTolerance) << bad;
  }
}

}  // namespace
}  // namespace terroir::cpu::conv_test
