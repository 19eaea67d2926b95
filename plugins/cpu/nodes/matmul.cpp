// MatMul in f32, any rank, with a fused chain at the store.
// Layouts: plain. Constant second inputs are packed once, shared by all plans, those of CompressedMatMul as numbers of
// 8 or 4 bits that are widened panel by panel when they are met; others are packed into scratch per run, each by whom
// it meets where that is one task, or read where they lie when few rows meet them or their panels stay in L1. Threads:
// parts of the column panels, of the rows or of the batch, whichever there are enough of, cut into slices; every
// element of the result is one chain of multiply-adds over ascending k, so the cuts do not show in the result.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/matmul/matmul.hpp"
#include "plugins/cpu/kernels/matmul/matmul_blocking.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"
#include "plugins/cpu/nodes/matmul.hpp"
#include "plugins/cpu/nodes/narrow_weights.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/slices.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kLine = 64 / sizeof(float);

int64_t whole_lines(int64_t floats) { return ceil_div(floats, kLine) * kLine; }

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
  const ir::Dims b = is_compressed(context.node) ? compressed_matrix(context).matrix_dims() : context.inputs[1].dims;
  p.b = operand_of(b, ir::number_attribute(attributes, "transpose_b") != 0, false);
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

/// Whether a panel of an unpacked B stays in L1 while all groups of rows of A meet it: where its rows are whole cache
/// lines apart, some of them share a set.
bool panels_stay_near(const Operand& b, int64_t panel) {
  constexpr int64_t kSets = 64;
  if (b.transposed) return false;
  const int64_t ways = static_cast<int64_t>(cache_sizes().l1d) / (kSets * 64);
  const bool aligned = b.leading() % kLine == 0;
  const int64_t apart = aligned ? std::gcd(b.leading() / kLine, kSets) : 1;
  const int64_t lines = ceil_div(panel, kLine) + (aligned ? 0 : 1);
  return ceil_div(b.rows * apart, kSets) * ceil_div(lines, apart) <= ways * 3 / 4;
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

  /// Where piece i begins, in floats of B.
  int64_t first(int64_t i) const noexcept {
    return i / panels * elements + i % panels * kernels.panel * (transposed ? leading : 1);
  }

  /// `from`: B from first(i) on.
  void operator()(const float* from, float* packed, int64_t i) const noexcept {
    const int64_t column = i % panels * kernels.panel;
    kernels.pack_b(from, leading, transposed, rows, std::min(kernels.panel, columns - column),
                   packed + i / panels * matrix_floats + column * rows, 0, 1);
  }
};

/// The same of a constant that is not transposed, whose panels have a part of every row: a piece is some rows of one
/// matrix, for all panels, so that it can be read by itself.
struct PackRowsOfB {
  explicit PackRowsOfB(const PackB& packer) : b(packer) {
    constexpr int64_t kPieceFloats = int64_t{64} << 10;
    rows_each = std::clamp<int64_t>(kPieceFloats / b.columns, 1, b.rows);
    of_matrix = ceil_div(b.rows, rows_each);
  }

  int64_t first_row(int64_t i) const noexcept {
    return i / of_matrix * b.rows + std::min(i % of_matrix * rows_each, b.rows);
  }

  /// `from`: B from first_row(i) on.
  void operator()(const float* from, float* packed, int64_t i) const noexcept {
    const int64_t row = i % of_matrix * rows_each, rows = std::min(rows_each, b.rows - row);
    float* const matrix = packed + i / of_matrix * b.matrix_floats;
    for (int64_t column = 0; column < b.columns; column += b.kernels.panel)
      b.kernels.pack_b(from + column, b.leading, false, rows, std::min(b.kernels.panel, b.columns - column),
                       matrix + column * b.rows + row * b.kernels.panel, 0, 1);
  }

  PackB b;
  int64_t rows_each, of_matrix;  // pieces of one matrix
};

class MatMulExecutor final : public Executor {
 public:
  explicit MatMulExecutor(const NodeContext& context)
      : kernels_(matmul_kernels(context.isa)),
        isa_(context.isa),
        p_(problem_of(context)),
        panels_(ceil_div(p_.b.columns, kernels_.panel)),
        b_matrices_(ir::element_count(p_.b.batch)),
        chain_(context, has_leading_bias(context) ? 1 : 0, kernels_.panel) {
    if (has_leading_bias(context)) {
      const ir::TensorView& view = context.constants[static_cast<size_t>(chain_of(context.node)[0].operand)]->view;
      bias_.assign(view.as<float>(), view.as<float>() + view.count());
    }
    reads_plain_b_ = !context.constants[1] && !p_.b.transposed &&
                     (p_.a.rows <= kernels_.small_m || panels_stay_near(p_.b, kernels_.panel));
    if (is_compressed(context.node))
      narrow_.emplace(context, kernels_.panel);
    else if (context.constants[1])
      packed_ = context.weights.get(*context.constants[1], packing());
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    auto* scratch = static_cast<float*>(args.scratch);
    const auto* b = static_cast<const float*>(args.inputs[1]);
    const float* matrices = packed_ ? packed_->as<float>() : reads_plain_b_ ? b : scratch;
    const Split split = split_for(args.arena.threads());
    const PackB pack = packer();
    if (packs_per_run() && !split.packs_own_b)
      args.arena.parallel_for(b_matrices_ * panels_, [&](int64_t i) { pack(b + pack.first(i), scratch, i); });
    GemmArgs gemm;
    gemm.ldc = gemm.n = p_.b.columns;
    gemm.bias = bias_.empty() ? nullptr : bias_.data();
    gemm.ops = ops.data();
    gemm.n_ops = static_cast<int64_t>(chain_.size());
    set_operands(gemm);
    const NarrowB narrow = narrow_ ? narrow_->packed() : NarrowB();
    if (narrow_) gemm.narrow = &narrow;
    if (split.copy_floats != 0)
      for (int64_t slot = 0; slot < split.slots; ++slot) args.slots.of<float>(slot)[split.scratch_floats] = 0;
    args.arena.parallel_for_slots(split.parts * split.slices, [&](int64_t slice, int64_t slot) {
      const Box part = part_at(split, slice / split.slices);
      const Box box = slice_at(split, part, slice % split.slices);
      GemmArgs mine = gemm;
      mine.scratch = args.slots.of<float>(slot);
      float* const copy = mine.scratch + split.scratch_floats;
      float* const own_b = copy + split.copy_floats;
      mine.panels_ahead = part[kPanels].end;
      const auto [m0, m1] = box[kRows];
      for (int64_t i = box[kBatch].begin; i < box[kBatch].end; ++i) {
        const auto at = static_cast<size_t>(i);
        mine.operand_offset = i * p_.a.rows * p_.b.columns;
        mine.a = static_cast<const float*>(args.inputs[0]) + p_.a_index[at] * p_.a.elements();
        if (narrow_) {
          mine.b = nullptr;
        } else if (split.packs_own_b) {
          for (int64_t panel = 0; panel < panels_; ++panel)
            pack(b + p_.b_index[at] * p_.b.elements() + pack.first(panel), own_b, panel);
          mine.b = own_b;
        } else {
          mine.b = matrices + p_.b_index[at] * (reads_plain_b_ ? p_.b.elements() : matrix_floats());
        }
        mine.c = static_cast<float*>(args.outputs[0]) + mine.operand_offset;
        if (split.copy_floats != 0) {
          if (std::exchange(*copy, 1.0f) == 0) kernels_.pack_a(mine, m0, m1, copy + kLine);
          mine.packed_a = copy + kLine;
        }
        kernels_.gemm(mine, m0, m1, box[kPanels].begin, box[kPanels].end);
      }
    });
  }

  size_t scratch_bytes(int threads) const override {
    return packs_per_run() && !split_for(threads).packs_own_b ? packed_floats() * sizeof(float) : 0;
  }
  SlotNeed slot_need(int threads) const override {
    const Split split = split_for(threads);
    const int64_t floats = split.scratch_floats + split.copy_floats + (split.packs_own_b ? own_b_floats() : 0);
    return {static_cast<size_t>(floats) * sizeof(float), static_cast<size_t>(split.slots)};
  }
  FirstConstants first_constants(int threads, int64_t slice) const noexcept override {
    const Split split = split_for(threads);
    if (!(packed_ || narrow_) || p_.batch > 1 || slice >= split.parts || split.axis != kPanels) return {};
    const int64_t panel = kernels_.panel * p_.b.rows;
    const auto [begin, end] = part_at(split, slice)[kPanels];
    const auto bytes = narrow_ ? narrow_->numbers(begin, end)
                               : std::as_bytes(std::span(packed_->as<float>() + begin * panel,
                                                         static_cast<size_t>((end - begin) * panel)));
    constexpr int64_t kFewRows = 4;  // the weights of more are read more than once
    const bool all = p_.a.rows <= kFewRows;
    return {all ? bytes : bytes.first(std::min(bytes.size(), kSomeBytesAhead)), all};
  }
  std::string kernel_name() const override {
    if (narrow_) return concat("f32_gemm_", narrow_->type_name(), "__", isa_name(isa_));
    return concat("f32_gemm", packed_ ? "_packed" : reads_plain_b_ ? "_plain" : "", "__", isa_name(isa_));
  }

 private:
  enum Axis : size_t { kBatch, kRows, kPanels };
  using Box = std::array<Stretch, 3>;

  /// Of the whole: at most one part per thread, along one axis; of each part: slices along the same axis or another
  /// one.
  struct Split {
    Axis axis;
    int64_t unit, parts;
    Axis cut = axis;
    int64_t cut_unit = unit, slices = 1;
    int64_t slots = 1;           // tasks that run at once, each with memory of its own:
    int64_t scratch_floats = 0;  // of a kernel's call
    int64_t copy_floats = 0;     // a flag on a line of its own and the copy of A that its slices share, or 0
    bool packs_own_b = false;    // each matrix of B is met once, and packed by the task that meets it
  };

  Split split_for(int64_t threads) const {
    const int64_t row_units = ceil_div(p_.a.rows, kernels_.tile_m);
    // Enough units of one axis that uneven parts cost little; panels before rows, so that weights are read once.
    Split s{kRows, kernels_.tile_m, std::min(threads, row_units)};
    if (p_.batch >= 4 * threads || (p_.batch >= threads && p_.batch % threads == 0)) {
      s.axis = kBatch, s.unit = 1, s.parts = threads;
    } else if (panels_ >= 4 * threads || panels_ >= row_units) {
      s.axis = kPanels, s.unit = 1, s.parts = std::min(threads, panels_);
    }
    if (cycles() < kCyclesToShare) s.parts = 1;
    s.parts = std::max<int64_t>(s.parts, 1);
    choose_slices(s, threads);
    s.slots = std::min(threads, s.parts * s.slices);
    s.scratch_floats = whole_lines(kernels_.scratch_floats(p_.a.rows, p_.a.columns));
    s.packs_own_b = packs_per_run() && b_matrices_ == p_.batch && (s.axis == kBatch || s.parts == 1);
    return s;
  }

  void choose_slices(Split& s, int64_t threads) const {
    constexpr int64_t kRowTiles = 4;      // meet the same panels, so that fetching those costs little
    constexpr int64_t kRowPanels = 4;     // a single row meets at once
    constexpr int64_t kPanelsOfFarA = 4;  // meet a copy of A that does not stay in L2 beside them
    if (s.parts == 1) return;
    GemmArgs gemm;
    set_operands(gemm);
    const Box part = part_at(s, 0);
    const int64_t panels = part[kPanels].end, shared = kernels_.packed_a_floats(gemm, p_.a.rows, panels);
    const bool far = shared * static_cast<int64_t>(sizeof(float)) > cache_sizes().l2 / 2;
    if (p_.batch > 1) {
      s.cut = kBatch, s.cut_unit = 1;
    } else if (s.axis == kPanels && (shared != 0 || p_.a.rows <= kernels_.small_m)) {
      s.cut = kPanels, s.cut_unit = p_.a.rows == 1 ? kRowPanels : far ? kPanelsOfFarA : 1;
    } else {
      // No more often than a run over the part would: panels that do not stay near are read again by every slice.
      const bool near = part[kPanels].end * kernels_.panel * p_.b.rows * 4 <= cache_sizes().l2 / 2;
      s.cut = kRows, s.cut_unit = near ? kRowTiles * kernels_.tile_m : block_rows();
    }
    const int64_t units = ceil_div(part[s.cut].end, s.cut_unit);
    s.slices = std::min(units, slices_for(threads, cycles() / static_cast<double>(s.parts)));
    if (s.cut == kPanels && s.slices > 1 && shared != 0) s.copy_floats = kLine + whole_lines(shared);
  }

  int64_t block_rows() const { return gemm_blocking(p_.a.rows, p_.a.columns, kernels_.panel, kernels_.tile_m).rows; }

  /// Of one thread for all of it, roughly: multiply-adds, or reading B where few rows meet it.
  double cycles() const {
    constexpr double kBytesPerCycle = 4;
    const double b = static_cast<double>(matrix_floats()) * static_cast<double>(p_.batch);
    return std::max(b * static_cast<double>(p_.a.rows) / static_cast<double>(kernels_.panel),
                    b * sizeof(float) / kBytesPerCycle);
  }

  Box part_at(const Split& s, int64_t part) const {
    Box box{{{0, p_.batch}, {0, p_.a.rows}, {0, panels_}}};
    box[s.axis] = part_of(box[s.axis], part, s.parts, s.unit);
    return box;
  }
  static Box slice_at(const Split& s, Box part, int64_t slice) {
    part[s.cut] = part_of(part[s.cut], slice, s.slices, s.cut_unit);
    return part;
  }

  void set_operands(GemmArgs& gemm) const {
    gemm.lda = p_.a.leading();
    gemm.a_transposed = p_.a.transposed;
    gemm.ldb = reads_plain_b_ ? p_.b.leading() : 0;
    gemm.k = p_.a.columns;
    gemm.narrow = narrow_ ? &narrow_->shape() : nullptr;
  }

  bool packs_per_run() const { return !packed_ && !narrow_ && !reads_plain_b_; }
  int64_t matrix_floats() const { return panels_ * kernels_.panel * p_.b.rows; }
  int64_t own_b_floats() const { return whole_lines(matrix_floats()); }
  size_t packed_floats() const { return static_cast<size_t>(whole_lines(b_matrices_ * matrix_floats())); }

  Packing packing() const {
    Packing packing;
    packing.key = concat("matmul ", kernels_.panel, ' ', p_.b.rows, 'x', p_.b.columns,
                         p_.b.transposed ? " transposed" : "", " b", b_matrices_);
    packing.bytes = static_cast<size_t>(b_matrices_ * matrix_floats()) * sizeof(float);
    if (p_.b.elements() == 0) {
      packing.pieces = 0;
      return packing;
    }
    packing.row_bytes = static_cast<size_t>(p_.b.leading()) * sizeof(float);
    if (p_.b.transposed) {
      packing.pieces = b_matrices_ * panels_;
      packing.first_row = [pack = packer()](int64_t piece) { return pack.first(piece) / pack.leading; };
      packing.pack = [pack = packer()](const void* b, void* packed, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          pack(static_cast<const float*>(b) + (pack.first(i) - pack.first(begin)), static_cast<float*>(packed), i);
      };
    } else {
      const PackRowsOfB pack(packer());
      packing.pieces = b_matrices_ * pack.of_matrix;
      packing.first_row = [pack](int64_t piece) { return pack.first_row(piece); };
      packing.pack = [pack](const void* b, void* packed, int64_t begin, int64_t end) {
        const int64_t columns = pack.b.columns;
        for (int64_t i = begin; i < end; ++i)
          pack(static_cast<const float*>(b) + (pack.first_row(i) - pack.first_row(begin)) * columns,
               static_cast<float*>(packed), i);
      };
    }
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
  std::optional<NarrowWeights> narrow_;  // in the place of `packed_`
  bool reads_plain_b_ = false;
};

}  // namespace

Proposal propose_matmul(const NodeContext& context) {
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

namespace {

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<MatMulExecutor>(context);
}

constexpr Impl kMatMul[] = {{"matmul", &propose_matmul, &create}};

}  // namespace

std::span<const Impl> matmul_impls() { return kMatMul; }

}  // namespace terroir::cpu
