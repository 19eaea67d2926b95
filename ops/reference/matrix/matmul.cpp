#include "ops/reference/matrix/matmul.hpp"

#include <algorithm>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops::reference {
namespace {

/// One operand as a batch of rows x cols matrices; steps in elements.
struct Matrix {
  ir::Dims batch;
  int64_t rows, cols, row_step, col_step;

  Matrix(ir::Dims dims, bool transpose, bool is_left) : batch(std::move(dims)) {
    if (batch.empty()) throw_error(ErrorCode::shape_mismatch, "MatMul takes no scalars");
    if (batch.size() == 1) {
      batch.insert(is_left ? batch.begin() : batch.end(), 1);
      transpose = false;
    }
    cols = batch.back();
    batch.pop_back();
    rows = batch.back();
    batch.pop_back();
    row_step = cols;
    col_step = 1;
    if (transpose) {
      std::swap(rows, cols);
      std::swap(row_step, col_step);
    }
  }
};

/// The elements in the type they are multiplied in; narrow ones are widened once, not once per product.
template <class T>
struct Wide {
  using C = compute_t<T>;
  std::vector<C> buffer;
  const C* data;

  explicit Wide(const ir::TensorView& view) {
    if constexpr (std::is_same_v<T, C>) {
      data = view.as<T>();
    } else {
      buffer.assign(view.as<T>(), view.as<T>() + view.count());
      data = buffer.data();
    }
  }
};

}  // namespace

void matmul(const ir::TensorView& a, const ir::TensorView& b, bool transpose_a, bool transpose_b,
            const ir::MutableTensorView& dst) {
  const Matrix ma(a.dims, transpose_a, true);
  const Matrix mb(b.dims, transpose_b, false);
  const int64_t m_count = ma.rows, k_count = ma.cols, n_count = mb.cols;
  ir::Dims batch = dst.dims;
  for (size_t drop = size_t{a.dims.size() > 1} + size_t{b.dims.size() > 1}; drop > 0 && !batch.empty(); --drop)
    batch.pop_back();
  ir::Dims expected = batch;
  if (a.dims.size() > 1) expected.push_back(m_count);
  if (b.dims.size() > 1) expected.push_back(n_count);
  if (mb.rows != k_count || expected != dst.dims)
    throw_error(ErrorCode::shape_mismatch, "MatMul cannot multiply ", a.dims, " by ", b.dims, " into ", dst.dims);
  if (dst.count() == 0) return;
  dispatch_type<TERROIR_NUMBERS>(a.type, "MatMul", [&](auto tag) {
    using T = decltype(tag);
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    const Wide<T> a_data(a);
    const Wide<T> b_data(b);
    T* out = dst.as<T>();
    const int64_t rows_per_task = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, k_count * n_count));
    for (BroadcastWalk walk(batch, {ma.batch, mb.batch}); walk.more(); walk.next()) {
      for (int64_t i = 0; i < walk.run(); ++i) {
        const auto* pa = a_data.data + (walk.offset(0) + i * walk.step(0)) * m_count * k_count;
        const auto* pb = b_data.data + (walk.offset(1) + i * walk.step(1)) * k_count * n_count;
        parallel_ranges(m_count, rows_per_task, [&](int64_t begin, int64_t end) {
          std::vector<Sum> sums(static_cast<size_t>(n_count));
          for (int64_t m = begin; m < end; ++m) {
            std::fill(sums.begin(), sums.end(), Sum{0});
            for (int64_t k = 0; k < k_count; ++k) {
              const auto x = static_cast<Sum>(pa[m * ma.row_step + k * ma.col_step]);
              const auto* row = pb + k * mb.row_step;
              for (int64_t n = 0; n < n_count; ++n)
                sums[static_cast<size_t>(n)] += x * static_cast<Sum>(row[n * mb.col_step]);
            }
            for (int64_t n = 0; n < n_count; ++n) out[m * n_count + n] = static_cast<T>(sums[static_cast<size_t>(n)]);
          }
        });
        out += m_count * n_count;
      }
    }
  });
}

}  // namespace terroir::ops::reference
