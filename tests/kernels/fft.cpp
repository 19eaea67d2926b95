#include <complex>
#include <numbers>

#include "plugins/cpu/kernels/fft/plan.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::FftSide;
using Complex = std::complex<double>;

class Fft : public KernelTest {};

std::vector<Complex> transformed(const std::vector<Complex>& x, bool inverse) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Complex> result(x.size());
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < n; ++j)
      result[static_cast<size_t>(k)] +=
          x[static_cast<size_t>(j)] * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi *
                                                          static_cast<double>(j * k % n) / static_cast<double>(n));
  return result;
}

struct Case {
  int64_t n, lines, valid;
  FftSide from, to;
  bool inverse, apart;  // lines apart: numbers of a line side by side; else lines side by side
};

int64_t floats_of(FftSide side, int64_t n) {
  return side == FftSide::real ? n : 2 * (side == FftSide::half ? n / 2 + 1 : n);
}

void check_transform(cpu::Isa isa, const Case& c) {
  SCOPED_TRACE(::testing::Message() << "n " << c.n << " lines " << c.lines << " valid " << c.valid << " inverse "
                                    << c.inverse << " apart " << c.apart);
  const auto lines_of = [&](FftSide side, int64_t numbers) {
    const int64_t unit = side == FftSide::real ? 1 : 2;
    return c.apart ? cpu::FftLines{1, numbers * unit, 0, unit} : cpu::FftLines{c.lines, 0, unit, c.lines * unit};
  };
  const int64_t src_unit = c.from == FftSide::real ? 1 : 2, dst_unit = c.to == FftSide::real ? 1 : 2;
  const int64_t results = floats_of(c.to, c.n) / dst_unit;
  const GuardedBuffer<float> src(random_floats(c.lines * c.valid * src_unit, static_cast<uint32_t>(c.n)));
  GuardedBuffer<float> dst(c.lines * results * dst_unit);
  const cpu::FftTables tables(c.n, c.from != FftSide::complex || c.to != FftSide::complex);
  const cpu::FftKernels& kernels = cpu::fft_kernels(isa);
  GuardedBuffer<float> work(kernels.work_floats(tables.plan().length));
  cpu::FftArgs args;
  args.plan = &tables.plan();
  args.src = src.data();
  args.dst = dst.data();
  args.from = lines_of(c.from, c.valid);
  args.to = lines_of(c.to, results);
  args.src_side = c.from;
  args.dst_side = c.to;
  args.valid = c.valid;
  args.inverse = c.inverse;
  if (c.inverse) args.scale = 1.0f / static_cast<float>(c.n);
  for (int64_t first = 0; first < c.lines; first += kernels.lanes)
    kernels.lines(args, first, std::min(kernels.lanes, c.lines - first), work.data());
  ASSERT_TRUE(dst.intact() && work.intact());

  for (int64_t line = 0; line < c.lines; ++line) {
    const auto at = [&](const cpu::FftLines& lines, int64_t i) {
      return line / lines.inner * lines.outer_stride + line % lines.inner * lines.inner_stride + i * lines.step;
    };
    std::vector<Complex> x(static_cast<size_t>(c.n));
    for (int64_t i = 0; i < c.valid; ++i) {
      const float* number = src.data() + at(args.from, i);
      Complex& value = x[static_cast<size_t>(i)];
      value = c.from == FftSide::real ? Complex(number[0]) : Complex(number[0], number[1]);
      if (c.from != FftSide::half) continue;
      if (i == 0 || 2 * i == c.n) value.imag(0);
      x[static_cast<size_t>((c.n - i) % c.n)] = std::conj(value);
    }
    std::vector<Complex> want = transformed(x, c.inverse);
    // Every stage rounds; numbers up to sqrt(2) add up like a random walk, in the worst case one by one.
    const double scale = c.inverse ? 1.0 / static_cast<double>(c.n) : 1.0;
    const double tolerance = 8 * std::numeric_limits<float>::epsilon() * static_cast<double>(c.n) * scale *
                             (2 + std::log2(static_cast<double>(c.n)));
    for (int64_t i = 0; i < results; ++i) {
      const float* number = dst.data() + at(args.to, i);
      ASSERT_NEAR(number[0], want[static_cast<size_t>(i)].real() * scale, tolerance) << "line " << line << " at " << i;
      if (c.to != FftSide::real) {
        ASSERT_NEAR(number[1], want[static_cast<size_t>(i)].imag() * scale, tolerance)
            << "line " << line << " at " << i;
      }
    }
  }
}

TEST_P(Fft, EveryRadixAndConvolutions) {
  for (const int64_t n :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 20, 23, 24, 32, 35, 47, 53, 64, 80, 94, 106, 128, 131, 256, 320})
    for (const bool inverse : {false, true}) {
      check_transform(isa(), {n, 3, n, FftSide::complex, FftSide::complex, inverse, true});
      const FftSide from = inverse ? FftSide::half : FftSide::real, to = inverse ? FftSide::real : FftSide::half;
      check_transform(isa(), {n, 3, inverse ? n / 2 + 1 : n, from, to, inverse, true});
    }
}

TEST_P(Fft, LinesAndPlaces) {
  for (const int64_t lines : {int64_t{1}, lanes() - 1, lanes(), lanes() + 1, 2 * lanes() + 1})
    for (const bool apart : {false, true})
      for (const int64_t n : {int64_t{6}, int64_t{9}, 2 * lanes() + 2}) {
        for (const int64_t valid : {n, n - 1, int64_t{1}}) {
          check_transform(isa(), {n, lines, valid, FftSide::complex, FftSide::complex, false, apart});
          check_transform(isa(), {n, lines, valid, FftSide::real, FftSide::half, false, apart});
        }
        for (const int64_t valid : {n / 2 + 1, n / 2, int64_t{1}})
          check_transform(isa(), {n, lines, valid, FftSide::half, FftSide::real, true, apart});
      }
}

TEST_P(Fft, FramesPutTogether) {
  for (const int64_t size : {int64_t{1}, int64_t{7}, lanes() + 1, int64_t{300}})
    for (const int64_t step : {int64_t{1}, int64_t{3}, int64_t{160}, int64_t{700}}) {
      constexpr int64_t kCount = 9;
      const GuardedBuffer<float> frames(random_floats(kCount * size, 1)), window(random_floats(size, 2, 0.5f, 1.0f));
      // Some positions before the last frame, and some behind it.
      const int64_t begin = step / 2, end = (kCount - 1) * step + size + 5;
      GuardedBuffer<float> dst(end - begin);
      cpu::fft_kernels(isa()).add_frames({frames.data(), window.data(), kCount, size, step}, begin, end, dst.data());
      ASSERT_TRUE(dst.intact());
      for (int64_t at = begin; at < end; ++at) {
        double sum = 0, weight = 0;
        for (int64_t f = 0; f < kCount; ++f) {
          const int64_t i = at - f * step;
          if (i < 0 || i >= size) continue;
          sum += double(frames[f * size + i]) * window[i];
          weight += double(window[i]) * window[i];
        }
        // Sums of at most kCount products, over at least a quarter.
        ASSERT_NEAR(dst[at - begin], weight > 0 ? sum / weight : 0.0, 4 * dot_tolerance(kCount)) << at;
      }
    }
}

TERROIR_INSTANTIATE_PER_ISA(Fft);

}  // namespace
}  // namespace terroir::testing
