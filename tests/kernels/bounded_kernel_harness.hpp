#pragma once
// What: a convolution kernel that is taken only where an error bound of its weights allows it, with its tensors for one
// problem, and its comparison with a double-precision direct sum within that bound, in memory that ends at a guard
// page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/conv/plan.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "tests/kernels/conv_harness.hpp"
#include "tests/kernels/post_op_chains.hpp"

namespace terroir::cpu::conv_test {

// A kernel with its tensors for one problem.
class BoundedKernelBench {
 public:
  BoundedKernelBench(const ConvKernel& kernel, const ConvProblem& p, const Reference& values)
      : kernel_(kernel),
        plan(plan_of(kernel, p)),
        src_(static_cast<size_t>(p.batch * plan.src.n), std::nanf("")),
        packed_(plan.packed_floats, std::nanf("")),
        scratch_(plan.scratch_floats, std::nanf("")) {
    // Those of the plan may be merged.
    lay_out_source(p, conv::dense_strides(p, kernel.src, plan.block, false), kernel.src, plan.block, values.src,
                   src_.data());
    // In pieces, last first: they are independent. Only the first one needs the first output's weights.
    const auto row = values.wei.size() / values.bias.size();
    for (int64_t piece = kernel.pack_pieces(plan); piece-- > 0;) {
      const int64_t first = piece > 0 && !p.transposed ? 1 : 0;
      const float* const weights = values.wei.data() + static_cast<size_t>(first) * row;
      kernel.pack(plan, kernel, {weights, values.bias.data(), first}, packed_.data(), piece, piece + 1);
    }
  }

  int64_t dst_offset(int64_t n, int64_t c, int64_t h, int64_t w, int64_t d = 0) const {
    return offset(conv::dense_strides(plan.problem, kernel_.dst, plan.block, true), kernel_.dst, plan.block, n, c, d, h,
                  w);
  }
  size_t dst_floats() const { return static_cast<size_t>(plan.problem.batch * plan.dst.n); }
  const GuardedFloats& packed() const { return packed_; }

  void run(float* dst, const ConvTile& box, const std::vector<PostOp>& ops = {}) {
    std::fill_n(scratch_.data(), scratch_.size(), std::nanf(""));
    const ConvArgs args{src_.data(),    packed_.data(), dst, ops.data(), static_cast<int64_t>(ops.size()),
                        scratch_.data()};
    kernel_.run(plan, args, box);
  }
  /// After earlier ones that left `kept`, on the way fetching `ahead`.
  void run_kept(float* dst, const ConvTile& box, int64_t oc_ahead, PairedKept& kept, ConvAhead& ahead) {
    ConvArgs args{src_.data(), packed_.data(), dst, nullptr, 0, scratch_.data()};
    args.oc_ahead = oc_ahead;
    args.prepared = &kept;
    args.ahead = &ahead;
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

inline void expect_same_bits(const GuardedFloats& a, const float* b, const char* what) {
  EXPECT_EQ(std::memcmp(a.data(), b, a.size() * sizeof(float)), 0) << what;
}

using ErrorBound = double (*)(const ConvProblem&, const float* weights) noexcept;

inline void check_bounded_kernel(const ConvKernel& kernel, ErrorBound error_bound, const ConvProblem& p,
                                 const Reference& r) {
  SCOPED_TRACE(std::string(kernel.name) + ": " + describe(p));
  ASSERT_EQ(kernel.reject(p, kernel), nullptr);
  BoundedKernelBench bench(kernel, p, r);
  for (size_t i = 0; i < bench.packed().size(); ++i)
    ASSERT_FALSE(std::isnan(bench.packed().data()[i])) << "packing left out " << i;
  const float nan = std::nanf("");
  GuardedFloats dst(bench.dst_floats(), nan);
  bench.run_sliced(dst.data(), 1);

  const double bound = error_bound(p, r.wei.data());
  EXPECT_LT(bound, kWinoTolerance);
  const auto taps = static_cast<size_t>(p.d.kernel * p.h.kernel * p.w.kernel), outputs = static_cast<size_t>(p.oc);
  // The largest output that sources in [-1, 1] can give, without the bias, by output channel.
  std::vector<double> largest(outputs);
  for (size_t i = 0; i < r.wei.size(); ++i)
    largest[p.transposed ? i / taps % outputs : i / (r.wei.size() / outputs)] +=
        std::abs(static_cast<double>(r.wei[i]));
  int64_t wrong = 0;
  size_t at = 0;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = 0; c < p.oc; ++c) {
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = 0; h < p.h.out; ++h)
          for (int64_t w = 0; w < p.w.out; ++w, ++at) {
            const double got = dst.data()[bench.dst_offset(n, c, h, w, d)];
            const double tolerance = bound * largest[static_cast<size_t>(c)] + 1e-7;
            if (!(std::abs(got - r.dst[at]) <= tolerance) && ++wrong <= 5)
              ADD_FAILURE() << "n " << n << " c " << c << " d " << d << " h " << h << " w " << w << ": got " << got
                            << ", expected " << r.dst[at] << " +- " << tolerance;
          }
    }
  ASSERT_EQ(wrong, 0);
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t c = p.oc; c % bench.plan.block != 0; ++c)
      for (int64_t d = 0; d < p.d.out; ++d)
        for (int64_t h = 0; h < p.h.out; ++h)
          for (int64_t w = 0; w < p.w.out; ++w)
            ASSERT_EQ(dst.data()[bench.dst_offset(n, c, h, w, d)], 0.0f) << "tail channel " << c;

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

using KernelOfIsa = const ConvKernel* (*)(Isa) noexcept;

/// Of every instruction set of this machine that has one.
inline std::vector<const ConvKernel*> kernels_of_isas(KernelOfIsa kernel_of) {
  std::vector<const ConvKernel*> found;
  for (const Isa isa : available_isas())
    if (const ConvKernel* kernel = kernel_of(isa)) found.push_back(kernel);
  return found;
}

inline void check_bounded_kernel(KernelOfIsa kernel_of, ErrorBound error_bound, const ConvProblem& p) {
  const Reference r = reference(p);
  for (const ConvKernel* kernel : kernels_of_isas(kernel_of)) check_bounded_kernel(*kernel, error_bound, p, r);
}

inline void check_post_ops_of(const std::vector<const ConvKernel*>& kernels, const ConvProblem& p) {
  const Reference r = reference(p);
  for (const ConvKernel* kernel : kernels) {
    BoundedKernelBench bench(*kernel, p, r);
    check_post_op_chains(bench, p, kernel->name,
                         [&](int64_t c, int64_t h, int64_t w) { return bench.dst_offset(0, c, h, w); });
  }
}

/// An image has the same bits alone and at any place in a batch, whatever its neighbours are.
inline void check_images_of_a_batch(const std::vector<const ConvKernel*>& kernels, const ConvProblem& one) {
  for (const ConvKernel* kernel : kernels) {
    ConvProblem three = one;
    three.batch = 3;
    const Reference alone = reference(one);
    Reference batch = reference(three);
    batch.wei = alone.wei;
    batch.bias = alone.bias;
    BoundedKernelBench single(*kernel, one, alone);
    std::vector<float> expected(single.dst_floats());
    single.run_sliced(expected.data(), 1);
    for (size_t place = 0; place < 3; ++place) {
      SCOPED_TRACE(std::string(kernel->name) + " place " + std::to_string(place));
      // Neighbours that would spoil whatever they touched.
      std::fill(batch.src.begin(), batch.src.end(), std::numeric_limits<float>::infinity());
      std::copy(alone.src.begin(), alone.src.end(),
                batch.src.begin() + static_cast<std::ptrdiff_t>(place * alone.src.size()));
      BoundedKernelBench whole(*kernel, three, batch);
      std::vector<float> got(whole.dst_floats());
      whole.run_sliced(got.data(), 2);
      EXPECT_EQ(std::memcmp(got.data() + place * expected.size(), expected.data(), expected.size() * sizeof(float)), 0);
    }
  }
}

}  // namespace terroir::cpu::conv_test
