#include "plugins/cpu/kernels/functions/functions.hpp"

#include <cstring>

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::Function;

struct FunctionCase {
  const char* name;
  Function function;
  double (*exact)(double);
  float (*library)(float);
};
const FunctionCase kCases[] = {
    {"sin", Function::sin, std::sin, std::sin},         {"cos", Function::cos, std::cos, std::cos},
    {"tan", Function::tan, std::tan, std::tan},         {"asin", Function::asin, std::asin, std::asin},
    {"acos", Function::acos, std::acos, std::acos},     {"atan", Function::atan, std::atan, std::atan},
    {"sinh", Function::sinh, std::sinh, std::sinh},     {"cosh", Function::cosh, std::cosh, std::cosh},
    {"asinh", Function::asinh, std::asinh, std::asinh}, {"acosh", Function::acosh, std::acosh, std::acosh},
    {"atanh", Function::atanh, std::atanh, std::atanh}};

class Functions : public KernelTest {
 protected:
  std::vector<float> run(Function function, std::vector<float> x) const {
    const size_t n = x.size();
    x.resize((n + 63) / 64 * 64, 0.0f);
    const GuardedBuffer<float> src(x);
    GuardedBuffer<float> dst(src.size());
    const void* in[] = {src.data()};
    cpu::function_loop(function, isa())(in, dst.data(), src.size());
    EXPECT_TRUE(dst.intact());
    return {dst.begin(), dst.begin() + n};
  }
};

TEST_P(Functions, WithinHalfAUnitOfTheExactValue) {
  for (const FunctionCase& c : kCases) {
    // Every sign and exponent up to 2^20, and dense around 1, where domains end.
    std::vector<float> x = random_floats(20011, 5, -1.0f, 1.0f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], static_cast<int>(i % 56) - 36);
    for (float y : random_floats(5003, 6, 0.9f, 1.1f)) x.insert(x.end(), {y, -y});
    const std::vector<float> got = run(c.function, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = c.exact(x[i]);
      const auto rounded = static_cast<float>(exact);
      if (std::isnan(exact) || std::isinf(rounded)) {
        ASSERT_TRUE(std::isnan(exact) ? std::isnan(got[i]) : got[i] == rounded) << c.name << "(" << x[i] << ")";
        continue;
      }
      const double unit = std::ldexp(1.0, std::max(std::ilogb(rounded) - 23, -149));
      ASSERT_LE(std::fabs(got[i] - exact), 0.51 * unit) << c.name << "(" << x[i] << ") gave " << got[i];
    }
  }
}

TEST_P(Functions, EdgesAreThoseOfTheLibrary) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const FunctionCase& c : kCases) {
    const std::vector<float> x = {0.0f, -0.0f, 1.0f,   -1.0f,  inf,     -inf,    std::nanf(""), 1e-45f,  -1e-45f,
                                  2.0f, -2.0f, 100.0f, -99.0f, 0x1p20f, 3.4e38f, -3.4e38f,      0x1p60f, 0.5f};
    const std::vector<float> got = run(c.function, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = c.library(x[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i])) << c.name << "(" << x[i] << ")";
      } else {
        EXPECT_TRUE(got[i] == want || std::fabs(got[i] - want) <= std::fabs(want) * 0x1p-22f)
            << c.name << "(" << x[i] << ")";
        EXPECT_EQ(std::signbit(got[i]), std::signbit(want)) << c.name << "(" << x[i] << ")";
      }
    }
  }
}

TERROIR_INSTANTIATE_PER_ISA(Functions);

}  // namespace
}  // namespace terroir::testing
