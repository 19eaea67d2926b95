#include "plugins/cpu/kernels/sample/sample.hpp"

#include <map>

#include "ops/reference/image/grid_taps.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

class SampleKernelsTest : public KernelTest {
 protected:
  static constexpr int64_t kPositions = 7;
  // More than one after another of the same position, and the last channel of the image.
  const std::vector<int64_t> positions = {0, 6, 3, 3, 5, 1, 2, 6};
  const std::vector<float> weights = random_floats(8, 2);

  cpu::SampleTaps taps(const GuardedBuffer<float>& src, std::vector<int64_t>& offsets, int64_t channels) const {
    for (const int64_t position : positions) offsets.push_back(position * channels);
    return {src.data(), offsets.data(), weights.data(), static_cast<int64_t>(offsets.size())};
  }
};

TEST_P(SampleKernelsTest, SumIsInOrder) {
  for (const int64_t channels : sizes_around(4 * lanes())) {
    const GuardedBuffer<float> src(random_floats(kPositions * channels, 1));
    for (const bool first : {true, false}) {
      const std::vector<float> before = random_floats(channels, 3);
      GuardedBuffer<float> dst(before);
      std::vector<int64_t> offsets;
      cpu::sample_kernels(isa()).sum(taps(src, offsets, channels), dst.data(), channels, first);
      EXPECT_TRUE(dst.intact());
      for (int64_t c = 0; c < channels; ++c) {
        double want = first ? 0 : before[static_cast<size_t>(c)];
        for (size_t t = 0; t < offsets.size(); ++t) want += double{weights[t]} * src[offsets[t] + c];
        ASSERT_NEAR(dst[c], want, dot_tolerance(static_cast<int64_t>(offsets.size()) + 1)) << channels;
      }
    }
  }
}

TEST_P(SampleKernelsTest, MostOfGroups) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t channels : sizes_around(4 * lanes())) {
    std::vector<float> values = random_floats(kPositions * channels, 1);
    for (int64_t c = 0; c < channels; c += 3) values[static_cast<size_t>(6 * channels + c)] = kNaN;
    const GuardedBuffer<float> src(values);
    for (const int64_t group : {1, 2, 4, 8}) {
      for (const bool first : {true, false}) {
        const std::vector<float> before = random_floats(channels, 3);
        GuardedBuffer<float> dst(before);
        std::vector<int64_t> offsets;
        cpu::sample_kernels(isa()).most(taps(src, offsets, channels), group, dst.data(), channels, first);
        EXPECT_TRUE(dst.intact());
        for (int64_t c = 0; c < channels; ++c) {
          double want = first ? 0.0 : before[static_cast<size_t>(c)];
          for (size_t t = 0; t < offsets.size(); t += static_cast<size_t>(group)) {
            double sum = 0;
            for (size_t i = t; i < t + static_cast<size_t>(group); ++i) sum += double{weights[i]} * src[offsets[i] + c];
            if (sum > want) want = sum;
          }
          ASSERT_NEAR(dst[c], want, dot_tolerance(group)) << channels;
        }
      }
    }
  }
}

TEST_P(SampleKernelsTest, LargestElements) {
  for (const int64_t channels : sizes_around(4 * lanes())) {
    std::vector<float> values = random_floats(kPositions * channels, 1);
    for (int64_t c = 0; c < channels; c += 3)
      values[static_cast<size_t>(3 * channels + c)] = std::numeric_limits<float>::quiet_NaN();
    const GuardedBuffer<float> src(values);
    for (const bool first : {true, false}) {
      const std::vector<float> before = random_floats(channels, 3);
      GuardedBuffer<float> dst(before);
      std::vector<int64_t> offsets;
      cpu::SampleTaps all = taps(src, offsets, channels);
      all.weights = nullptr;
      cpu::sample_kernels(isa()).largest(all, dst.data(), channels, first);
      EXPECT_TRUE(dst.intact());
      for (int64_t c = 0; c < channels; ++c) {
        float want = first ? -std::numeric_limits<float>::infinity() : before[static_cast<size_t>(c)];
        for (const int64_t offset : offsets)
          if (src[offset + c] > want) want = src[offset + c];
        ASSERT_EQ(dst[c], want) << channels;
      }
    }
  }
}

TEST_P(SampleKernelsTest, CellsAreComputedOneByOne) {
  const std::vector<int32_t> ends = {0, 3, 3, 4, 8, 8};  // three have no taps
  const auto& kernels = cpu::sample_kernels(isa());
  for (const int64_t channels : sizes_around(4 * lanes())) {
    const GuardedBuffer<float> src(random_floats(kPositions * channels, 1));
    std::vector<int64_t> offsets;
    const cpu::SampleTaps all = taps(src, offsets, channels);
    const auto cells = static_cast<int64_t>(ends.size());
    for (const bool sums : {true, false}) {
      GuardedBuffer<float> dst(cells * channels), want(channels);
      (sums ? kernels.sum_cells : kernels.largest_cells)({all.src, all.offsets, all.weights, ends.data(), cells},
                                                         dst.data(), channels);
      EXPECT_TRUE(dst.intact());
      for (int64_t cell = 0; cell < cells; ++cell) {
        const auto i = static_cast<size_t>(cell);
        const int64_t begin = i > 0 ? ends[i - 1] : 0;
        std::fill(want.begin(), want.end(), 0.0f);
        if (begin < ends[i])
          (sums ? kernels.sum : kernels.largest)({all.src, all.offsets + begin, all.weights + begin, ends[i] - begin},
                                                 want.data(), channels, true);
        for (int64_t c = 0; c < channels; ++c) ASSERT_EQ(dst[cell * channels + c], want[c]) << channels << ' ' << cell;
      }
    }
  }
}

// Within an image, on its edges, near and far outside, and nowhere.
std::vector<float> grid_points(int64_t n) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> points = random_floats(2 * n, 5, -1.7f, 1.7f);
  const float special[] = {-1, 1, 0, std::nanf(""), 1e30f, -1e30f, kInf, -kInf, 3e4f, -3e4f, 40, -1.0000001f, 1e9f, -5};
  for (size_t i = 0; i < points.size(); i += 3) points[i] = special[i / 3 % std::size(special)];
  return points;
}

TEST_P(SampleKernelsTest, GridTapsAreThoseOfTheReference) {
  using ops::reference::GridSampleMode;
  const auto find = cpu::sample_kernels(isa()).grid_taps;
  if (find == nullptr) GTEST_SKIP() << "only in buckets of long vectors";
  for (int form = 0; form < 12; ++form)
    for (const int32_t height : {1, 2, 7, 1 << 21})
      for (const int32_t width : {1, 40, 333})
        for (const int64_t n : sizes_around(lanes())) {
          cpu::GridPlane plane{height, width, 3};
          plane.align_corners = form % 2 != 0;
          plane.nearest = form / 2 % 2 != 0;
          plane.edge = static_cast<cpu::GridEdge>(form / 4);
          const ops::reference::GridSampleParameters parameters{
              plane.align_corners, plane.nearest ? GridSampleMode::nearest : GridSampleMode::bilinear,
              static_cast<ops::reference::GridPadding>(form / 4)};
          SCOPED_TRACE(::testing::Message() << form << ' ' << height << ' ' << width << ' ' << n);
          const GuardedBuffer<float> points(grid_points(n));
          const int64_t step = (n + lanes() - 1) / lanes() * lanes();
          GuardedBuffer<float> shares(4 * step);
          GuardedBuffer<int32_t> offsets(4 * step);
          const bool any_open = find(plane, points.data(), n, offsets.data(), shares.data(), step);
          EXPECT_TRUE(shares.intact() && offsets.intact());
          bool open = false;
          for (int64_t p = 0; p < step; ++p) {
            std::map<int64_t, double> got, want;
            for (int64_t t = 0; t < (plane.nearest ? 1 : 4); ++t) {
              const int32_t offset = offsets[t * step + p];
              ASSERT_TRUE(offset >= 0 && offset / 3 < height * width && offset % 3 == 0) << p << ' ' << offset;
              if (shares[t * step + p] != 0) got[offset] += shares[t * step + p];
            }
            if (p >= n) continue;
            if (std::isnan(shares[p])) {
              ASSERT_EQ(plane.edge, cpu::GridEdge::reflection);
              const float x = std::fabs(points[2 * p]), y = std::fabs(points[2 * p + 1]);
              ASSERT_FALSE(x < 1e4f && y < 1.9f) << x << ' ' << y;
              open = true;
              continue;
            }
            const auto columns = ops::reference::grid_taps(points[2 * p], width, parameters);
            const auto rows = ops::reference::grid_taps(points[2 * p + 1], height, parameters);
            for (size_t i = 0; i < 2; ++i)
              for (size_t j = 0; j < 2; ++j)
                if (rows.weights[i] != 0 && columns.weights[j] != 0 && rows.pixels[i] >= 0 && columns.pixels[j] >= 0)
                  want[(rows.pixels[i] * width + columns.pixels[j]) * 3] += rows.weights[i] * columns.weights[j];
            for (const auto& [offset, weight] : want) ASSERT_NEAR(got[offset], weight, 3e-7) << p << ' ' << offset;
            for (const auto& [offset, weight] : got) ASSERT_NEAR(want[offset], weight, 3e-7) << p << ' ' << offset;
          }
          EXPECT_EQ(any_open, open);
        }
}

TEST_P(SampleKernelsTest, GatheredTapsWithoutWeightCountForNothing) {
  const auto gather = cpu::sample_kernels(isa()).gather_taps;
  if (gather == nullptr) GTEST_SKIP() << "only in buckets of long vectors";
  constexpr int64_t kPixels = 37;
  std::vector<float> values = random_floats(kPixels, 1);
  values[0] = std::nanf("");
  values[kPixels - 1] = -0.0f;
  const GuardedBuffer<float> src(values);
  for (const int64_t taps : {1, 4})
    for (const int64_t n : sizes_around(lanes())) {
      const int64_t step = (n + lanes() - 1) / lanes() * lanes() + 5;
      std::vector<float> shares(static_cast<size_t>(4 * step));
      std::vector<int32_t> offsets(shares.size());
      for (size_t i = 0; i < shares.size(); ++i) {
        offsets[i] = static_cast<int32_t>(i * 7 % kPixels);
        shares[i] = offsets[i] == 0 ? 0.0f : taps == 1 ? 1.0f : 0.1f * static_cast<float>(i % 9);
      }
      GuardedBuffer<float> dst(n);
      gather(src.data(), offsets.data(), shares.data(), step, taps, dst.data(), n);
      EXPECT_TRUE(dst.intact());
      for (int64_t p = 0; p < n; ++p) {
        double want = 0;
        for (int64_t t = 0; t < taps; ++t) {
          const auto i = static_cast<size_t>(t * step + p);
          if (shares[i] != 0) want += double{shares[i]} * values[static_cast<size_t>(offsets[i])];
        }
        ASSERT_NEAR(dst[p], want, dot_tolerance(taps)) << n;
        if (taps == 1 && offsets[static_cast<size_t>(p)] == kPixels - 1) {
          ASSERT_TRUE(std::signbit(dst[p]));
        }
      }
    }
}

TERROIR_INSTANTIATE_PER_ISA(SampleKernelsTest);

}  // namespace
}  // namespace terroir::testing
