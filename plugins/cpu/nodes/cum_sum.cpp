// CumSum of numbers along any axis, which may be known at run time only.
// Layouts: plain. Threads: slices of the rows, or of the columns; the order of every sum is the axis's.
#include <algorithm>
#include <span>

#include "ops/shape/inputs.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/scan/scan.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

class CumSumExecutor final : public Executor {
 public:
  explicit CumSumExecutor(const NodeContext& context)
      : kernels_(scan_kernels(number_type(context.inputs[0].type), context.isa)),
        width_(context.inputs[0].type.size()),
        name_(context.inputs[0].type.get_type_name() + "_cum_sum__" + isa_name(context.isa)),
        dims_(context.inputs[0].dims) {
    if (context.inputs.size() < 2) {
      axis_ = 0;
    } else if (context.constants[1]) {
      axis_ = static_cast<int64_t>(*known_axis(context, 1));
    } else {
      axis_type_ = context.inputs[1].type;
    }
    scan_.exclusive = ir::number_attribute(*context.node.attributes, "exclusive") != 0;
    scan_.reverse = ir::number_attribute(*context.node.attributes, "reverse") != 0;
  }

  void run(const RunArgs& args) const override {
    constexpr int64_t kTaskElements = 16384;
    const auto axis = static_cast<size_t>(axis_ ? *axis_ : axis_of(args));
    const int64_t outer = ir::element_count(dims_, 0, axis), inner = ir::element_count(dims_, axis + 1, dims_.size());
    const auto at = [&](int64_t element) {
      ScanArgs scan = scan_;
      scan.axis = dims_[axis];
      scan.src = static_cast<const char*>(args.inputs[0]) + static_cast<size_t>(element) * width_;
      scan.dst = static_cast<char*>(args.outputs[0]) + static_cast<size_t>(element) * width_;
      return scan;
    };
    if (inner == 1) {
      const int64_t rows = std::max<int64_t>(4, kTaskElements / std::max<int64_t>(1, dims_[axis]) / 4 * 4);
      args.arena.parallel_for(ceil_div(outer, rows), [&](int64_t task) {
        kernels_.rows(at(task * rows * dims_[axis]), std::min(rows, outer - task * rows));
      });
      return;
    }
    // As wide as the threads allow: long rows are what the processor fetches ahead.
    constexpr int64_t kLeast = 64;
    const int64_t each = (inner * outer + args.arena.threads() - 1) / args.arena.threads();
    const int64_t columns = std::clamp(round_up(each, kLeast), kLeast, kScanColumns);
    const int64_t slices = ceil_div(inner, columns);
    args.arena.parallel_for(outer * slices, [&](int64_t task) {
      const int64_t begin = task % slices * columns;
      kernels_.columns(at(task / slices * dims_[axis] * inner + begin), inner, std::min(columns, inner - begin));
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  int64_t axis_of(const RunArgs& args) const {
    int64_t axis = 0;
    with_indices(axis_type_, args.inputs[1],
                 [&](const auto* value) { axis = ops::normalize_axis(*value, static_cast<int64_t>(dims_.size())); });
    return axis;
  }

  ScanKernels kernels_;
  size_t width_;
  std::string name_;
  ir::Dims dims_;
  std::optional<int64_t> axis_;  // from the front; none: known at run time
  element::Type axis_type_;
  ScanArgs scan_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (!scan_kernels(number_type(src.type), context.isa).rows)
    return Reject{"no kernel for " + src.type.get_type_name()};
  const bool late_axis = context.inputs.size() > 1 && !context.constants[1];
  if (late_axis && !is_index_type(context.inputs[1].type)) return no_index_type();
  if (src.rank() == 0) return Reject{"a scalar"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = src.layout;
  if (late_axis) choice.inputs[1] = context.inputs[1].layout;
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kCumSum[] = {
    {"cum_sum", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<CumSumExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> cum_sum_impls() { return kCumSum; }

}  // namespace terroir::cpu
