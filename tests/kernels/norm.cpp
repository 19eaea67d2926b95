#include "plugins/cpu/kernels/norm/norm.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::LrnArgs;
using cpu::NormArgs;

class Norm : public KernelTest {
 protected:
  // Relative: the sum's rounding halved by the root, and a few roundings after it.
  static float tolerance(int64_t n) { return std::numeric_limits<float>::epsilon() * (static_cast<float>(n) / 2 + 4); }
};

double l2(double x, double squares, const NormArgs& a) {
  const double eps = a.eps;
  return x / std::sqrt(a.eps_is_least ? std::max(squares, eps) : squares + eps);
}

TEST_P(Norm, Rows) {
  for (const int64_t n : {int64_t{1}, lanes() - 1, lanes(), lanes() + 1, 4 * lanes(), 4 * lanes() + 3, int64_t{131}})
    for (const bool least : {false, true}) {
      const GuardedBuffer<float> src(random_floats(3 * n, 1));
      GuardedBuffer<float> dst(3 * n);
      NormArgs a{src.data(), dst.data(), 0.5f, least};
      cpu::norm_kernels(isa()).rows(a, 3, n);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < dst.size(); ++i) {
        double squares = 0;
        for (int64_t j = i / n * n; j < i / n * n + n; ++j) squares += double(src[j]) * src[j];
        ASSERT_NEAR(dst[i], l2(src[i], squares, a), tolerance(n)) << "n " << n << " element " << i;
      }
    }
}

// The positions between begin and end alone are written.
TEST_P(Norm, MiddleAndLrn) {
  for (const int64_t axis : {1, 2, 5, 17})
    for (const int64_t stride : sizes_around(4 * lanes()))
      for (const int64_t reach : {-1, 0, 1, 2, 30}) {
        const GuardedBuffer<float> src(random_floats(axis * stride, 2));
        GuardedBuffer<float> dst(axis * stride);
        for (float& x : dst) x = 77.0f;
        const int64_t begin = stride > 2 ? 1 : 0, end = stride;
        const NormArgs l2_args{src.data(), dst.data(), 0.25f, false};
        // Powers of 3/4 have a way of their own.
        const float beta = axis == 5 ? 0.75f : 0.6f;
        const LrnArgs lrn_args{src.data(), dst.data(), 0.75f, 0.5f, beta, reach};
        if (reach < 0)
          cpu::norm_kernels(isa()).middle(l2_args, axis, stride, begin, end);
        else
          cpu::norm_kernels(isa()).lrn(lrn_args, axis, stride, begin, end);
        EXPECT_TRUE(dst.intact());
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t c = i / stride, at = i % stride;
          if (at < begin) {
            ASSERT_EQ(dst[i], 77.0f);
            continue;
          }
          double squares = 0;
          for (int64_t j = 0; j < axis; ++j)
            if (reach < 0 || std::abs(j - c) <= reach) squares += double(src[j * stride + at]) * src[j * stride + at];
          const double want =
              reach < 0 ? l2(src[i], squares, l2_args) : src[i] / std::pow(0.75 + 0.5 * squares, double(beta));
          ASSERT_NEAR(dst[i], want, 2 * tolerance(axis))
              << "axis " << axis << " stride " << stride << " reach " << reach;
        }
      }
}

// From the least bias that is taken by it to sums that overflow.
TEST_P(Norm, LrnOfEveryMagnitude) {
  for (const float bias : {1e-30f, 1.0f, 1e20f, 0.0f}) {
    GuardedBuffer<float> src(160), dst(160);
    for (int64_t i = 0; i < src.size(); ++i)
      src[i] = (i % 3 == 0 ? -1.0f : 1.0f) * std::pow(10.0f, static_cast<float>(i) / 4 - 19);
    const LrnArgs a{src.data(), dst.data(), bias, 0.5f, 0.75f, 0};
    cpu::norm_kernels(isa()).lrn(a, 1, src.size(), 0, src.size());
    for (int64_t i = 0; i < src.size(); ++i) {
      const float base = bias + 0.5f * src[i] * src[i];
      const double want = src[i] / std::pow(double(base), 0.75);
      if (std::isinf(base))
        ASSERT_EQ(dst[i], 0.0f);
      else
        ASSERT_NEAR(dst[i] / want, 1, bias > 0 ? 1e-6 : 2e-5) << "bias " << bias << " x " << src[i];
    }
  }
}

// No known network has it, but a power of 3/4 has no value there.
TEST_P(Norm, LrnOfNegativeBasesIsNaN) {
  GuardedBuffer<float> src(40), dst(40);
  for (int64_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i) / 8;
  const LrnArgs a{src.data(), dst.data(), 1, -0.5f, 0.75f, 0};
  cpu::norm_kernels(isa()).lrn(a, 1, src.size(), 0, src.size());
  for (int64_t i = 0; i < src.size(); ++i) {
    const float base = 1 - 0.5f * src[i] * src[i];
    if (base < 0) {
      EXPECT_TRUE(std::isnan(dst[i])) << i << " " << dst[i];
    } else if (base > 0) {
      EXPECT_NEAR(dst[i], src[i] / std::pow(base, 0.75f), 1e-4f * dst[i]) << i;
    }
  }
}

TEST_P(Norm, BlocksKeepTheirPaddingZero) {
  const int64_t block = channel_block(isa());
  for (const int64_t channels : {int64_t{1}, block - 1, block, 2 * block + 3})
    for (const int64_t positions : {1, 5}) {
      const int64_t blocks = (channels + block - 1) / block, stride = positions * block;
      GuardedBuffer<float> src(random_floats(blocks * stride, 3)), dst(blocks * stride);
      for (int64_t i = 0; i < src.size(); ++i)
        if (i / stride * block + i % block >= channels) src[i] = 0.0f;
      const NormArgs a{src.data(), dst.data(), 0.125f, true};
      cpu::norm_kernels(isa()).blocks(a, positions, blocks, stride, block);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < dst.size(); ++i) {
        double squares = 0;
        const int64_t at = i / block % positions * block;
        for (int64_t b = 0; b < blocks; ++b)
          for (int64_t lane = 0; lane < block; ++lane) {
            const double x = src[b * stride + at + lane];
            squares += x * x;
          }
        ASSERT_NEAR(dst[i], l2(src[i], squares, a), tolerance(channels)) << "channels " << channels;
      }
    }
}

TERROIR_INSTANTIATE_PER_ISA(Norm);

}  // namespace
}  // namespace terroir::testing
