#include "plugins/cpu/kernels/post_ops/post_ops.hpp"

#include "plugins/cpu/post_op_table.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/kernels/special_floats.hpp"

namespace terroir::testing {
namespace {

using cpu::ChannelAxis;
using cpu::OperandMode;
using cpu::PostOp;
using cpu::PostOpKind;
using cpu::PostOpRows;

PostOp make(PostOpKind kind, float alpha = 0.0f, float beta = 0.0f) {
  PostOp op;
  op.kind = kind;
  op.alpha = alpha;
  op.beta = beta;
  return op;
}

struct UnaryCase {
  const char* name;
  PostOp op;
  double (*exact)(double x, double alpha, double beta);
  double low, high;
  // |got - exact| <= relative * |exact| + absolute
  double relative, absolute;
};

double round_half_even(double x) { return std::nearbyint(x); }

const double kUlp = std::numeric_limits<float>::epsilon();

const UnaryCase kUnaryCases[] = {
    {"relu", make(PostOpKind::relu), [](double x, double, double) { return x > 0 ? x : 0; }, -5, 5, 0, 0},
    {"clamp", make(PostOpKind::clamp, -1.5f, 2.5f),
     [](double x, double a, double b) { return std::min(std::max(x, a), b); }, -5, 5, 0, 0},
    {"sigmoid", make(PostOpKind::sigmoid), [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, -85, 30,
     4 * kUlp, 0},
    {"tanh", make(PostOpKind::tanh), [](double x, double, double) { return std::tanh(x); }, -12, 12, 4 * kUlp, 0},
    {"tanh_small", make(PostOpKind::tanh), [](double x, double, double) { return std::tanh(x); }, -1e-2, 1e-2, 4 * kUlp,
     0},
    {"elu", make(PostOpKind::elu, 1.3f), [](double x, double a, double) { return x > 0 ? x : a * std::expm1(x); }, -40,
     20, 4 * kUlp, 0},
    {"selu", make(PostOpKind::selu, 1.67f, 1.05f),
     [](double x, double a, double b) { return b * (x > 0 ? x : a * std::expm1(x)); }, -20, 20, 5 * kUlp, 0},
    {"hswish", make(PostOpKind::hswish),
     [](double x, double, double) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, -6, 6, 3 * kUlp, 6 * kUlp},
    {"hsigmoid", make(PostOpKind::hsigmoid),
     [](double x, double, double) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }, -6, 6, 3 * kUlp, kUlp},
    {"hard_sigmoid", make(PostOpKind::hard_sigmoid, 0.2f, 0.5f),
     [](double x, double a, double b) { return std::min(std::max(a * x + b, 0.0), 1.0); }, -6, 6, 3 * kUlp, kUlp},
    {"swish_of_1", make(PostOpKind::swish, 1.0f), [](double x, double, double) { return x / (1 + std::exp(-x)); }, -85,
     30, 4 * kUlp, 0},
    {"swish", make(PostOpKind::swish, 1.5f), [](double x, double a, double) { return x / (1 + std::exp(-a * x)); }, -30,
     30, 60 * kUlp, 0},
    {"mish", make(PostOpKind::mish), [](double x, double, double) { return x * std::tanh(std::log1p(std::exp(x))); },
     -30, 40, 6 * kUlp, 0},
    {"softplus", make(PostOpKind::softplus), [](double x, double, double) { return std::log1p(std::exp(x)); }, -80, 80,
     5 * kUlp, 0},
    {"softsign", make(PostOpKind::softsign), [](double x, double, double) { return x / (1 + std::fabs(x)); }, -30, 30,
     2 * kUlp, 0},
    // |x| / 2 times the error of erf, near x = -10.
    {"gelu_erf", make(PostOpKind::gelu_erf),
     [](double x, double, double) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -10, 10, 4 * kUlp,
     15 * kUlp},
    {"gelu_tanh", make(PostOpKind::gelu_tanh),
     [](double x, double, double) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     -10, 10, 4 * kUlp, 10 * kUlp},
    {"exp", make(PostOpKind::exp), [](double x, double, double) { return std::exp(x); }, -87, 88.7, 3 * kUlp, 0},
    {"exp_subnormal", make(PostOpKind::exp), [](double x, double, double) { return std::exp(x); }, -104, -87, 3 * kUlp,
     1.5e-45},
    {"log", make(PostOpKind::log), [](double x, double, double) { return std::log(x); }, 1e-30, 1e3, 3 * kUlp, 0},
    {"log_near_one", make(PostOpKind::log), [](double x, double, double) { return std::log(x); }, 0.6, 1.5, 3 * kUlp,
     0},
    {"log_subnormal", make(PostOpKind::log), [](double x, double, double) { return std::log(x); }, 1e-44, 1e-38,
     3 * kUlp, 0},
    {"erf", make(PostOpKind::erf), [](double x, double, double) { return std::erf(x); }, -5, 5, 4 * kUlp, 0},
    {"abs", make(PostOpKind::abs), [](double x, double, double) { return std::fabs(x); }, -5, 5, 0, 0},
    {"neg", make(PostOpKind::neg), [](double x, double, double) { return -x; }, -5, 5, 0, 0},
    {"sqrt", make(PostOpKind::sqrt), [](double x, double, double) { return std::sqrt(x); }, 0, 50, kUlp, 0},
    {"square", make(PostOpKind::square), [](double x, double, double) { return x * x; }, -5, 5, kUlp, 0},
    {"sign", make(PostOpKind::sign), [](double x, double, double) { return x > 0   ? 1.0
                                                                           : x < 0 ? -1.0
                                                                                   : 0.0; }, -5, 5,
     0, 0},
    {"floor", make(PostOpKind::floor), [](double x, double, double) { return std::floor(x); }, -50, 50, 0, 0},
    {"ceil", make(PostOpKind::ceil), [](double x, double, double) { return std::ceil(x); }, -50, 50, 0, 0},
    {"round_even", make(PostOpKind::round_even), [](double x, double, double) { return round_half_even(x); }, -50, 50,
     0, 0},
    {"round_away", make(PostOpKind::round_away), [](double x, double, double) { return std::round(x); }, -50, 50, 0, 0},
    {"linear", make(PostOpKind::linear, 1.25f, -0.75f), [](double x, double a, double b) { return a * x + b; }, -5, 5,
     2 * kUlp, kUlp},
    {"cube", make(PostOpKind::cube), [](double x, double, double) { return x * x * x; }, -5, 5, kUlp, 0},
    {"root", make(PostOpKind::root), [](double x, double, double) { return std::sqrt(x); }, 0, 50, kUlp, 0},
    {"inverse_root", make(PostOpKind::inverse_root), [](double x, double, double) { return 1 / std::sqrt(x); }, 0, 50,
     kUlp, 0},
};

PostOpRows flat(const float* in, float* out, int64_t n) { return {in, out, 1, n, n, n, 0, n, 0, ChannelAxis::lanes}; }

class PostOps : public KernelTest {
 protected:
  std::vector<float> run(const PostOpRows& region, const std::vector<PostOp>& ops) {
    cpu::post_op_kernels(isa()).run(region, ops.data(), static_cast<int64_t>(ops.size()));
    return {};
  }
  float one(const PostOp& op, float x) {
    float y = 0;
    run(flat(&x, &y, 1), {op});
    return y;
  }
};

TEST_P(PostOps, UnaryAgainstDoublePrecision) {
  for (const UnaryCase& c : kUnaryCases) {
    // The long size is for accuracy, the others for tails.
    for (const int64_t n : {int64_t{1}, lanes() - 1, lanes(), lanes() + 1, 2 * lanes() + 1, int64_t{20011}}) {
      const GuardedBuffer<float> in(random_floats(n, 7, static_cast<float>(c.low), static_cast<float>(c.high)));
      GuardedBuffer<float> out(n);
      run(flat(in.data(), out.data(), n), {c.op});
      EXPECT_TRUE(out.intact());
      for (int64_t i = 0; i < n; ++i) {
        const double exact = c.exact(in[i], c.op.alpha, c.op.beta);
        ASSERT_LE(std::fabs(out[i] - exact), c.relative * std::fabs(exact) + c.absolute)
            << c.name << "(" << in[i] << ") gave " << out[i] << ", exact " << exact;
      }
    }
  }
}

TEST_P(PostOps, TiesRoundAsTheirNamesSay) {
  for (const float x : {-3.5f, -2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 8388607.5f, 0.49999997f, -0.49999997f, 1e30f}) {
    EXPECT_EQ(one(make(PostOpKind::round_even), x), std::nearbyint(x)) << x;
    EXPECT_EQ(one(make(PostOpKind::round_away), x), std::round(x)) << x;
    EXPECT_EQ(one(make(PostOpKind::floor), x), std::floor(x)) << x;
    EXPECT_EQ(one(make(PostOpKind::ceil), x), std::ceil(x)) << x;
  }
}

TEST_P(PostOps, InfinitiesAndZeros) {
  EXPECT_EQ(one(make(PostOpKind::exp), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::exp), -kInf), 0.0f);
  EXPECT_EQ(one(make(PostOpKind::exp), 89.0f), kInf);
  EXPECT_EQ(one(make(PostOpKind::exp), 0.0f), 1.0f);
  EXPECT_EQ(one(make(PostOpKind::log), 0.0f), -kInf);
  EXPECT_EQ(one(make(PostOpKind::log), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::log), 1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(one(make(PostOpKind::log), -1.0f)));
  EXPECT_EQ(one(make(PostOpKind::tanh), kInf), 1.0f);
  EXPECT_EQ(one(make(PostOpKind::tanh), -kInf), -1.0f);
  EXPECT_TRUE(std::signbit(one(make(PostOpKind::tanh), -0.0f)));
  EXPECT_EQ(one(make(PostOpKind::erf), kInf), 1.0f);
  EXPECT_EQ(one(make(PostOpKind::erf), -kInf), -1.0f);
  EXPECT_EQ(one(make(PostOpKind::sigmoid), kInf), 1.0f);
  EXPECT_EQ(one(make(PostOpKind::sigmoid), -kInf), 0.0f);
  EXPECT_EQ(one(make(PostOpKind::sigmoid), -1e30f), 0.0f);
  EXPECT_EQ(one(make(PostOpKind::sigmoid), 1e30f), 1.0f);
  EXPECT_EQ(one(make(PostOpKind::swish, 1.0f), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::swish, 1.0f), 1e30f), 1e30f);
  EXPECT_EQ(one(make(PostOpKind::swish, 1.0f), -1e30f), 0.0f);
  EXPECT_EQ(one(make(PostOpKind::elu, 1.0f), -kInf), -1.0f);
  EXPECT_EQ(one(make(PostOpKind::elu, 1.0f), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::softplus), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::softplus), -kInf), 0.0f);
  EXPECT_EQ(one(make(PostOpKind::mish), kInf), kInf);
  EXPECT_EQ(one(make(PostOpKind::relu), kInf), kInf);
  EXPECT_TRUE(std::isnan(one(make(PostOpKind::sqrt), -1.0f)));
  EXPECT_TRUE(std::isnan(one(make(PostOpKind::sqrt), -kInf)));
  EXPECT_TRUE(std::signbit(one(make(PostOpKind::sqrt), -0.0f)));
}

TEST_P(PostOps, NanGoesThrough) {
  for (const UnaryCase& c : kUnaryCases) EXPECT_TRUE(std::isnan(one(c.op, kNaN))) << c.name;
  for (const PostOpKind kind :
       {PostOpKind::add, PostOpKind::sub, PostOpKind::rsub, PostOpKind::mul, PostOpKind::div, PostOpKind::rdiv,
        PostOpKind::squared_difference, PostOpKind::prelu, PostOpKind::max, PostOpKind::min}) {
    EXPECT_TRUE(std::isnan(one(make(kind, 2.0f), kNaN)));
    if (kind != PostOpKind::prelu) {
      EXPECT_TRUE(std::isnan(one(make(kind, kNaN), 2.0f)));
    }
  }
}

TEST_P(PostOps, ZeroStaysZeroExactlyWhereToldSo) {
  for (const UnaryCase& c : kUnaryCases) {
    EXPECT_EQ(one(c.op, 0.0f) == 0.0f, maps_zero_to_zero(c.op)) << c.name;
  }
  using Kind = PostOpKind;
  for (const Kind kind : {Kind::add, Kind::sub, Kind::rsub, Kind::mul, Kind::div, Kind::rdiv, Kind::max, Kind::min,
                          Kind::squared_difference, Kind::prelu, Kind::rpow}) {
    for (const float b : {-2.0f, 0.0f, 3.0f}) {
      if (maps_zero_to_zero(make(kind, b))) {
        EXPECT_EQ(one(make(kind, b), 0.0f), 0.0f) << static_cast<int>(kind) << " " << b;
      }
    }
  }
}

TEST_P(PostOps, SlopesOfZeroDoNotCount) {
  for (const float slope : {kInf, kNaN}) {
    EXPECT_EQ(one(make(PostOpKind::prelu, slope), 0.0f), 0.0f);
    EXPECT_EQ(one(make(PostOpKind::prelu, slope), -0.0f), 0.0f);
    EXPECT_EQ(one(make(PostOpKind::prelu, slope), 2.0f), 2.0f);
  }
}

struct BinaryCase {
  PostOpKind kind;
  float (*exact)(float x, float b);
};

const BinaryCase kBinaryCases[] = {
    {PostOpKind::prelu, [](float x, float b) { return x < 0 ? b * x : x; }},
    {PostOpKind::add, [](float x, float b) { return x + b; }},
    {PostOpKind::sub, [](float x, float b) { return x - b; }},
    {PostOpKind::rsub, [](float x, float b) { return b - x; }},
    {PostOpKind::mul, [](float x, float b) { return x * b; }},
    {PostOpKind::div, [](float x, float b) { return x / b; }},
    {PostOpKind::rdiv, [](float x, float b) { return b / x; }},
    {PostOpKind::max, [](float x, float b) { return x > b ? x : b; }},
    {PostOpKind::min, [](float x, float b) { return x < b ? x : b; }},
    {PostOpKind::squared_difference, [](float x, float b) { return (x - b) * (x - b); }},
    {PostOpKind::pow, [](float x, float b) { return std::pow(x, b); }},
    {PostOpKind::rpow, [](float x, float b) { return std::pow(b, x); }},
};

// Every operand mode, with rows that are strided in memory and in the destination, and nothing written between them.
TEST_P(PostOps, BinaryOverStridedRows) {
  for (const BinaryCase& c : kBinaryCases) {
    for (const int64_t n : sizes_around(lanes())) {
      const int64_t rows = 3, in_stride = n + 2, out_stride = n + 1, offset = 5, offset_stride = n + 3, channel = 2;
      const GuardedBuffer<float> in(random_floats((rows - 1) * in_stride + n, 1, 0.5f, 3.0f));
      const GuardedBuffer<float> tensor(random_floats(offset + (rows - 1) * offset_stride + n, 2, -2.0f, 2.0f));
      const GuardedBuffer<float> by_lane(random_floats(channel + n, 3, -2.0f, 2.0f));
      const GuardedBuffer<float> by_row(random_floats(channel + rows, 4, -2.0f, 2.0f));
      for (int form = 0; form < 4; ++form) {
        GuardedBuffer<float> out((rows - 1) * out_stride + n);
        PostOp op = make(c.kind, 0.75f);
        op.mode = form == 0 ? OperandMode::scalar : form == 1 ? OperandMode::tensor : OperandMode::per_channel;
        op.operand = form == 1 ? tensor.data() : form == 2 ? by_lane.data() : by_row.data();
        run({in.data(), out.data(), rows, n, in_stride, out_stride, offset, offset_stride, channel,
             form == 3 ? ChannelAxis::rows : ChannelAxis::lanes},
            {op});
        EXPECT_TRUE(out.intact());
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < n; ++i) {
            const float b = form == 0   ? 0.75f
                            : form == 1 ? tensor[offset + r * offset_stride + i]
                            : form == 2 ? by_lane[channel + i]
                                        : by_row[channel + r];
            const float exact = c.exact(in[r * in_stride + i], b), got = out[r * out_stride + i];
            // Neither the library's powers nor ours are always the nearest float.
            const bool is_power = c.kind == PostOpKind::pow || c.kind == PostOpKind::rpow;
            ASSERT_TRUE((is_power ? std::fabs(got - exact) <= std::fabs(exact) * 0x1p-23f : got == exact) ||
                        (std::isnan(got) && std::isnan(exact)))
                << static_cast<int>(c.kind) << " form " << form << ": " << got << " is not " << exact;
          }
          if (r + 1 < rows) {
            ASSERT_TRUE(std::isnan(out[r * out_stride + n])) << "written between rows";
          }
        }
      }
    }
  }
}

TEST_P(PostOps, PowersWithinHalfAUnitOfTheExactValue) {
  std::vector<float> x = random_floats(20011, 5, 0.0f, 1.0f), y = random_floats(20011, 6, -1.0f, 1.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    // Bases of all exponents, and around 1; exponents whose powers reach both ends of the range.
    x[i] = i % 3 == 0 ? 1 + (x[i] - 0.5f) * 0x1p-10f : std::ldexp(x[i], static_cast<int>(i % 270) - 140);
    y[i] *= std::min(1e6f, 160 / std::max(1e-6f, std::fabs(std::log2(x[i]))));
    if (i % 7 == 0) y[i] = std::nearbyint(y[i]);
    if (i % 5 == 0) x[i] = -x[i];
    const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    const auto rounded = static_cast<float>(exact);
    for (const float got : {one(make(PostOpKind::pow, y[i]), x[i]), one(make(PostOpKind::rpow, x[i]), y[i])}) {
      if (std::isnan(exact) || std::isinf(rounded)) {
        ASSERT_TRUE(std::isnan(exact) ? std::isnan(got) : got == rounded) << x[i] << "^" << y[i] << " gave " << got;
        continue;
      }
      const double unit = std::ldexp(1.0, std::max(std::ilogb(rounded) - 23, -149));
      ASSERT_LE(std::fabs(got - exact), 0.51 * unit) << x[i] << "^" << y[i] << " gave " << got;
    }
  }
}

TEST_P(PostOps, PowersOfSpecialNumbersAreThoseOfTheLibrary) {
  const float numbers[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f,  0.5f,  -0.5f,       3.0f,    -3.0f,
                           1.5f, -3.5f, kInf, -kInf, kNaN, 1e-45f, 3e38f, 0x1p23f + 1, -0x1p24f};
  for (const float x : numbers)
    for (const float y : numbers) {
      const float want = std::pow(x, y), got = one(make(PostOpKind::pow, y), x);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << "^" << y << " gave " << got;
      } else {
        EXPECT_TRUE(got == want || std::fabs(got - want) <= std::fabs(want) * 0x1p-23f)
            << x << "^" << y << " gave " << got << ", not " << want;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << "^" << y;
      }
    }
}

TEST_P(PostOps, PowersOfKnownExponentsAreStepsThatEqualTheLibrary) {
  std::vector<float> bases = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNaN, 1e-45f, -1e-45f, 3e38f, -3e38f, 0x1p-126f};
  const std::vector<float> signs = random_floats(20011, 5), exponents = random_floats(20011, 6, -149.0f, 128.0f);
  for (size_t i = 0; i < signs.size(); ++i) bases.push_back(std::copysign(std::exp2(exponents[i]), signs[i]));
  const auto n = static_cast<int64_t>(bases.size());
  for (const float y : {2.0f, 3.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.5f, -2.0f}) {
    const PostOp op = cpu::with_scalar(PostOpKind::pow, y);
    EXPECT_EQ(op.kind == PostOpKind::pow, y == 2.5f || y == -2.0f) << y;
    EXPECT_EQ(cpu::with_scalar(PostOpKind::rpow, y).kind, PostOpKind::rpow);
    const GuardedBuffer<float> in(bases);
    GuardedBuffer<float> out(n);
    run(flat(in.data(), out.data(), n), {op});
    EXPECT_TRUE(out.intact());
    EXPECT_EQ(cpu::maps_zero_to_zero(op), op.kind != PostOpKind::pow && out[0] == 0.0f) << y;
    for (int64_t i = 0; i < n; ++i) {
      const float want = std::pow(in[i], y), got = out[i];
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << in[i] << "^" << y << " gave " << got;
        continue;
      }
      ASSERT_TRUE(got == want || std::fabs(got - want) <= std::max(std::fabs(want) * 0x1p-22f, 0x1p-149f))
          << in[i] << "^" << y << " gave " << got << ", not " << want;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << in[i] << "^" << y;
    }
  }
}

TEST_P(PostOps, ScaleShiftPerChannel) {
  const int64_t rows = 3, n = 2 * lanes() + 3;
  const GuardedBuffer<float> in(random_floats(rows * n, 1));
  const GuardedBuffer<float> scale(random_floats(n, 2)), shift(random_floats(n, 3));
  for (const ChannelAxis axis : {ChannelAxis::lanes, ChannelAxis::rows}) {
    for (const bool with_shift : {true, false}) {
      GuardedBuffer<float> out(rows * n);
      PostOp op = make(PostOpKind::scale_shift);
      op.operand = scale.data();
      op.operand2 = with_shift ? shift.data() : nullptr;
      run({in.data(), out.data(), rows, n, n, n, 0, n, 0, axis}, {op});
      for (int64_t i = 0; i < rows * n; ++i) {
        const int64_t ch = axis == ChannelAxis::lanes ? i % n : i / n;
        EXPECT_NEAR(out[i], in[i] * scale[ch] + (with_shift ? shift[ch] : 0.0f), 2 * kUlp);
      }
    }
  }
}

// Longer than a strip in both directions: the strips must keep offsets and channels.
TEST_P(PostOps, ChainsOverManyStripsEqualTheStepsOneByOne) {
  struct Extent {
    int64_t rows, n;
  };
  for (const auto [rows, n] : {Extent{1, 9001}, Extent{700, 19}, Extent{2, 5003}}) {
    for (const ChannelAxis axis : {ChannelAxis::lanes, ChannelAxis::rows}) {
      const GuardedBuffer<float> in(random_floats(rows * n, 1, -3.0f, 3.0f));
      const GuardedBuffer<float> tensor(random_floats(rows * n, 2));
      const GuardedBuffer<float> channels(random_floats(axis == ChannelAxis::lanes ? n : rows, 3));
      PostOp add = make(PostOpKind::add), mul = make(PostOpKind::mul);
      add.mode = OperandMode::tensor;
      add.operand = tensor.data();
      mul.mode = OperandMode::per_channel;
      mul.operand = channels.data();
      const std::vector<PostOp> chain = {make(PostOpKind::tanh), add, mul, make(PostOpKind::relu)};
      GuardedBuffer<float> fused(rows * n), stepwise(rows * n);
      run({in.data(), fused.data(), rows, n, n, n, 0, n, 0, axis}, chain);
      const float* source = in.data();
      for (const PostOp& op : chain) {
        run({source, stepwise.data(), rows, n, n, n, 0, n, 0, axis}, {op});
        source = stepwise.data();
      }
      for (int64_t i = 0; i < rows * n; ++i) ASSERT_EQ(fused[i], stepwise[i]) << i;
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(PostOps);

}  // namespace
}  // namespace terroir::testing
