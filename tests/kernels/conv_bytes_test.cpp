// Rows of convolutions of bytes, against plain loops. Scales are powers of two, so that every value is exact in f32.
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

#include <cstring>
#include <limits>

#include "plugins/cpu/simd/post_op.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::testing {
namespace {

using cpu::ByteConvKernels;
using cpu::ByteConvRow;
using cpu::kByteBlock;

constexpr float kNone = std::numeric_limits<float>::infinity();

struct RowCase {
  int64_t positions, depth, blocks = 1, lanes = 16;
  bool pads = true, floats = true, bytes = false, residual = false, post_ops = false, bias_by_position = false;
  bool first_ops = false, rounding = false, residual_bytes = false;
  bool depthwise = false, matrix = false, wide = false;  // wide: steps in sixteens
  int64_t stride = 1, rows = 1;                          // rows: of wide ones, and depthwise
  int64_t taps = 3, gap = 1;                             // depthwise: of a span; positions between rows of results
  bool bias_by_row = true;                               // of several rows
  float low = -kNone, high = kNone;
};

class ConvBytes : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::vector<const char*> all = cpu::available_kernels();
    if (std::find(all.begin(), all.end(), std::string_view(GetParam())) == all.end())
      GTEST_SKIP() << "not on this processor";
    const test::ForcedIsa forced(GetParam());
    kernels_ = cpu::byte_conv_kernels(cpu::active_byte_products());
    lanes_ = kernels_->lanes;
    numbers_ = kernels_->widen ? 2 : 4;
  }

  // Bytes, or numbers of 16 bits.
  int64_t number(const uint8_t* p, int64_t i) const {
    return p[i * 4 / numbers_] + (numbers_ == 2 ? 256 * p[2 * i + 1] : 0);
  }
  int64_t weight(const int8_t* p, int64_t i) const {
    return numbers_ == 4 ? p[i] : static_cast<int16_t>(static_cast<uint8_t>(p[2 * i]) | p[2 * i + 1] * 256);
  }
  // Number `i` from the first one on.
  void set_weight(int8_t* all, int64_t i, int64_t value) const {
    all[i * 4 / numbers_] = static_cast<int8_t>(value);
    if (numbers_ == 2) all[2 * i + 1] = static_cast<int8_t>(value < 0 ? -1 : 0);
  }

  int64_t draw(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }

  // Everything that the kernel touches ends at a guard page.
  void check(const RowCase& c) {
    if (c.blocks > kernels_->most_blocks) return;
    const bool words = numbers_ == 2;
    const int64_t lanes = (c.lanes - 1) % lanes_ + 1, outputs = (c.blocks - 1) * lanes_ + lanes;
    // Of a depthwise row: four positions of a channel, or two steps of numbers of 16 bits.
    const int64_t word = words ? 64 : lanes_ * 4;
    const int64_t position = !c.depthwise ? 16 : words ? 32 : word / 4;
    const int64_t step = c.matrix ? 4 * c.depth : position * c.stride;
    const cpu::ByteTaps taps{c.taps, c.stride};
    const int64_t steps = c.depthwise ? (c.taps + numbers_ - 1) / numbers_ : 1;  // of a span
    // Steps of a dense row lie anywhere; those of a matrix one behind the other.
    GuardedBuffer<int32_t> offsets(c.depth);
    int64_t reach = 0;
    for (int64_t k = 0; k < c.depth; ++k) {
      offsets[k] = static_cast<int32_t>(c.matrix                ? 4 * k
                                        : c.wide && k % 16 != 0 ? offsets[k - 1] + 4
                                        : k % steps != 0        ? offsets[k - 1] + word
                                                                : draw(0, 300) * (c.depthwise ? word : 4));
      reach = std::max<int64_t>(reach, offsets[k] + (words && c.depthwise ? 32 : 4));
      if (c.depthwise && !words && k % steps == 0)
        reach = std::max<int64_t>(reach, offsets[k] + word * taps.words_read(c.positions) - (c.positions - 1) * step);
    }
    const int64_t unit = c.depthwise ? word : 1;
    const int64_t src_row = (c.positions + 2) * step / unit * unit, row_span = (c.rows - 1) * src_row;
    GuardedBuffer<uint8_t> src(row_span + (c.positions - 1) * step + reach);
    for (int64_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(words && i % 2 == 1 ? 0 : draw(0, 255));
    // Of lanes that do not exist weights are zero.
    const int64_t block = lanes_ * 4;
    GuardedBuffer<int8_t> weights(c.depth * c.blocks * block);
    for (int64_t i = 0; i < c.depth * c.blocks * lanes_ * numbers_; ++i) {
      const int64_t lane = i / numbers_, quad = lane / lanes_;
      const int64_t output = (c.wide ? quad / c.depth : quad % c.blocks) * lanes_ + lane % lanes_;
      const bool beyond = c.depthwise && quad % steps * numbers_ + i % numbers_ >= c.taps;
      set_weight(weights.data(), i, output < outputs && !beyond ? draw(-128, 127) : 0);
    }
    GuardedBuffer<float> scale(c.blocks * lanes_), bias((2 + c.rows) * c.blocks * lanes_);
    std::vector<int32_t> row_bias;
    for (int64_t r = 0; r < c.rows; ++r) row_bias.push_back(static_cast<int32_t>(r * c.blocks * lanes_));
    for (float& x : scale) x = std::ldexp(1.0f, static_cast<int>(draw(-9, -7)));
    for (float& x : bias) x = static_cast<float>(draw(-400, 400)) / 8 + 1.0f / 1024;
    GuardedBuffer<int32_t> bias_offsets(c.positions);
    for (int32_t& x : bias_offsets) x = static_cast<int32_t>(draw(0, 2) * c.blocks * lanes_);

    ByteConvRow row{};
    row.src = src.data();
    row.src_step = step;
    row.positions = c.positions;
    row.depth = c.depth;
    row.offsets = offsets.data();
    row.blocks = c.blocks;
    row.weights = weights.data();
    row.scale = scale.data();
    row.bias = bias.data();
    row.bias_offsets = c.bias_by_position ? bias_offsets.data() : nullptr;
    row.results.step = c.matrix ? outputs : lanes_;
    const int64_t dst_row = (c.positions + c.gap) * row.results.step;
    row.results.block = c.matrix ? lanes_ : c.rows * dst_row;
    row.lanes = lanes;
    row.pads = c.pads;
    row.low = c.low;
    row.high = c.high;
    GuardedBuffer<float> level_low(c.blocks * lanes_), level_steps(c.blocks * lanes_);
    for (float& x : level_low) x = static_cast<float>(draw(-24, -16));
    for (float& x : level_steps) x = std::ldexp(1.0f, static_cast<int>(draw(0, 2)));
    row.levels = {level_low.data(), level_steps.data(), 255};
    const cpu::ByteRounding rounding{-30, 25, 4, 120, 0.25f, -30};
    if (c.rounding) row.rounding = &rounding;
    row.residual_scale = 0.25f;
    row.residual_shift = -20;
    const int64_t size = (c.rows - 1) * dst_row + (c.positions - 1) * row.results.step +
                         (c.blocks - 1) * row.results.block + (c.pads ? lanes_ : lanes);
    GuardedBuffer<float> dst(size), residual(size);
    GuardedBuffer<uint8_t> dst_bytes(size);
    for (float& x : residual) x = static_cast<float>(draw(-300, 300)) / 8;
    if (c.floats) row.dst = dst.data();
    if (c.bytes) row.dst_bytes = dst_bytes.data();
    if (c.residual) row.residual = residual.data();
    GuardedBuffer<uint8_t> residual_bytes(size);
    for (uint8_t& x : residual_bytes) x = static_cast<uint8_t>(draw(0, 255));
    if (c.residual_bytes) row.residual_bytes = residual_bytes.data();
    const cpu::PostOp first_ops[] = {{cpu::PostOpKind::linear, cpu::OperandMode::scalar, -0.5f, 2.0f}};
    row.first_ops = first_ops;
    row.first_op_count = c.first_ops ? 1 : 0;
    const cpu::PostOp ops[] = {{cpu::PostOpKind::abs},
                               {cpu::PostOpKind::linear, cpu::OperandMode::scalar, 0.5f, -3.0f}};
    row.post_ops = ops;
    row.post_op_count = c.post_ops ? 2 : 0;
    row.ahead = weights.data();
    row.ahead_lines = 3;
    std::vector<float> in_place(residual.begin(), residual.end());
    const bool bias_by_row = c.rows > 1 && c.bias_by_row;
    const cpu::ByteConvRows rows{c.rows, src_row, dst_row, bias_by_row ? row_bias.data() : nullptr};
    GuardedBuffer<int8_t> room(taps.room(c.depth / steps));
    if (c.wide)
      kernels_->wide_rows(row, rows);
    else if (c.depthwise)
      kernels_->depthwise_rows(row, rows, taps, room.data());
    else
      kernels_->row(row);
    EXPECT_TRUE(dst.intact());
    EXPECT_TRUE(dst_bytes.intact());

    std::vector<bool> written(static_cast<size_t>(size), false);
    for (int64_t p = 0; p < c.rows * c.positions; ++p)
      for (int64_t o = 0; o < c.blocks * lanes_; ++o) {
        const int64_t r = p / c.positions, column = p % c.positions;
        if (o >= outputs && !c.pads) continue;
        int64_t sum = 0;
        for (int64_t k = 0; k < c.depth; ++k)
          for (int64_t i = 0; i < numbers_; ++i) {
            const int64_t tap = k % steps * numbers_ + i,
                          at = column * c.stride + tap;  // depthwise, the source position
            if (c.depthwise && tap >= c.taps) continue;
            const bool shifts = c.depthwise && !words;
            const uint8_t* const x =
                src.data() + r * src_row + (shifts ? 0 : column * step) + offsets[shifts ? k - k % steps : k];
            const int64_t quad = c.wide ? o / lanes_ * c.depth + k : k * c.blocks + o / lanes_;
            sum += (shifts ? x[at / 4 * word + o % lanes_ * 4 + at % 4]
                           : number(x + (c.depthwise ? o % lanes_ * 4 : 0), i)) *
                   weight(weights.data() + quad * block + o % lanes_ * 4, i);
          }
        const int64_t at = r * dst_row + column * row.results.step + o / lanes_ * row.results.block + o % lanes_;
        const int64_t shift = c.bias_by_position ? bias_offsets[column] : 0;
        float x = static_cast<float>(sum) * scale[o] + bias[o + shift + (bias_by_row ? row_bias[r] : 0)];
        if (c.first_ops) x = x * -0.5f + 2;
        if (c.rounding) x = std::nearbyint(std::clamp(x, -30.0f, 25.0f) * 4 + 120) * 0.25f - 30;
        if (c.residual) x += in_place[static_cast<size_t>(at)];
        if (c.residual_bytes) x += static_cast<float>(residual_bytes[at]) * 0.25f - 20;
        x = std::min(c.high, std::max(c.low, x));
        if (c.post_ops) x = std::abs(x) * 0.5f - 3;
        const float level = std::clamp((x - level_low[o]) * level_steps[o], 0.0f, row.levels.most);
        written[static_cast<size_t>(at)] = true;
        if (c.floats) {
          ASSERT_EQ(dst[at], o < outputs ? x : 0) << p << ' ' << o;
        }
        if (c.bytes) {
          ASSERT_EQ(dst_bytes[at], o < outputs ? std::nearbyint(level) : 0) << p << ' ' << o << ' ' << x;
        }
      }
    for (int64_t i = 0; i < size; ++i) {
      if (written[static_cast<size_t>(i)]) continue;
      ASSERT_TRUE(std::isnan(dst[i])) << i;
      ASSERT_EQ(dst_bytes[i], 0xff) << i;
    }
  }

  const ByteConvKernels* kernels_ = nullptr;
  int64_t lanes_ = 0, numbers_ = 0;  // of a block; of a step
  std::mt19937 engine_{7};
};

TEST_P(ConvBytes, EveryTile) {
  for (int64_t positions : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 22, 31})
    for (int64_t blocks : {1, 2, 3, 4})
      for (int64_t depth : {1, 3, 17})
        for (const bool bytes : {false, true}) {
          SCOPED_TRACE(::testing::Message() << positions << " positions, " << blocks << " blocks, depth " << depth);
          check({.positions = positions, .depth = depth, .blocks = blocks, .floats = !bytes, .bytes = bytes});
        }
}

TEST_P(ConvBytes, WideTiles) {
  if (!kernels_->wide_rows) GTEST_SKIP() << "no AMX";
  for (int64_t positions = 1; positions <= 70; positions += positions < 36 ? 1 : 11)
    for (int64_t blocks : {1, 2, 3, 4})
      for (int64_t depth : {16, 48}) {
        SCOPED_TRACE(::testing::Message() << positions << " positions, " << blocks << " blocks, depth " << depth);
        RowCase c{.positions = positions, .depth = depth, .blocks = blocks, .lanes = 11, .wide = true, .stride = 5};
        check(c);
        c.floats = false;
        c.bytes = c.residual = c.bias_by_position = true;
        check(c);
        for (c.rows = 2; c.rows <= 5; ++c.rows) check(c);
        c.rows = 1;
        c.matrix = true;
        c.pads = c.residual = c.bias_by_position = false;
        check(c);
      }
}

TEST_P(ConvBytes, LanesThatDoNotExist) {
  for (int64_t lanes = 1; lanes <= 16; ++lanes)
    for (const bool matrix : {false, true})
      for (int64_t blocks : {1, 3}) {
        SCOPED_TRACE(lanes);
        RowCase c{.positions = 9, .depth = 5, .blocks = blocks, .lanes = lanes, .pads = !matrix, .matrix = matrix};
        check(c);
        c.bytes = true;
        check(c);
        c.floats = false;
        check(c);
        c.bias_by_position = c.residual = true;
        check(c);
        c.post_ops = true;
        check(c);
      }
}

TEST_P(ConvBytes, EverythingAtTheStore) {
  for (int flags = 0; flags < 512; ++flags) {
    SCOPED_TRACE(flags);
    RowCase c{.positions = 11, .depth = 6, .blocks = 2, .lanes = 13};
    c.bytes = (flags & 1) != 0;
    c.floats = (flags & 2) != 0 || !c.bytes;
    c.residual = (flags & 4) != 0;
    c.post_ops = (flags & 8) != 0;
    c.bias_by_position = (flags & 16) != 0;
    if ((flags & 32) != 0) c.low = 0, c.high = 60;
    c.first_ops = (flags & 64) != 0;
    c.rounding = (flags & 128) != 0;
    c.residual_bytes = (flags & 256) != 0;
    check(c);
    c.depthwise = true;
    c.blocks = 1;
    c.stride = 2;
    check(c);
  }
}

TEST_P(ConvBytes, DepthwiseTiles) {
  for (int64_t taps = 1; taps <= 9; ++taps)
    for (int64_t stride = 1; stride <= 5; ++stride)
      for (int64_t positions = 1; positions <= 40; ++positions) {
        RowCase c{
            .positions = positions, .depth = (taps + numbers_ - 1) / numbers_ * (1 + positions % 3), .depthwise = true};
        c.taps = taps;
        c.stride = stride;
        c.rows = 1 + positions % 5;
        c.gap = 0;
        c.bias_by_row = false;
        SCOPED_TRACE(::testing::Message() << taps << " taps, stride " << stride << ", " << positions << " positions");
        check(c);
      }
}

// Together where nothing is between them, and one by one.
TEST_P(ConvBytes, DepthwiseRows) {
  for (int64_t positions = 1; positions <= 67; positions += positions < 12 ? 1 : 11)
    for (int64_t rows = 1; rows <= 10; ++rows)
      for (int flags = 0; flags < 16; ++flags) {
        SCOPED_TRACE(::testing::Message() << positions << " positions, " << rows << " rows, " << flags);
        RowCase c{.positions = positions, .depth = 3, .lanes = 13, .depthwise = true};
        c.rows = rows;
        c.gap = flags & 1;
        c.bias_by_row = (flags & 2) != 0;
        c.bias_by_position = (flags & 4) != 0;
        c.bytes = c.residual = (flags & 8) != 0;
        check(c);
        c.floats = c.residual = false;
        c.bytes = true;
        c.post_ops = (flags & 8) != 0;
        check(c);
      }
}

TEST_P(ConvBytes, DepthwiseWords) {
  for (int64_t positions = 0; positions <= 18; ++positions)
    for (int64_t left = 0; left <= 9; ++left)
      for (int64_t rows = 0; rows <= 3; ++rows) {
        SCOPED_TRACE(::testing::Message() << positions << " positions behind " << left << ", " << rows << " rows");
        const bool pairs = numbers_ == 2;
        const int64_t words = (pairs ? left + positions : (left + positions + 3) / 4) + rows % 2;
        const int64_t step = (positions + 1) * lanes_, word = lanes_ * 4;
        GuardedBuffer<uint8_t> src(std::max<int64_t>((rows - 1) * step + positions * lanes_, 0));
        GuardedBuffer<uint8_t> dst(rows * words * word);
        for (uint8_t& x : src) x = static_cast<uint8_t>(draw(1, 255));
        kernels_->depthwise_words({src.data(), step, rows, positions, left, words}, dst.data());
        EXPECT_TRUE(dst.intact());
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t r = i / word / words, at = i / word % words, channel = i % word / 4;
          const int64_t p = (pairs ? at + i % 4 / 2 : at * 4 + i % 4) - left;
          const bool there = p >= 0 && p < positions && !(pairs && i % 2 == 1);
          ASSERT_EQ(dst[i], there ? src[r * step + p * lanes_ + channel] : 0) << i;
        }
      }
}

TEST_P(ConvBytes, Widen) {
  if (!kernels_->widen) GTEST_SKIP() << "these multiply bytes";
  for (int64_t count : {0, 1, 7, 8, 15, 16, 17, 33, 64}) {
    GuardedBuffer<uint8_t> src(count), dst(2 * count);
    for (uint8_t& x : src) x = static_cast<uint8_t>(draw(0, 255));
    kernels_->widen(src.data(), count, dst.data());
    EXPECT_TRUE(dst.intact());
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(number(dst.data(), i), src[i]) << i;
  }
}

// Windows of 3x3 and numbers that are random weights transformed; results are sums of the windows.
TEST_P(ConvBytes, Winograd) {
  if (!kernels_->winograd_rows) GTEST_SKIP() << "none in this bucket";
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>(1, 1), {2, 3}, {5, 7}, {4, 20}, {3, 131}})
    for (const int64_t blocks : {1, 2, 3})
      for (const int64_t channels : {8, 24}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << columns << ", " << blocks << " blocks, " << channels);
        const cpu::WinogradTiles tiles{(rows + 1) / 2, (columns + 1) / 2, channels};
        const int64_t window_columns = 2 * tiles.columns + 2, row_step = window_columns * 16;
        const int64_t block_step = (2 * tiles.rows + 2) * row_step, outputs = blocks * lanes_, lanes = 5;
        GuardedBuffer<uint8_t> window(channels / 8 * block_step), numbers(tiles.bytes());
        for (int64_t i = 0; i < window.size(); ++i)
          window[i] = static_cast<uint8_t>(i % 2 == 1 ? 0 : std::min<int64_t>(draw(0, 300), 255));
        kernels_->winograd_tiles(window.data(), block_step, row_step, tiles, numbers.data());
        EXPECT_TRUE(numbers.intact());
        std::vector<int64_t> taps(static_cast<size_t>(outputs * channels * 9));
        const auto tap = [&](int64_t o, int64_t c, int64_t y, int64_t x) -> int64_t& {
          return taps[static_cast<size_t>(((o * channels + c) * 3 + y) * 3 + x)];
        };
        for (int64_t& value : taps) value = draw(0, 9) == 0 ? -128 : draw(-128, 127);
        // Twice G.
        constexpr int64_t kG[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
        GuardedBuffer<int8_t> weights(16 * channels / 2 * blocks * lanes_ * 4);
        for (int64_t n = 0; n < 16; ++n)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t o = 0; o < outputs; ++o) {
              int64_t sum = 0;
              for (int64_t y = 0; y < 3; ++y)
                for (int64_t x = 0; x < 3; ++x) sum += kG[n / 4][y] * kG[n % 4][x] * tap(o, c, y, x);
              const auto value = static_cast<int16_t>(sum);
              const int64_t step = (n * channels + c) / 2 * blocks + o / lanes_;
              std::memcpy(weights.data() + (step * lanes_ + o % lanes_) * 4 + c % 2 * 2, &value, sizeof(value));
            }
        GuardedBuffer<int32_t> offsets(channels / 2);
        for (int64_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<int32_t>(4 * k);
        GuardedBuffer<float> scale(outputs), bias(outputs), levels(outputs);
        for (int64_t o = 0; o < outputs; ++o) scale[o] = 1.0f / 256, bias[o] = levels[o] = 0;
        ByteConvRow row{};
        row.src = numbers.data();
        row.src_step = 2 * channels;
        row.positions = columns;
        row.depth = channels / 2;
        row.offsets = offsets.data();
        row.blocks = blocks;
        row.weights = weights.data();
        row.scale = scale.data();
        row.bias = bias.data();
        row.results = {lanes_, rows * columns * lanes_};
        row.lanes = lanes;
        row.pads = true;
        row.low = -kNone;
        row.high = kNone;
        row.levels = {levels.data(), levels.data(), 255};
        GuardedBuffer<float> dst(rows * columns * outputs);
        row.dst = dst.data();
        GuardedBuffer<int8_t> room(cpu::WinogradTiles::kRoom);
        kernels_->winograd_rows(row, {rows, 0, columns * lanes_, nullptr}, tiles, room.data());
        EXPECT_TRUE(dst.intact());
        EXPECT_TRUE(room.intact());
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t at = i / lanes_ % (rows * columns), o = i / lanes_ / (rows * columns) * lanes_ + i % lanes_;
          int64_t sum = 0;
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t t = 0; t < 9; ++t)
              sum +=
                  tap(o, c, t / 3, t % 3) * number(window.data() + c / 8 * block_step +
                                                       (at / columns + t / 3) * row_step + (at % columns + t % 3) * 16,
                                                   c % 8);
          const bool there = o < outputs - lanes_ + lanes;
          ASSERT_EQ(dst[i], there ? static_cast<float>(sum) / 256 : 0) << at << ' ' << o;
        }
      }
}

TEST_P(ConvBytes, SideBySide) {
  if (!kernels_->side_by_side) GTEST_SKIP() << "no tiles";
  for (int64_t blocks : {1, 2, 3, 4, 5, 8, 11})
    for (int64_t positions : {1, 2, 3, 4, 5, 7, 8, 17, 64, 69})
      for (int64_t more : {0, 16, 100}) {
        SCOPED_TRACE(::testing::Message() << blocks << " blocks, " << positions << " positions");
        const int64_t block = (positions + 1) * kByteBlock, bytes = blocks * kByteBlock, step = bytes + more;
        GuardedBuffer<uint8_t> src((blocks - 1) * block + positions * kByteBlock), dst((positions - 1) * step + bytes);
        for (uint8_t& x : src) x = static_cast<uint8_t>(draw(0, 254));
        kernels_->side_by_side(src.data(), block, blocks, positions, dst.data(), step);
        EXPECT_TRUE(dst.intact());
        for (int64_t i = 0; i < dst.size(); ++i) {
          const int64_t p = i / step, c = i % step;
          ASSERT_EQ(dst[i], c < bytes ? src[c / 16 * block + p * 16 + c % 16] : 0xff) << p << ' ' << c;
        }
      }
}

TEST_P(ConvBytes, FewChannels) {
  if (!kernels_->few_channels) GTEST_SKIP() << "no tiles";
  for (int64_t channels : {4, 8})
    for (int64_t positions : {1, 2, 3, 4, 5, 7, 8, 17}) {
      GuardedBuffer<uint8_t> src(positions * kByteBlock), dst(positions * channels);
      for (uint8_t& x : src) x = static_cast<uint8_t>(draw(0, 254));
      kernels_->few_channels(src.data(), channels, positions, dst.data());
      EXPECT_TRUE(dst.intact());
      for (int64_t i = 0; i < dst.size(); ++i) ASSERT_EQ(dst[i], src[i / channels * 16 + i % channels]) << i;
    }
}

TEST_P(ConvBytes, Quantize) {
  // Of each channel of a block.
  float low[kByteBlock], steps[kByteBlock];
  for (int64_t c = 0; c < kByteBlock; ++c) {
    low[c] = -2 + 0.25f * static_cast<float>(c % 3);
    steps[c] = std::ldexp(1.0f, static_cast<int>(4 + c % 2));
  }
  const cpu::ByteLevels levels{low, steps, 200};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t count : {1, 15, 16, 17, 63, 64, 65, 200}) {
    GuardedBuffer<float> src(random_floats(count, 3, -3.0f, 6.0f));
    src[0] = nan;
    if (count > 1) src[1] = kNone;
    if (count > 15) src[15] = -kNone;
    GuardedBuffer<uint8_t> dst(count);
    kernels_->quantize(src.data(), dst.data(), count, levels);
    EXPECT_TRUE(dst.intact());
    const auto level_of = [&](float x, int64_t c) {
      return std::isnan(x) ? 0 : std::nearbyint(std::clamp((x - low[c]) * steps[c], 0.0f, 200.0f));
    };
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(dst[i], level_of(src[i], i % lanes_)) << i << ' ' << src[i];
    for (int64_t channels = 1; channels <= lanes_; channels += channels < 6 ? 1 : 5) {
      GuardedBuffer<float> planes(random_floats(channels * count, 4, -3.0f, 6.0f));
      GuardedBuffer<uint8_t> blocks(count * lanes_);
      kernels_->quantize_planes(planes.data(), count, channels, blocks.data(), count, levels);
      EXPECT_TRUE(blocks.intact());
      for (int64_t p = 0; p < count; ++p)
        for (int64_t c = 0; c < lanes_; ++c)
          ASSERT_EQ(blocks[p * lanes_ + c], c < channels ? level_of(planes[c * count + p], c) : 0) << p << ' ' << c;
    }
    GuardedBuffer<uint8_t> bytes(count);
    for (uint8_t& x : bytes) x = static_cast<uint8_t>(draw(0, 255));
    GuardedBuffer<float> back(count);
    kernels_->dequantize(bytes.data(), back.data(), count, 0.25f, -3);
    EXPECT_TRUE(back.intact());
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(back[i], static_cast<float>(bytes[i]) * 0.25f - 3) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ConvBytes, ::testing::Values("avx2", "avx2_vnni", "avx512_vnni", "avx512_amx"),
                         [](const auto& bucket) { return std::string(bucket.param); });

}  // namespace
}  // namespace terroir::testing
