// Operands that broadcast, laid out for any stretch of the result.
#include "plugins/cpu/tile_operand.hpp"

#include <gtest/gtest.h>

#include "tests/support/random.hpp"

namespace terroir::cpu {
namespace {

/// The element of the operand that element `i` of the result meets.
int64_t met(const ir::Dims& dims, const ir::Dims& result, int64_t i) {
  int64_t at = 0, stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; i /= result[axis]) {
    if (dims[axis] == 1) continue;
    at += i % result[axis] * stride;
    stride *= dims[axis];
  }
  return at;
}

template <class T>
void expect_expanded(const ir::Dims& dims, const ir::Dims& result, int64_t begin, int64_t n) {
  std::vector<T> values(static_cast<size_t>(ir::element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + 1);
  std::vector<T> laid_out(static_cast<size_t>(n) + 1, T{0});
  TileOperand(dims, result, sizeof(T)).expand(values.data(), begin, n, laid_out.data());
  EXPECT_EQ(laid_out.back(), T{0});
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(laid_out[static_cast<size_t>(i)], values[static_cast<size_t>(met(dims, result, begin + i))])
        << begin << ' ' << n << ' ' << i;
}

/// What a stretch says of itself is what its elements meet; the same goes for a later one that begins before its end.
void expect_described(const ir::Dims& dims, const ir::Dims& result, int64_t begin, int64_t n) {
  using Form = TileOperand::Stretch::Form;
  const TileOperand operand(dims, result, 4);
  const TileOperand::Stretch stretch = operand.stretch(begin, n);
  if (stretch.form == Form::scattered) return;
  ASSERT_LE(begin + n, stretch.end);
  const int64_t row = operand.row();
  for (int64_t i = 0; i < stretch.end - begin; ++i) {
    const int64_t element = met(dims, result, begin + i);
    switch (stretch.form) {
      case Form::constant:
        ASSERT_EQ(element, stretch.element);
        break;
      case Form::contiguous:
        ASSERT_EQ(element, stretch.element + i);
        break;
      case Form::rows:
        ASSERT_EQ(stretch.row, row);
        ASSERT_EQ(element, stretch.element + i / row);
        break;
      default:
        ASSERT_EQ(element, stretch.element - begin % row + (begin + i) % row);
    }
  }
}

TEST(TileOperand, AnyStretchOfAnyBroadcast) {
  test::Random random(7);
  for (int trial = 0; trial < 3000; ++trial) {
    ir::Dims dims, result;
    for (int64_t axis = random.between(1, 5); axis > 0; --axis) {
      result.push_back(random.chance(10) ? random.between(20, 90) : random.between(1, 6));
      dims.push_back(random.chance(50) ? 1 : result.back());
    }
    const int64_t count = ir::element_count(result);
    const int64_t begin = random.between(0, count - 1), n = random.between(1, count - begin);
    if (const TileOperand operand(dims, result, 4); !operand.whole()) {
      expect_described(dims, result, begin, n);
      const int64_t row = operand.row(), first = begin / row * row;
      expect_described(dims, result, first, std::min(count - first, random.between(1, 4) * row));
    }
    switch (random.below(4)) {
      case 0:
        expect_expanded<uint8_t>(dims, result, begin, n);
        break;
      case 1:
        expect_expanded<uint16_t>(dims, result, begin, n);
        break;
      case 2:
        expect_expanded<uint32_t>(dims, result, begin, n);
        break;
      default:
        expect_expanded<uint64_t>(dims, result, begin, n);
    }
  }
}

// A value per channel and one per pixel, in blocks of channels as long as a run.
TEST(TileOperand, ChannelBlocks) {
  const auto check = [](auto tag) {
    using T = decltype(tag);
    for (const int64_t block : {64 / static_cast<int64_t>(sizeof(T)), 32 / static_cast<int64_t>(sizeof(T))})
      for (const ir::Dims& dims : {ir::Dims{1, 3, 1, block}, ir::Dims{1, 1, 11, 1}, ir::Dims{2, 1, 11, 1}})
        for (const int64_t begin : {int64_t{0}, int64_t{1}, block - 1, block, 5 * block + 3, 20 * block})
          for (const int64_t n : {int64_t{1}, block - 1, block, 3 * block + 5, 40 * block})
            expect_expanded<T>(dims, {2, 3, 11, block}, begin, n);
  };
  check(uint8_t{});
  check(uint16_t{});
  check(uint32_t{});
  check(uint64_t{});
}

TEST(TileOperand, ChannelsOfPixels) {
  for (const int64_t channels : {1, 2, 3, 4, 7, 15, 16, 17})
    for (const int64_t begin : {0, 1, 5, 100})
      for (const int64_t n : {1, 2, 63, 64, 65, 200})
        expect_expanded<uint32_t>({1, 1, channels}, {9, 37, channels}, begin, std::min(n, 9 * 37 * channels - begin));
}

}  // namespace
}  // namespace terroir::cpu
