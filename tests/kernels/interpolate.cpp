#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

#include "plugins/cpu/nodes/row_table.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

class InterpolateKernelsTest : public KernelTest {
 protected:
  const cpu::InterpolateKernels& kernels() const { return cpu::interpolate_kernels(isa()); }
};

TEST_P(InterpolateKernelsTest, RowsOfChannels) {
  std::vector<int64_t> widths = sizes_around(lanes());
  widths.push_back(4);  // as 16 bytes
  for (const int64_t width : widths) {
    const int64_t in = 5, n = 9;
    const GuardedBuffer<float> upper(random_floats(in * width, 1)), lower(random_floats(in * width, 2));
    const GuardedBuffer<int32_t> left(std::vector<int32_t>{0, 0, 1, 1, 2, 3, 3, 4, 4});
    const GuardedBuffer<int32_t> right(std::vector<int32_t>{0, 1, 2, 2, 3, 4, 4, 4, 4});
    const GuardedBuffer<float> wx(random_floats(n, 3, 0.0f, 1.0f));
    const float wy = 0.3f;
    GuardedBuffer<float> nearest(n * width), linear(n * width);
    kernels().nearest_row(upper.data(), nearest.data(), left.data(), n, width);
    kernels().linear_row(upper.data(), lower.data(), wy, linear.data(), left.data(), right.data(), wx.data(), n, width);
    EXPECT_TRUE(nearest.intact() && linear.intact());
    for (int64_t i = 0; i < n * width; ++i) {
      const int64_t x = i / width, c = i % width, l = left[x] * width + c, r = right[x] * width + c;
      ASSERT_EQ(nearest[i], upper[l]);
      const double want = (upper[l] * (1.0 - wx[x]) + upper[r] * wx[x]) * (1.0 - wy) +
                          (lower[l] * (1.0 - wx[x]) + lower[r] * wx[x]) * wy;
      ASSERT_NEAR(linear[i], want, dot_tolerance(4));
    }
  }
}

TEST_P(InterpolateKernelsTest, NeighboursThatWeighNothingDoNotCount) {
  for (const int64_t width : sizes_around(lanes())) {
    const auto row = [&](float left, float right) {
      std::vector<float> values(static_cast<size_t>(2 * width), left);
      std::fill(values.begin() + width, values.end(), right);
      return values;
    };
    const GuardedBuffer<float> upper(row(2, kNaN)), lower(row(kInf, -kInf));
    const int32_t left[] = {0, 0}, right[] = {0, 1};
    const float wx[] = {0, 0};
    GuardedBuffer<float> dst(2 * width);
    kernels().linear_row(upper.data(), lower.data(), 0, dst.data(), left, right, wx, 2, width);
    EXPECT_TRUE(dst.intact());
    for (int64_t i = 0; i < 2 * width; ++i) ASSERT_EQ(dst[i], 2);
    kernels().linear_row(upper.data(), lower.data(), 0.5f, dst.data(), left, right, wx, 2, width);
    for (int64_t i = 0; i < 2 * width; ++i) ASSERT_EQ(dst[i], kInf);
  }
}

TEST_P(InterpolateKernelsTest, LinesAreSumsOfLines) {
  const std::vector<int32_t> index = {2, 0, 3, 3, 1};
  const std::vector<float> weight = random_floats(5, 3);
  for (const int64_t n : sizes_around(lanes())) {
    const GuardedBuffer<float> src(random_floats(4 * n, 1));
    for (const int64_t taps : {0, 1, 2, 3, 4, 5}) {
      GuardedBuffer<float> dst(n);
      kernels().weighted_line(src.data(), n, index.data(), weight.data(), taps, dst.data(), n);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < n; ++i) {
        double want = 0;
        for (int64_t t = 0; t < taps; ++t)
          want += double{weight[static_cast<size_t>(t)]} * src[index[static_cast<size_t>(t)] * n + i];
        ASSERT_NEAR(dst[i], want, dot_tolerance(taps)) << n << ' ' << taps;
      }
    }
  }
}

/// Element i of n draws on up to `taps` neighbours of its place in a row of `in`; every `gap`-th one on fewer, and
/// with `holes` some on none.
struct TapRow {
  TapRow(int64_t in, int64_t n, int64_t taps, bool holes, int64_t lanes, int64_t readable) : table(n, taps, lanes) {
    const std::vector<float> weights = random_floats(n * taps, 7, 0.1f, 1.0f);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t count = holes && i % 5 == 2 ? 0 : i % 3 == 1 ? 1 : taps;
      auto& list = elements.emplace_back();
      for (int64_t t = 0; t < count; ++t) {
        const int64_t at = std::clamp<int64_t>(i * in / n + (t * 5 % taps) - taps / 2, 0, in - 1);
        const float weight = weights[static_cast<size_t>(i * taps + t)];
        list.emplace_back(at, weight);
        table.set(t, i, at, weight);
      }
    }
    table.finish(readable);
  }
  cpu::RowTable table;
  std::vector<std::vector<std::pair<int64_t, float>>> elements;
};

TEST_P(InterpolateKernelsTest, RowsOfAnyTaps) {
  for (const int64_t n : sizes_around(lanes()))
    for (const int64_t in : {int64_t{1}, lanes() - 1, lanes(), n / 2 + 1, n, 3 * n})
      for (const int64_t taps : {1, 2, 3, 4, 7})
        for (const bool holes : {false, true}) {
          std::vector<float> values = random_floats(in, 1);
          // What only others draw on: every element must be finite that has no part in it.
          if (in > 8) values[static_cast<size_t>(in / 2)] = kInf, values[static_cast<size_t>(in / 3)] = kNaN;
          const GuardedBuffer<float> special(values), plain(random_floats(in, 2));
          const float* const src[] = {plain.data(), special.data(), plain.data(), special.data()};
          const TapRow row(in, n, taps, holes, kernels().lanes, in);
          const int64_t rows = 1 + (n + taps) % cpu::kInterpolatedRows;
          GuardedBuffer<float> dst(rows * n);
          kernels().weighted_rows(src, row.table.taps(), dst.data(), rows, n);
          EXPECT_TRUE(dst.intact());
          for (int64_t i = 0; i < rows * n; ++i) {
            double want = 0;
            for (const auto& [at, weight] : row.elements[static_cast<size_t>(i % n)])
              want += double{weight} * src[i / n][at];
            if (std::isfinite(want))
              ASSERT_NEAR(dst[i], want, dot_tolerance(2 * taps)) << n << ' ' << in << ' ' << taps << ' ' << i;
            else
              ASSERT_TRUE(std::isnan(want) ? std::isnan(dst[i]) : dst[i] == want) << n << ' ' << in << ' ' << taps;
          }
        }
}

TEST_P(InterpolateKernelsTest, PickedRowsHaveTheBitsOfTheirSources) {
  for (const int64_t n : sizes_around(lanes()))
    for (const int64_t in : {int64_t{1}, lanes() - 1, lanes(), n / 2 + 1, n, 3 * n}) {
      const GuardedBuffer<float> first(random_floats(in, 1)), second(random_floats(in, 2));
      const float* const src[] = {first.data(), first.data(), second.data(), first.data()};
      cpu::RowTable table(n, 1, kernels().lanes);
      for (int64_t i = 0; i < n; ++i) table.set(0, i, i * in / n, 1);
      table.finish(in);
      const int64_t rows = 1 + n % cpu::kInterpolatedRows;
      GuardedBuffer<float> dst(rows * n);
      kernels().picked_rows(src, table.taps(), dst.data(), rows, n);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < rows * n; ++i) ASSERT_EQ(dst[i], src[i / n][i % n * in / n]) << n << ' ' << in;
    }
}

TERROIR_INSTANTIATE_PER_ISA(InterpolateKernelsTest);

}  // namespace
}  // namespace terroir::testing
