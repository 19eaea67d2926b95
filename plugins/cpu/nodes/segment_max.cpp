// SegmentMax of f32 whose number of segments is known: the rows of a segment are reduced as those of a ReduceMax.
// Layouts: plain. Threads: segments, and stripes of the columns.
#include <algorithm>
#include <limits>
#include <span>

#include "ops/reference/reduction/segment_max.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reduce/reduce.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class SegmentMaxExecutor final : public Executor {
 public:
  explicit SegmentMaxExecutor(const NodeContext& context)
      : kernels_(reduce_kernels(context.isa)),
        ids_type_(context.inputs[1].type),
        rows_(context.inputs[0].dims[0]),
        segments_(context.outputs[0].dims[0]),
        columns_(context.outputs[0].count() / segments_),
        empty_(ir::number_attribute(*context.node.attributes, "fill_mode") == 0 ? 0.0f
                                                                                : std::numeric_limits<float>::lowest()),
        name_(std::string("f32_segment_max__") + isa_name(context.isa)) {}

  void run(const RunArgs& args) const override {
    with_indices(ids_type_, args.inputs[1],
                 [&](const auto* ids) { reduce(args, std::span(ids, static_cast<size_t>(rows_))); });
  }
  std::string kernel_name() const override { return name_; }

 private:
  template <class Index>
  void reduce(const RunArgs& args, std::span<const Index> ids) const {
    ops::reference::check_segment_ids(ids, segments_);
    constexpr int64_t kStripe = 4096, kTaskElements = 16384, kMostTasks = 256;
    const int64_t stripes = ceil_div(columns_, kStripe);
    const int64_t groups = std::clamp<int64_t>((rows_ + segments_) * columns_ / stripes / kTaskElements, 1,
                                               std::min(segments_, kMostTasks));
    args.arena.parallel_for(groups * stripes, [&](int64_t task) {
      const int64_t group = task / stripes, begin = task % stripes * kStripe;
      reduce_group(args, ids, segments_ * group / groups, segments_ * (group + 1) / groups, begin,
                   std::min(columns_, begin + kStripe));
    });
  }
  template <class Index>
  void reduce_group(const RunArgs& args, std::span<const Index> ids, int64_t first, int64_t last, int64_t begin,
                    int64_t end) const {
    ops::reference::for_each_segment(ids, first, last, [&](int64_t segment, int64_t row, int64_t rows) {
      auto* const dst = static_cast<float*>(args.outputs[0]) + segment * columns_;
      const auto* const src = static_cast<const float*>(args.inputs[0]) + row * columns_;
      if (rows == 0)
        std::fill(dst + begin, dst + end, empty_);
      else if (columns_ == 1)
        kernels_.rows(ReduceKind::max, src, dst, 1, rows);
      else
        kernels_.middle(ReduceKind::max, src, dst, 1, rows, columns_, begin, end);
    });
  }

  const ReduceKernels& kernels_;
  element::Type ids_type_;
  int64_t rows_, segments_, columns_;
  float empty_;
  std::string name_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"no kernel for " + src.type.get_type_name()};
  if (!is_index_type(context.inputs[1].type)) return no_index_type();
  if (context.outputs[0].count() == 0) return Reject{"nothing to write"};
  LayoutChoice choice;
  choice.inputs = {src.layout, context.inputs[1].layout};
  choice.inputs.resize(context.inputs.size());  // the number of segments is that of the result
  choice.outputs = {context.outputs[0].layout};
  choice.cost = stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kSegmentMax[] = {
    {"segment_max", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<SegmentMaxExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> segment_max_impls() { return kSegmentMax; }

}  // namespace terroir::cpu
