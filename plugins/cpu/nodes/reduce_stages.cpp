// Reductions of several separate runs of axes, and of other types than f32: one run after the other, the last first, so
// that what is left shrinks early. f32 takes the kernels of reduce.cpp; every other type folds tiles with the loops of
// elementwise ops, means of integers in 64 bits.
// Layouts: plain. Threads: slices of the result of every stage; how a sum is folded depends on extents alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "ops/reference/type/convert.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/convert/convert.hpp"
#include "plugins/cpu/kernels/fold/fold.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

/// [outer][axis][inner] -> [outer][inner].
struct Stage {
  int64_t outer = 1, axis = 1, inner = 1;
  int64_t result() const { return outer * inner; }
};

/// Stages of the reduction, and how many elements make one of the result; empty when the axes come at run time.
std::optional<std::vector<Stage>> stages_of(const NodeContext& context) {
  if (!context.constants[1]) return std::nullopt;
  ir::Dims dims = context.inputs[0].dims;
  std::vector<bool> reduced(dims.size(), false);
  for (int64_t axis : ir::to_integers(context.constants[1]->view))
    reduced[static_cast<size_t>(axis < 0 ? axis + context.inputs[0].rank() : axis)] = true;
  std::vector<Stage> stages;
  for (size_t end = dims.size(); end > 0;) {
    if (!reduced[end - 1]) {
      --end;
      continue;
    }
    size_t begin = end;
    while (begin > 0 && reduced[begin - 1]) --begin;
    Stage stage;
    for (size_t i = 0; i < dims.size(); ++i) (i < begin ? stage.outer : i < end ? stage.axis : stage.inner) *= dims[i];
    std::fill(dims.begin() + static_cast<std::ptrdiff_t>(begin), dims.begin() + static_cast<std::ptrdiff_t>(end), 1);
    stages.push_back(stage);
    end = begin;
  }
  if (stages.empty()) stages.push_back({context.inputs[0].count(), 1, 1});
  return stages;
}

/// The stages of one node on the memory of a run.
class StagedExecutor : public Executor {
 public:
  StagedExecutor(const NodeContext& context, size_t width)
      : stages_(*stages_of(context)),
        width_(width),
        name_(context.inputs[0].type.get_type_name() + "_" + context.node.schema->type + "_stages__" +
              isa_name(context.isa)) {
    for (const Stage& stage : stages_) count_ *= stage.axis;
  }

  void run(const RunArgs& args) const noexcept override {
    const void* src = args.inputs[0];
    auto* scratch = static_cast<char*>(args.scratch);
    for (size_t s = 0; s < stages_.size(); ++s) {
      void* dst = s + 1 == stages_.size() ? args.outputs[0] : scratch;
      run_stage(s, src, dst, args.arena);
      src = dst;
      scratch += bytes_of(stages_[s]);
    }
  }
  size_t scratch_bytes(int /*threads*/) const override {
    size_t bytes = 0;
    for (size_t s = 0; s + 1 < stages_.size(); ++s) bytes += bytes_of(stages_[s]);
    return bytes;
  }
  std::string kernel_name() const override { return name_; }

 protected:
  virtual void run_stage(size_t s, const void* src, void* dst, const parallel::Arena& arena) const noexcept = 0;

  std::vector<Stage> stages_;
  int64_t count_ = 1;  // elements of the input per element of the result

 private:
  size_t bytes_of(const Stage& stage) const { return (static_cast<size_t>(stage.result()) * width_ + 63) / 64 * 64; }

  size_t width_;
  std::string name_;
};

// ---- f32

struct FloatRow {
  std::string_view type;
  ReduceKind first, others;
};
constexpr FloatRow kFloatRows[] = {
    {"ReduceL1", ReduceKind::l1, ReduceKind::sum},   {"ReduceL2", ReduceKind::sum_square, ReduceKind::sum},
    {"ReduceMax", ReduceKind::max, ReduceKind::max}, {"ReduceMean", ReduceKind::sum, ReduceKind::sum},
    {"ReduceMin", ReduceKind::min, ReduceKind::min}, {"ReduceProd", ReduceKind::prod, ReduceKind::prod},
    {"ReduceSum", ReduceKind::sum, ReduceKind::sum}};

class FloatExecutor final : public StagedExecutor {
 public:
  explicit FloatExecutor(const NodeContext& context)
      : StagedExecutor(context, sizeof(float)),
        row_(*std::find_if(std::begin(kFloatRows), std::end(kFloatRows),
                           [&](const FloatRow& row) { return row.type == context.node.schema->type; })),
        kernels_(reduce_kernels(context.isa)),
        finish_(post_op_kernels(context.isa).run) {
    if (row_.type == "ReduceMean") last_ = {.kind = PostOpKind::div, .alpha = static_cast<float>(count_)};
    if (row_.type == "ReduceL2") last_ = {.kind = PostOpKind::sqrt};
    finished_ = row_.type == "ReduceMean" || row_.type == "ReduceL2";
  }

 private:
  void run_stage(size_t s, const void* src, void* dst, const parallel::Arena& arena) const noexcept override {
    constexpr int64_t kTaskElements = 16384, kColumns = 64;
    const Stage& stage = stages_[s];
    const ReduceKind kind = s == 0 ? row_.first : row_.others;
    const auto* from = static_cast<const float*>(src);
    auto* to = static_cast<float*>(dst);
    const bool last = finished_ && s + 1 == stages_.size();
    const auto finish = [&](float* y, int64_t n) {
      if (last) finish_({y, y, 1, n, n, n, 0, n, 0, ChannelAxis::lanes}, &last_, 1);
    };
    if (stage.inner == 1) {
      const int64_t rows = std::max<int64_t>(1, kTaskElements / stage.axis);
      arena.parallel_for(ceil_div(stage.outer, rows), [&](int64_t task) {
        const int64_t begin = task * rows, n = std::min(rows, stage.outer - begin);
        kernels_.rows(kind, from + begin * stage.axis, to + begin, n, stage.axis);
        finish(to + begin, n);
      });
      return;
    }
    const int64_t slices = ceil_div(stage.inner, kColumns);
    arena.parallel_for(stage.outer * slices, [&](int64_t task) {
      const int64_t image = task / slices, begin = task % slices * kColumns;
      const int64_t end = std::min(stage.inner, begin + kColumns);
      float* out = to + image * stage.inner;
      kernels_.middle(kind, from + image * stage.axis * stage.inner, out, 1, stage.axis, stage.inner, begin, end);
      finish(out + begin, end - begin);
    });
  }

  FloatRow row_;
  const ReduceKernels& kernels_;
  decltype(PostOpKernels::run) finish_;
  PostOp last_;
  bool finished_ = false;
};

// ---- other types

/// What a reduction of one type is made of.
struct Fold {
  TileFn prepare = nullptr;  // of every element of the input; null: none
  TileFn square = nullptr;   // and then
  TileFn combine = nullptr;
  TileFn divide = nullptr;  // means: the last values by their count
  TileFn root = nullptr;    // of the last values
  TileFn narrow = nullptr;  // and back to the type of the result
  // Of whole rows, where there is a loop: of prepared elements, squared by itself, and of work values.
  RowFold first_row = nullptr, other_rows = nullptr;
  element::Type work;  // type of the accumulator
  double neutral = 0;
  bool (*row)(const char* row, int64_t n) = nullptr;  // of booleans: a whole row at once
};

// The C library searches and compares by vectors, and stops at the first byte that decides.
bool has_no_zero(const char* row, int64_t n) { return std::memchr(row, 0, static_cast<size_t>(n)) == nullptr; }
bool has_other_than_zero(const char* row, int64_t n) {
  return row[0] != 0 || std::memcmp(row, row + 1, static_cast<size_t>(n) - 1) != 0;
}

std::variant<Fold, Reject> fold_of(const NodeContext& context) {
  const element::Type type = context.inputs[0].type;
  const std::string& op = context.node.schema->type;
  const NumberType number = number_type(type);
  const Isa isa = context.isa;
  Fold fold;
  fold.work = type;
  const auto combine = [&](TileOp what) { fold.combine = typed_loop(what, number_type(fold.work), isa); };
  const auto combine_by_sum = [&](RowFoldKind first) {
    combine(TileOp::add);
    fold.first_row = row_fold(first, number_type(fold.work), isa);
    fold.other_rows = row_fold(RowFoldKind::sum, number_type(fold.work), isa);
  };
  if (op == "ReduceSum" || op == "ReduceL1") {
    combine_by_sum(RowFoldKind::sum);
    if (op == "ReduceL1" && type.is_signed()) fold.prepare = typed_loop(TileOp::abs, number, isa);
  } else if (op == "ReduceMean") {
    if (type.is_integral()) fold.work = type.is_signed() ? element::i64 : element::u64;
    combine_by_sum(RowFoldKind::sum);
    if (fold.work != type) {
      fold.prepare = conversion_loop(number, number_type(fold.work), isa);
      fold.narrow = conversion_loop(number_type(fold.work), number, isa);
    }
    fold.divide = typed_loop(TileOp::div, number_type(fold.work), isa);
  } else if (op == "ReduceL2") {
    fold.work = element::f64;
    combine_by_sum(RowFoldKind::squares);
    fold.square = typed_loop(TileOp::mul, NumberType::f64, isa);
    fold.root = typed_loop(TileOp::sqrt, NumberType::f64, isa);
    if (type != fold.work) {
      fold.prepare = conversion_loop(number, NumberType::f64, isa);
      fold.narrow = conversion_loop(NumberType::f64, number, isa);
    }
  } else if (op == "ReduceProd") {
    combine(TileOp::mul);
    fold.neutral = 1;
  } else if (op == "ReduceMax" || op == "ReduceMin") {
    combine(op == "ReduceMax" ? TileOp::max : TileOp::min);
    fold.neutral = op == "ReduceMax" ? -HUGE_VAL : HUGE_VAL;
  } else if (op == "ReduceLogicalAnd" || op == "ReduceLogicalOr") {
    const bool all = op == "ReduceLogicalAnd";
    combine(all ? TileOp::logical_and : TileOp::logical_or);
    fold.neutral = all ? 1 : 0;
    fold.row = all ? &has_no_zero : &has_other_than_zero;
  }
  if (number == NumberType::none || number >= NumberType::f16 || !fold.combine)
    return Reject{"no loop for " + op + " of " + type.get_type_name()};
  return fold;
}

constexpr int64_t kTile = 512;  // elements

class FoldExecutor final : public StagedExecutor {
 public:
  FoldExecutor(const NodeContext& context, const Fold& fold)
      : StagedExecutor(context, fold.work.size()),
        fold_(fold),
        element_(context.inputs[0].type.size()),
        work_(fold.work.size()) {
    const auto to_work = [&](double value, std::array<char, 8>& bytes) {
      ops::reference::convert({element::f64, {}, &value}, {fold_.work, {}, bytes.data()});
    };
    to_work(fold_.neutral, neutral_);
    if (fold_.divide) to_work(static_cast<double>(count_), divisor_);
  }

 private:
  struct Frame {
    alignas(64) char sums[(kTile + kTileUnit) * 8];
    alignas(64) char raw[kTile * 8];
    alignas(64) char ready[kTile * 8];
    alignas(64) char results[kTile * 8];  // of rows
  };

  void run_stage(size_t s, const void* src, void* dst, const parallel::Arena& arena) const noexcept override {
    const Stage& stage = stages_[s];
    const bool first = s == 0, last = s + 1 == stages_.size();
    const size_t in = first ? element_ : work_, out = last ? element_ : work_;
    const auto* from = static_cast<const char*>(src);
    auto* to = static_cast<char*>(dst);
    if (stage.inner == 1 && stage.axis >= kTileUnit) {
      constexpr int64_t kTaskElements = 16384;
      const int64_t rows = std::max<int64_t>(1, kTaskElements / stage.axis);
      static_assert(kTaskElements / kTileUnit <= kTile);  // the results of a task are finished together
      arena.parallel_for(ceil_div(stage.outer, rows), [&](int64_t task) {
        Frame frame;
        const int64_t begin = task * rows, n = std::min(rows, stage.outer - begin);
        for (int64_t r = 0; r < n; ++r) {
          const char* row = from + static_cast<size_t>((begin + r) * stage.axis) * in;
          if (fold_.row)
            to[begin + r] = fold_.row(row, stage.axis) ? 1 : 0;
          else
            fold_row(frame, row, stage.axis, first, frame.results + static_cast<size_t>(r) * work_);
        }
        if (!fold_.row) finish(frame, frame.results, n, last, to + static_cast<size_t>(begin) * out);
      });
      return;
    }
    // Short rows are columns a row apart.
    const bool rows = stage.inner == 1;
    const int64_t images = rows ? 1 : stage.outer, columns = rows ? stage.outer : stage.inner;
    const int64_t apart = rows ? stage.axis : 1, step = rows ? 1 : stage.inner;
    const int64_t slices = ceil_div(columns, kTile);
    arena.parallel_for(images * slices, [&](int64_t task) {
      Frame frame;
      const int64_t image = task / slices, begin = task % slices * kTile, n = std::min(kTile, columns - begin);
      fill_elements(neutral_.data(), work_, kTile, frame.sums);
      for (int64_t k = 0; k < stage.axis; ++k) {
        const int64_t at = image * stage.axis * stage.inner + k * step + begin * apart;
        combine(frame, load(frame, from + static_cast<size_t>(at) * in, apart, n, first), padded(n));
      }
      finish(frame, frame.sums, n, last, to + static_cast<size_t>(image * columns + begin) * out);
    });
  }

  static int64_t padded(int64_t n) { return round_up(n, kTileUnit); }

  void combine(Frame& frame, const void* values, int64_t n) const noexcept {
    const void* operands[] = {frame.sums, values};
    fold_.combine(operands, frame.sums, n);
  }

  /// `n` elements, `apart` from each other, as work values; behind them up to a whole unit lies anything.
  const void* load(Frame& frame, const char* src, int64_t apart, int64_t n, bool first) const noexcept {
    const void* values = load_prepared(frame, src, apart, n, first);
    if (!first || !fold_.square) return values;
    const void* operands[] = {values, values};
    fold_.square(operands, frame.ready, padded(n));
    return frame.ready;
  }
  const void* load_prepared(Frame& frame, const char* src, int64_t apart, int64_t n, bool first) const noexcept {
    const size_t width = first ? element_ : work_;
    const void* values = src;
    if (apart != 1 || n % kTileUnit != 0) {
      std::memset(frame.raw + static_cast<size_t>(n) * width, 0, static_cast<size_t>(padded(n) - n) * width);
      if (apart == 1)
        std::memcpy(frame.raw, src, static_cast<size_t>(n) * width);
      else
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(frame.raw + static_cast<size_t>(i) * width, src + static_cast<size_t>(i * apart) * width, width);
      values = frame.raw;
    }
    if (!first || !fold_.prepare) return values;
    fold_.prepare(&values, frame.ready, padded(n));
    return frame.ready;
  }

  void fold_row(Frame& frame, const char* src, int64_t axis, bool first, char* result) const noexcept {
    if (const RowFold fold = first ? fold_.first_row : fold_.other_rows) {
      std::memset(result, 0, work_);
      if (!first || !fold_.prepare) return fold(src, axis, result);
      for (int64_t at = 0; at < axis; at += kTile) {
        const int64_t n = std::min(kTile, axis - at);
        fold(load_prepared(frame, src + static_cast<size_t>(at) * element_, 1, n, true), n, result);
      }
      return;
    }
    fold_row_in_tiles(frame, src, axis, first);
    std::memcpy(result, frame.sums, work_);
  }

  /// Lanes of whole units first, then one half of them with the other: the row's value in element 0.
  void fold_row_in_tiles(Frame& frame, const char* src, int64_t axis, bool first) const noexcept {
    const size_t width = first ? element_ : work_;
    int64_t lanes = std::min(kTile, axis / kTileUnit * kTileUnit);
    fill_elements(neutral_.data(), work_, lanes, frame.sums);
    int64_t at = 0;
    for (; at + lanes <= axis; at += lanes)
      combine(frame, load(frame, src + static_cast<size_t>(at) * width, 1, lanes, first), lanes);
    if (const int64_t units = (axis - at) / kTileUnit * kTileUnit; units > 0) {
      combine(frame, load(frame, src + static_cast<size_t>(at) * width, 1, units, first), units);
      at += units;
    }
    if (at < axis) {
      const void* rest = load(frame, src + static_cast<size_t>(at) * width, 1, axis - at, first);
      fold_part(frame, static_cast<const char*>(rest), axis - at);
    }
    while (lanes > kTileUnit) {
      const int64_t kept = (lanes / kTileUnit + 1) / 2 * kTileUnit;
      combine(frame, frame.sums + static_cast<size_t>(kept) * work_, lanes - kept);
      lanes = kept;
    }
    // Loops go through whole units upwards, so a half is read before it is written; what is behind it does not matter.
    for (int64_t half = kTileUnit / 2; half > 0; half /= 2)
      combine(frame, frame.sums + static_cast<size_t>(half) * work_, kTileUnit);
  }

  void fold_part(Frame& frame, const char* values, int64_t n) const noexcept {
    alignas(64) char part[kTile * 8];
    fill_elements(neutral_.data(), work_, padded(n), part);
    std::memcpy(part, values, static_cast<size_t>(n) * work_);
    combine(frame, part, padded(n));
  }

  /// `results`: room for whole units; what it has is lost.
  void finish(Frame& frame, char* results, int64_t n, bool last, char* dst) const noexcept {
    const void* values = results;
    if (last && fold_.divide) {
      fill_elements(divisor_.data(), work_, padded(n), frame.raw);
      const void* operands[] = {results, frame.raw};
      fold_.divide(operands, results, padded(n));
    }
    if (last && fold_.root) fold_.root(&values, results, padded(n));
    if (last && fold_.narrow) {
      fold_.narrow(&values, frame.ready, padded(n));
      values = frame.ready;
    }
    std::memcpy(dst, values, static_cast<size_t>(n) * (last ? element_ : work_));
  }

  Fold fold_;
  size_t element_, work_;
  std::array<char, 8> neutral_{}, divisor_{};
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (!stages_of(context)) return Reject{"the axes are known at run time only"};
  if (src.count() == 0) return Reject{"the input has no elements"};
  if (src.type != element::f32) {
    const auto fold = fold_of(context);
    if (const auto* reject = std::get_if<Reject>(&fold)) return *reject;
  }
  LayoutChoice choice;
  choice.inputs = {src.layout, std::nullopt};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = 2 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kReduceStages[] = {
    {"reduce_stages", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       if (context.inputs[0].type == element::f32) return std::make_unique<FloatExecutor>(context);
       return std::make_unique<FoldExecutor>(context, std::get<Fold>(fold_of(context)));
     }}};

}  // namespace

std::span<const Impl> reduce_stage_impls() { return kReduceStages; }

}  // namespace terroir::cpu
