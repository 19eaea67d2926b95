#include "plugins/cpu/kernels/fold/fold.hpp"

#include <cstring>

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::NumberType;
using cpu::RowFoldKind;

class FoldKernels : public KernelTest {
 protected:
  /// Around one vector of 32 bytes, and around as many as the loop takes at once.
  static std::vector<int64_t> lengths(int64_t element_bytes) {
    std::vector<int64_t> all = sizes_around(32 / element_bytes);
    for (const int64_t n : sizes_around((element_bytes == 8 ? 8 : 4) * 32 / element_bytes)) all.push_back(n);
    all.push_back(0);
    return all;
  }

  template <class T>
  void check_integers(NumberType type) const {
    std::mt19937_64 engine(7);
    for (const int64_t n : lengths(sizeof(T))) {
      GuardedBuffer<T> row(n);
      T sum = 5;
      for (int64_t i = 0; i < n; ++i) {
        row[i] = static_cast<T>(engine());
        sum = static_cast<T>(sum + row[i]);
      }
      T got = 5;
      cpu::row_fold(RowFoldKind::sum, type, isa())(row.data(), n, &got);
      EXPECT_EQ(got, sum) << n << " elements of " << sizeof(T) << " bytes";
    }
  }
};

TEST_P(FoldKernels, IntegersWrap) {
  check_integers<uint8_t>(NumberType::u8);
  check_integers<uint8_t>(NumberType::i8);
  check_integers<uint16_t>(NumberType::u16);
  check_integers<uint16_t>(NumberType::i16);
  check_integers<uint32_t>(NumberType::u32);
  check_integers<uint32_t>(NumberType::i32);
  check_integers<uint64_t>(NumberType::u64);
  check_integers<uint64_t>(NumberType::i64);
}

TEST_P(FoldKernels, DoublesAndTheirSquares) {
  for (const int64_t n : lengths(sizeof(double))) {
    const std::vector<float> values = random_floats(n, static_cast<uint32_t>(n));
    GuardedBuffer<double> row(n);
    long double sum = 0.5L, squares = 0.5L, magnitudes = 1;
    for (int64_t i = 0; i < n; ++i) {
      row[i] = values[static_cast<size_t>(i)];
      sum += row[i];
      squares += static_cast<long double>(row[i]) * row[i];
      magnitudes += std::fabs(row[i]);
    }
    double got_sum = 0.5, got_squares = 0.5;
    cpu::row_fold(RowFoldKind::sum, NumberType::f64, isa())(row.data(), n, &got_sum);
    cpu::row_fold(RowFoldKind::squares, NumberType::f64, isa())(row.data(), n, &got_squares);
    // Each of at most n + 1 additions, and each product, rounds once.
    const double bound = std::numeric_limits<double>::epsilon() * static_cast<double>(n + 2);
    EXPECT_NEAR(got_sum, static_cast<double>(sum), bound * static_cast<double>(magnitudes)) << n;
    EXPECT_NEAR(got_squares, static_cast<double>(squares), bound * static_cast<double>(squares)) << n;
  }
}

TEST_P(FoldKernels, WhatIsNoNumberStays) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const int64_t at : {0, 3, 31, 32, 36}) {
    GuardedBuffer<double> row(37);
    for (int64_t i = 0; i < 37; ++i) row[i] = 1;
    for (const RowFoldKind kind : {RowFoldKind::sum, RowFoldKind::squares}) {
      const auto fold = cpu::row_fold(kind, NumberType::f64, isa());
      double got = 0;
      row[at] = -kInf;
      fold(row.data(), 37, &got);
      EXPECT_EQ(got, kind == RowFoldKind::sum ? -kInf : kInf) << at;
      row[at] = std::numeric_limits<double>::quiet_NaN();
      fold(row.data(), 37, &got);
      EXPECT_TRUE(std::isnan(got)) << at;
    }
  }
}

TEST_P(FoldKernels, OtherTypesHaveNone) {
  for (const NumberType type : {NumberType::none, NumberType::f32, NumberType::f16, NumberType::boolean})
    EXPECT_EQ(cpu::row_fold(RowFoldKind::sum, type, isa()), nullptr);
  EXPECT_EQ(cpu::row_fold(RowFoldKind::squares, NumberType::i32, isa()), nullptr);
}

TERROIR_INSTANTIATE_PER_ISA(FoldKernels);

}  // namespace
}  // namespace terroir::testing
