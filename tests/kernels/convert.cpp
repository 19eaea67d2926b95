#include "plugins/cpu/kernels/convert/convert.hpp"

#include <cstring>

#include "plugins/cpu/kernels/integer/integer.hpp"
#include "plugins/cpu/kernels/interpolate/interpolate.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::IntegerKind;

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

double half_value(uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

class Convert : public KernelTest {
 protected:
  const cpu::ConvertKernels& kernels() const { return cpu::convert_kernels(isa()); }
};

TEST_P(Convert, EveryHalfToFloatAndBack) {
  GuardedBuffer<uint16_t> halves(65536), back(65536);
  GuardedBuffer<float> floats(65536);
  for (int64_t i = 0; i < 65536; ++i) halves[i] = static_cast<uint16_t>(i);
  kernels().f16_to_f32(halves.data(), floats.data(), 65536);
  kernels().f32_to_f16(floats.data(), back.data(), 65536);
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
  kernels().f32_to_f16(src.data(), got.data(), src.size());
  for (int64_t i = 0; i < src.size(); ++i) ASSERT_EQ(got[i], want[i]) << src[i];
}

TEST_P(Convert, Bfloat16) {
  const GuardedBuffer<float> src(std::vector<float>{1.0f, 0x1.01p0f, 0x1.03p0f, 0x1.0101p0f, -2.5f, kInf, kNan,
                                                    std::numeric_limits<float>::max()});
  const uint16_t want[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xc020, 0x7f80, 0x7fc0, 0x7f80};
  GuardedBuffer<uint16_t> got(src.size());
  GuardedBuffer<float> back(src.size());
  kernels().f32_to_bf16(src.data(), got.data(), src.size());
  kernels().bf16_to_f32(got.data(), back.data(), src.size());
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

template <typename T>
void check_to_float(void (*convert)(const T*, float*, int64_t), const std::vector<int64_t>& sizes) {
  for (const int64_t n : sizes) {
    GuardedBuffer<T> src(n);
    std::mt19937_64 engine(3);
    for (T& x : src) x = static_cast<T>(engine());
    src[0] = std::numeric_limits<T>::min();
    src[n - 1] = std::numeric_limits<T>::max();
    GuardedBuffer<float> dst(n);
    convert(src.data(), dst.data(), n);
    EXPECT_TRUE(dst.intact());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(dst[i], static_cast<float>(src[i]));
  }
}

TEST_P(Convert, IntegersToFloat) {
  check_to_float(kernels().u8_to_f32, sizes_around(lanes()));
  check_to_float(kernels().i8_to_f32, sizes_around(lanes()));
  check_to_float(kernels().i32_to_f32, sizes_around(lanes()));
  check_to_float(kernels().i64_to_f32, sizes_around(lanes()));
}

TEST_P(Convert, FloatToIntegersGoesTowardZero) {
  for (const int64_t n : sizes_around(lanes())) {
    std::vector<float> values = random_floats(n, 4, 0.0f, 255.99f);
    const GuardedBuffer<float> bytes(values);
    for (float& x : values) x = (x - 100.0f) * 1e6f;
    const GuardedBuffer<float> src(values);
    GuardedBuffer<uint8_t> u8(n);
    GuardedBuffer<int32_t> i32(n);
    GuardedBuffer<int64_t> i64(n);
    kernels().f32_to_u8(bytes.data(), u8.data(), n);
    kernels().f32_to_i32(src.data(), i32.data(), n);
    kernels().f32_to_i64(src.data(), i64.data(), n);
    EXPECT_TRUE(u8.intact() && i32.intact() && i64.intact());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(u8[i], static_cast<uint8_t>(bytes[i]));
      ASSERT_EQ(i32[i], static_cast<int32_t>(src[i]));
      ASSERT_EQ(i64[i], static_cast<int64_t>(src[i]));
    }
  }
  // The same in the vector body and in the tail.
  struct Outside {
    float x;
    uint8_t u8;
    int32_t i32;
    int64_t i64;
  };
  using I32 = std::numeric_limits<int32_t>;
  using I64 = std::numeric_limits<int64_t>;
  for (const Outside& c :
       {Outside{kNan, 0, 0, 0}, Outside{kInf, 255, I32::max(), I64::max()}, Outside{-kInf, 0, I32::min(), I64::min()},
        Outside{1e30f, 255, I32::max(), I64::max()}, Outside{-1e30f, 0, I32::min(), I64::min()},
        Outside{0x1p31f, 255, I32::max(), 1LL << 31}, Outside{-0x1p31f, 0, I32::min(), -(1LL << 31)},
        Outside{255.9f, 255, 255, 255}, Outside{256.0f, 255, 256, 256}, Outside{-0.9f, 0, 0, 0}}) {
    const GuardedBuffer<float> src(std::vector<float>(21, c.x));
    GuardedBuffer<uint8_t> u8(21);
    GuardedBuffer<int32_t> i32(21);
    GuardedBuffer<int64_t> i64(21);
    kernels().f32_to_u8(src.data(), u8.data(), 21);
    kernels().f32_to_i32(src.data(), i32.data(), 21);
    kernels().f32_to_i64(src.data(), i64.data(), 21);
    for (int64_t i = 0; i < 21; ++i) {
      EXPECT_EQ(u8[i], c.u8) << c.x;
      EXPECT_EQ(i32[i], c.i32) << c.x;
      EXPECT_EQ(i64[i], c.i64) << c.x;
    }
  }
}

template <typename T>
T integer_result(IntegerKind kind, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (kind) {
    case IntegerKind::add:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case IntegerKind::sub:
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case IntegerKind::mul:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case IntegerKind::max:
      return std::max(a, b);
    case IntegerKind::min:
      return std::min(a, b);
    case IntegerKind::floor_div:
      return b == 0 ? 0 : static_cast<T>(std::floor(static_cast<long double>(a) / b));
    case IntegerKind::div:
      return b == 0 ? 0 : static_cast<T>(std::trunc(static_cast<long double>(a) / b));
    case IntegerKind::mod:
      return b == 0 ? 0 : static_cast<T>(std::fmod(static_cast<long double>(a), static_cast<long double>(b)));
    case IntegerKind::floor_mod:
      return b == 0 ? 0 : static_cast<T>(a - b * static_cast<T>(std::floor(static_cast<long double>(a) / b)));
  }
  return 0;
}

template <typename T, typename Kernel>
void check_integers(Kernel kernel, int64_t lanes) {
  for (int kind_index = 0; kind_index < 9; ++kind_index) {
    const IntegerKind kind = static_cast<IntegerKind>(kind_index);
    for (const int64_t n : {int64_t{1}, lanes - 1, lanes + 1, int64_t{67}}) {
      for (int steps = 0; steps < 4; ++steps) {
        const int64_t a_step = steps & 1, b_step = steps >> 1;
        GuardedBuffer<T> a(a_step != 0 ? n : 1), b(b_step != 0 ? n : 1), dst(n);
        std::mt19937 engine(7);
        for (T& x : a) x = static_cast<T>(static_cast<int>(engine() % 201) - 100);
        for (T& x : b) x = static_cast<T>(static_cast<int>(engine() % 21) - 10);
        kernel(kind, a.data(), a_step, b.data(), b_step, dst.data(), n);
        EXPECT_TRUE(dst.intact());
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(dst[i], integer_result<T>(kind, a[i * a_step], b[i * b_step])) << kind_index;
        }
      }
    }
  }
  const T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max(), minus_one = -1, one = 1;
  T got = 0;
  kernel(IntegerKind::floor_div, &lowest, 1, &minus_one, 1, &got, 1);
  EXPECT_EQ(got, lowest);
  kernel(IntegerKind::div, &lowest, 1, &minus_one, 1, &got, 1);
  EXPECT_EQ(got, lowest);
  kernel(IntegerKind::floor_mod, &lowest, 1, &minus_one, 1, &got, 1);
  EXPECT_EQ(got, 0);
  kernel(IntegerKind::mod, &lowest, 1, &minus_one, 1, &got, 1);
  EXPECT_EQ(got, 0);
  kernel(IntegerKind::add, &highest, 1, &one, 1, &got, 1);
  EXPECT_EQ(got, lowest);
}

TEST_P(Convert, IntegerArithmetic) {
  check_integers<int32_t>(cpu::integer_kernels(isa()).i32, lanes());
  check_integers<int64_t>(cpu::integer_kernels(isa()).i64, lanes());
}

TEST_P(Convert, InterpolateRows) {
  for (const int64_t width : sizes_around(lanes())) {
    const int64_t in = 5, n = 9;
    const GuardedBuffer<float> upper(random_floats(in * width, 1)), lower(random_floats(in * width, 2));
    const GuardedBuffer<int32_t> left(std::vector<int32_t>{0, 0, 1, 1, 2, 3, 3, 4, 4});
    const GuardedBuffer<int32_t> right(std::vector<int32_t>{0, 1, 2, 2, 3, 4, 4, 4, 4});
    const GuardedBuffer<float> wx(random_floats(n, 3, 0.0f, 1.0f));
    const float wy = 0.3f;
    GuardedBuffer<float> nearest(n * width), linear(n * width);
    cpu::interpolate_kernels(isa()).nearest_row(upper.data(), nearest.data(), left.data(), n, width);
    cpu::interpolate_kernels(isa()).linear_row(upper.data(), lower.data(), wy, linear.data(), left.data(), right.data(),
                                               wx.data(), n, width);
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

TERROIR_INSTANTIATE_PER_ISA(Convert);

}  // namespace
}  // namespace terroir::testing
