#include "plugins/cpu/kernels/convert/convert.hpp"

#include <cstring>

#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

using cpu::NumberType;

double half_value(uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

class Convert : public KernelTest {
 protected:
  /// Sizes need not be whole units here.
  template <class From, class To>
  void run(NumberType from, NumberType to, const GuardedBuffer<From>& src, GuardedBuffer<To>& dst) const {
    const int64_t padded = (src.size() + cpu::kTileUnit - 1) / cpu::kTileUnit * cpu::kTileUnit;
    GuardedBuffer<From> in(padded);
    GuardedBuffer<To> out(padded);
    std::fill(in.begin(), in.end(), From{});
    std::copy(src.begin(), src.end(), in.begin());
    const void* operands[] = {in.data()};
    cpu::conversion_loop(from, to, isa())(operands, out.data(), padded);
    EXPECT_TRUE(out.intact());
    std::copy_n(out.begin(), src.size(), dst.begin());
  }
};

TEST_P(Convert, EveryHalfToFloatAndBack) {
  GuardedBuffer<uint16_t> halves(65536), back(65536);
  GuardedBuffer<float> floats(65536);
  for (int64_t i = 0; i < 65536; ++i) halves[i] = static_cast<uint16_t>(i);
  run(NumberType::f16, NumberType::f32, halves, floats);
  run(NumberType::f32, NumberType::f16, floats, back);
  for (int64_t i = 0; i < 65536; ++i) {
    const double want = half_value(halves[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(floats[i]));
      ASSERT_TRUE(std::isnan(half_value(back[i])));
    } else {
      ASSERT_EQ(floats[i], want) << i;
      ASSERT_EQ(std::signbit(floats[i]), (halves[i] & 0x8000) != 0);
      ASSERT_EQ(back[i], halves[i]);
    }
  }
}

// Between every two neighbouring halves: the middle goes to the even one, and a float next to it to the nearer one.
TEST_P(Convert, FloatToHalfRoundsToNearestEven) {
  std::vector<float> values;
  std::vector<uint16_t> want;
  for (uint16_t h = 0; h < 0x7c00; ++h) {
    const double low = half_value(h);
    const double high = h == 0x7bff ? 65536.0 : half_value(static_cast<uint16_t>(h + 1));
    const float middle = static_cast<float>((low + high) / 2);
    const uint16_t up = static_cast<uint16_t>(h + 1);
    values.insert(values.end(), {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, kInf), -middle});
    const uint16_t even = (h & 1) == 0 ? h : up;
    want.insert(want.end(), {even, h, up, static_cast<uint16_t>(even | 0x8000)});
  }
  values.insert(values.end(), {1e30f, -1e30f, 1e-30f, 0x1p-149f});
  want.insert(want.end(), {0x7c00, 0xfc00, 0, 0});
  const GuardedBuffer<float> src(values);
  GuardedBuffer<uint16_t> got(src.size());
  run(NumberType::f32, NumberType::f16, src, got);
  for (int64_t i = 0; i < src.size(); ++i) ASSERT_EQ(got[i], want[i]) << src[i];
}

TEST_P(Convert, Bfloat16) {
  const GuardedBuffer<float> src(std::vector<float>{1.0f, 0x1.01p0f, 0x1.03p0f, 0x1.0101p0f, -2.5f, kInf, kNaN,
                                                    std::numeric_limits<float>::max()});
  const uint16_t want[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xc020, 0x7f80, 0x7fc0, 0x7f80};
  GuardedBuffer<uint16_t> got(src.size());
  GuardedBuffer<float> back(src.size());
  run(NumberType::f32, NumberType::bf16, src, got);
  run(NumberType::bf16, NumberType::f32, got, back);
  for (int64_t i = 0; i < src.size(); ++i) {
    EXPECT_EQ(got[i], want[i]) << src[i];
    if (std::isnan(src[i])) {
      EXPECT_TRUE(std::isnan(back[i]));
    } else if (std::isinf(back[i])) {
      EXPECT_GE(src[i], 0x1.ffp127f);  // what rounds up to infinity, or is
    } else {
      EXPECT_NEAR(back[i], src[i], std::fabs(src[i]) * 0x1p-8) << src[i];
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(Convert);

}  // namespace
}  // namespace terroir::testing
