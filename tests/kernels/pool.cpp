#include "plugins/cpu/kernels/pool/pool.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

using cpu::PoolArgs;

constexpr float kLowest = std::numeric_limits<float>::lowest();

float naive(const PoolArgs& a, const float* src, bool average, int64_t od, int64_t oh, int64_t ow, int64_t c) {
  double sum = 0;
  float top = kLowest;
  int64_t inside = 0;
  for (int64_t kd = 0; kd < a.kernel[0]; ++kd) {
    for (int64_t kh = 0; kh < a.kernel[1]; ++kh) {
      for (int64_t kw = 0; kw < a.kernel[2]; ++kw) {
        const int64_t d = od * a.stride[0] - a.pad_begin[0] + kd * a.dilation[0];
        const int64_t h = oh * a.stride[1] - a.pad_begin[1] + kh * a.dilation[1];
        const int64_t w = ow * a.stride[2] - a.pad_begin[2] + kw * a.dilation[2];
        if (d < 0 || h < 0 || w < 0 || d >= a.in[0] || h >= a.in[1] || w >= a.in[2]) continue;
        const float x = src[((d * a.in[1] + h) * a.in[2] + w) * a.width + c];
        sum += x;
        top = x > top ? x : top;
        ++inside;
      }
    }
  }
  if (!average) return top;
  if (inside == 0) return 0.0f;
  const int64_t window = a.kernel[0] * a.kernel[1] * a.kernel[2];
  return static_cast<float>(sum / static_cast<double>(a.exclude_pad ? inside : window));
}

struct Geometry {
  int64_t in[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
};

const Geometry kGeometries[] = {
    {{1, 1, 11}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}},
    {{1, 7, 9}, {1, 2, 2}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {{1, 8, 19}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}},
    {{1, 9, 40}, {1, 3, 5}, {1, 2, 1}, {1, 2, 2}, {0, 2, 3}, {0, 1, 4}},
    {{1, 11, 17}, {1, 3, 3}, {1, 2, 3}, {1, 2, 2}, {0, 2, 1}, {0, 1, 2}},
    // Rounded up: the last window reaches beyond the end padding.
    {{1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 1, 1}},
    {{4, 5, 6}, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}},
    {{1, 7, 7}, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    // The kernel is wider than the input.
    {{1, 2, 2}, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 2, 2}},
    // The first window lies in the padding entirely.
    {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 2, 2}, {0, 0, 0}},
};

PoolArgs args_of(const Geometry& g) {
  PoolArgs a;
  for (int i = 0; i < 3; ++i) {
    a.in[i] = g.in[i];
    a.kernel[i] = g.kernel[i];
    a.stride[i] = g.stride[i];
    a.dilation[i] = g.dilation[i];
    a.pad_begin[i] = g.pad_begin[i];
    const int64_t reach = (g.kernel[i] - 1) * g.dilation[i] + 1;
    a.out[i] =
        std::max<int64_t>(0, g.in[i] + g.pad_begin[i] + g.pad_end[i] - reach + g.stride[i] - 1) / g.stride[i] + 1;
  }
  return a;
}

class Pool : public KernelTest {};

TEST_P(Pool, AgainstTheDefinition) {
  const auto& kernels = cpu::pool_kernels(isa());
  std::vector<int64_t> widths = sizes_around(lanes());
  widths.push_back(5 * lanes() + 3);
  for (const Geometry& g : kGeometries) {
    for (const int64_t width : widths) {
      for (int form = 0; form < 3; ++form) {
        PoolArgs a = args_of(g);
        a.width = width;
        a.exclude_pad = form != 2;
        const bool average = form != 0;
        const GuardedBuffer<float> src(random_floats(g.in[0] * g.in[1] * g.in[2] * width, 9));
        GuardedBuffer<float> dst(a.out[0] * a.out[1] * a.out[2] * width);
        a.src = src.data();
        a.dst = dst.data();
        const int64_t rows = a.out[0] * a.out[1];
        for (int64_t row = rows; row-- > 0;) (average ? kernels.average : kernels.max)(a, row, row + 1);
        EXPECT_TRUE(dst.intact());
        const int64_t window = g.kernel[0] * g.kernel[1] * g.kernel[2];
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t ow = i / width % a.out[2], oh = i / width / a.out[2] % a.out[1];
          const float want = naive(a, src.data(), average, i / width / a.out[2] / a.out[1], oh, ow, i % width);
          if (average) {
            ASSERT_NEAR(dst[i], want, dot_tolerance(window)) << "form " << form << " width " << width;
          } else {
            ASSERT_EQ(dst[i], want) << "width " << width;
          }
        }
      }
    }
  }
}

/// Places of the source that an output sees.
std::vector<int64_t> window_of(const cpu::PoolArgs& a, int64_t output) {
  const int64_t o[3] = {output / a.out[2] / a.out[1], output / a.out[2] % a.out[1], output % a.out[2]};
  std::vector<int64_t> places;
  for (int64_t kd = 0; kd < a.kernel[0]; ++kd)
    for (int64_t kh = 0; kh < a.kernel[1]; ++kh)
      for (int64_t kw = 0; kw < a.kernel[2]; ++kw) {
        const int64_t d = o[0] * a.stride[0] - a.pad_begin[0] + kd * a.dilation[0];
        const int64_t h = o[1] * a.stride[1] - a.pad_begin[1] + kh * a.dilation[1];
        const int64_t w = o[2] * a.stride[2] - a.pad_begin[2] + kw * a.dilation[2];
        if (d >= 0 && h >= 0 && w >= 0 && d < a.in[0] && h < a.in[1] && w < a.in[2])
          places.push_back((d * a.in[1] + h) * a.in[2] + w);
      }
  return places;
}

/// The kernel's maxima of blocks of such numbers beside those of `value_of(number)`. `lowest`: of no number.
template <class Number, class Draw, class ValueOf>
void expect_maxima(const std::vector<Geometry>& geometries, int64_t block,
                   void (*kernel)(const cpu::PoolArgs&, const Number*, Number*, int64_t, int64_t), float lowest,
                   const Draw& draw, const ValueOf& value_of) {
  for (const Geometry& g : geometries) {
    cpu::PoolArgs a = args_of(g);
    a.width = block;
    GuardedBuffer<Number> src(a.in[0] * a.in[1] * a.in[2] * block);
    for (Number& number : src) number = draw();
    GuardedBuffer<Number> dst(a.out[0] * a.out[1] * a.out[2] * block);
    for (int64_t row = a.out[0] * a.out[1]; row-- > 0;) kernel(a, src.data(), dst.data(), row, row + 1);
    EXPECT_TRUE(dst.intact());
    for (int64_t at = 0; at < dst.size() / block; ++at) {
      const std::vector<int64_t> window = window_of(a, at);
      for (int64_t lane = 0; lane < block; ++lane) {
        float want = lowest;
        for (const int64_t place : window) want = std::max(want, value_of(src[place * block + lane]));
        ASSERT_EQ(value_of(dst[at * block + lane]), want)
            << "columns " << g.in[2] << " taps " << g.kernel[2] << " stride " << g.stride[2] << " dilation "
            << g.dilation[2] << " pad " << g.pad_begin[2] << " at " << at << " lane " << lane;
      }
    }
  }
}

TEST_P(Pool, MaximaOfBytes) {
  const auto& kernels = cpu::pool_kernels(isa());
  if (!kernels.max_bytes) GTEST_SKIP() << "none in this bucket";
  std::vector<Geometry> geometries(std::begin(kGeometries), std::end(kGeometries));
  for (const int64_t columns : {1, 3, 4, 5, 7, 8, 9, 13, 17, 33})
    for (const int64_t side : {1, 2, 3, 5})
      for (const int64_t stride : {1, 2, 3, 4})
        for (const int64_t dilation : {1, 2})
          for (const int64_t pad : {0, 1, 2})
            geometries.push_back(
                {{1, 6, columns}, {1, 2, side}, {1, 2, stride}, {1, 1, dilation}, {0, 1, pad}, {0, 1, side}});
  // Rows longer than a line of the kernel, and windows that are: by their taps, by the distance of these, by strides.
  geometries.push_back({{1, 1, 2500}, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}});
  geometries.push_back({{1, 1, 2500}, {1, 1, 3}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}});
  geometries.push_back({{1, 1, 3000}, {1, 1, 2000}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1500}, {0, 0, 100}});
  geometries.push_back({{1, 2, 1999}, {1, 2, 1999}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}});
  geometries.push_back({{1, 1, 1900}, {1, 1, 3}, {1, 1, 2}, {1, 1, 700}, {0, 0, 700}, {0, 0, 700}});
  geometries.push_back({{1, 1, 1900}, {1, 1, 9}, {1, 1, 2}, {1, 1, 100}, {0, 0, 7}, {0, 0, 0}});
  geometries.push_back({{1, 1, 5000}, {1, 1, 5}, {1, 1, 1500}, {1, 1, 1}, {0, 0, 2}, {0, 0, 0}});
  std::mt19937 engine(7);
  expect_maxima<uint8_t>(
      geometries, cpu::channel_block(isa()), kernels.max_bytes, 0, [&] { return static_cast<uint8_t>(engine()); },
      [](uint8_t number) { return static_cast<float>(number); });
}

TEST_P(Pool, MaximaOfBf16) {
  const auto& kernels = cpu::pool_kernels(isa());
  if (!kernels.max_bf16) GTEST_SKIP() << "none in this bucket";
  constexpr uint16_t kInfinity = 0x7f80, kLargest = 0x7f7f;
  std::mt19937 engine(7);
  // Of all kinds, one in four infinite, but NaN: its neighbour in the same word must not make one of it.
  const auto draw = [&] {
    const auto bits = static_cast<uint16_t>(engine());
    const auto sign = static_cast<uint16_t>(bits & 0x8000);
    if (engine() % 4 == 0) return static_cast<uint16_t>(sign | kInfinity);
    return static_cast<uint16_t>(sign | std::min<uint16_t>(bits & 0x7fff, kLargest));
  };
  const auto value_of = [](uint16_t number) { return std::bit_cast<float>(static_cast<uint32_t>(number) << 16); };
  expect_maxima<uint16_t>({std::begin(kGeometries), std::end(kGeometries)}, 32, kernels.max_bf16,
                          value_of(0x8000 | kLargest), draw, value_of);
}

/// Values with ties and NaN, as maxima must be told apart by their places.
std::vector<float> maxima_with_ties(int64_t n) {
  std::vector<float> values = random_floats(n, 3, -4.0f, 4.0f);
  for (float& x : values) x = x > 3.5f ? std::numeric_limits<float>::quiet_NaN() : x < -3.5f ? -kInf : std::floor(x);
  return values;
}

/// One output of a plain image as if element by element, in the order of the window.
float in_order(const PoolArgs& a, bool average, int64_t oh, int64_t ow) {
  float acc = average ? 0.0f : kLowest;
  int64_t inside = 0;
  for (int64_t kh = 0; kh < a.kernel[1]; ++kh) {
    for (int64_t kw = 0; kw < a.kernel[2]; ++kw) {
      const int64_t h = oh * a.stride[1] - a.pad_begin[1] + kh * a.dilation[1];
      const int64_t w = ow * a.stride[2] - a.pad_begin[2] + kw * a.dilation[2];
      if (h < 0 || w < 0 || h >= a.in[1] || w >= a.in[2]) continue;
      const float x = a.src[h * a.in[2] + w];
      acc = average ? acc + x : x > acc ? x : acc;
      ++inside;
    }
  }
  return average && inside > 0 ? acc * (1.0f / static_cast<float>(inside)) : acc;
}

// Whole vectors of outputs, the overlapping last one, and rows of fewer outputs than lanes, where vectors reach into
// the next row or, at the end of the image, back into the one before.
TEST_P(Pool, PlainRowsKeepTheOrderOfTheWindow) {
  const auto& kernels = cpu::pool_kernels(isa());
  for (const int64_t outputs : {int64_t{2}, lanes() / 2, lanes() - 1, lanes(), lanes() + 1, 3 * lanes() + 2}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t side : {1, 2, 3, 5}) {
        for (int form = 0; form < 8; ++form) {
          const bool average = form & 1;
          PoolArgs a;
          a.out[1] = 3;
          a.out[2] = outputs;
          a.pad_begin[1] = a.pad_begin[2] = side > 2 && form & 2 ? 1 : 0;
          a.dilation[2] = form & 4 ? 2 : 1;
          for (int i = 1; i < 3; ++i) {
            a.kernel[i] = side;
            a.stride[i] = stride;
            // One column more than the last window needs.
            a.in[i] = (a.out[i] - 1) * stride + (side - 1) * a.dilation[i] + 1 - a.pad_begin[i] + (i == 2);
          }
          const int64_t size = a.in[1] * a.in[2];
          const GuardedBuffer<float> src(average ? random_floats(size, 5) : maxima_with_ties(size));
          GuardedBuffer<float> dst(a.out[1] * a.out[2]);
          a.src = src.data();
          a.dst = dst.data();
          for (int64_t row = a.out[1]; row-- > 0;) (average ? kernels.average : kernels.max)(a, row, row + 1);
          EXPECT_TRUE(dst.intact());
          for (int64_t i = 0; i < dst.size(); ++i)
            ASSERT_EQ(std::bit_cast<uint32_t>(dst[i]),
                      std::bit_cast<uint32_t>(in_order(a, average, i / outputs, i % outputs)))
                << "output " << i << " of " << outputs << ", side " << side << " stride " << stride << " form " << form;
        }
      }
    }
  }
}

TEST_P(Pool, NanIsNeverAMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const GuardedBuffer<float> src(std::vector<float>{nan, 1.0f, 2.0f, nan, nan, nan, -kInf, -kInf});
  GuardedBuffer<float> dst(4);
  PoolArgs a;
  a.in[2] = 8;
  a.out[2] = 4;
  a.kernel[2] = a.stride[2] = 2;
  a.src = src.data();
  a.dst = dst.data();
  cpu::pool_kernels(isa()).max(a, 0, 1);
  const float want[] = {1.0f, 2.0f, kLowest, kLowest};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(dst[i], want[i]) << i;
}

/// The first of the largest elements among places, in the order given; the first one if none is above the lowest
/// number.
int32_t place_of_max(const float* src, const std::vector<int64_t>& places) {
  int64_t best = -1;
  for (const int64_t place : places)
    if (best < 0 || src[place] > (std::isnan(src[best]) ? kLowest : std::max(kLowest, src[best]))) best = place;
  return static_cast<int32_t>(best);
}

TEST_P(Pool, PlacesOfMaxima) {
  for (const Geometry& g : kGeometries) {
    for (const int64_t wider : {int64_t{0}, 2 * lanes(), 5 * lanes() + 1}) {
      PoolArgs a;
      for (int i = 0; i < 3; ++i) {
        a.in[i] = g.in[i] + (i == 2 ? wider : 0);
        a.kernel[i] = g.kernel[i];
        a.stride[i] = g.stride[i];
        a.dilation[i] = g.dilation[i];
        a.pad_begin[i] = g.pad_begin[i];
        const int64_t reach = (g.kernel[i] - 1) * g.dilation[i] + 1;
        a.out[i] = (a.in[i] + g.pad_begin[i] + g.pad_end[i] - reach + g.stride[i] - 1) / g.stride[i] + 1;
      }
      const GuardedBuffer<float> src(maxima_with_ties(a.in[0] * a.in[1] * a.in[2]));
      const int64_t rows = a.out[0] * a.out[1];
      GuardedBuffer<float> dst(rows * a.out[2]);
      GuardedBuffer<int32_t> places(rows * a.out[2]);
      a.src = src.data();
      a.dst = dst.data();
      cpu::pool_kernels(isa()).max_places(a, places.data(), 0, rows);
      EXPECT_TRUE(dst.intact() && places.intact());
      for (int64_t i = 0; i < dst.size(); ++i) {
        const std::vector<int64_t> window = window_of(a, i);
        const int32_t want = place_of_max(src.data(), window);
        ASSERT_EQ(places[i], want) << "output " << i;
        ASSERT_EQ(dst[i], want < 0 || std::isnan(src[want]) ? kLowest : std::max(kLowest, src[want]));
      }
    }
  }
}

TEST_P(Pool, AdaptiveCells) {
  for (const int64_t columns : sizes_around(lanes())) {
    for (const int64_t out : {int64_t{1}, int64_t{3}, lanes() / 2 + 1, lanes(), columns, 2 * columns + 1}) {
      const int64_t in[3] = {3, 5, columns}, outs[3] = {2, 3, out};
      std::vector<int64_t> cells[3];
      for (int i = 0; i < 3; ++i)
        for (int64_t o = 0; o < outs[i]; ++o)
          cells[i].insert(cells[i].end(), {o * in[i] / outs[i], ((o + 1) * in[i] + outs[i] - 1) / outs[i]});
      const GuardedBuffer<float> numbers(random_floats(15 * columns, 4)), ties(maxima_with_ties(15 * columns));
      GuardedBuffer<float> mean(6 * out), top(6 * out), scratch((columns + 15) / 16 * 16);
      GuardedBuffer<int32_t> places(6 * out), scratch_rows((columns + 15) / 16 * 16);
      cpu::AdaptiveArgs a;
      std::copy_n(in, 3, a.in);
      std::copy_n(outs, 3, a.out);
      for (int i = 0; i < 3; ++i) a.cells[i] = cells[i].data();
      a.places = places.data();
      a.columns = scratch.data();
      a.column_rows = scratch_rows.data();
      a.src = numbers.data();
      a.dst = mean.data();
      cpu::pool_kernels(isa()).adaptive_average(a, 0, 6);
      a.src = ties.data();
      a.dst = top.data();
      cpu::pool_kernels(isa()).adaptive_max(a, 0, 6);
      EXPECT_TRUE(mean.intact() && top.intact() && places.intact() && scratch.intact() && scratch_rows.intact());
      for (int64_t i = 0; i < mean.size(); ++i) {
        const int64_t o[3] = {i / out / 3, i / out % 3, i % out};
        std::vector<int64_t> cell;
        double sum = 0;
        for (int64_t z = cells[0][2 * o[0]]; z < cells[0][2 * o[0] + 1]; ++z)
          for (int64_t y = cells[1][2 * o[1]]; y < cells[1][2 * o[1] + 1]; ++y)
            for (int64_t x = cells[2][2 * o[2]]; x < cells[2][2 * o[2] + 1]; ++x) {
              cell.push_back((z * 5 + y) * columns + x);
              sum += numbers[cell.back()];
            }
        const auto n = static_cast<int64_t>(cell.size());
        ASSERT_NEAR(mean[i], sum / static_cast<double>(n), dot_tolerance(n)) << columns << " to " << out;
        const int32_t want = place_of_max(ties.data(), cell);
        ASSERT_EQ(places[i], want) << columns << " to " << out;
        ASSERT_EQ(top[i], std::isnan(ties[want]) ? -kInf : ties[want]);
      }
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(Pool);

}  // namespace
}  // namespace terroir::testing
