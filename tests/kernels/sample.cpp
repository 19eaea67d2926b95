#include "plugins/cpu/kernels/sample/sample.hpp"

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

TERROIR_INSTANTIATE_PER_ISA(SampleKernelsTest);

}  // namespace
}  // namespace terroir::testing
