// Attention of the set "cpu" in f32: heads may lie apart or side by side, in any order that keeps the last axis.
// Layouts: plain. Keys and values are packed for the matrix product, every matrix once, into scratch; then for each
// head and block of targets the scores are computed in scratch, their softmax in place, and the product with the values
// goes straight to its place in the result. Few targets, as a step of decoding has, take as long as reading what they
// look at: heads that share keys are taken together, keys packed a few panels at a time, into L1, just before they are
// met, and values read where they lie. Threads: slices of the (head, block of targets) pairs. Every element of the
// scores and of the result is one chain of multiply-adds, and every softmax one row, so neither blocks nor slices show
// in the result.
#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "ir/base/error.hpp"
#include "plugins/cpu/attention_op.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/kernels/softmax/softmax.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"

namespace terroir::cpu {
namespace {

/// A tensor seen as a batch of matrices [rows][columns] whose columns are adjacent.
struct Matrices {
  ir::Dims batch;  // extents in front of the matrices, after ordering
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0;
  std::vector<int64_t> offsets;  // by matrix, row-major over `batch`
};

Matrices matrices_of(const ir::Dims& stored, const std::vector<int64_t>& order) {
  const ir::Dims dims = permuted(stored, order), strides = permuted(ir::row_major(stored), order);
  const size_t outer = dims.size() - 2;
  Matrices m;
  m.batch.assign(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(outer));
  m.rows = dims[outer];
  m.columns = dims[outer + 1];
  m.row_stride = strides[outer];
  const int64_t count = ir::element_count(m.batch);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t axis = outer; axis-- > 0;) {
      offset += rest % dims[axis] * strides[axis];
      rest /= dims[axis];
    }
    m.offsets.push_back(offset);
  }
  return m;
}

class AttentionExecutor final : public Executor {
 public:
  explicit AttentionExecutor(const NodeContext& context)
      : attrs_(context.node.attrs<FusedAttentionAttrs>()),
        matmul_(matmul_kernels(context.isa)),
        softmax_(softmax_kernels(context.isa)),
        q_(matrices_of(context.inputs[0].dims, attrs_.q_order)),
        k_(matrices_of(context.inputs[1].dims, attrs_.k_order)),
        v_(matrices_of(context.inputs[2].dims, attrs_.v_order)) {
    // The result has the stored order; seen from the matrices, the inverse.
    std::vector<int64_t> inverse(attrs_.dst_order.size());
    for (size_t i = 0; i < inverse.size(); ++i)
      inverse[static_cast<size_t>(attrs_.dst_order[i])] = static_cast<int64_t>(i);
    dst_ = matrices_of(context.outputs[0].dims, inverse);

    ir::Dims mask_batch, bias_batch, sink_batch;
    if (attrs_.sink) {
      sink_input_ = context.inputs.size() - 1;
      const ir::Dims& dims = context.inputs[sink_input_].dims;
      sink_rows_ = dims.size() < 2 ? 1 : dims[dims.size() - 2];
      if (dims.size() > 2) sink_batch.assign(dims.begin(), dims.end() - 2);
    }
    if (context.inputs.size() > 3 + static_cast<size_t>(attrs_.sink)) {
      const ir::Dims& dims = context.inputs[3].dims;
      mask_count_ = context.inputs[3].count();
      mask_is_boolean_ = context.inputs[3].type == element::boolean;
      mask_rows_ = dims.size() < 2 ? 1 : dims[dims.size() - 2];
      if (dims.size() > 2) mask_batch.assign(dims.begin(), dims.end() - 2);
    }
    if (attrs_.bias) {
      const ir::Dims& dims = context.inputs[4].dims;
      bias_rows_ = dims.size() < 2 ? 1 : dims[dims.size() - 2];
      if (dims.size() > 2) bias_batch.assign(dims.begin(), dims.end() - 2);
    }
    // Every matrix once for each of its heads.
    if (attrs_.k_groups != 1) k_.batch.back() *= attrs_.k_groups;
    if (attrs_.v_groups != 1) v_.batch.back() *= attrs_.v_groups;
    for (int64_t i = 0; i < ir::element_count(dst_.batch); ++i) {
      heads_.push_back({broadcast_index(i, q_.batch, dst_.batch),
                        broadcast_index(i, k_.batch, dst_.batch) / attrs_.k_groups,
                        broadcast_index(i, v_.batch, dst_.batch) / attrs_.v_groups,
                        broadcast_index(i, mask_batch, dst_.batch) * mask_rows_ * k_.rows,
                        broadcast_index(i, bias_batch, dst_.batch) * bias_rows_ * k_.rows,
                        broadcast_index(i, sink_batch, dst_.batch) * sink_rows_});
    }

    // Distances that are a multiple of 4 KiB would put all rows of a tile into one set of the L1 cache.
    constexpr int64_t kLine = 16;
    score_stride_ = round_up(k_.rows, kLine) + kLine;
    if (score_stride_ % 1024 == 0) score_stride_ += kLine;
    // The scores of a block take half of L1, or the least number of rows that the matrix product likes.
    const int64_t tile_bytes = matmul_.tile_m * score_stride_ * static_cast<int64_t>(sizeof(float));
    const int64_t most = std::max<int64_t>(1, cache_sizes().l1d / 2 / tile_bytes) * matmul_.tile_m;
    blocks_ = ceil_div(q_.rows, most);
    block_rows_ = ceil_div(q_.rows, blocks_);
    k_panels_ = ceil_div(k_.rows, matmul_.panel);
    v_panels_ = ceil_div(v_.columns, matmul_.panel);
    if (q_.rows <= matmul_.small_m && !heads_.empty()) take_heads_together(most);
    name_ = concat("f32_attention", few_ ? "_plain__" : "__", isa_name(context.isa));
  }

  void run(const RunArgs& args) const noexcept override {
    auto* scratch = static_cast<float*>(args.scratch);
    float* packed_k = scratch;
    float* packed_v = packed_k + (few_ ? 0 : k_floats() * matrices(k_));
    float* mask = packed_v + (few_ ? 0 : v_floats() * matrices(v_));
    const float* added_mask = mask_count_ == 0 ? nullptr : static_cast<const float*>(args.inputs[3]);
    if (mask_is_boolean_) {
      widen_mask(args, mask);
      added_mask = mask;
    }
    if (few_) {
      const int64_t parts = parts_of_few(args.arena.threads());
      args.arena.parallel_for_slots(groups() * parts, [&](int64_t task, int64_t slot) {
        const Stretch heads = part_of({0, together_}, task % parts, parts);
        run_few(args, added_mask, task / parts * together_ + heads.begin, heads.end - heads.begin,
                args.slots.of<float>(slot));
      });
      return;
    }

    const auto* k = static_cast<const float*>(args.inputs[1]);
    const auto* v = static_cast<const float*>(args.inputs[2]);
    const int64_t k_tasks = matrices(k_) * k_panels_;
    args.arena.parallel_for(k_tasks + matrices(v_) * v_panels_, [&](int64_t task) {
      if (task < k_tasks) {
        const int64_t matrix = task / k_panels_, panel = task % k_panels_;
        matmul_.pack_b(k + k_.offsets[static_cast<size_t>(matrix)], k_.row_stride, true, k_.columns, k_.rows,
                       packed_k + matrix * k_floats(), panel, panel + 1);
      } else {
        const int64_t matrix = (task - k_tasks) / v_panels_, panel = (task - k_tasks) % v_panels_;
        matmul_.pack_b(v + v_.offsets[static_cast<size_t>(matrix)], v_.row_stride, false, v_.rows, v_.columns,
                       packed_v + matrix * v_floats(), panel, panel + 1);
      }
    });
    const int64_t tasks = static_cast<int64_t>(heads_.size()) * blocks_;
    args.arena.parallel_for_slots(tasks, [&](int64_t task, int64_t slot) {
      run_block(args, packed_k, packed_v, added_mask, task / blocks_, task % blocks_, args.slots.of<float>(slot));
    });
  }

  size_t scratch_bytes(int /*threads*/) const override {
    const int64_t packed = few_ ? 0 : k_floats() * matrices(k_) + v_floats() * matrices(v_);
    const int64_t floats = packed + (mask_is_boolean_ ? mask_count_ : 0);
    return static_cast<size_t>(floats) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override {
    const int64_t floats =
        few_ ? work_floats(ceil_div(together_, parts_of_few(threads)) * q_.rows) + near_floats() + sum_floats(q_.rows)
             : work_floats(block_rows_) + sum_floats(block_rows_);
    return {static_cast<size_t>(floats) * sizeof(float), static_cast<size_t>(threads)};
  }
  std::string kernel_name() const override { return name_; }

 private:
  struct Head {
    int64_t q, k, v;           // matrices of the operands
    int64_t mask, bias, sink;  // first elements
  };

  static int64_t matrices(const Matrices& m) { return static_cast<int64_t>(m.offsets.size()); }
  int64_t k_floats() const { return k_panels_ * matmul_.panel * k_.columns; }
  int64_t v_floats() const { return v_panels_ * matmul_.panel * v_.rows; }
  int64_t work_floats(int64_t rows) const {
    const int64_t product = std::max(matmul_.scratch_floats(rows, q_.columns), matmul_.scratch_floats(rows, k_.rows));
    return rows * score_stride_ + round_up(product, 16);
  }

  /// Of the masks of a head.
  int64_t sum_floats(int64_t rows) const { return attrs_.bias ? rows * k_.rows : 0; }

  int64_t groups() const { return static_cast<int64_t>(heads_.size()) / together_; }
  int64_t near_floats() const { return near_panels_ * matmul_.panel * k_.columns; }
  /// Of each group of heads: enough for all threads, but of no fewer rows than are read for the price of one; and so
  /// many that the scores of one stay near.
  int64_t parts_of_few(int64_t threads) const {
    const int64_t enough = std::min(ceil_div(threads, groups()), ceil_div(together_ * q_.rows, matmul_.small_m));
    return std::min(together_, std::max(least_parts_, enough));
  }

  /// Heads in a row that meet the same keys and values, when their targets are evenly apart, so that they can be taken
  /// for those of one head. Keys that several groups meet are better packed for all of them.
  void take_heads_together(int64_t most_rows) {
    const auto step_to = [&](size_t head) {
      const Head &at = heads_[head], &before = heads_[head - 1];
      return std::array{at.k - before.k, at.v - before.v,
                        q_.offsets[static_cast<size_t>(at.q)] - q_.offsets[static_cast<size_t>(before.q)],
                        dst_.offsets[head] - dst_.offsets[head - 1]};
    };
    q_step_ = q_.row_stride;
    dst_step_ = dst_.row_stride;
    if (heads_.size() > 1) {
      std::array<int64_t, 4> step = {0, 0, q_.rows * q_step_, q_.rows * dst_step_};
      if (q_.rows == 1) std::tie(step[2], step[3]) = std::pair(step_to(1)[2], step_to(1)[3]);
      size_t together = 1;
      while (together < heads_.size() && step_to(together) == step) ++together;
      bool even = heads_.size() % together == 0;
      for (size_t i = 1; i < heads_.size(); ++i) even = even && (i % together == 0 || step_to(i) == step);
      if (even && together > 1) {
        together_ = static_cast<int64_t>(together);
        if (q_.rows == 1) q_step_ = step[2], dst_step_ = step[3];
      }
    }
    few_ = groups() <= matrices(k_) && groups() <= matrices(v_);
    least_parts_ = ceil_div(together_ * q_.rows, most_rows);
    const int64_t panel_bytes = matmul_.panel * k_.columns * static_cast<int64_t>(sizeof(float));
    near_panels_ = std::clamp<int64_t>(cache_sizes().l1d / 2 / panel_bytes, 1, k_panels_);
  }

  void widen_mask(const RunArgs& args, float* mask) const noexcept {
    const auto* allowed = static_cast<const uint8_t*>(args.inputs[3]);
    const auto forbidden = static_cast<float>(attrs_.forbidden);
    constexpr int64_t kUnit = 16384;
    args.arena.parallel_for(ceil_div(mask_count_, kUnit), [&](int64_t unit) {
      const int64_t end = std::min(mask_count_, (unit + 1) * kUnit);
      for (int64_t i = unit * kUnit; i < end; ++i) mask[i] = (allowed[i] != 0) == attrs_.forbids ? forbidden : 0.0f;
    });
  }

  /// So that what the mask adds is all that is left, even of NaN.
  static void forget_forbidden(const ScoreArgs& s) noexcept {
    for (int64_t row = 0; row < s.rows; ++row) {
      float* const scores = s.scores + row * s.stride;
      const float* const mask = s.mask + row * s.mask_stride;
      for (int64_t i = 0; i < s.n; ++i) scores[i] = mask[i] != 0 ? 0 : scores[i];
    }
  }

  /// `sum`: memory for that of two masks.
  void softmax(const RunArgs& args, const float* mask, const Head& at, int64_t first, int64_t rows, float* work,
               float* sum) const noexcept {
    ScoreArgs scores;
    scores.scores = work;
    scores.stride = score_stride_;
    scores.rows = rows;
    scores.n = k_.rows;
    scores.scale = static_cast<float>(attrs_.scale);
    if (mask != nullptr) {
      scores.mask_stride = mask_rows_ == 1 ? 0 : k_.rows;
      scores.mask = mask + at.mask + first * scores.mask_stride;
      if (attrs_.bias) {
        const int64_t bias_stride = bias_rows_ == 1 ? 0 : k_.rows;
        const float* const bias = static_cast<const float*>(args.inputs[4]) + at.bias + first * bias_stride;
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t i = 0; i < k_.rows; ++i)
            sum[row * k_.rows + i] = scores.mask[row * scores.mask_stride + i] + bias[row * bias_stride + i];
        scores.mask = sum;
        scores.mask_stride = k_.rows;
      }
      if (attrs_.selects) forget_forbidden(scores);
    }
    if (attrs_.sink) {
      scores.sink_stride = sink_rows_ == 1 ? 0 : 1;
      scores.sink = static_cast<const float*>(args.inputs[sink_input_]) + at.sink + first * scores.sink_stride;
    }
    if (attrs_.causal) scores.first_visible = first + 1;
    softmax_.scores(scores);
  }

  void run_block(const RunArgs& args, const float* packed_k, const float* packed_v, const float* mask, int64_t head,
                 int64_t block, float* work) const noexcept {
    const Head& at = heads_[static_cast<size_t>(head)];
    const int64_t first = block * block_rows_, rows = std::min(block_rows_, q_.rows - first);
    if (rows <= 0) return;
    GemmArgs product;
    product.scratch = work + block_rows_ * score_stride_;
    product.a =
        static_cast<const float*>(args.inputs[0]) + q_.offsets[static_cast<size_t>(at.q)] + first * q_.row_stride;
    product.lda = q_.row_stride;
    product.b = packed_k + at.k * k_floats();
    product.c = work;
    product.ldc = score_stride_;
    product.n = k_.rows;
    product.k = q_.columns;
    matmul_.gemm(product, 0, rows, 0, k_panels_);

    softmax(args, mask, at, first, rows, work, work + work_floats(block_rows_));
    product.a = work;
    product.lda = score_stride_;
    product.b = packed_v + at.v * v_floats();
    product.c =
        static_cast<float*>(args.outputs[0]) + dst_.offsets[static_cast<size_t>(head)] + first * dst_.row_stride;
    product.ldc = dst_.row_stride;
    product.n = v_.columns;
    product.k = k_.rows;
    matmul_.gemm(product, 0, rows, 0, v_panels_);
  }

  void run_few(const RunArgs& args, const float* mask, int64_t first_head, int64_t heads, float* work) const noexcept {
    const Head& at = heads_[static_cast<size_t>(first_head)];
    const int64_t rows = heads * q_.rows;
    float* const near = work + work_floats(rows);
    const float* const k = static_cast<const float*>(args.inputs[1]) + k_.offsets[static_cast<size_t>(at.k)];
    GemmArgs product;
    product.scratch = work + rows * score_stride_;
    product.a = static_cast<const float*>(args.inputs[0]) + q_.offsets[static_cast<size_t>(at.q)];
    product.lda = q_step_;
    product.b = near;
    product.ldc = score_stride_;
    product.k = q_.columns;
    for (int64_t panel = 0; panel < k_panels_; panel += near_panels_) {
      const int64_t source = panel * matmul_.panel, panels = std::min(near_panels_, k_panels_ - panel);
      product.n = std::min(panels * matmul_.panel, k_.rows - source);
      product.c = work + source;
      matmul_.pack_b(k + source * k_.row_stride, k_.row_stride, true, product.k, product.n, near, 0, panels);
      matmul_.gemm(product, 0, rows, 0, panels);
    }
    for (int64_t i = 0; i < heads; ++i)
      softmax(args, mask, heads_[static_cast<size_t>(first_head + i)], 0, q_.rows, work + i * q_.rows * score_stride_,
              near + near_floats());

    product.a = work;
    product.lda = score_stride_;
    product.b = static_cast<const float*>(args.inputs[2]) + v_.offsets[static_cast<size_t>(at.v)];
    product.ldb = v_.row_stride;
    product.c = static_cast<float*>(args.outputs[0]) + dst_.offsets[static_cast<size_t>(first_head)];
    product.ldc = dst_step_;
    product.n = v_.columns;
    product.k = k_.rows;
    matmul_.gemm(product, 0, rows, 0, v_panels_);
  }

  FusedAttentionAttrs attrs_;
  const MatmulKernels& matmul_;
  const SoftmaxKernels& softmax_;
  std::string name_;
  Matrices q_, k_, v_, dst_;
  std::vector<Head> heads_;
  int64_t mask_count_ = 0, mask_rows_ = 1, bias_rows_ = 1, sink_rows_ = 1;
  size_t sink_input_ = 0;
  bool mask_is_boolean_ = false;
  int64_t score_stride_ = 0, blocks_ = 0, block_rows_ = 0, k_panels_ = 0, v_panels_ = 0;
  bool few_ = false;
  int64_t together_ = 1, least_parts_ = 1;  // heads of a group, and parts of it
  int64_t q_step_ = 0, dst_step_ = 0;       // between the rows of a group
  int64_t near_panels_ = 1;                 // of keys, in L1
};

Proposal propose(const NodeContext& context) {
  for (const TensorDesc& desc : context.inputs)
    if (desc.count() == 0) return Reject{"an operand without elements"};
  const TensorDesc& dst = context.outputs[0];
  LayoutChoice choice;
  for (const TensorDesc& desc : context.inputs) choice.inputs.push_back(desc.layout);
  choice.outputs = {dst.layout};
  const auto& attrs = context.node.attrs<FusedAttentionAttrs>();
  const ir::Dims k = permuted(context.inputs[1].dims, attrs.k_order);
  const auto values = static_cast<double>(dst.count()), sources = static_cast<double>(k[k.size() - 2]);
  choice.cost =
      compute_ns(2.0 * values * sources * (1.0 + static_cast<double>(k.back()) / dst.dims.back()), context.isa);
  return std::vector{choice};
}

constexpr Impl kAttention[] = {
    {"attention", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<AttentionExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> attention_impls() { return kAttention; }

}  // namespace terroir::cpu
