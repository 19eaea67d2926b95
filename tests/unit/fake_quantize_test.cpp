// The reference of FakeQuantize, which computes in blocks, against its formula for one element.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/quantization/fake_quantize.hpp"

namespace terroir::ops::reference {
namespace {

template <class C>
C quantized(C x, const std::array<C, 4>& limits, C steps) {
  const auto [input_low, input_high, output_low, output_high] = limits;
  if (x <= std::min(input_low, input_high)) return output_low;
  if (x > std::max(input_low, input_high)) return output_high;
  const C level = std::nearbyint((x - input_low) / (input_high - input_low) * steps);
  return level / steps * (output_high - output_low) + output_low;
}

template <class T>
std::vector<T> by_formula(const ir::Dims& dims, const std::vector<T>& x, const std::array<ir::Dims, 4>& limit_dims,
                          const std::array<std::vector<T>, 4>& limits, int64_t levels) {
  using C = compute_t<T>;
  std::vector<T> out;
  for_each_position(dims, [&](const ir::Dims& position) {
    std::array<C, 4> limit;
    for (size_t l = 0; l < 4; ++l) {
      const ir::Dims steps = ir::row_major(limit_dims[l]);
      int64_t at = 0;
      for (size_t axis = 0; axis < dims.size(); ++axis)
        if (limit_dims[l][axis] > 1) at += position[axis] * steps[axis];
      limit[l] = static_cast<C>(limits[l][static_cast<size_t>(at)]);
    }
    out.push_back(static_cast<T>(quantized<C>(static_cast<C>(x[out.size()]), limit, static_cast<C>(levels - 1))));
  });
  return out;
}

/// Multiples of a quarter, so that halves between levels occur; some are no numbers, and zeros have both signs.
template <class T>
std::vector<T> values(int64_t count, std::mt19937& engine, bool limits) {
  std::vector<T> drawn;
  for (int64_t i = 0; i < count; ++i) {
    const auto quarter = static_cast<float>(static_cast<int>(engine() % 33) - 16) / 4;
    const auto special = engine() % (limits ? 60 : 25);
    drawn.push_back(static_cast<T>(special == 0   ? std::numeric_limits<float>::quiet_NaN()
                                   : special == 1 ? -0.F
                                   : special == 2 ? std::numeric_limits<float>::infinity()
                                   : special == 3 ? quarter / 3
                                                  : quarter));
  }
  return drawn;
}

template <class T>
void expect_formula(const ir::Dims& dims, const std::array<ir::Dims, 4>& limit_dims, int64_t levels) {
  std::mt19937 engine(static_cast<uint32_t>(levels));
  const std::vector<T> x = values<T>(ir::element_count(dims), engine, false);
  std::array<std::vector<T>, 4> limits;
  std::array<ir::TensorView, 4> views;
  for (size_t l = 0; l < 4; ++l) {
    limits[l] = values<T>(ir::element_count(limit_dims[l]), engine, true);
    views[l] = {element::from<T>(), limit_dims[l], limits[l].data()};
  }
  const std::vector<T> expected = by_formula(dims, x, limit_dims, limits, levels);
  std::vector<T> got(x.size());
  fake_quantize({element::from<T>(), dims, x.data()}, views, limit_dims, levels,
                {element::from<T>(), dims, got.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(static_cast<double>(expected[i])) && std::isnan(static_cast<double>(got[i]))) continue;
    ASSERT_EQ(std::memcmp(&expected[i], &got[i], sizeof(T)), 0)
        << i << ": " << static_cast<double>(expected[i]) << " became " << static_cast<double>(got[i]);
  }
}

template <class T>
class FakeQuantizeOf : public testing::Test {};
using Types = testing::Types<float, float16, bfloat16, double>;
TYPED_TEST_SUITE(FakeQuantizeOf, Types);

TYPED_TEST(FakeQuantizeOf, ScalarsAndNothing) {
  expect_formula<TypeParam>({}, {}, 4);
  expect_formula<TypeParam>({0}, {{{1}, {1}, {1}, {1}}}, 4);
  expect_formula<TypeParam>({3, 0, 5}, {{{3, 1, 1}, {1, 1, 5}, {1, 1, 1}, {3, 1, 5}}}, 4);
}

TYPED_TEST(FakeQuantizeOf, LimitsOfAllElements) {
  // A number of levels which halves of the types that compute in float do not reach, too.
  for (const int64_t levels : {2, 5, 256, 1 << 26})
    for (const int64_t count : {1, 127, 128, 129, 257, 1013})
      expect_formula<TypeParam>({1, count}, {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}}, levels);
}

TYPED_TEST(FakeQuantizeOf, LimitsAlongAnyAxes) {
  const ir::Dims dims = {3, 5, 67, 2};
  std::vector<ir::Dims> choices;
  for (int axes = 0; axes < 16; ++axes) {
    ir::Dims limit(4, 1);
    for (size_t axis = 0; axis < 4; ++axis)
      if (axes >> axis & 1) limit[axis] = dims[axis];
    choices.push_back(limit);
  }
  for (size_t i = 0; i < 16; ++i) {
    expect_formula<TypeParam>(dims, {choices[i], choices[i], choices[i], choices[i]}, 9);
    expect_formula<TypeParam>(dims, {choices[i], choices[0], choices[15 - i], choices[i * 5 % 16]}, 255);
  }
}

TYPED_TEST(FakeQuantizeOf, ManyElements) {
  expect_formula<TypeParam>({1, 3, 65537}, {{{1, 3, 1}, {1, 1, 65537}, {1, 1, 1}, {1, 3, 1}}}, 256);
  expect_formula<TypeParam>({200003}, {{{200003}, {1}, {200003}, {1}}}, 256);
  expect_formula<TypeParam>({1009, 131}, {{{1009, 1}, {1, 1}, {1009, 1}, {1, 131}}}, 256);
}

}  // namespace
}  // namespace terroir::ops::reference
