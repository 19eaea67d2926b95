#include "plugins/cpu/kernels/deform/deform.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::DeformArgs;
using cpu::DeformSegment;

class Deform : public KernelTest {};

// Channels-last and blocks of three, which no instruction set has: nothing is read beyond the source, nothing written
// beyond the columns, and the gaps between segments stay as they are.
TEST_P(Deform, AgainstTheDefinition) {
  constexpr int64_t kHeight = 4, kWidth = 5, kTaps = 4, kGroups = 2;
  for (const int64_t per_group : sizes_around(lanes()))
    for (const auto& [padded, infinite] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
      for (const int64_t block : {kGroups * per_group, int64_t{3}}) {
        const int64_t channels = kGroups * per_group, blocks = (channels + block - 1) / block;
        DeformArgs a;
        a.groups = kGroups;
        a.pixel = block;
        a.tap_stride = channels + 1;
        a.row_stride = kTaps * a.tap_stride;
        a.in[0] = kHeight;
        a.in[1] = kWidth;
        a.kernel[0] = a.kernel[1] = a.dilation[1] = 2;
        a.pad[0] = 1;
        a.out[0] = kHeight;
        a.out[1] = 3;
        a.padded = padded;
        const int64_t positions = a.out[0] * a.out[1];
        GuardedBuffer<float> src(random_floats(blocks * kHeight * kWidth * block, 1));
        GuardedBuffer<float> offsets(random_floats(kGroups * kTaps * 2 * positions, 2, -2.5f, 2.5f));
        GuardedBuffer<float> mask(random_floats(kGroups * kTaps * positions, 3));
        if (infinite) {
          // Whole and half positions: a pixel without a share must not be multiplied by zero.
          for (int64_t i = 0; i < src.size(); i += 3) src[i] = std::numeric_limits<float>::infinity();
          for (float& x : offsets) x = std::round(2 * x) / 2;
          for (float& x : mask) x = std::fabs(x) + 0.5f;
        }
        GuardedBuffer<float> columns(positions * a.row_stride - 1);
        for (float& x : columns) x = 77.0f;
        std::vector<DeformSegment> segments;
        std::vector<int64_t> first;
        for (int64_t c = 0; c < channels;) {
          if (c % per_group == 0) first.push_back(static_cast<int64_t>(segments.size()));
          const int64_t end = std::min((c / per_group + 1) * per_group, (c / block + 1) * block);
          segments.push_back({c / block * kHeight * kWidth * block + c % block, c, end - c});
          c = end;
        }
        first.push_back(static_cast<int64_t>(segments.size()));
        a.src = src.data();
        a.offsets = offsets.data();
        a.mask = mask.data();
        a.segments = segments.data();
        a.first_segment = first.data();
        for (int64_t m = positions; m-- > 0;) {
          a.columns = columns.data() + m * a.row_stride;
          cpu::deform_kernels(isa()).sample(a, m, 1);
        }
        EXPECT_TRUE(columns.intact());

        for (int64_t m = 0; m < positions; ++m)
          for (int64_t tap = 0; tap < kTaps; ++tap) {
            for (int64_t c = 0; c < channels; ++c) {
              const int64_t field = (c / per_group * kTaps + tap), at = field * 2 * positions + m;
              const float y = static_cast<float>(m / a.out[1] - 1 + tap / 2) + offsets[at];
              const float x = static_cast<float>(m % a.out[1] + tap % 2 * 2) + offsets[at + positions];
              const auto pixel = [&, padded = padded](int64_t i, int64_t j, double share) {
                if (!padded) {
                  i = std::min(i, kHeight - 1);
                  j = std::min(j, kWidth - 1);
                }
                if (i < 0 || j < 0 || i >= kHeight || j >= kWidth || share == 0) return 0.0;
                return share * static_cast<double>(src[((c / block * kHeight + i) * kWidth + j) * block + c % block]);
              };
              double want = 0;
              const bool inside = padded ? y > -1 && x > -1 : y >= 0 && x >= 0;
              if (inside && y < kHeight && x < kWidth) {
                const auto i = static_cast<int64_t>(std::floor(y)), j = static_cast<int64_t>(std::floor(x));
                const double fy = y - std::floor(y), fx = x - std::floor(x);
                want = pixel(i, j, (1 - fy) * (1 - fx)) + pixel(i, j + 1, (1 - fy) * fx) +
                       pixel(i + 1, j, fy * (1 - fx)) + pixel(i + 1, j + 1, fy * fx);
              }
              want *= mask[field * positions + m];
              const float got = columns[m * a.row_stride + tap * a.tap_stride + c];
              ASSERT_TRUE(got == want || std::fabs(got - want) <= 8 * 1.2e-7)
                  << got << " for " << want << ", position " << m << " tap " << tap << " channel " << c << " of "
                  << channels;
            }
            if (m + 1 < positions || tap + 1 < kTaps) {
              ASSERT_EQ(columns[m * a.row_stride + (tap + 1) * a.tap_stride - 1], 77.0f);
            }
          }
      }
}

TERROIR_INSTANTIATE_PER_ISA(Deform);

}  // namespace
}  // namespace terroir::testing
