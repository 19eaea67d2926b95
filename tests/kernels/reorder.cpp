#include "plugins/cpu/kernels/reorder/reorder.hpp"

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::ImageFormat;
using cpu::ReorderArgs;

struct Format {
  ImageFormat kind;
  int64_t block;
};

int64_t padded_channels(Format f, int64_t c) {
  return f.kind == ImageFormat::blocked ? (c + f.block - 1) / f.block * f.block : c;
}

int64_t place(Format f, int64_t c_total, int64_t s_total, int64_t n, int64_t c, int64_t s) {
  switch (f.kind) {
    case ImageFormat::plain:
      return (n * c_total + c) * s_total + s;
    case ImageFormat::nhwc:
      return (n * s_total + s) * c_total + c;
    case ImageFormat::blocked:
      return ((n * (padded_channels(f, c_total) / f.block) + c / f.block) * s_total + s) * f.block + c % f.block;
  }
  return -1;
}

class Reorder : public KernelTest {};

TEST_P(Reorder, EveryPairOfFormats) {
  // The block of 3 belongs to no processor: it shows that nothing assumes 8 or 16.
  const Format formats[] = {{ImageFormat::plain, 0},
                            {ImageFormat::nhwc, 0},
                            {ImageFormat::blocked, 8},
                            {ImageFormat::blocked, 16},
                            {ImageFormat::blocked, 3}};
  const auto& kernels = cpu::reorder_kernels(isa());
  for (const Format from : formats) {
    for (const Format to : formats) {
      for (const int64_t c : {1, 3, 7, 8, 9, 16, 17, 33, 67, 131}) {
        for (const int64_t s : {int64_t{1}, lanes() - 1, lanes(), 2 * lanes() + 1, int64_t{49}, int64_t{1031}}) {
          if (s > 1000 && c > 17) continue;
          const int64_t n = 2;
          GuardedBuffer<float> src(n * padded_channels(from, c) * s), dst(n * padded_channels(to, c) * s);
          // The padding of the source stays poison: it must not be read as values.
          for (int64_t in = 0; in < n; ++in) {
            for (int64_t ic = 0; ic < c; ++ic) {
              for (int64_t is = 0; is < s; ++is) {
                src[place(from, c, s, in, ic, is)] = static_cast<float>((in * c + ic) * s + is);
              }
            }
          }
          ReorderArgs args;
          args.src = src.data();
          args.dst = dst.data();
          args.n = n;
          args.c = c;
          args.s = s;
          args.src_format = from.kind;
          args.src_block = from.block;
          args.dst_format = to.kind;
          args.dst_block = to.block;
          // Item by item, last first, as threads might.
          for (int64_t item = kernels.items(args); item-- > 0;) kernels.reorder(args, item, item + 1);
          EXPECT_TRUE(dst.intact());
          for (int64_t in = 0; in < n; ++in) {
            for (int64_t ic = 0; ic < padded_channels(to, c); ++ic) {
              for (int64_t is = 0; is < s; ++is) {
                const float want = ic < c ? static_cast<float>((in * c + ic) * s + is) : 0.0f;
                ASSERT_EQ(dst[place(to, c, s, in, ic, is)], want)
                    << static_cast<int>(from.kind) << from.block << " to " << static_cast<int>(to.kind) << to.block
                    << " C " << c << " S " << s << " at " << ic << "," << is;
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(Reorder, PastTheCachesAsThroughThem) {
  const Format plain{ImageFormat::plain, 0}, nhwc{ImageFormat::nhwc, 0}, blocked{ImageFormat::blocked, 16};
  const auto& kernels = cpu::reorder_kernels(isa());
  for (const auto& [from, to] : {std::pair(plain, nhwc), std::pair(nhwc, plain), std::pair(plain, blocked),
                                 std::pair(blocked, nhwc), std::pair(blocked, plain)}) {
    for (const int64_t c : {16, 48, 64, 72}) {
      for (const int64_t s : {16, 64, 150, 1200}) {
        // Both begin with a cache line or miss it by an element.
        for (const int64_t misfit : {0, 1}) {
          const int64_t n = 2, size = n * padded_channels(to, c) * s;
          const std::vector<float> src = random_floats(n * padded_channels(from, c) * s, 7);
          GuardedBuffer<float> memory(size + 16 + misfit);
          const auto address = reinterpret_cast<uintptr_t>(memory.data());
          float* const dst = memory.data() + (64 - address % 64) % 64 / 4 + misfit;
          std::vector<float> want(static_cast<size_t>(size));
          ReorderArgs args{src.data(), dst, n, c, s, from.kind, to.kind, from.block, to.block, true};
          const int64_t items = kernels.items(args), half = items / 2;
          for (int64_t item = items; item-- > half;) kernels.reorder(args, item, item + 1);
          kernels.reorder(args, 0, half);
          ReorderArgs through = args;
          through.dst = want.data();
          through.streamed = false;
          kernels.reorder(through, 0, kernels.items(through));
          EXPECT_TRUE(memory.intact());
          for (float* outside = memory.begin(); outside < dst; ++outside) ASSERT_TRUE(std::isnan(*outside));
          for (float* outside = dst + size; outside < memory.end(); ++outside) ASSERT_TRUE(std::isnan(*outside));
          for (int64_t i = 0; i < size; ++i)
            ASSERT_EQ(dst[i], want[static_cast<size_t>(i)]) << "C " << c << " S " << s << " at " << i;
        }
      }
    }
  }
}

// Whole pixels past the caches are shared out, too; where lines are not whole, nothing changes.
TEST_P(Reorder, ItemsPastTheCaches) {
  const auto& kernels = cpu::reorder_kernels(isa());
  const auto items = [&](int64_t c, int64_t s, bool streamed, float* dst) {
    ReorderArgs args;
    args.dst = dst;
    args.n = 3;
    args.c = c;
    args.s = s;
    args.dst_format = ImageFormat::nhwc;
    args.streamed = streamed;
    return kernels.items(args);
  };
  alignas(64) float memory[2];
  EXPECT_EQ(items(2048, 32 * 32, true, memory), 3 * 8);
  EXPECT_EQ(items(1024, 50 * 50, true, memory), 3 * 20);
  EXPECT_EQ(items(1024, 50 * 50, false, memory), 3 * 16 * 3);
  EXPECT_EQ(items(1030, 50 * 50, true, memory), items(1030, 50 * 50, false, memory));
  EXPECT_EQ(items(1024, 50 * 50, true, memory + 1), items(1024, 50 * 50, false, memory + 1));
}

TEST_P(Reorder, TransposeLeavesTheGapsAlone) {
  for (const int64_t rows : sizes_around(lanes())) {
    for (const int64_t columns : sizes_around(lanes())) {
      const int64_t src_stride = columns + 2, dst_stride = rows + 3;
      const GuardedBuffer<float> src(random_floats((rows - 1) * src_stride + columns, 5));
      GuardedBuffer<float> dst((columns - 1) * dst_stride + rows);
      cpu::reorder_kernels(isa()).transpose_2d(src.data(), src_stride, dst.data(), dst_stride, rows, columns, rows);
      EXPECT_TRUE(dst.intact());
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t r = 0; r < rows; ++r) ASSERT_EQ(dst[c * dst_stride + r], src[r * src_stride + c]);
        if (c + 1 < columns) {
          ASSERT_TRUE(std::isnan(dst[c * dst_stride + rows]));
        }
      }
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(Reorder);

}  // namespace
}  // namespace terroir::testing
