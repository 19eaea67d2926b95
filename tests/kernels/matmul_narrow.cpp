// A narrow B gives the bits that its floats give, however rows and panels are cut.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::GemmArgs;
using cpu::MatmulKernels;
using cpu::NarrowB;
using cpu::NarrowType;

struct NarrowProduct {
  int64_t m, n, groups, group;
  bool has_zeros = false;
  int64_t rows_per_call = INT64_MAX, panels_per_call = INT64_MAX;
  bool shares_copies = false;
  int64_t k() const { return groups * group; }
};

std::ostream& operator<<(std::ostream& out, const NarrowProduct& p) {
  return out << p.m << "x" << p.n << "x" << p.groups << "x" << p.group << (p.has_zeros ? " zeros" : "") << " in "
             << p.rows_per_call << " rows, " << p.panels_per_call << " panels" << (p.shares_copies ? " shared" : "");
}

// What the bits of a number stand for.
int32_t number(NarrowType type, uint8_t bits) {
  switch (type) {
    case NarrowType::i8:
      return static_cast<int8_t>(bits);
    case NarrowType::u8:
      return bits;
    case NarrowType::i4:
      return (bits & 0xf) < 8 ? bits & 0xf : (bits & 0xf) - 16;
    case NarrowType::u4:
      return bits & 0xf;
  }
  return 0;
}

class NarrowMatmul : public KernelTest {
 protected:
  const MatmulKernels& kernels() const { return cpu::matmul_kernels(isa()); }

  // B as floats [K][N], and the same in panels.
  struct Data {
    std::vector<float> a, b, scales, zeros;
    std::vector<uint8_t> numbers;
  };
  Data data(const NarrowProduct& p, NarrowType type) const {
    const int64_t panel = kernels().panel, panels = (p.n + panel - 1) / panel;
    const bool half = cpu::is_half_byte(type);
    const int64_t row_bytes = half ? panel / 2 : panel;
    Data d{random_floats(p.m * p.k(), 21), std::vector<float>(static_cast<size_t>(p.k() * p.n)), {}, {}, {}};
    d.numbers.resize(static_cast<size_t>(panels * p.k() * row_bytes));
    d.scales.resize(static_cast<size_t>(panels * p.groups * panel));
    d.zeros.resize(p.has_zeros ? d.scales.size() : 0);
    const std::vector<float> scales = random_floats(p.groups * p.n, 22),
                             zeros = random_floats(p.groups * p.n, 23, 0, 9);
    std::mt19937 engine(24);
    for (int64_t n = 0; n < p.n; ++n)
      for (int64_t k = 0; k < p.k(); ++k) {
        const int64_t index = n / panel, column = n % panel, g = k / p.group, of_group = g * p.n + n;
        const auto bits = static_cast<uint8_t>(engine());
        uint8_t* const row = d.numbers.data() + (index * p.k() + k) * row_bytes;
        if (!half) row[column] = bits;
        if (half) row[column % row_bytes] |= static_cast<uint8_t>((bits & 0xf) << (column / row_bytes * 4));
        const int64_t at = (index * p.groups + g) * panel + column;
        d.scales[at] = scales[of_group];
        if (p.has_zeros) d.zeros[at] = zeros[of_group];
        const float value = static_cast<float>(number(type, bits));
        d.b[k * p.n + n] = (p.has_zeros ? value - zeros[of_group] : value) * scales[of_group];
      }
    return d;
  }

  std::vector<float> run(const NarrowProduct& p, GemmArgs args, const std::vector<float>& left) const {
    const int64_t panels = (p.n + kernels().panel - 1) / kernels().panel;
    const GuardedBuffer<float> a(left), bias(random_floats(p.n, 25));
    GuardedBuffer<float> c(p.m * p.n);
    args.a = a.data();
    args.lda = args.k = p.k();
    args.c = c.data();
    args.n = args.ldc = p.n;
    args.bias = bias.data();
    const int64_t rows = std::min(p.m, p.rows_per_call), count = std::min(panels, p.panels_per_call);
    for (int64_t m = 0; m < p.m; m += rows) {
      const int64_t m_end = std::min(p.m, m + rows);
      const int64_t copied = p.shares_copies ? kernels().packed_a_floats(args, m_end - m, count) : 0;
      GuardedBuffer<float> copy(copied);
      args.packed_a = copied == 0 ? nullptr : copy.data();
      if (copied != 0) kernels().pack_a(args, m, m_end, copy.data());
      for (int64_t i = 0; i < panels; i += count) {
        GuardedBuffer<float> scratch(kernels().scratch_floats(m_end - m, p.k()));
        args.scratch = scratch.data();
        kernels().gemm(args, m, m_end, i, std::min(panels, i + count));
        EXPECT_TRUE(scratch.intact());
      }
      EXPECT_TRUE(copy.intact());
    }
    EXPECT_TRUE(c.intact());
    return {c.begin(), c.end()};
  }

  void check(const NarrowProduct& p) const {
    for (const NarrowType type : {NarrowType::i8, NarrowType::u8, NarrowType::i4, NarrowType::u4}) {
      SCOPED_TRACE(::testing::Message() << p << " type " << static_cast<int>(type));
      const Data d = data(p, type);
      const int64_t panels = (p.n + kernels().panel - 1) / kernels().panel;
      std::vector<float> floats(static_cast<size_t>(panels * kernels().panel * p.k()));
      kernels().pack_b(d.b.data(), p.n, false, p.k(), p.n, floats.data(), 0, panels);
      GemmArgs wide, narrow;
      wide.b = floats.data();
      const GuardedBuffer<uint8_t> numbers(d.numbers);
      const GuardedBuffer<float> scales(d.scales), zeros(d.zeros);
      const NarrowB b{type, p.groups, p.group, numbers.data(), scales.data(), p.has_zeros ? zeros.data() : nullptr};
      narrow.narrow = &b;
      const std::vector<float> want = run(p, wide, d.a), got = run(p, narrow, d.a);
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0) << got[i] << " " << want[i] << " at " << i;
    }
  }
};

TEST_P(NarrowMatmul, RowsAroundTheTileAndColumnsAroundThePanel) {
  for (const int64_t m : sizes_around(kernels().tile_m))
    for (const int64_t n : {int64_t{1}, kernels().panel - 1, kernels().panel, 5 * kernels().panel + 3})
      check({m, n, 1, 17});
}

TEST_P(NarrowMatmul, GroupsThatSlicesCut) {
  for (const bool has_zeros : {false, true})
    for (const int64_t m : {1, 2, 5, 6, 40})
      for (const auto& [groups, group] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {7, 1}, {1, 700}, {11, 64}, {3, 333}})
        check({m, 9 * kernels().panel, groups, group, has_zeros});
}

TEST_P(NarrowMatmul, PartsOfRowsAndPanels) {
  for (const int64_t m : {1, 3, 30, 100})
    for (const int64_t panels : {1, 2, 3, 7})
      for (const bool shares_copies : {false, true})
        check({m, 8 * kernels().panel - 5, 4, 128, true, m < 10 ? m : 23, panels, shares_copies});
}

TERROIR_INSTANTIATE_PER_ISA(NarrowMatmul);

}  // namespace
}  // namespace terroir::testing
