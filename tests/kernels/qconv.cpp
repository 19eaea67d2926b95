#include "plugins/cpu/kernels/qconv/qconv.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::QConvArgs;

struct QConvProblem {
  int64_t channels, outputs;
  int64_t in[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
};

QConvArgs args_of(const QConvProblem& p) {
  QConvArgs a;
  a.channels = p.channels;
  a.out_channels = p.outputs;
  for (int i = 0; i < 3; ++i) {
    a.in[i] = p.in[i];
    a.kernel[i] = p.kernel[i];
    a.stride[i] = p.stride[i];
    a.dilation[i] = p.dilation[i];
    a.pad[i] = p.pad[i];
    a.out[i] = (p.in[i] + p.pad[i] + p.pad_end[i] - (p.kernel[i] - 1) * p.dilation[i] - 1) / p.stride[i] + 1;
  }
  return a;
}

class QConv : public KernelTest {
 protected:
  // Weights by [output][channel][tap]; everything the kernel touches ends at a guard page. band_rows > 0: bands of so
  // many output rows instead of tiles, for one block of outputs.
  void check(const QConvProblem& p, int64_t steps_per_tile, bool is_signed, int64_t band_rows = 0) {
    const cpu::QConvKernels& kernels = cpu::qconv_kernels(isa());
    QConvArgs a = args_of(p);
    std::mt19937 engine(static_cast<uint32_t>(p.channels * 131 + p.outputs));
    const auto draw = [&](int64_t low, int64_t high) {
      return static_cast<int32_t>(std::uniform_int_distribution<int64_t>(low, high)(engine));
    };
    const int64_t plane = a.in[0] * a.in[1] * a.in[2], taps = a.kernel[0] * a.kernel[1] * a.kernel[2];
    const int64_t positions = a.out[0] * a.out[1] * a.out[2], pairs = (a.channels + 1) / 2;
    GuardedBuffer<uint8_t> src(a.channels * plane), dst(a.out_channels * positions);
    for (uint8_t& x : src) x = static_cast<uint8_t>(draw(0, 255));
    std::vector<int32_t> weights(static_cast<size_t>(a.out_channels * a.channels * taps));
    for (int32_t& w : weights) w = draw(-255, 255);
    GuardedBuffer<int32_t> bias(a.out_channels);
    GuardedBuffer<float> multipliers(a.out_channels);
    for (int64_t o = 0; o < a.out_channels; ++o) {
      bias[o] = draw(-100000, 100000);
      multipliers[o] = 1e-5f * static_cast<float>(draw(1, 400)) / static_cast<float>(a.channels);
    }
    a.src_flip = is_signed ? 0x80 : 0;
    a.src_zero = draw(0, 255);
    a.dst_zero = draw(0, 255) - (is_signed ? 128 : 0);
    a.low = static_cast<float>((is_signed ? -128 : 0) - a.dst_zero);
    a.high = static_cast<float>((is_signed ? 127 : 255) - a.dst_zero);
    a.blocks = (a.out_channels + kernels.rows - 1) / kernels.rows;
    a.tile = std::min(kernels.most_positions, steps_per_tile * kernels.step);

    const auto weight = [&](int64_t o, int64_t c, int64_t tap) {
      return c < a.channels ? weights[static_cast<size_t>((o * a.channels + c) * taps + tap)] : 0;
    };
    std::vector<int64_t> tap_offsets;
    if (band_rows > 0) {
      a.band_rows = (band_rows - 1) * a.stride[1] + (a.kernel[1] - 1) * a.dilation[1] + 1;
      a.band_columns = kernels.most_columns(a.out[2]) + (a.kernel[2] - 1) * a.dilation[2] / a.stride[2];
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t pair = 0; pair < pairs; ++pair) {
          const int64_t kd = tap / a.kernel[2] / a.kernel[1], kh = tap / a.kernel[2] % a.kernel[1];
          const int64_t row = (pair * a.kernel[0] + kd) * a.band_rows + kh * a.dilation[1];
          const int64_t at = tap % a.kernel[2] * a.dilation[2];
          tap_offsets.push_back((row * a.stride[2] + at % a.stride[2]) * a.band_columns + at / a.stride[2]);
        }
      a.tap_offsets = tap_offsets.data();
    }
    GuardedBuffer<int32_t> packed(a.out_channels * taps * pairs);
    GuardedBuffer<int32_t> columns(band_rows > 0 ? pairs * a.kernel[0] * a.band_rows * a.stride[2] * a.band_columns
                                                 : taps * pairs * a.tile);
    int64_t at = 0;
    for (int64_t block = 0, first = 0; block < a.blocks; ++block) {
      const int64_t rows = a.out_channels / a.blocks + (block < a.out_channels % a.blocks ? 1 : 0);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t c = 0; c < a.channels; c += 2)
          for (int64_t o = first; o < first + rows; ++o)
            packed[at++] = static_cast<int32_t>((static_cast<uint32_t>(weight(o, c, tap)) & 0xffff) |
                                                static_cast<uint32_t>(weight(o, c + 1, tap)) << 16);
      first += rows;
    }
    a.src = src.data();
    a.dst = dst.data();
    a.weights = packed.data();
    a.bias = bias.data();
    a.multipliers = multipliers.data();
    a.columns = columns.data();
    for (int64_t d = 0; d < (band_rows > 0 ? a.out[0] : 0); ++d)
      for (int64_t row = 0; row < a.out[1]; row += band_rows) {
        kernels.spread(a, d, row, std::min(row + band_rows, a.out[1]));
        kernels.multiply_band(a, d, row, std::min(row + band_rows, a.out[1]));
      }
    for (int64_t begin = 0; begin < (band_rows > 0 ? 0 : positions); begin += a.tile) {
      const int64_t count = std::min(a.tile, positions - begin);
      kernels.unfold(a, begin, count);
      for (int64_t block = a.blocks; block-- > 0;) kernels.multiply(a, begin, count, block, block + 1);
    }
    EXPECT_TRUE(dst.intact());
    EXPECT_TRUE(columns.intact());

    for (int64_t o = 0; o < a.out_channels; ++o)
      for (int64_t position = 0; position < positions; ++position) {
        const int64_t out[3] = {position / a.out[2] / a.out[1], position / a.out[2] % a.out[1], position % a.out[2]};
        int64_t sum = bias[o];
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t k[3] = {tap / a.kernel[2] / a.kernel[1], tap / a.kernel[2] % a.kernel[1], tap % a.kernel[2]};
          int64_t offset = 0;
          bool inside = true;
          for (int i = 0; i < 3; ++i) {
            const int64_t x = out[i] * a.stride[i] + k[i] * a.dilation[i] - a.pad[i];
            inside = inside && x >= 0 && x < a.in[i];
            offset = offset * a.in[i] + x;
          }
          if (!inside) continue;
          for (int64_t c = 0; c < a.channels; ++c)
            sum += ((src[c * plane + offset] ^ a.src_flip) - a.src_zero) * weight(o, c, tap);
        }
        const float real = static_cast<float>(sum) * multipliers[o];
        const float bounded = std::min(std::max(real, a.low), a.high);
        const int want = static_cast<int>(std::nearbyint(bounded)) + a.dst_zero;
        ASSERT_EQ(dst[o * positions + position], static_cast<uint8_t>(want))
            << "output " << o << " position " << position << " of " << positions;
      }
  }
};

TEST_P(QConv, OutputChannelsAndPositions) {
  const cpu::QConvKernels& kernels = cpu::qconv_kernels(isa());
  for (const int64_t outputs : {int64_t{1}, kernels.rows - 1, kernels.rows, kernels.rows + 1, 2 * kernels.rows + 1})
    for (const int64_t positions : sizes_around(kernels.step))
      check({3, outputs, {1, 1, positions}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, 1, false);
}

TEST_P(QConv, Channels) {
  for (const int64_t channels : {1, 2, 3, 8, 17, 67})
    check({channels, 5, {1, 5, 7}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, 2, true);
}

TEST_P(QConv, Windows) {
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t dilation : {1, 2})
      for (const int64_t pad : {0, 1, 4})
        for (const bool is_signed : {false, true})
          check({2, 3, {4, 9, 11}, {2, 3, 4}, {1, 2, stride}, {1, dilation, 2}, {1, pad, 2}, {0, 1, pad}}, stride + pad,
                is_signed);
}

TEST_P(QConv, Bands) {
  for (const int64_t width : sizes_around(4 * lanes()))
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t outputs : {1, 2})
        check({outputs, outputs, {2, 7, width}, {2, 3, 4}, {1, stride, stride}, {1, 2, 3}, {1, 2, 5}, {0, 1, 6}}, 1,
              outputs == 1, 1 + width % 3);
  // Phases without a column inside, and a row in the padding entirely.
  check({1, 1, {1, 2, 2}, {1, 3, 3}, {1, 1, 3}, {1, 1, 1}, {0, 4, 7}, {0, 4, 8}}, 1, true, 2);
}

TEST_P(QConv, LongKernelsAndTinyRows) {
  check({2, 9, {1, 1, 40}, {1, 1, 75}, {1, 1, 1}, {1, 1, 1}, {0, 0, 37}, {0, 0, 37}}, 1, false);
  // Rows of one position: as many segments as a tile has positions.
  check({2, 3, {3, 131, 1}, {1, 3, 1}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}}, 64, false);
  // Windows in the padding entirely.
  check({3, 3, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 4, 5}, {0, 3, 4}}, 2, true);
}

TERROIR_INSTANTIATE_PER_ISA(QConv);

}  // namespace
}  // namespace terroir::testing
