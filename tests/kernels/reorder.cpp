#include "plugins/cpu/kernels/reorder/reorder.hpp"

#include <numeric>

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::ImageFormat;
using cpu::PermutePlan;
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

template <typename T>
void check_permutation(const cpu::ReorderKernels& kernels, const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& order) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  const int64_t total = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  GuardedBuffer<T> src(total), dst(total);
  for (int64_t i = 0; i < total; ++i) src[i] = static_cast<T>(i);
  PermutePlan plan;
  ASSERT_TRUE(cpu::make_permute_plan(shape.data(), order.data(), rank, sizeof(T), plan));
  // In two parts along the outermost axis.
  const int64_t outer = plan.rank == 0 ? 1 : plan.extent[0], middle = (outer + 1) / 2;
  kernels.permute(plan, src.data(), dst.data(), middle, outer);
  kernels.permute(plan, src.data(), dst.data(), 0, middle);
  EXPECT_TRUE(dst.intact());

  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    int64_t from = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      // Coordinate of source axis `axis`.
      const auto at = std::find(order.begin(), order.end(), axis) - order.begin();
      from = from * shape[axis] + index[at];
    }
    ASSERT_EQ(dst[i], static_cast<T>(from)) << "element " << i;
    for (int64_t d = rank; d-- > 0;) {
      if (++index[d] < shape[order[d]]) break;
      index[d] = 0;
    }
  }
}

TEST_P(Reorder, PermutationsOfEveryElementSize) {
  const auto& kernels = cpu::reorder_kernels(isa());
  const std::vector<std::vector<int64_t>> shapes = {{5}, {7, 17}, {3, 5, 33}, {2, 3, 1, 19}, {2, 17, 3, 18}, {1, 1, 1}};
  for (const auto& shape : shapes) {
    std::vector<int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      check_permutation<uint8_t>(kernels, shape, order);
      check_permutation<uint16_t>(kernels, shape, order);
      check_permutation<uint32_t>(kernels, shape, order);
      check_permutation<uint64_t>(kernels, shape, order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  check_permutation<uint32_t>(kernels, {2, 3, 2, 2, 3, 2, 5}, {6, 0, 2, 1, 5, 3, 4});
  check_permutation<uint32_t>(kernels, {}, {});
}

TEST(PermutePlanTest, MergesWhatStaysTogether) {
  const int64_t shape[] = {2, 3, 1, 5, 7}, order[] = {3, 4, 0, 2, 1};
  PermutePlan plan;
  ASSERT_TRUE(cpu::make_permute_plan(shape, order, 5, 4, plan));
  ASSERT_EQ(plan.rank, 2);
  EXPECT_EQ(plan.extent[0], 35);
  EXPECT_EQ(plan.extent[1], 6);
  EXPECT_EQ(plan.src_stride[0], 1);
  EXPECT_EQ(plan.src_stride[1], 35);
}

TEST(PermutePlanTest, RefusesARankItCannotHold) {
  std::vector<int64_t> shape(14, 2), order(14);
  for (int64_t i = 0; i < 14; ++i) order[i] = 13 - i;
  PermutePlan plan;
  EXPECT_FALSE(cpu::make_permute_plan(shape.data(), order.data(), 14, 4, plan));
}

TERROIR_INSTANTIATE_PER_ISA(Reorder);

}  // namespace
}  // namespace terroir::testing
