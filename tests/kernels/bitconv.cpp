#include "plugins/cpu/kernels/bitconv/bitconv.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::BitConvArgs;

class BitConv : public KernelTest {};

TEST_P(BitConv, AgainstTheDefinition) {
  const cpu::BitConvKernels& kernels = cpu::bitconv_kernels(isa());
  for (const int64_t channels : {1, 7, 8, 16, 17, 63, 64, 65, 131})
    for (const int64_t outputs : {int64_t{1}, kernels.counters - 1, kernels.counters + 1, 2 * kernels.counters + 1})
      for (const float pad_value : {0.0f, 1.0f, 0.5f}) {
        BitConvArgs a;
        a.block = channel_block(isa());
        a.channels = channels;
        a.outputs = outputs;
        a.words = (channels + 63) / 64;
        a.pad_value = pad_value;
        a.in[0] = 3;
        a.in[1] = 5;
        a.kernel[0] = 2;
        a.kernel[1] = 3;
        a.stride[1] = 2;
        a.dilation[0] = 2;
        a.pad[0] = a.pad[1] = 1;
        a.out[0] = 4;  // pads of 1 and 2
        a.out[1] = 3;  // pads of 1 and 1
        for (int i = 0; i < 2; ++i) a.padded[i] = (a.out[i] - 1) * a.stride[i] + (a.kernel[i] - 1) * a.dilation[i] + 1;
        const int64_t taps = a.kernel[0] * a.kernel[1], plane = a.in[0] * a.in[1], positions = a.out[0] * a.out[1];
        const auto blocks = [&](int64_t n) { return (n + a.block - 1) / a.block; };
        const int64_t groups = blocks(outputs) * a.block / kernels.counters;
        std::mt19937 engine(static_cast<uint32_t>(channels * 7 + outputs));
        GuardedBuffer<float> src(blocks(channels) * plane * a.block), dst(blocks(outputs) * positions * a.block);
        for (int64_t i = 0; i < src.size(); ++i) {
          const int64_t c = i / (plane * a.block) * a.block + i % a.block;
          const uint32_t draw = engine();
          src[i] = c >= channels ? 0.0f : draw % 16 == 0 ? 0.25f : static_cast<float>(draw >> 31);
        }
        const auto value = [&](int64_t c, int64_t y, int64_t x) {
          if (y < 0 || x < 0 || y >= a.in[0] || x >= a.in[1]) return pad_value;
          return src[(c / a.block * plane + y * a.in[1] + x) * a.block + c % a.block];
        };
        GuardedBuffer<uint64_t> weights(groups * kernels.counters * taps * a.words);
        GuardedBuffer<uint64_t> bits(a.padded[0] * a.padded[1] * 2 * a.words);
        const auto word_of = [&](int64_t o, int64_t tap, int64_t word) -> uint64_t& {
          return weights[((o / kernels.counters * taps + tap) * a.words + word) * kernels.counters +
                         o % kernels.counters];
        };
        for (uint64_t& word : weights) word = static_cast<uint64_t>(engine()) << 32 | engine();
        if (channels % 64 != 0)
          for (int64_t o = 0; o < groups * kernels.counters; ++o)
            for (int64_t tap = 0; tap < taps; ++tap) word_of(o, tap, a.words - 1) |= ~uint64_t{0} << channels % 64;
        a.src = src.data();
        a.bits = bits.data();
        a.weights = weights.data();
        a.dst = dst.data();
        for (int64_t row = a.padded[0]; row-- > 0;) kernels.pack(a, row, row + 1);
        for (int64_t row = a.out[0]; row-- > 0;)
          for (int64_t group = groups; group-- > 0;) kernels.count(a, row, row + 1, group, group + 1);
        EXPECT_TRUE(bits.intact());
        EXPECT_TRUE(dst.intact());
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t o = i / (positions * a.block) * a.block + i % a.block, at = i / a.block % positions;
          int64_t agreeing = 0;
          for (int64_t tap = 0; tap < taps; ++tap)
            for (int64_t c = 0; c < channels; ++c) {
              const int64_t y = at / a.out[1] * a.stride[0] + tap / a.kernel[1] * a.dilation[0] - a.pad[0];
              const int64_t x = at % a.out[1] * a.stride[1] + tap % a.kernel[1] * a.dilation[1] - a.pad[1];
              const bool weight = (word_of(o, tap, c / 64) >> c % 64) & 1;
              agreeing += value(c, y, x) == (weight ? 1.0f : 0.0f) ? 1 : 0;
            }
          ASSERT_EQ(dst[i], o < outputs ? static_cast<float>(2 * agreeing - taps * channels) : 0.0f)
              << "output " << o << " position " << at << " channels " << channels;
        }
      }
}

TERROIR_INSTANTIATE_PER_ISA(BitConv);

}  // namespace
}  // namespace terroir::testing
