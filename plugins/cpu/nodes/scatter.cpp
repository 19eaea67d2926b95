// ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate: a copy of data, perhaps in its own memory, into which updates
// are written or combined. Every number type, boolean; without a reduction any element of whole bytes. Layouts: plain.
// Threads: each owns a part of the result and applies the updates that fall into it, in their order: the same bits for
// any number of threads. Where the places of ScatterElementsUpdate differ in an axis before the scattered one, the
// parts are those axes; where they differ in the last one behind it, the parts are its columns, if the kernel walks
// rows (f32, or no reduction); else one thread applies all updates. Where that would wait for memory, and in the other
// ops, every thread looks at all indices.
// Edge cases: an index out of range is an Exception. An axis that only the run knows may leave updates that do not fit:
// those are the reference's.
#include <cstring>
#include <span>

#include "ops/defs/movement/scatter.hpp"
#include "plugins/cpu/kernels/scatter/scatter.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/nodes/late_axis.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

using ops::reference::ScatterReduction;

struct Reduction {
  ScatterReduction kind = ScatterReduction::none;
  bool use_init_val = true;
};

Reduction reduction_of(const ir::Node& node) {
  if (node.schema->type == "ScatterElementsUpdate" && node.schema->opset != "opset3") {
    const auto& attrs = node.attrs<ops::ScatterElementsAttrs>();
    return {attrs.reduction, attrs.use_init_val};
  }
  if (node.schema->type == "ScatterNDUpdate" && node.schema->opset != "opset4")
    return {node.attrs<ops::ScatterNdAttrs>().reduction};
  return {};
}

constexpr int64_t kAtOnce = 256;  // places found before their updates are applied
constexpr int64_t kColumns = 16;  // a thread has this many at least: lines of the cache are its own

/// Elements [begin, end) of the result, which one task owns.
struct Owned {
  int64_t begin, end;
};

/// What the ops have in common: result = data, then the updates by tasks that each own a part.
class ScatterExecutor : public Executor {
 public:
  explicit ScatterExecutor(const NodeContext& context)
      : index_type_(context.inputs[1].type),
        reduction_(reduction_of(context.node)),
        element_bytes_(static_cast<int64_t>(context.outputs[0].type.size())),
        count_(context.outputs[0].count()),
        mean_(scatter_mean_kernel(context.outputs[0].type)) {
    const element::Type type = context.outputs[0].type;
    if (!is_mean()) combine_ = scatter_kernel(type, reduction_.kind);
    if (!is_mean() && !reduction_.use_init_val && reduction_.kind != ScatterReduction::none)
      start_ = scatter_start_kernel(type, reduction_.kind);
  }

  void run(const RunArgs& args) const override {
    const int64_t tasks = task_count(args.arena.threads());
    const bool behind = updates_behind(args);
    args.arena.parallel_for(tasks, [&](int64_t task) {
      const Owned owned = part(task, tasks);
      const int64_t bytes = (owned.end - owned.begin) * element_bytes_, first = owned.begin * element_bytes_;
      if (bytes > 0 && args.inputs[0] != args.outputs[0])
        std::memcpy(static_cast<char*>(args.outputs[0]) + first, static_cast<const char*>(args.inputs[0]) + first,
                    static_cast<size_t>(bytes));
      if (!behind) update(args, owned);
    });
    if (behind) update_all(args);
  }

  size_t scratch_bytes(int) const override {
    return is_mean() ? static_cast<size_t>(count_) * (ScatterMean::kSumBytes + sizeof(int32_t)) : 0;
  }
  std::string kernel_name() const override {
    const auto name = ir::EnumSpellings<ScatterReduction>::names[static_cast<size_t>(reduction_.kind)];
    return "scatter_" + std::string(reduction_.kind == ScatterReduction::none ? "write" : name);
  }

 protected:
  /// Calls kernel(places, count, first update, length) for the updates that fall into the part, in their order.
  using Visit = FunctionRef<void(const int64_t* places, int64_t count, int64_t first, int64_t length)>;
  virtual void for_each_piece(const RunArgs& args, const Owned& owned, Visit visit) const = 0;
  /// Whether the updates needed no list of places and are written now.
  virtual bool write_directly(const RunArgs& /*args*/, const Owned& /*owned*/) const { return false; }
  /// Whether update_all() follows when all of the data is there, instead of update() for each part.
  virtual bool updates_behind(const RunArgs& /*args*/) const { return false; }
  virtual void update_all(const RunArgs& args) const { update(args, {0, count_}); }
  /// The result is `independent_parts()` parts of one size whose updates are known apart, or 1.
  virtual int64_t independent_parts() const { return 1; }

  [[gnu::noinline]] void update(const RunArgs& args, const Owned& owned) const {
    if (write_directly(args, owned)) return;
    if (is_mean()) return update_mean(args, owned);
    if (start_) apply(args, owned, start_);
    apply(args, owned, combine_);
  }

  element::Type index_type_;

 private:
  bool is_mean() const { return reduction_.kind == ScatterReduction::mean; }

  /// The result does not depend on it: each element has one owner.
  int64_t task_count(int threads) const {
    constexpr int64_t kTaskElements = 16384;
    const int64_t wanted = std::max<int64_t>(1, count_ / kTaskElements);
    return independent_parts() > 1 ? std::min(independent_parts(), wanted) : std::min<int64_t>(threads, wanted);
  }
  Owned part(int64_t task, int64_t tasks) const {
    const int64_t parts = independent_parts() > 1 ? independent_parts() : count_;
    const int64_t size = count_ / std::max<int64_t>(parts, 1);
    return {parts * task / tasks * size, parts * (task + 1) / tasks * size};
  }

  void apply(const RunArgs& args, const Owned& owned, ScatterFn kernel) const {
    for_each_piece(args, owned, [&](const int64_t* places, int64_t count, int64_t first, int64_t length) {
      kernel({args.outputs[0], places, count, static_cast<const char*>(args.inputs[2]) + first * element_bytes_, length,
              length});
    });
  }

  void update_mean(const RunArgs& args, const Owned& owned) const {
    auto* sums = static_cast<char*>(args.scratch);
    auto* counts = reinterpret_cast<int32_t*>(sums + count_ * ScatterMean::kSumBytes);
    const int64_t size = owned.end - owned.begin;
    std::fill_n(counts + owned.begin, size, 0);
    for_each_piece(args, owned, [&](const int64_t* places, int64_t count, int64_t first, int64_t length) {
      mean_.add({args.outputs[0], places, count, static_cast<const char*>(args.inputs[2]) + first * element_bytes_,
                 length, length},
                sums, counts, reduction_.use_init_val);
    });
    mean_.finish(static_cast<char*>(args.outputs[0]) + owned.begin * element_bytes_,
                 sums + owned.begin * ScatterMean::kSumBytes, counts + owned.begin, size);
  }

  Reduction reduction_;
  int64_t element_bytes_, count_;
  ScatterFn combine_ = nullptr, start_ = nullptr;
  ScatterMean mean_;
};

/// Pieces that lie across the border of two parts belong to both, each of whom writes its own half.
void visit_piece(int64_t place, int64_t update, int64_t length, const Owned& owned,
                 FunctionRef<void(const int64_t*, int64_t, int64_t, int64_t)> visit) {
  const int64_t begin = std::max(place, owned.begin), end = std::min(place + length, owned.end);
  if (begin < end) visit(&begin, 1, update + begin - place, end - begin);
}

/// output[o, indices[j]] = updates[o, j], whole pieces.
class ScatterUpdateExecutor final : public ScatterExecutor {
 public:
  ScatterUpdateExecutor(const NodeContext& context, size_t axis) : ScatterExecutor(context) {
    const ir::Dims& data = context.inputs[0].dims;
    outer_ = ir::element_count(data, 0, axis);
    extent_ = data[axis];
    length_ = ir::element_count(data, axis + 1, data.size());
    indices_ = context.inputs[1].count();
  }

  static bool fits(const NodeContext& context, size_t axis) {
    const ir::Dims &data = context.inputs[0].dims, &indices = context.inputs[1].dims;
    ir::Dims wanted(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
    wanted.insert(wanted.end(), indices.begin(), indices.end());
    wanted.insert(wanted.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
    return context.inputs[2].dims == wanted;
  }

 private:
  int64_t independent_parts() const override { return outer_; }
  void for_each_piece(const RunArgs& args, const Owned& owned, Visit visit) const override {
    const int64_t slab = extent_ * length_;
    if (slab == 0) return;
    with_indices(index_type_, args.inputs[1], [&](const auto* indices) {
      for (int64_t o = owned.begin / slab; o * slab < owned.end; ++o) {
        for (int64_t j = 0; j < indices_; ++j) {
          const int64_t index = indices[j];
          if (index < 0 || index >= extent_)
            throw_error(ErrorCode::invalid_argument, "index ", index, " is out of range [0, ", extent_ - 1, "]");
          visit_piece(o * slab + index * length_, (o * indices_ + j) * length_, length_, owned, visit);
        }
      }
    });
  }

  int64_t outer_, extent_, length_, indices_;
};

/// output[indices[i]] = updates[i], whole pieces at the coordinates in the last axis of indices.
class ScatterNdExecutor final : public ScatterExecutor {
 public:
  explicit ScatterNdExecutor(const NodeContext& context) : ScatterExecutor(context) {
    const ir::Dims &data = context.inputs[0].dims, &indices = context.inputs[1].dims;
    depth_ = static_cast<size_t>(indices.back());
    for (size_t k = 0; k < depth_; ++k) {
      extents_.push_back(data[k]);
      steps_.push_back(ir::element_count(data, k + 1, data.size()));
    }
    length_ = ir::element_count(data, depth_, data.size());
    pieces_ = ir::element_count(indices, 0, indices.size() - 1);
  }

 private:
  void for_each_piece(const RunArgs& args, const Owned& owned, Visit visit) const override {
    with_indices(index_type_, args.inputs[1], [&](const auto* indices) {
      for (int64_t i = 0; i < pieces_; ++i) {
        int64_t place = 0;
        for (size_t k = 0; k < depth_; ++k)
          place += checked_position(indices[i * static_cast<int64_t>(depth_) + static_cast<int64_t>(k)], extents_[k]) *
                   steps_[k];
        visit_piece(place, i * length_, length_, owned, visit);
      }
    });
  }

  size_t depth_;
  std::vector<int64_t> extents_, steps_;  // of the axes that are indexed
  int64_t length_, pieces_;
};

/// Single elements: along `axis` as indices say, along the others where they are in indices.
class ScatterElementsExecutor final : public ScatterExecutor {
 public:
  ScatterElementsExecutor(const NodeContext& context, size_t axis)
      : ScatterExecutor(context),
        axis_(axis),
        extents_(context.inputs[1].dims),
        updates_(ir::element_count(extents_)),
        element_bytes_(static_cast<int64_t>(context.outputs[0].type.size())),
        index_bytes_(static_cast<int64_t>(index_type_.size())) {
    const ir::Dims& data = context.inputs[0].dims;
    for (size_t i = 0; i < data.size(); ++i) steps_.push_back(ir::element_count(data, i + 1, data.size()));
    extent_ = data[axis];
    parts_ = ir::element_count(data, 0, axis);
    count_ = context.outputs[0].count();
    if (axis + 1 < data.size() && parts_ == 1) columns_ = extents_.back();
    const Reduction reduction = reduction_of(context.node);
    const element::Type type = context.outputs[0].type;
    row_ = scatter_row_kernel(type, index_type_, reduction.kind);
    if (!row_ || reduction.use_init_val || reduction.kind == ScatterReduction::none) return;
    start_row_ = scatter_row_kernel(type, index_type_, ScatterReduction::none);
    constexpr int64_t kFirst = 0;
    scatter_start_kernel(type, reduction.kind)({&neutral_, &kFirst, 1, &neutral_, 0, 1});
  }

  static bool fits(const NodeContext& context, size_t axis) {
    const ir::Dims &data = context.inputs[0].dims, &indices = context.inputs[1].dims;
    for (size_t i = 0; i < data.size(); ++i)
      if (i != axis && indices[i] > data[i]) return false;
    return true;
  }

 private:
  int64_t independent_parts() const override { return parts_; }

  void for_each_piece(const RunArgs& args, const Owned& owned, Visit visit) const override {
    if (updates_ == 0) return;
    with_indices(index_type_, args.inputs[1], [&](const auto* indices) {
      visit_axis(0, 0, 0, owned, [&](int64_t place, int64_t update, int64_t step) {
        visit_row(indices, place, update, step, owned, visit);
      });
    });
  }

  /// Threads that find out for each update whose it is are slower than one for whom they all are, which waits for
  /// memory only where the result is large.
  bool updates_behind(const RunArgs& args) const override {
    constexpr int64_t kLarge = 1 << 20;
    constexpr int kMany = 8;
    return parts_ == 1 && (in_columns(args) || args.arena.threads() < kMany || count_ < kLarge);
  }

  void update_all(const RunArgs& args) const override {
    if (!in_columns(args)) return update(args, {0, count_});
    const int64_t threads = args.arena.threads(), units = ceil_div(columns_, kColumns);
    args.arena.parallel_for(threads, [&](int64_t task) {
      write_rows(args, {0, count_}, units * task / threads * kColumns,
                 std::min(columns_, units * (task + 1) / threads * kColumns));
    });
  }

  bool in_columns(const RunArgs& args) const { return row_ && columns_ >= kColumns * args.arena.threads(); }

  /// Rows whose places nobody else owns.
  bool write_directly(const RunArgs& args, const Owned& owned) const override {
    if (!row_ || (parts_ == 1 && owned.end - owned.begin < count_)) return false;
    write_rows(args, owned, 0, extents_.back());
    return true;
  }

  [[gnu::noinline]] void write_rows(const RunArgs& args, const Owned& owned, int64_t begin, int64_t end) const {
    if (updates_ == 0) return;
    if (start_row_) walk_rows(args, owned, begin, end, {start_row_, &neutral_, 0});
    walk_rows(args, owned, begin, end, {row_, args.inputs[2], 1});
  }

  /// What a walk takes as updates: `step` 0 is one value for all.
  struct Walk {
    ScatterRowFn row;
    const void* updates;
    int64_t step;
  };

  /// Columns [begin, end) of the last axis.
  void walk_rows(const RunArgs& args, const Owned& owned, int64_t begin, int64_t end, const Walk& walk) const {
    visit_axis(0, 0, 0, owned, [&](int64_t place, int64_t update, int64_t step) {
      const auto* indices = static_cast<const char*>(args.inputs[1]) + (update + begin) * index_bytes_;
      const int64_t count = end - begin;
      const int64_t done =
          walk.row({static_cast<char*>(args.outputs[0]) + (place + begin * step) * element_bytes_,
                    static_cast<const char*>(walk.updates) + (update + begin) * walk.step * element_bytes_, indices,
                    count, extent_, steps_[axis_], step, walk.step});
      if (done == count) return;
      with_indices(index_type_, indices, [&](const auto* row) { throw_out_of_range(row[done], extent_); });
    });
  }

  /// row(place, update, step) for the last axes behind the element `place` of the result and `update` of the updates.
  using Row = FunctionRef<void(int64_t place, int64_t update, int64_t step)>;
  [[gnu::noinline]] void visit_axis(size_t axis, int64_t place, int64_t update, const Owned& owned, Row row) const {
    const bool scattered = axis == axis_;
    const int64_t step = scattered ? 0 : steps_[axis];
    if (axis + 1 == extents_.size()) return row(place, update, step);
    const int64_t count = ir::element_count(extents_, axis + 1, extents_.size());
    for (int64_t i = 0; i < extents_[axis]; ++i) {
      const int64_t next = place + i * step;
      // Axes before the scattered one tell whose part this is.
      if (axis < axis_ && (next >= owned.end || next + step <= owned.begin)) continue;
      visit_axis(axis + 1, next, update + i * count, owned, row);
    }
  }

  template <class Index>
  void visit_row(const Index* indices, int64_t place, int64_t update, int64_t step, const Owned& owned,
                 Visit visit) const {
    const int64_t stride = steps_[axis_];
    int64_t places[kAtOnce];
    for (int64_t first = 0; first < extents_.back(); first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, extents_.back() - first);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = place + (first + i) * step + checked_position(indices[update + first + i], extent_) * stride;
        places[i] = at >= owned.begin && at < owned.end ? at : kNowhere;
      }
      visit(places, count, update + first, 1);
    }
  }

  size_t axis_;
  ir::Dims extents_;  // of indices
  int64_t updates_, element_bytes_, index_bytes_;
  std::vector<int64_t> steps_;
  int64_t extent_, parts_, count_;
  int64_t columns_ = 0;                               // of the last axis, where they alone are parts
  ScatterRowFn row_ = nullptr, start_row_ = nullptr;  // start_row_: where what data has does not count
  alignas(8) char neutral_[8] = {};                   // what such places begin with
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &data = context.inputs[0], &indices = context.inputs[1];
  if (!is_bytewise(data)) return not_bytewise();
  if (!is_index_type(indices.type)) return no_index_type();
  const Reduction reduction = reduction_of(context.node);
  const bool known = reduction.kind == ScatterReduction::mean ? scatter_mean_kernel(data.type).add != nullptr
                                                              : scatter_kernel(data.type, reduction.kind) != nullptr;
  if (!known) return Reject{"no such reduction of " + data.type.get_type_name()};
  // Counts of updates have 32 bits, and what was there before counts as well.
  if (reduction.kind == ScatterReduction::mean && indices.count() >= INT32_MAX)
    return Reject{"means of more updates than 31 bits count"};
  const bool late_axis = context.inputs.size() > 3 && !context.constants[3];
  if (late_axis && !is_index_type(context.inputs[3].type)) return no_index_type();
  LayoutChoice choice;
  choice.inputs = {data.layout, indices.layout, context.inputs[2].layout};
  if (context.inputs.size() > 3) choice.inputs.emplace_back();
  if (late_axis) choice.inputs[3] = context.inputs[3].layout;
  choice.outputs = {context.outputs[0].layout};
  if (!late_axis) choice.in_place = {0};
  choice.cost = copy_ns(data);
  return std::vector{choice};
}

template <class Executor_>
std::unique_ptr<const Executor> create_along_axis(const NodeContext& context, const LayoutChoice&) {
  const auto along = [&](size_t axis) -> std::unique_ptr<const Executor> {
    if (Executor_::fits(context, axis)) return std::make_unique<Executor_>(context, axis);
    return reference_executor(context);
  };
  if (const auto axis = known_axis(context, 3)) return along(*axis);
  std::vector<std::unique_ptr<const Executor>> by_axis;
  for (size_t axis = 0; axis < context.inputs[0].dims.size(); ++axis) by_axis.push_back(along(axis));
  return late_axis(std::move(by_axis), 3, context.inputs[3].type);
}

constexpr Impl kScatterUpdate[] = {{"scatter_update", &propose, &create_along_axis<ScatterUpdateExecutor>}};
constexpr Impl kScatterElements[] = {{"scatter_elements", &propose, &create_along_axis<ScatterElementsExecutor>}};
constexpr Impl kScatterNd[] = {
    {"scatter_nd", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<ScatterNdExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> scatter_update_impls() { return kScatterUpdate; }
std::span<const Impl> scatter_elements_impls() { return kScatterElements; }
std::span<const Impl> scatter_nd_impls() { return kScatterNd; }

}  // namespace terroir::cpu
