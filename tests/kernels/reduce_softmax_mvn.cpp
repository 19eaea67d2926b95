#include "plugins/cpu/kernels/mvn/mvn.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/kernels/softmax/softmax.hpp"

#include <cstring>

#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

using cpu::MvnArgs;
using cpu::ReduceKind;

constexpr float kEps = std::numeric_limits<float>::epsilon();

class AxisKernels : public KernelTest {
 protected:
  struct Shape {
    int64_t outer, axis, inner;
  };
  std::vector<Shape> shapes() const {
    std::vector<Shape> all;
    for (const int64_t axis : {1, 2, 3, 4, 5, 17, 131}) {
      for (const int64_t inner : sizes_around(lanes())) all.push_back({2, axis, inner});
    }
    return all;
  }
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> all = sizes_around(lanes());
    for (const int64_t n : sizes_around(4 * lanes())) all.push_back(n);
    all.push_back(1031);
    return all;
  }
};

double reduced(ReduceKind kind, const float* p, int64_t n, int64_t stride) {
  double sum = 0, squares = 0, magnitudes = 0, product = 1;
  double top = p[0], bottom = p[0];
  for (int64_t i = 0; i < n; ++i) {
    const double x = p[i * stride];
    sum += x;
    squares += x * x;
    magnitudes += std::fabs(x);
    product *= x;
    top = std::max(top, x);
    bottom = std::min(bottom, x);
  }
  switch (kind) {
    case ReduceKind::sum:
      return sum;
    case ReduceKind::mean:
      return sum / static_cast<double>(n);
    case ReduceKind::max:
      return top;
    case ReduceKind::min:
      return bottom;
    case ReduceKind::prod:
      return product;
    case ReduceKind::l1:
      return magnitudes;
    case ReduceKind::l2:
      return std::sqrt(squares);
    case ReduceKind::sum_square:
      return squares;
  }
  return 0;
}

const ReduceKind kAllKinds[] = {ReduceKind::sum,  ReduceKind::mean, ReduceKind::max, ReduceKind::min,
                                ReduceKind::prod, ReduceKind::l1,   ReduceKind::l2,  ReduceKind::sum_square};

double reduce_tolerance(ReduceKind kind, int64_t n, double want) {
  if (kind == ReduceKind::max || kind == ReduceKind::min) return 0;
  if (kind == ReduceKind::prod) return static_cast<double>(n) * kEps * std::fabs(want) + 1e-42;
  return dot_tolerance(n) + 2 * kEps * std::fabs(want);
}

TEST_P(AxisKernels, ReduceRows) {
  for (const ReduceKind kind : kAllKinds) {
    for (const int64_t n : lengths()) {
      // All negative for one row, all positive for another: a zero that leaks in from a tail would show in max and min.
      const int64_t rows = 3;
      std::vector<float> values = random_floats(rows * n, 3);
      for (int64_t i = 0; i < n; ++i) {
        values[i] = -std::fabs(values[i]) - 0.1f;
        values[n + i] = std::fabs(values[n + i]) + 0.1f;
      }
      const GuardedBuffer<float> src(values);
      GuardedBuffer<float> dst(rows);
      cpu::reduce_kernels(isa()).rows(kind, src.data(), dst.data(), rows, n);
      EXPECT_TRUE(dst.intact());
      for (int64_t r = 0; r < rows; ++r) {
        const double want = reduced(kind, src.data() + r * n, n, 1);
        ASSERT_NEAR(dst[r], want, reduce_tolerance(kind, n, want)) << static_cast<int>(kind) << " n " << n;
      }
    }
  }
}

TEST_P(AxisKernels, ReduceMiddle) {
  for (const ReduceKind kind : kAllKinds) {
    for (const Shape& s : shapes()) {
      const GuardedBuffer<float> src(random_floats(s.outer * s.axis * s.inner, 4, -2.0f, -0.1f));
      GuardedBuffer<float> dst(s.outer * s.inner);
      const int64_t half = s.inner / 2;
      cpu::reduce_kernels(isa()).middle(kind, src.data(), dst.data(), s.outer, s.axis, s.inner, half, s.inner);
      cpu::reduce_kernels(isa()).middle(kind, src.data(), dst.data(), s.outer, s.axis, s.inner, 0, half);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < dst.size(); ++i) {
        const float* column = src.data() + i / s.inner * s.axis * s.inner + i % s.inner;
        const double want = reduced(kind, column, s.axis, s.inner);
        ASSERT_NEAR(dst[i], want, 2 * reduce_tolerance(kind, s.axis, want)) << static_cast<int>(kind);
      }
    }
  }
}

TEST_P(AxisKernels, ReduceKeepsInfinitiesAndEmptyAxes) {
  const auto& kernels = cpu::reduce_kernels(isa());
  const GuardedBuffer<float> low(std::vector<float>(37, -kInf)), high(std::vector<float>(37, kInf));
  float got = 0;
  kernels.rows(ReduceKind::max, low.data(), &got, 1, 37);
  EXPECT_EQ(got, -kInf);
  kernels.rows(ReduceKind::min, high.data(), &got, 1, 37);
  EXPECT_EQ(got, kInf);
  kernels.middle(ReduceKind::max, low.data(), &got, 1, 37, 1, 0, 1);
  EXPECT_EQ(got, -kInf);
  // A NaN anywhere wins.
  for (const int64_t at : {0, 5, 20, 36}) {
    for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min}) {
      std::vector<float> values = random_floats(37, 1);
      values[at] = std::numeric_limits<float>::quiet_NaN();
      const GuardedBuffer<float> row(values);
      kernels.rows(kind, row.data(), &got, 1, 37);
      EXPECT_TRUE(std::isnan(got)) << at;
      kernels.middle(kind, row.data(), &got, 1, 37, 1, 0, 1);
      EXPECT_TRUE(std::isnan(got)) << at;
    }
  }
  kernels.rows(ReduceKind::max, nullptr, &got, 1, 0);
  EXPECT_EQ(got, -kInf);
  kernels.rows(ReduceKind::sum, nullptr, &got, 1, 0);
  EXPECT_EQ(got, 0.0f);
  kernels.rows(ReduceKind::prod, nullptr, &got, 1, 0);
  EXPECT_EQ(got, 1.0f);
  kernels.rows(ReduceKind::mean, nullptr, &got, 1, 0);
  EXPECT_TRUE(std::isnan(got));
}

// `largest`: magnitude of what the elements were rounded from, where they are not exact themselves.
void check_softmax(const float* src, const float* got, int64_t n, int64_t stride, bool log_form, double largest = 0) {
  double peak = src[0], sum = 0;
  for (int64_t i = 0; i < n; ++i) peak = std::max(peak, static_cast<double>(src[i * stride]));
  for (int64_t i = 0; i < n; ++i) sum += std::exp(src[i * stride] - peak);
  for (int64_t i = 0; i < n; ++i) {
    const double shifted = src[i * stride] - peak;
    // Relative error: the sum over n terms, a few roundings of exp, and that of the shifted argument.
    const double relative = kEps * (8 + std::sqrt(static_cast<double>(n)) + std::fabs(shifted) + 2 * largest);
    if (log_form) {
      ASSERT_NEAR(got[i * stride], shifted - std::log(sum), 2 * relative + 2 * kEps * std::fabs(shifted)) << n;
    } else {
      // Exponentials below the smallest normal number are zero.
      ASSERT_NEAR(got[i * stride], std::exp(shifted) / sum,
                  relative * std::exp(shifted) / sum + std::numeric_limits<float>::min())
          << n;
    }
  }
}

TEST_P(AxisKernels, SoftmaxRows) {
  for (const bool log_form : {false, true}) {
    for (const int64_t n : lengths()) {
      const int64_t rows = 3;
      const GuardedBuffer<float> src(random_floats(rows * n, 6, -30.0f, 30.0f));
      GuardedBuffer<float> dst(rows * n);
      cpu::softmax_kernels(isa()).rows(src.data(), dst.data(), rows, n, log_form);
      EXPECT_TRUE(dst.intact());
      for (int64_t r = 0; r < rows; ++r) check_softmax(src.data() + r * n, dst.data() + r * n, n, 1, log_form);
    }
  }
}

// The last vector of a row overlaps the one before it, which must not have been written by then.
TEST_P(AxisKernels, SoftmaxInPlace) {
  for (const bool log_form : {false, true}) {
    for (const int64_t n : lengths()) {
      const int64_t rows = 3;
      const std::vector<float> values = random_floats(rows * n, 6, -30.0f, 30.0f);
      const GuardedBuffer<float> src(values);
      GuardedBuffer<float> dst(rows * n), in_place(values);
      cpu::softmax_kernels(isa()).rows(src.data(), dst.data(), rows, n, log_form);
      cpu::softmax_kernels(isa()).rows(in_place.data(), in_place.data(), rows, n, log_form);
      ASSERT_EQ(std::memcmp(in_place.data(), dst.data(), static_cast<size_t>(rows * n) * sizeof(float)), 0) << n;
    }
  }
}

// Short rows share a vector, wherever they lie in it, and however many there are.
TEST_P(AxisKernels, SoftmaxOfShortRows) {
  constexpr int64_t kRows = 67;
  const auto softmax = cpu::softmax_kernels(isa()).rows;
  for (const bool log_form : {false, true}) {
    for (int64_t n = 1; n <= 20; ++n) {
      std::vector<float> values = random_floats(kRows * n, 6, -30.0f, 30.0f);
      const auto row = [&](int64_t r) { return values.begin() + r * n; };
      std::copy_n(row(1), n, row(29));
      std::copy_n(row(1), n, row(66));
      std::fill_n(row(40), n, -kInf);
      *row(50) = std::nanf("");
      *row(60) = -kInf;
      const GuardedBuffer<float> src(values);
      GuardedBuffer<float> dst(kRows * n);
      softmax(src.data(), dst.data(), kRows, n, log_form);
      EXPECT_TRUE(dst.intact());
      for (int64_t r = 0; r < kRows; ++r) {
        const float* got = dst.data() + r * n;
        const bool none = r == 40 || r == 50 || (r == 60 && n == 1);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(std::isnan(got[i]), none) << n << ' ' << r;
        if (!none && r != 60) check_softmax(src.data() + r * n, got, n, 1, log_form);
        GuardedBuffer<float> alone(std::vector<float>(row(r), row(r) + n));
        softmax(alone.data(), alone.data(), 1, n, log_form);
        EXPECT_TRUE(alone.intact());
        ASSERT_EQ(std::memcmp(alone.data(), got, static_cast<size_t>(n) * sizeof(float)), 0) << n << ' ' << r;
      }
      for (const int64_t again : {29, 66})
        ASSERT_EQ(std::memcmp(dst.data() + n, dst.data() + again * n, static_cast<size_t>(n) * sizeof(float)), 0) << n;
      if (n > 1) {
        ASSERT_EQ(dst[60 * n], log_form ? -kInf : 0.0f);
      }
      GuardedBuffer<float> in_place(values);
      softmax(in_place.data(), in_place.data(), kRows, n, log_form);
      ASSERT_EQ(std::memcmp(in_place.data(), dst.data(), static_cast<size_t>(kRows * n) * sizeof(float)), 0) << n;
    }
  }
}

TEST_P(AxisKernels, SoftmaxMiddle) {
  for (const bool log_form : {false, true}) {
    for (const Shape& s : shapes()) {
      const GuardedBuffer<float> src(random_floats(s.outer * s.axis * s.inner, 6, -300.0f, 300.0f));
      GuardedBuffer<float> dst(src.size());
      const int64_t half = s.inner / 2;
      cpu::softmax_kernels(isa()).middle(src.data(), dst.data(), s.outer, s.axis, s.inner, half, s.inner, log_form);
      cpu::softmax_kernels(isa()).middle(src.data(), dst.data(), s.outer, s.axis, s.inner, 0, half, log_form);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        const int64_t at = i / s.inner * s.axis * s.inner + i % s.inner;
        check_softmax(src.data() + at, dst.data() + at, s.axis, s.inner, log_form);
      }
    }
  }
}

TEST_P(AxisKernels, SoftmaxOfMaskedAndHugeRows) {
  GuardedBuffer<float> row(std::vector<float>{-kInf, 1e30f, -kInf, 1e30f, -1e30f});
  cpu::softmax_kernels(isa()).rows(row.data(), row.data(), 1, 5, false);
  const float want[] = {0.0f, 0.5f, 0.0f, 0.5f, 0.0f};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(row[i], want[i]);
}

// An operation with a subnormal result takes as long as forty others.
TEST_P(AxisKernels, SoftmaxHasNoSubnormalExponentials) {
  for (const float far : {-87.4f, -100.0f, -104.5f, -1000.0f, -3e38f}) {
    GuardedBuffer<float> row(std::vector<float>(37, far));
    row[5] = 0.0f;
    row[36] = -86.0f;
    cpu::softmax_kernels(isa()).rows(row.data(), row.data(), 1, 37, false);
    EXPECT_EQ(row[5], 1.0f);
    EXPECT_NEAR(row[36], std::exp(-86.0), 1e-43);
    row[5] = 0.0f;
    for (int i = 0; i < 36; ++i) EXPECT_EQ(row[i], 0.0f) << far;
  }
}

TEST_P(AxisKernels, SoftmaxOfScores) {
  for (const int64_t n : lengths()) {
    for (const bool masked : {false, true}) {
      for (const int64_t mask_rows : {1, 5}) {
        for (const int64_t first_visible : {int64_t{-1}, int64_t{1}, n - 2, n + 3}) {
          if (first_visible == 0 || first_visible < -1) continue;
          const int64_t rows = 5, stride = n + 2;
          const std::vector<float> before = random_floats((rows - 1) * stride + n, 6, -30.0f, 30.0f);
          GuardedBuffer<float> scores(before);
          const GuardedBuffer<float> mask(random_floats(mask_rows * n, 7, -5.0f, 5.0f));
          cpu::ScoreArgs args;
          args.scores = scores.data();
          args.stride = stride;
          args.rows = rows;
          args.n = n;
          args.scale = 0.75f;
          args.mask = masked ? mask.data() : nullptr;
          args.mask_stride = mask_rows == 1 ? 0 : n;
          args.first_visible = first_visible;
          cpu::softmax_kernels(isa()).scores(args);
          EXPECT_TRUE(scores.intact());
          for (int64_t r = 0; r < rows; ++r) {
            const int64_t visible = first_visible < 0 ? n : std::min(n, first_visible + r);
            std::vector<float> x(static_cast<size_t>(visible));
            for (int64_t i = 0; i < visible; ++i)
              x[i] = before[r * stride + i] * 0.75f + (masked ? mask[r * args.mask_stride + i] : 0.0f);
            check_softmax(x.data(), scores.data() + r * stride, visible, 1, false, 30.0 * 0.75 + 5.0);
            for (int64_t i = visible; i < n; ++i) ASSERT_EQ(scores[r * stride + i], 0.0f);
            for (int64_t i = n; i < stride && r + 1 < rows; ++i)
              ASSERT_EQ(scores[r * stride + i], before[r * stride + i]) << "written between rows";
          }
        }
      }
    }
  }
}

TEST_P(AxisKernels, SoftmaxOfScoresWithASink) {
  constexpr int64_t kRows = 5;
  for (const int64_t n : lengths()) {
    for (const int64_t sink_stride : {0, 1}) {
      const std::vector<float> before = random_floats(kRows * n, 6, -30.0f, 30.0f);
      GuardedBuffer<float> scores(before);
      const GuardedBuffer<float> sinks(random_floats(sink_stride * (kRows - 1) + 1, 8, -30.0f, 30.0f));
      cpu::ScoreArgs args;
      args.scores = scores.data();
      args.stride = args.n = n;
      args.rows = kRows;
      args.sink = sinks.data();
      args.sink_stride = sink_stride;
      cpu::softmax_kernels(isa()).scores(args);
      EXPECT_TRUE(scores.intact());
      for (int64_t r = 0; r < kRows; ++r) {
        // The sink as the last element of the row.
        std::vector<float> x(before.begin() + r * n, before.begin() + (r + 1) * n);
        x.push_back(sinks[r * sink_stride]);
        std::vector<float> got(scores.data() + r * n, scores.data() + (r + 1) * n);
        double sum = 0;
        for (const float score : x) sum += std::exp(static_cast<double>(score) - x.back());
        got.push_back(static_cast<float>(1 / sum));  // the share of the sink, which is not stored
        check_softmax(x.data(), got.data(), n + 1, 1, false, 30.0);
      }
    }
  }
}

// One of the 16 forms of MVN.
void set_form(MvnArgs& a, int form, const float* scale, const float* shift) {
  a.normalize_variance = (form & 1) == 0;
  a.eps_outside_sqrt = (form & 2) != 0;
  a.scale = (form & 4) != 0 ? scale : nullptr;
  a.shift = (form & 8) != 0 ? shift : nullptr;
}

void check_mvn(const MvnArgs& a, const float* src, const float* got, int64_t n, int64_t stride) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += src[i * stride];
  mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) variance += (src[i * stride] - mean) * (src[i * stride] - mean);
  variance /= static_cast<double>(n);
  const double deviation = !a.normalize_variance ? 1.0
                           : a.eps_outside_sqrt  ? std::sqrt(variance) + a.eps
                                                 : std::sqrt(variance + a.eps);
  for (int64_t i = 0; i < n; ++i) {
    double want = (src[i * stride] - mean) / deviation;
    // The error of the mean, relative to the deviation, and a few roundings.
    double bound = dot_tolerance(1) + 12.0 * kEps * (std::fabs(mean) + 1.0) / deviation + 6 * kEps * std::fabs(want);
    if (a.scale != nullptr) {
      want *= a.scale[i];
      bound *= std::max(1.0f, std::fabs(a.scale[i]));
    }
    if (a.shift != nullptr) want += a.shift[i];
    ASSERT_NEAR(got[i * stride], want, bound) << "n " << n << " at " << i;
  }
}

TEST_P(AxisKernels, MvnRows) {
  for (int form = 0; form < 16; ++form) {
    for (const int64_t n : lengths()) {
      const int64_t rows = 3;
      const GuardedBuffer<float> src(random_floats(rows * n, 8, 1.0f, 5.0f));
      const GuardedBuffer<float> scale(random_floats(n, 9, -2.0f, 2.0f)), shift(random_floats(n, 10));
      GuardedBuffer<float> dst(rows * n);
      MvnArgs a;
      a.src = src.data();
      a.dst = dst.data();
      a.eps = 1e-3f;
      set_form(a, form, scale.data(), shift.data());
      cpu::mvn_kernels(isa()).rows(a, rows, n);
      EXPECT_TRUE(dst.intact());
      for (int64_t r = 0; r < rows; ++r) check_mvn(a, src.data() + r * n, dst.data() + r * n, n, 1);
    }
  }
}

TEST_P(AxisKernels, MvnMiddle) {
  std::vector<Shape> all = shapes();
  // Half of them are as wide as the strips that are read row by row.
  for (const int64_t axis : {1, 4, 7})
    for (const int64_t columns : sizes_around(8 * lanes())) all.push_back({2, axis, 2 * columns});
  for (int form = 0; form < 4; ++form) {
    for (const Shape& s : all) {
      const GuardedBuffer<float> src(random_floats(s.outer * s.axis * s.inner, 8, 1.0f, 5.0f));
      GuardedBuffer<float> dst(src.size());
      MvnArgs a;
      a.src = src.data();
      a.dst = dst.data();
      a.eps = 1e-3f;
      a.normalize_variance = (form & 1) == 0;
      a.eps_outside_sqrt = (form & 2) != 0;
      const int64_t half = s.inner / 2;
      cpu::mvn_kernels(isa()).middle(a, s.outer, s.axis, s.inner, half, s.inner);
      cpu::mvn_kernels(isa()).middle(a, s.outer, s.axis, s.inner, 0, half);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < s.outer * s.inner; ++i) {
        const int64_t at = i / s.inner * s.axis * s.inner + i % s.inner;
        check_mvn(a, src.data() + at, dst.data() + at, s.axis, s.inner);
      }
    }
  }
}

// Of lanes whose mean is far from zero; of as many positions as are summed up at once, and of some more.
TEST_P(AxisKernels, Moments) {
  for (const int64_t blocks : {1, 2})
    for (const int64_t positions : {1, 2, 3, 7, 127, 128, 129, 1000}) {
      const int64_t width = std::max<int64_t>(8, lanes()) * blocks;
      const GuardedBuffer<float> src(random_floats(positions * width, 9, 99.0f, 101.0f));
      std::vector<double> mean(static_cast<size_t>(width)), squares(mean.size());
      cpu::mvn_kernels(isa()).moments(src.data(), positions, width, mean.data(), squares.data());
      for (int64_t l = 0; l < width; ++l) {
        double sum = 0, distances = 0;
        for (int64_t p = 0; p < positions; ++p) sum += static_cast<double>(src.data()[p * width + l]);
        const double middle = sum / static_cast<double>(positions);
        for (int64_t p = 0; p < positions; ++p)
          distances += std::pow(static_cast<double>(src.data()[p * width + l]) - middle, 2);
        EXPECT_NEAR(mean[static_cast<size_t>(l)], middle, 2e-5) << positions;
        EXPECT_NEAR(squares[static_cast<size_t>(l)], distances, 1e-5 * (distances + 1)) << positions;
      }
    }
}

// Over the channels of blocks that lie apart, of as many positions as make a tile, and of some more or less.
TEST_P(AxisKernels, MvnBlocks) {
  const int64_t block = std::max<int64_t>(8, lanes());
  for (int form = 0; form < 16; ++form)
    for (const int64_t positions : {1, 3, 4, 5, 15, 16, 17, 37})
      for (const int64_t channels : {int64_t{1}, int64_t{3}, int64_t{5}, block - 1, block, block + 1, 3 * block - 3}) {
        const int64_t blocks = (channels + block - 1) / block, step = (positions + 2) * block;
        const int64_t size = (blocks - 1) * step + positions * block;
        std::vector<float> values(static_cast<size_t>(size), 7.0f);
        const std::vector<float> random = random_floats(positions * channels, 8, 1.0f, 5.0f);
        const auto at = [&](int64_t p, int64_t c) { return c / block * step + p * block + c % block; };
        for (int64_t p = 0; p < positions; ++p)
          for (int64_t c = 0; c < blocks * block; ++c)
            values[at(p, c)] = c < channels ? random[p * channels + c] : 0.0f;
        const GuardedBuffer<float> src(values);
        const GuardedBuffer<float> scale(random_floats(channels, 9, -2.0f, 2.0f)), shift(random_floats(channels, 10));
        GuardedBuffer<float> dst(std::vector<float>(values.size(), 7.0f));
        MvnArgs a;
        a.src = src.data();
        a.dst = dst.data();
        a.eps = 1e-3f;
        set_form(a, form, scale.data(), shift.data());
        cpu::mvn_kernels(isa()).blocks(a, positions, channels, block, step);
        EXPECT_TRUE(dst.intact());
        for (int64_t p = 0; p < positions; ++p) {
          std::vector<float> got;
          for (int64_t c = 0; c < channels; ++c) got.push_back(dst[at(p, c)]);
          check_mvn(a, random.data() + p * channels, got.data(), channels, 1);
          for (int64_t c = channels; c < blocks * block; ++c) ASSERT_EQ(dst[at(p, c)], 0.0f) << channels;
        }
        for (int64_t b = 1; b < blocks; ++b)
          for (int64_t i = b * step - 2 * block; i < b * step; ++i) ASSERT_EQ(dst[i], 7.0f) << "between blocks";
        // The same bits in place, and of a position alone.
        GuardedBuffer<float> in_place(values);
        a.src = a.dst = in_place.data();
        cpu::mvn_kernels(isa()).blocks(a, positions, channels, block, step);
        a.src = src.data() + (positions - 1) * block;
        a.dst = in_place.data() + (positions - 1) * block;
        cpu::mvn_kernels(isa()).blocks(a, 1, channels, block, step);
        ASSERT_EQ(std::memcmp(in_place.data(), dst.data(), static_cast<size_t>(size) * sizeof(float)), 0) << channels;
      }
}

TERROIR_INSTANTIATE_PER_ISA(AxisKernels);

}  // namespace
}  // namespace terroir::testing
