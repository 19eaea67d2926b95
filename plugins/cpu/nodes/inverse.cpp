// Inverse of matrices of f32 and f64, computed in f64. Layouts: plain. Threads: matrices where there are as many, else
// ranges of the columns of one.
// Edge cases: what a singular matrix gives is left to the reference.
#include <algorithm>
#include <numeric>
#include <span>

#include "ops/reference/matrix/inverse.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/invert/invert.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// Memory of one matrix, in elements of 8 bytes.
struct InverseMemory {
  double *matrix, *panel, *aside;
  int64_t *pivots, *order;
};

class InverseExecutor final : public Executor {
 public:
  explicit InverseExecutor(const NodeContext& context)
      : kernels_(invert_kernels(context.isa)),
        type_(context.inputs[0].type),
        n_(context.inputs[0].dims.back()),
        count_(context.inputs[0].count() / std::max<int64_t>(1, n_ * n_)),
        // Rows that are whole pages apart would share few lines of the first cache.
        ld_(round_up(n_, kInvertPad) + (n_ % 64 == 0 ? kInvertPad : 0)),
        adjugate_(ir::number_attribute(*context.node.attributes, "adjoint") != 0),
        name_(type_.get_type_name() + "_inverse__" + isa_name(context.isa)) {}

  void run(const RunArgs& args) const override {
    auto* const scratch = static_cast<double*>(args.scratch);
    const auto in_f64 = [&](auto element) {
      using T = decltype(element);
      const T* src = static_cast<const T*>(args.inputs[0]);
      T* dst = static_cast<T*>(args.outputs[0]);
      if (together()) {
        constexpr int64_t kTaskGroups = 32;
        const int64_t groups = ceil_div(count_, kInvertTogether);
        args.arena.parallel_for_slots(ceil_div(groups, kTaskGroups), [&](int64_t task, int64_t slot) {
          for (int64_t group = task * kTaskGroups; group < std::min(groups, (task + 1) * kTaskGroups); ++group)
            invert_group(src, dst, group * kInvertTogether, scratch + slot * elements());
        });
        return;
      }
      if (side_by_side(args.arena.threads())) {
        constexpr int64_t kTaskSums = 65536;
        const int64_t each = std::max<int64_t>(1, kTaskSums / (n_ * n_ * n_));
        args.arena.parallel_for_slots(ceil_div(count_, each), [&](int64_t task, int64_t slot) {
          const InverseMemory memory = memory_at(scratch + slot * elements());
          for (int64_t i = task * each; i < std::min(count_, (task + 1) * each); ++i)
            invert(src + i * n_ * n_, dst + i * n_ * n_, memory, [&](int64_t first, int64_t width) {
              for (int64_t at = 0; at < ld_; at += kInvertColumns)
                update(memory, first, width, at, at + kInvertColumns, memory.aside);
            });
        });
        return;
      }
      // One after the other: each thread has columns of all, and memory only for those it puts aside.
      const InverseMemory memory = memory_at(scratch);
      constexpr int64_t kLeast = 24;
      const int64_t columns = std::clamp(round_up(n_ / (2 * args.arena.threads()), kLeast), kLeast, kInvertColumns);
      for (int64_t i = 0; i < count_; ++i)
        invert(src + i * n_ * n_, dst + i * n_ * n_, memory, [&](int64_t first, int64_t width) {
          args.arena.parallel_for_slots(ceil_div(ld_, columns), [&](int64_t task, int64_t slot) {
            update(memory, first, width, task * columns, (task + 1) * columns,
                   scratch + elements() + slot * kInvertPanel * kInvertColumns);
          });
        });
    };
    if (type_ == element::f32)
      in_f64(float{});
    else
      in_f64(double{});
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(side_by_side(threads) ? threads * elements()
                                                     : elements() + threads * kInvertPanel * kInvertColumns) *
           sizeof(double);
  }
  std::string kernel_name() const override { return name_; }

 private:
  /// Small ones, whose steps would wait for each other: a lane each.
  bool together() const { return n_ <= 8 && count_ >= kInvertTogether / 2; }
  bool side_by_side(int threads) const { return threads == 1 || count_ >= threads || n_ < 4 * kInvertPanel; }
  int64_t elements() const {
    return together() ? (n_ * n_ + 1) * kInvertTogether
                      : n_ * ld_ + n_ * kInvertPanel + kInvertPanel * kInvertColumns + 2 * n_;
  }
  InverseMemory memory_at(double* at) const {
    double *const panel = at + n_ * ld_, *const aside = panel + n_ * kInvertPanel;
    auto* const pivots = reinterpret_cast<int64_t*>(aside + kInvertPanel * kInvertColumns);
    return {at, panel, aside, pivots, pivots + n_};
  }

  /// Matrices from `first` on; behind the last one that there is the unit matrix is inverted.
  template <class T>
  void invert_group(const T* src, T* dst, int64_t first, double* a) const {
    const int64_t size = n_ * n_, count = std::min(kInvertTogether, count_ - first);
    double* const determinants = a + size * kInvertTogether;
    for (int64_t i = 0; i < count; ++i) {
      const T* from = src + (first + i) * size;
      for (int64_t k = 0; k < size; ++k) a[k * kInvertTogether + i] = static_cast<double>(from[k]);
    }
    for (int64_t i = count; i < kInvertTogether; ++i)
      for (int64_t k = 0; k < size; ++k) a[k * kInvertTogether + i] = k % (n_ + 1) == 0 ? 1 : 0;
    const int32_t singular = kernels_.together(a, n_, determinants);
    for (int64_t i = 0; i < count; ++i) {
      T* to = dst + (first + i) * size;
      if ((singular >> i & 1) != 0) {
        invert_singular(src + (first + i) * size, to);
        continue;
      }
      const double factor = adjugate_ ? determinants[i] : 1;
      for (int64_t k = 0; k < size; ++k) to[k] = static_cast<T>(a[k * kInvertTogether + i] * factor);
    }
  }

  template <class T>
  void invert_singular(const T* src, T* dst) const {
    const ir::Dims dims = {n_, n_};
    ops::reference::inverse({type_, dims, src}, {type_, dims, dst}, adjugate_);
  }

  /// `update_all(first, width)`: all columns but these, for the panel that is in memory.
  template <class T, class Update>
  void invert(const T* src, T* dst, const InverseMemory& m, const Update& update_all) const {
    for (int64_t r = 0; r < n_; ++r) {
      double* row = m.matrix + r * ld_;
      std::copy_n(src + r * n_, n_, row);
      std::fill(row + n_, row + ld_, 0.0);
    }
    double determinant = 1;
    bool regular = true;
    for (int64_t first = 0; first < n_ && regular; first += kInvertPanel) {
      const int64_t width = std::min(kInvertPanel, n_ - first), filled = std::min(kInvertPanel, ld_ - first);
      for (int64_t r = 0; r < n_; ++r) std::copy_n(m.matrix + r * ld_ + first, filled, m.panel + r * kInvertPanel);
      regular = kernels_.panel(m.panel, n_, first, width, m.pivots + first, &determinant);
      if (n_ > kInvertPanel) update_all(first, width);
      for (int64_t r = 0; r < n_; ++r) std::copy_n(m.panel + r * kInvertPanel, filled, m.matrix + r * ld_ + first);
    }
    if (!regular) return invert_singular(src, dst);
    std::iota(m.order, m.order + n_, int64_t{0});
    for (int64_t k = n_ - 1; k >= 0; --k) std::swap(m.order[k], m.order[m.pivots[k]]);
    const double factor = adjugate_ ? determinant : 1;
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t c = 0; c < n_; ++c) dst[r * n_ + c] = static_cast<T>(m.matrix[r * ld_ + m.order[c]] * factor);
  }

  /// Columns begin ... end - 1, as far as there are such, without those of the panel.
  void update(const InverseMemory& m, int64_t first, int64_t width, int64_t begin, int64_t end, double* aside) const {
    const auto part = [&](int64_t from, int64_t to) {
      if (from < to) kernels_.columns(m.matrix, ld_, n_, m.panel, first, width, m.pivots + first, from, to, aside);
    };
    part(begin, std::min({end, first, ld_}));
    part(std::max(begin, first + kInvertPanel), std::min(end, ld_));
  }

  InvertKernels kernels_;
  element::Type type_;
  int64_t n_, count_, ld_;
  bool adjugate_;
  std::string name_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32 && src.type != element::f64) return Reject{"no kernel for " + src.type.get_type_name()};
  if (src.count() == 0) return Reject{"nothing to invert"};
  LayoutChoice choice;
  choice.inputs = {src.layout};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = compute_ns(4.0 * static_cast<double>(src.count() * src.dims.back()), context.isa);
  return std::vector{choice};
}

constexpr Impl kInverse[] = {
    {"inverse", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<InverseExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> inverse_impls() { return kInverse; }

}  // namespace terroir::cpu
