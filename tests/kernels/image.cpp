#include "plugins/cpu/kernels/image/image.hpp"

#include "ops/reference/image/yuv.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

class ImageKernelsTest : public KernelTest {
 protected:
  static constexpr int64_t kPiece = 128;  // pixels that the kernels take together

  const cpu::ImageKernels& kernels() const { return cpu::image_kernels(isa()); }
  static std::vector<uint8_t> bytes(int64_t n, uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<uint8_t> values(static_cast<size_t>(n));
    for (uint8_t& value : values) value = static_cast<uint8_t>(engine());
    return values;
  }
};

TEST_P(ImageKernelsTest, Widen) {
  for (const int64_t n : sizes_around(kPiece)) {
    const GuardedBuffer<uint8_t> src(bytes(n, 1));
    GuardedBuffer<float> dst(std::vector<float>(static_cast<size_t>(n)));
    kernels().widen(src.data(), dst.data(), n);
    EXPECT_TRUE(dst.intact());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(dst[i], src[i]);
  }
}

TEST_P(ImageKernelsTest, BlendIsTheSumOfItsRows) {
  const std::vector<int32_t> index = {2, 0, 3, 3, 1};
  const std::vector<float> weight = random_floats(5, 3);
  for (const int64_t n : sizes_around(kPiece)) {
    const GuardedBuffer<uint8_t> src(bytes(4 * n, 1));
    for (const int64_t taps : {0, 1, 2, 3, 5}) {
      GuardedBuffer<float> dst(random_floats(n, 2));
      kernels().blend(src.data(), n, index.data(), weight.data(), taps, dst.data(), n);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < n; ++i) {
        double want = 0;
        for (int64_t t = 0; t < taps; ++t)
          want += double{weight[static_cast<size_t>(t)]} * src[index[static_cast<size_t>(t)] * n + i];
        ASSERT_NEAR(dst[i], want, dot_tolerance(taps, 255.0f)) << n << ' ' << taps;
      }
    }
  }
}

TEST_P(ImageKernelsTest, RoundsAndTruncates) {
  std::vector<float> values = {0.0f,
                               0.4999f,
                               0.5f,
                               1.5f,
                               2.5f,
                               254.4f,
                               254.5f,
                               255.0f,
                               300.f,
                               -3.f,
                               -0.25f,
                               199.99999f,
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               1e30f};
  const std::vector<uint8_t> rounded = {0, 0, 1, 2, 3, 254, 255, 255, 255, 0, 0, 200, 0, 255, 0, 255};
  const std::vector<uint8_t> truncated = {0, 0, 0, 1, 2, 254, 254, 255, 255, 0, 0, 200, 0, 255, 0, 255};
  for (const int64_t n : sizes_around(kPiece)) {
    std::vector<float> row;
    for (int64_t i = 0; i < n; ++i) row.push_back(values[static_cast<size_t>(i) % values.size()]);
    const GuardedBuffer<float> src(row);
    for (const bool rounds : {true, false}) {
      GuardedBuffer<uint8_t> dst(bytes(n, 4));
      (rounds ? kernels().round : kernels().truncate)(src.data(), dst.data(), n);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(dst[i], (rounds ? rounded : truncated)[static_cast<size_t>(i) % values.size()])
            << row[static_cast<size_t>(i)];
    }
  }
}

/// One image of two rows through the kernel and through the reference.
template <class T>
void expect_yuv(const cpu::ImageKernels& kernels, element::Type type, const std::vector<T>& y, const std::vector<T>& uv,
                int64_t width, bool nv12, bool blue_first) {
  using namespace ops::reference;
  std::vector<T> want(static_cast<size_t>(6 * width));
  const ir::TensorView planes[] = {{type, {1, 2, width, 1}, y.data()},
                                   {type, {1, 1, width / 2, nv12 ? 2 : 1}, uv.data()},
                                   {type, {1, 1, width / 2, 1}, uv.data() + width / 2}};
  yuv_to_color(std::span(planes, nv12 ? 2 : 3), nv12 ? YuvLayout::nv12 : YuvLayout::i420,
               blue_first ? ColorOrder::bgr : ColorOrder::rgb, {type, {1, 2, width, 3}, want.data()});
  const GuardedBuffer<T> light(y), color(uv);
  const T* u = color.data();
  for (int64_t row = 0; row < 2; ++row) {
    GuardedBuffer<T> dst(std::vector<T>(static_cast<size_t>(3 * width)));
    const cpu::YuvRow<T> src{light.data() + row * width, u, u + (nv12 ? 1 : width / 2), nv12 ? 2 : 1, blue_first};
    if constexpr (sizeof(T) == 1) {
      kernels.yuv_bytes(src, dst.data(), width);
    } else {
      kernels.yuv_floats(src, dst.data(), width);
    }
    EXPECT_TRUE(dst.intact());
    for (int64_t i = 0; i < 3 * width; ++i)
      ASSERT_EQ(dst[i], want[static_cast<size_t>(row * 3 * width + i)]) << width << ' ' << i;
  }
}

TEST_P(ImageKernelsTest, YuvHasTheBitsOfTheReference) {
  for (const int64_t width : {int64_t{2}, kPiece - 2, kPiece, kPiece + 2, 2 * kPiece + 2, int64_t{134}})
    for (const bool nv12 : {true, false})
      for (const bool blue_first : {true, false}) {
        expect_yuv<uint8_t>(kernels(), element::u8, bytes(2 * width, 1), bytes(width, 2), width, nv12, blue_first);
        std::vector<float> y = random_floats(2 * width, 3, -20, 300);
        y[0] = std::numeric_limits<float>::quiet_NaN();
        expect_yuv<float>(kernels(), element::f32, y, random_floats(width, 4, -20, 300), width, nv12, blue_first);
      }
}

TEST_P(ImageKernelsTest, EveryByteOfBrightnessAndColor) {
  // Each u with each v, and each y with each of them in turn.
  constexpr int64_t kWidth = 512;
  for (int64_t v = 0; v < 256; ++v) {
    std::vector<uint8_t> y(2 * kWidth), uv(kWidth);
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(v));
    for (size_t i = 0; i < uv.size(); ++i) uv[i] = static_cast<uint8_t>(i % 2 == 0 ? i / 2 : static_cast<size_t>(v));
    expect_yuv<uint8_t>(kernels(), element::u8, y, uv, kWidth, true, false);
  }
}

TEST_P(ImageKernelsTest, PermutesTheBytesOfPixels) {
  struct Sizes {
    int64_t from, to;
  };
  for (const auto [from, to] : {Sizes{3, 3}, {1, 1}, {4, 3}, {3, 12}, {16, 16}, {16, 1}, {1, 16}, {5, 7}}) {
    cpu::PixelOrder order{from, to, {}};
    for (int64_t j = 0; j < to; ++j) order.places[j] = static_cast<uint8_t>((7 * j + 2) % from);
    for (const int64_t pixels : {0, 1, 2, 3, 5, 16, 17, 33, 127}) {
      const GuardedBuffer<uint8_t> src(bytes(pixels * from, 1));
      GuardedBuffer<uint8_t> dst(bytes(pixels * to, 2));
      kernels().permute(order, src.data(), dst.data(), pixels);
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < pixels * to; ++i)
        ASSERT_EQ(dst[i], src[i / to * from + order.places[i % to]]) << from << ' ' << to << ' ' << pixels;
    }
  }
}

TEST_P(ImageKernelsTest, SplitsPixelsIntoPlanes) {
  const auto split = cpu::image_kernels(isa()).split_pixels;
  ASSERT_EQ(split != nullptr, isa() >= cpu::Isa::avx2);
  if (!split) return;
  for (const int64_t pixels : sizes_around(32)) {
    const GuardedBuffer<uint8_t> src(bytes(3 * pixels, static_cast<uint32_t>(pixels)));
    // Planes further apart than they are long; what lies between them stays.
    const int64_t plane = pixels + 5;
    GuardedBuffer<uint8_t> dst(2 * plane + pixels);
    split(src.data(), dst.data(), plane, pixels);
    EXPECT_TRUE(dst.intact());
    for (int64_t at = 0; at < dst.size(); ++at) {
      const int64_t c = at / plane, p = at % plane;
      ASSERT_EQ(dst[at], p < pixels ? src[3 * p + c] : 0xff) << pixels << " pixels, byte " << at;
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(ImageKernelsTest);

}  // namespace
}  // namespace terroir::testing
