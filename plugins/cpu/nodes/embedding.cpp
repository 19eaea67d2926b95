// EmbeddingBagOffsets(Sum), EmbeddingBagPacked(Sum) and EmbeddingSegmentsSum of f32 tables.
// Layouts: plain. Threads: slices of the bags, and of the columns where bags are few and long.
// Edge cases: empty bags take the default row, or zeros. Rows out of range, offsets and segments that do not ascend are
// Exceptions as in the reference; the checks run before anything is written.
#include <algorithm>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/sparse/embedding.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/embedding/embedding.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

enum class BagForm { offsets, packed, segments };

BagForm form_of(const ir::Node& node) {
  if (node.is("EmbeddingSegmentsSum")) return BagForm::segments;
  return node.schema->type.starts_with("EmbeddingBagPacked") ? BagForm::packed : BagForm::offsets;
}

/// Inputs that may be missing: -1.
struct BagPorts {
  int begins = -1;  // offsets or segment_ids
  int default_row = -1, weights = -1;
};

BagPorts ports_of(const NodeContext& context) {
  const auto count = static_cast<int>(context.inputs.size());
  const auto given = [count](int port) { return port < count ? port : -1; };
  switch (form_of(context.node)) {
    case BagForm::offsets:
      return {2, given(3), given(4)};
    case BagForm::packed:
      return {-1, -1, given(2)};
    default:
      return {2, given(4), given(5)};
  }
}

bool means(const ir::Node& node) {
  return node.schema->opset == "opset15" &&
         node.attrs<ops::EmbeddingBagAttrs>().reduction == ops::reference::BagReduction::mean;
}

int64_t integer_at(element::Type type, const void* values, int64_t i) {
  return type == element::i64 ? static_cast<const int64_t*>(values)[i] : static_cast<const int32_t*>(values)[i];
}

class EmbeddingExecutor final : public Executor {
 public:
  explicit EmbeddingExecutor(const NodeContext& context)
      : kernels_(embedding_kernels(context.isa)),
        isa_(context.isa),
        form_(form_of(context.node)),
        ports_(ports_of(context)),
        table_rows_(context.inputs[0].dims[0]),
        length_(context.inputs[0].count() / table_rows_),
        bags_(context.outputs[0].dims[0]),
        entries_(context.inputs[1].count()),
        mean_(means(context.node)) {
    for (const TensorDesc& desc : context.inputs) types_.push_back(desc.type);
  }

  void run(const RunArgs& args) const override {
    auto* begins = static_cast<int64_t*>(args.scratch);
    find_bags(args, begins);
    with_indices(types_[1], args.inputs[1], [this](const auto* rows) {
      for (int64_t i = 0; i < entries_; ++i) check_row(rows[i]);
    });
    const int64_t default_row = ports_.default_row < 0 ? -1 : integer(args, ports_.default_row, 0);
    if (default_row != -1) check_row(default_row);

    // A bag that is work enough for several threads is cut into columns; short ones go together.
    constexpr int64_t kTaskElements = 16384, kColumns = 64;
    const int64_t per_bag = std::max<int64_t>(1, entries_ / bags_) * length_;
    const int64_t bags_per_task = std::max<int64_t>(1, kTaskElements / per_bag);
    const int64_t bag_tasks = ceil_div(bags_, bags_per_task);
    const int64_t ranges = per_bag < 4 * kTaskElements ? 1 : ceil_div(length_, kColumns);
    args.arena.parallel_for(bag_tasks * ranges, [&](int64_t task) {
      const int64_t begin = task % ranges * kColumns, end = ranges == 1 ? length_ : std::min(length_, begin + kColumns);
      const int64_t first = task / ranges * bags_per_task;
      for (int64_t bag = first; bag < std::min(bags_, first + bags_per_task); ++bag)
        run_bag(args, bag, begins[bag], begins[bag + 1], default_row, begin, end);
    });
  }

  size_t scratch_bytes(int) const override { return static_cast<size_t>(bags_ + 1) * sizeof(int64_t); }
  std::string kernel_name() const override { return std::string("f32_embedding_bag__") + isa_name(isa_); }

 private:
  int64_t integer(const RunArgs& args, int port, int64_t i) const {
    const auto at = static_cast<size_t>(port);
    return integer_at(types_[at], args.inputs[at], i);
  }

  void check_row(int64_t row) const {
    if (row < 0 || row >= table_rows_)
      throw_error(ErrorCode::invalid_argument, "index ", row, " is out of range [0, ", table_rows_ - 1, "]");
  }

  /// Bag i has the entries begins[i] to begins[i + 1].
  void find_bags(const RunArgs& args, int64_t* begins) const {
    begins[bags_] = entries_;
    if (form_ == BagForm::packed) {
      for (int64_t bag = 0; bag < bags_; ++bag) begins[bag] = entries_ / bags_ * bag;
      return;
    }
    if (form_ == BagForm::offsets) {
      for (int64_t bag = 0; bag < bags_; ++bag) begins[bag] = integer(args, ports_.begins, bag);
      for (int64_t bag = 0; bag < bags_; ++bag)
        if (begins[bag] < 0 || begins[bag] > begins[bag + 1])
          throw_error(ErrorCode::invalid_argument, "offsets must ascend from 0 to ", entries_, ", got ", begins[bag],
                      " before ", begins[bag + 1]);
      return;
    }
    int64_t next = 0;
    for (int64_t segment = 0; segment < bags_; ++segment) {
      begins[segment] = next;
      while (next < entries_ && integer(args, ports_.begins, next) == segment) ++next;
    }
    if (next != entries_)
      throw_error(ErrorCode::invalid_argument, "segment_ids must ascend inside of [0, ", bags_ - 1, "], got ",
                  integer(args, ports_.begins, next), " at position ", next);
  }

  void run_bag(const RunArgs& args, int64_t bag, int64_t first, int64_t last, int64_t default_row, int64_t begin,
               int64_t end) const noexcept {
    const auto* table = static_cast<const float*>(args.inputs[0]);
    float* dst = static_cast<float*>(args.outputs[0]) + bag * length_;
    if (first == last && default_row != -1) {
      std::copy(table + default_row * length_ + begin, table + default_row * length_ + end, dst + begin);
      return;
    }
    BagArgs bag_args;
    bag_args.table = table;
    bag_args.length = length_;
    bag_args.rows_are_i64 = types_[1] == element::i64;
    bag_args.rows = static_cast<const char*>(args.inputs[1]) + static_cast<size_t>(first) * types_[1].size();
    bag_args.entries = last - first;
    bag_args.known = entries_ - first;
    if (ports_.weights >= 0)
      bag_args.weights = static_cast<const float*>(args.inputs[static_cast<size_t>(ports_.weights)]) + first;
    bag_args.mean = mean_ && first != last;
    bag_args.dst = dst;
    kernels_.bag(bag_args, begin, end);
  }

  const EmbeddingKernels& kernels_;
  Isa isa_;
  BagForm form_;
  BagPorts ports_;
  int64_t table_rows_, length_, bags_, entries_;
  bool mean_;
  std::vector<element::Type> types_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& table = context.inputs[0];
  if (table.type != element::f32) return Reject{"only f32 is vectorised, not " + table.type.get_type_name()};
  if (table.count() == 0 || context.outputs[0].count() == 0) return Reject{"a table or a result without elements"};
  if (form_of(context.node) == BagForm::segments && !context.constants[3])
    return Reject{"num_segments is known at run time only"};
  const BagPorts ports = ports_of(context);
  for (const int port : {1, ports.begins, ports.default_row}) {
    if (port < 0) continue;
    const element::Type type = context.inputs[static_cast<size_t>(port)].type;
    if (type != element::i64 && type != element::i32) return Reject{"indices that are neither i32 nor i64"};
  }
  LayoutChoice choice;
  for (const TensorDesc& desc : context.inputs) choice.inputs.push_back(desc.layout);
  if (form_of(context.node) == BagForm::segments) choice.inputs[3].reset();
  choice.outputs = {context.outputs[0].layout};
  const auto length = static_cast<double>(table.count() / table.dims[0]);
  choice.cost = stream_ns(static_cast<double>(context.outputs[0].bytes()) +
                          static_cast<double>(context.inputs[1].count()) * length * sizeof(float));
  return std::vector{choice};
}

constexpr Impl kEmbedding[] = {
    {"embedding", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<EmbeddingExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> embedding_impls() { return kEmbedding; }

}  // namespace terroir::cpu
