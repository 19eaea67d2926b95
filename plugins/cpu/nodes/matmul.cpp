// MatMul in f32, any rank, with a fused chain at the store.
// Layouts: plain. Constant second inputs are packed once, shared by all plans; others are packed into scratch per run,
// or read where they lie when few rows meet them or their panels stay in L1. Threads: slices of the column panels, of
// the rows or of the batch, whichever there are enough of; every element of the result is one chain of multiply-adds
// over ascending k, so the slicing does not show in the result.
#include <algorithm>
#include <numeric>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

/// One operand: a batch of row-major matrices, perhaps transposed.
struct Operand {
  int64_t rows = 1, columns = 1;  // as multiplied, after transposition
  bool transposed = false;
  ir::Dims batch;
  int64_t leading() const { return transposed ? rows : columns; }  // distance between stored rows
  int64_t elements() const { return rows * columns; }
};

Operand operand_of(const ir::Dims& dims, bool transposed, bool is_left) {
  Operand operand;
  if (dims.size() == 1) {  // a vector: a row on the left, a column on the right; transposing it changes nothing
    (is_left ? operand.columns : operand.rows) = dims[0];
    return operand;
  }
  operand.transposed = transposed;
  operand.rows = dims[dims.size() - (transposed ? 1 : 2)];
  operand.columns = dims[dims.size() - (transposed ? 2 : 1)];
  operand.batch.assign(dims.begin(), dims.end() - 2);
  return operand;
}

struct Problem {
  Operand a, b;
  int64_t batch = 1;
  std::vector<int64_t> a_index, b_index;  // by batch: which matrix of each operand
};

std::vector<int64_t> batch_indices(const ir::Dims& own, const ir::Dims& full) {
  const int64_t count = ir::element_count(full);
  std::vector<int64_t> indices(static_cast<size_t>(count), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, index = 0, stride = 1;
    for (size_t back = 0; back < full.size(); ++back) {
      const size_t axis = full.size() - 1 - back;
      const int64_t at = rest % full[axis];
      rest /= full[axis];
      if (back >= own.size()) continue;
      const int64_t extent = own[own.size() - 1 - back];
      index += extent == 1 ? 0 : at * stride;
      stride *= extent;
    }
    indices[static_cast<size_t>(i)] = index;
  }
  return indices;
}

Problem problem_of(const NodeContext& context) {
  const ir::Attributes& attributes = base_attributes(context.node);
  Problem p;
  p.a = operand_of(context.inputs[0].dims, ir::number_attribute(attributes, "transpose_a") != 0, true);
  p.b = operand_of(context.inputs[1].dims, ir::number_attribute(attributes, "transpose_b") != 0, false);
  ir::Dims full(std::max(p.a.batch.size(), p.b.batch.size()), 1);
  for (const ir::Dims* own : {&p.a.batch, &p.b.batch})
    for (size_t back = 0; back < own->size(); ++back) {
      int64_t& extent = full[full.size() - 1 - back];
      if (const int64_t mine = (*own)[own->size() - 1 - back]; mine != 1) extent = mine;
    }
  p.batch = ir::element_count(full);
  if (ir::element_count(p.b.batch) == 1 && !p.a.transposed) {
    // One B for all: the rows of every matrix of A are rows of one product.
    p.a.rows *= p.batch;
    p.batch = 1;
    p.a_index = p.b_index = {0};
    return p;
  }
  p.a_index = batch_indices(p.a.batch, full);
  p.b_index = batch_indices(p.b.batch, full);
  return p;
}

/// Whether a panel of an unpacked B stays in L1 while all groups of rows of A meet it: its rows are `b.leading()`
/// apart, so some of them share a set. Rows that do not begin with a cache line would be read in halves.
bool panels_stay_near(const Operand& b, int64_t panel) {
  constexpr int64_t kLine = 64 / sizeof(float), kSets = 64;
  if (b.transposed || b.leading() % kLine != 0) return false;
  const int64_t ways = static_cast<int64_t>(cache_sizes().l1d) / (kSets * 64);
  const int64_t apart = std::gcd(b.leading() / kLine, kSets), lines = (panel + kLine - 1) / kLine;
  const int64_t in_a_set = (b.rows * apart + kSets - 1) / kSets * ((lines + apart - 1) / apart);
  return in_a_set <= ways * 3 / 4;
}

bool has_leading_bias(const NodeContext& context) {
  const std::vector<FusedOp>& chain = chain_of(context.node);
  return !chain.empty() && chain[0].kind == PostOpKind::add && chain[0].mode == OperandMode::per_channel;
}

/// Packs piece i of B: a panel of one of its matrices.
struct PackB {
  const MatmulKernels& kernels;
  int64_t elements, leading;  // of a plain matrix
  bool transposed;
  int64_t rows, columns;
  int64_t panels, matrix_floats;  // of a packed one

  void operator()(const float* b, float* packed, int64_t i) const noexcept {
    const int64_t matrix = i / panels, panel = i % panels;
    kernels.pack_b(b + matrix * elements, leading, transposed, rows, columns, packed + matrix * matrix_floats, panel,
                   panel + 1);
  }
};

class MatMulExecutor final : public Executor {
 public:
  explicit MatMulExecutor(const NodeContext& context)
      : kernels_(matmul_kernels(context.isa)),
        isa_(context.isa),
        p_(problem_of(context)),
        panels_((p_.b.columns + kernels_.panel - 1) / kernels_.panel),
        b_matrices_(ir::element_count(p_.b.batch)),
        chain_(context, has_leading_bias(context) ? 1 : 0, kernels_.panel) {
    if (has_leading_bias(context)) {
      const ir::TensorView& view = context.constants[static_cast<size_t>(chain_of(context.node)[0].operand)]->view;
      bias_.assign(view.as<float>(), view.as<float>() + view.count());
    }
    reads_plain_b_ = !context.constants[1] && !p_.b.transposed &&
                     (p_.a.rows <= kernels_.small_m || panels_stay_near(p_.b, kernels_.panel));
    if (context.constants[1]) packed_ = context.weights.get(*context.constants[1], packing());
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    auto* scratch = static_cast<float*>(args.scratch);
    const auto* b = static_cast<const float*>(args.inputs[1]);
    const float* matrices = packed_ ? packed_->as<float>() : reads_plain_b_ ? b : scratch;
    if (packs_per_run()) {
      args.arena.parallel_for(b_matrices_ * panels_, [&, pack = packer()](int64_t i) { pack(b, scratch, i); });
      scratch += packed_floats();
    }
    GemmArgs gemm;
    gemm.lda = p_.a.leading();
    gemm.a_transposed = p_.a.transposed;
    gemm.ldc = gemm.n = p_.b.columns;
    gemm.ldb = reads_plain_b_ ? p_.b.leading() : 0;
    gemm.k = p_.a.columns;
    gemm.bias = bias_.empty() ? nullptr : bias_.data();
    gemm.ops = ops.data();
    gemm.n_ops = static_cast<int64_t>(chain_.size());
    const Slices s = slices(args.arena.threads());
    args.arena.parallel_for(s.count, [&](int64_t slice) {
      GemmArgs mine = gemm;
      mine.scratch = scratch + slice * s.scratch_floats;
      const auto part = [&](int64_t extent, int64_t unit) {
        const int64_t units = (extent + unit - 1) / unit;
        return std::pair{std::min(extent, units * slice / s.count * unit),
                         std::min(extent, units * (slice + 1) / s.count * unit)};
      };
      const auto [batch0, batch1] =
          s.axis == Slices::Axis::batch ? part(p_.batch, 1) : std::pair<int64_t, int64_t>{0, p_.batch};
      const auto [m0, m1] =
          s.axis == Slices::Axis::rows ? part(p_.a.rows, kernels_.tile_m) : std::pair<int64_t, int64_t>{0, p_.a.rows};
      const auto [n0, n1] = s.axis == Slices::Axis::panels ? part(panels_, 1) : std::pair<int64_t, int64_t>{0, panels_};
      for (int64_t i = batch0; i < batch1; ++i) {
        const auto at = static_cast<size_t>(i);
        mine.operand_offset = i * p_.a.rows * p_.b.columns;
        mine.a = static_cast<const float*>(args.inputs[0]) + p_.a_index[at] * p_.a.elements();
        mine.b = matrices + p_.b_index[at] * (reads_plain_b_ ? p_.b.elements() : matrix_floats());
        mine.c = static_cast<float*>(args.outputs[0]) + mine.operand_offset;
        kernels_.gemm(mine, m0, m1, n0, n1);
      }
    });
  }

  size_t scratch_bytes(int threads) const override {
    const Slices s = slices(threads);
    return (static_cast<size_t>(s.count * s.scratch_floats) + (packs_per_run() ? packed_floats() : 0)) * sizeof(float);
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const Slices s = slices(threads);
    if (!packed_ || p_.batch > 1 || slice >= s.count || s.axis != Slices::Axis::panels) return {};
    const int64_t panel = kernels_.panel * p_.b.rows, begin = panels_ * slice / s.count * panel;
    const int64_t end = panels_ * (slice + 1) / s.count * panel;
    const auto bytes = std::as_bytes(std::span(packed_->as<float>() + begin, static_cast<size_t>(end - begin)));
    constexpr int64_t kFewRows = 4;  // the weights of more are read more than once
    const bool all = p_.a.rows <= kFewRows;
    return {all ? bytes : bytes.first(std::min(bytes.size(), kSomeBytesAhead)), all};
  }
  std::string kernel_name() const override {
    return concat("f32_gemm", packed_ ? "_packed" : reads_plain_b_ ? "_plain" : "", "__", isa_name(isa_));
  }

 private:
  struct Slices {
    enum class Axis { batch, panels, rows } axis;
    int64_t count;
    int64_t scratch_floats;
  };

  Slices slices(int64_t threads) const {
    const int64_t row_units = (p_.a.rows + kernels_.tile_m - 1) / kernels_.tile_m;
    Slices s{Slices::Axis::rows, 1, 0};
    // Enough units of one axis that uneven slices cost little; panels before rows, so that weights are read once.
    if (p_.batch >= 4 * threads || (p_.batch >= threads && p_.batch % threads == 0))
      s = {Slices::Axis::batch, threads, 0};
    else if (panels_ >= 4 * threads || panels_ >= row_units)
      s = {Slices::Axis::panels, std::min(threads, panels_), 0};
    else
      s = {Slices::Axis::rows, std::min(threads, row_units), 0};
    s.count = std::max<int64_t>(s.count, 1);
    s.scratch_floats = (kernels_.scratch_floats(p_.a.rows, p_.a.columns) + 15) / 16 * 16;
    return s;
  }

  bool packs_per_run() const { return !packed_ && !reads_plain_b_; }
  int64_t matrix_floats() const { return panels_ * kernels_.panel * p_.b.rows; }
  size_t packed_floats() const { return static_cast<size_t>((b_matrices_ * matrix_floats() + 15) / 16 * 16); }

  Packing packing() const {
    Packing packing;
    packing.key = concat("matmul ", kernels_.panel, ' ', p_.b.rows, 'x', p_.b.columns,
                         p_.b.transposed ? " transposed" : "", " b", b_matrices_);
    packing.bytes = static_cast<size_t>(b_matrices_ * matrix_floats()) * sizeof(float);
    packing.pieces = b_matrices_ * panels_;
    packing.pack = [pack = packer()](const void* b, void* packed, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) pack(static_cast<const float*>(b), static_cast<float*>(packed), i);
    };
    return packing;
  }

  PackB packer() const {
    return {kernels_,  p_.b.elements(), p_.b.leading(), p_.b.transposed,
            p_.b.rows, p_.b.columns,    panels_,        matrix_floats()};
  }

  const MatmulKernels& kernels_;
  Isa isa_;
  Problem p_;
  int64_t panels_, b_matrices_;
  PostOpChain chain_;
  std::vector<float> bias_;
  PackedWeights packed_;
  bool reads_plain_b_ = false;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  if (dst.count() == 0) return Reject{"the result has no elements"};
  const Problem problem = problem_of(context);
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = context.inputs[0].layout;
  if (!context.constants[1]) choice.inputs[1] = context.inputs[1].layout;
  choice.outputs = {dst.layout};
  choice.cost =
      compute_ns(2.0 * static_cast<double>(dst.count()) * static_cast<double>(problem.a.columns), context.isa);
  add_chain_inputs(context, dst.layout, choice);
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<MatMulExecutor>(context);
}

constexpr Impl kMatMul[] = {{"matmul", &propose, &create}};

}  // namespace

std::span<const Impl> matmul_impls() { return kMatMul; }

}  // namespace terroir::cpu
