#include "plugins/cpu/kernels/matmul/matmul.hpp"

#include <memory>
#include <new>

#include "tests/kernels/kernel_test.hpp"

namespace terroir::testing {
namespace {

using cpu::GemmArgs;
using cpu::MatmulKernels;
using cpu::PostOp;
using cpu::PostOpKind;

enum class RightForm { packed, packed_from_transposed, plain };

struct Product {
  int64_t m, n, k;
  bool a_transposed = false;
  RightForm right = RightForm::packed;
  bool with_bias = false;
  std::vector<PostOp> ops = {};
  cpu::ChannelAxis axis = cpu::ChannelAxis::lanes;
};

std::ostream& operator<<(std::ostream& out, const Product& p) {
  return out << p.m << "x" << p.n << "x" << p.k << (p.a_transposed ? " A transposed" : "") << " right form "
             << static_cast<int>(p.right) << (p.with_bias ? " bias" : "") << " steps " << p.ops.size();
}

std::vector<float> transposed(const std::vector<float>& x, int64_t rows, int64_t columns) {
  std::vector<float> y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c * rows + r] = x[r * columns + c];
  }
  return y;
}

class Matmul : public KernelTest {
 protected:
  const MatmulKernels& kernels() const { return cpu::matmul_kernels(isa()); }

  struct Data {
    std::vector<float> a, b, bias;
  };
  static Data data(const Product& p) {
    return {random_floats(p.m * p.k, 11), random_floats(p.k * p.n, 12), random_floats(p.n, 13)};
  }

  // C with a row stride of n + 1; the gap must stay untouched. Rows and panels are cut into slices of the given sizes;
  // those of the same rows may share one copy of A.
  std::vector<float> run(const Product& p, const Data& d, int64_t rows_per_call, int64_t panels_per_call,
                         bool shared_copy = false) {
    const MatmulKernels& k = kernels();
    const int64_t panels = (p.n + k.panel - 1) / k.panel, ldc = p.n + 1;
    const GuardedBuffer<float> a(p.a_transposed ? transposed(d.a, p.m, p.k) : d.a);
    const GuardedBuffer<float> b(p.right == RightForm::packed_from_transposed ? transposed(d.b, p.k, p.n) : d.b);
    const GuardedBuffer<float> bias(d.bias);
    GuardedBuffer<float> packed(panels * k.panel * p.k);
    GuardedBuffer<float> c((p.m - 1) * ldc + p.n);
    GemmArgs args;
    args.a = a.data();
    args.lda = p.a_transposed ? p.m : p.k;
    args.a_transposed = p.a_transposed;
    if (p.right == RightForm::plain) {
      args.b = b.data();
      args.ldb = p.n;
    } else {
      // Panel by panel, as threads would.
      const bool from_transposed = p.right == RightForm::packed_from_transposed;
      for (int64_t i = 0; i < panels; ++i) {
        k.pack_b(b.data(), from_transposed ? p.k : p.n, from_transposed, p.k, p.n, packed.data(), i, i + 1);
      }
      args.b = packed.data();
    }
    args.c = c.data();
    args.ldc = ldc;
    args.n = p.n;
    args.k = p.k;
    args.bias = p.with_bias ? bias.data() : nullptr;
    args.ops = p.ops.data();
    args.n_ops = static_cast<int64_t>(p.ops.size());
    args.channel_axis = p.axis;
    for (int64_t m = 0; m < p.m; m += rows_per_call) {
      const int64_t m_end = std::min(p.m, m + rows_per_call);
      const int64_t copied = shared_copy ? k.packed_a_floats(args, m_end - m, panels_per_call) : 0;
      GuardedBuffer<float> copy(copied);
      args.packed_a = copied == 0 ? nullptr : copy.data();
      if (copied != 0) k.pack_a(args, m, m_end, copy.data());
      args.panels_ahead = shared_copy ? panels : 0;
      for (int64_t i = 0; i < panels; i += panels_per_call) {
        GuardedBuffer<float> scratch(k.scratch_floats(m_end - m, p.k));
        args.scratch = scratch.data();
        k.gemm(args, m, m_end, i, std::min(panels, i + panels_per_call));
      }
      EXPECT_TRUE(copy.intact());
    }
    EXPECT_TRUE(c.intact());
    for (int64_t m = 0; m + 1 < p.m; ++m) EXPECT_TRUE(std::isnan(c[m * ldc + p.n])) << "written between rows";
    std::vector<float> result;
    for (int64_t m = 0; m < p.m; ++m) result.insert(result.end(), c.data() + m * ldc, c.data() + m * ldc + p.n);
    return result;
  }

  static std::vector<double> exact(const Product& p, const Data& d) {
    std::vector<double> c(static_cast<size_t>(p.m * p.n));
    for (int64_t m = 0; m < p.m; ++m) {
      for (int64_t n = 0; n < p.n; ++n) {
        double sum = p.with_bias ? d.bias[n] : 0.0;
        for (int64_t k = 0; k < p.k; ++k) sum += static_cast<double>(d.a[m * p.k + k]) * d.b[k * p.n + n];
        c[m * p.n + n] = sum;
      }
    }
    return c;
  }

  void check(const Product& p) {
    const Data d = data(p);
    const std::vector<float> got = run(p, d, p.m, 1 << 20);
    const std::vector<double> want = exact(p, d);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], dot_tolerance(p.k)) << p << " at " << i;
  }
};

TEST_P(Matmul, RowsAroundTheTile) {
  for (const int64_t m : sizes_around(kernels().tile_m)) {
    for (const bool a_transposed : {false, true}) {
      Product p{m, 2 * kernels().panel + 3, 17, a_transposed};
      check(p);
    }
  }
}

TEST_P(Matmul, ColumnsAroundThePanel) {
  for (const int64_t n : sizes_around(kernels().panel)) {
    for (const int64_t m : {int64_t{1}, int64_t{3}, kernels().tile_m + 1}) {
      for (const RightForm right : {RightForm::packed, RightForm::packed_from_transposed, RightForm::plain}) {
        Product p{m, n, 19};
        p.right = right;
        p.with_bias = true;
        check(p);
      }
    }
  }
  for (const int64_t n : sizes_around(lanes())) check({kernels().tile_m, n, 5});
}

// A is read in place for few panels, unless its rows are 4 KiB apart, and copied for many.
TEST_P(Matmul, RowsInPlaceAndCopied) {
  for (const int64_t m : sizes_around(kernels().tile_m)) {
    for (const int64_t panels : {1, 4, 5}) {
      check({m, panels * kernels().panel, 300});
      check({m, panels * kernels().panel - 1, 1024});
    }
  }
}

// Where A is read in place, two panels may be met at once; the second one may end anywhere.
TEST_P(Matmul, TwoPanelsAtOnce) {
  const int64_t panel = kernels().panel;
  for (const int64_t m : {9, 10, 11, 12, 13, 17, 18, 19, 61}) {
    for (const int64_t n :
         {panel + 1, panel + lanes(), panel + lanes() + 1, 2 * panel - 1, 2 * panel, 3 * panel + 1, 4 * panel - 1}) {
      for (const RightForm right : {RightForm::packed, RightForm::plain}) {
        Product p{m, n, 37};
        p.right = right;
        p.with_bias = true;
        check(p);
      }
    }
  }
}

TEST_P(Matmul, DepthsOverSeveralSlices) {
  for (const int64_t k : {1, 2, 15, 16, 17, 255, 257, 1031, 4099}) {
    for (const bool a_transposed : {false, true}) {
      for (const RightForm right : {RightForm::packed, RightForm::plain}) {
        Product p{kernels().tile_m + 3, kernels().panel + 1, k, a_transposed, right, true};
        check(p);
        p.m = 2;
        check(p);
      }
    }
  }
}

// Slices of the rows are given the scratch of all of them.
TEST_P(Matmul, ScratchForRowsIsEnoughForFewer) {
  for (const int64_t k : {1, 64, 255, 768, 3072, 10000, 25088, 200000}) {
    int64_t before = 0;
    for (int64_t m = 1; m < 1500; ++m) {
      const int64_t floats = kernels().scratch_floats(m, k);
      ASSERT_GE(floats, before) << m << " rows, k = " << k;
      before = floats;
    }
  }
}

TEST_P(Matmul, OneTileAndLongSlices) {
  for (const RightForm right : {RightForm::packed, RightForm::plain}) {
    for (const int64_t m : {int64_t{1}, int64_t{5}, kernels().tile_m}) {
      Product p{m, kernels().panel + 3, 20011};
      p.right = right;
      check(p);
    }
  }
}

TEST_P(Matmul, ManyRowBlocks) {
  Product p{5003, 3, 700};
  check(p);
}

TEST_P(Matmul, NoDepthLeavesTheBias) {
  Product p{5, 7, 0};
  p.with_bias = true;
  const Data d = data(p);
  const std::vector<float> c = run(p, d, p.m, 1);
  for (int64_t i = 0; i < p.m * p.n; ++i) EXPECT_EQ(c[i], d.bias[i % p.n]);
}

TEST_P(Matmul, StepsAtTheStore) {
  const int64_t tile = kernels().tile_m, panel = kernels().panel;
  for (const int64_t n : {panel + 1, panel - 1, lanes() - 1, 2 * panel}) {
    for (const int64_t k : {int64_t{33}, int64_t{1031}}) {
      for (const auto axis : {cpu::ChannelAxis::lanes, cpu::ChannelAxis::rows}) {
        const int64_t m = 2 * tile + 1, ldc = n + 1;
        const GuardedBuffer<float> residual(random_floats((m - 1) * ldc + n, 21));
        const GuardedBuffer<float> scale(random_floats(axis == cpu::ChannelAxis::lanes ? n : m, 22));
        PostOp relu, add, mul;
        add.kind = PostOpKind::add;
        add.mode = cpu::OperandMode::tensor;
        add.operand = residual.data();
        mul.kind = PostOpKind::mul;
        mul.mode = cpu::OperandMode::per_channel;
        mul.operand = scale.data();
        Product p{m, n, k, false, RightForm::packed, true, {add, mul, relu}, axis};
        const Data d = data(p);
        const std::vector<float> got = run(p, d, m, 1 << 20);
        const std::vector<double> sums = exact(p, d);
        for (int64_t i = 0; i < m * n; ++i) {
          const int64_t row = i / n, column = i % n;
          const double factor = scale[axis == cpu::ChannelAxis::lanes ? column : row];
          const double want = std::max(0.0, (sums[i] + residual[row * ldc + column]) * factor);
          ASSERT_NEAR(got[i], want, dot_tolerance(k + 2)) << p << " at " << i;
        }
      }
    }
  }
}

// However the work is cut, every element is the same sum in the same order: all panels together meet a copy of A, few
// of them read it in place.
TEST_P(Matmul, SlicesDoNotChangeABit) {
  for (const RightForm right : {RightForm::packed, RightForm::plain}) {
    for (const int64_t depth : {130, 515}) {
      Product p{61, 18 * kernels().panel + 5, depth};
      p.right = right;
      p.with_bias = true;
      const Data d = data(p);
      const std::vector<float> whole = run(p, d, p.m, 1 << 20);
      for (const int64_t rows : {1, 3, 4, 5, 14, 23}) {
        for (const int64_t panels : {1, 2, 5, 13}) EXPECT_EQ(run(p, d, rows, panels), whole) << p << ", " << panels;
      }
    }
  }
}

TEST_P(Matmul, CallsThatShareACopyOfA) {
  for (const int64_t rows : {kernels().small_m + 1, kernels().tile_m + 1, 2 * kernels().tile_m, int64_t{61}}) {
    for (const int64_t depth : {1, 17, 256, 1031}) {
      Product p{rows, 40 * kernels().panel - 3, depth};
      p.with_bias = true;
      GemmArgs left;
      left.lda = left.k = depth;
      ASSERT_GT(kernels().packed_a_floats(left, rows, 17), 0) << p;
      const Data d = data(p);
      const std::vector<float> whole = run(p, d, rows, 1 << 20);
      EXPECT_EQ(run(p, d, rows, 17, true), whole) << p;
      EXPECT_EQ(run(p, d, rows, 1 << 20, true), whole) << p;
      p.right = RightForm::plain;
      EXPECT_EQ(run(p, d, rows, 19, true), whole) << p;
    }
  }
}

// Nothing is copied where A is read in place, nor where a copy would be cut into blocks.
TEST_P(Matmul, WhenCallsShareACopyOfA) {
  const auto floats = [&](int64_t rows, int64_t k, int64_t lda, bool transposed, int64_t panels) {
    GemmArgs args;
    args.k = k;
    args.lda = lda;
    args.a_transposed = transposed;
    return kernels().packed_a_floats(args, rows, panels);
  };
  EXPECT_EQ(floats(kernels().small_m, 300, 300, false, 50), 0);
  EXPECT_GT(floats(kernels().small_m + 1, 300, 300, false, 50), 0);
  EXPECT_EQ(floats(kernels().small_m + 1, 300, 300, false, 4), 0);
  EXPECT_GT(floats(kernels().small_m + 1, 300, 1024, false, 4), 0) << "rows 4 KiB apart";
  const bool has_flat_tiles = kernels().panel == 32;
  EXPECT_EQ(floats(30, 60, 60, false, 16) == 0, has_flat_tiles);
  EXPECT_GT(floats(30, 60, 60, false, 17), 0);
  EXPECT_GT(floats(13, 60, 60, false, 5), 0) << "groups of four and five rows";
  EXPECT_GT(floats(6, 8000, 8001, false, 5), 0) << "panels that do not stay in L2";
  GemmArgs plain;
  plain.k = 8000;
  plain.lda = 8001;
  plain.ldb = 5 * kernels().panel;
  EXPECT_EQ(kernels().packed_a_floats(plain, 6, 5) == 0, has_flat_tiles) << "a plain B";
  EXPECT_EQ(floats(30, 300, 30, true, 50), 0) << "transposed rows are adjacent";
  EXPECT_EQ(floats(100'000, 300, 300, false, 50), 0) << "several blocks";
  EXPECT_GT(floats(8, 1000, 1000, false, 50), 0);
  EXPECT_EQ(floats(8, 100'000'000, 100'000'000, false, 50), 0) << "more than any cache";
}

TERROIR_INSTANTIATE_PER_ISA(Matmul);

}  // namespace
}  // namespace terroir::testing
