// CumSum of numbers along an axis known when compiling.
// Layouts: plain. Threads: slices of the rows, or of the columns; the order of every sum is the axis's.
#include <algorithm>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/scan/scan.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

class CumSumExecutor final : public Executor {
 public:
  CumSumExecutor(const NodeContext& context, int64_t axis)
      : kernels_(scan_kernels(number_type(context.inputs[0].type), context.isa)),
        width_(context.inputs[0].type.size()),
        name_(context.inputs[0].type.get_type_name() + "_cum_sum__" + isa_name(context.isa)) {
    for (int64_t i = 0; i < context.inputs[0].rank(); ++i)
      (i < axis ? outer_ : i == axis ? scan_.axis : inner_) *= context.inputs[0].dims[static_cast<size_t>(i)];
    scan_.exclusive = ir::number_attribute(*context.node.attributes, "exclusive") != 0;
    scan_.reverse = ir::number_attribute(*context.node.attributes, "reverse") != 0;
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 16384;
    const auto at = [&](int64_t element) {
      ScanArgs scan = scan_;
      scan.src = static_cast<const char*>(args.inputs[0]) + static_cast<size_t>(element) * width_;
      scan.dst = static_cast<char*>(args.outputs[0]) + static_cast<size_t>(element) * width_;
      return scan;
    };
    if (inner_ == 1) {
      const int64_t rows = std::max<int64_t>(4, kTaskElements / std::max<int64_t>(1, scan_.axis) / 4 * 4);
      args.arena.parallel_for((outer_ + rows - 1) / rows, [&](int64_t task) {
        kernels_.rows(at(task * rows * scan_.axis), std::min(rows, outer_ - task * rows));
      });
      return;
    }
    // As wide as the threads allow: long rows are what the processor fetches ahead.
    constexpr int64_t kLeast = 64;
    const int64_t each = (inner_ * outer_ + args.arena.threads() - 1) / args.arena.threads();
    const int64_t columns = std::clamp((each + kLeast - 1) / kLeast * kLeast, kLeast, kScanColumns);
    const int64_t slices = (inner_ + columns - 1) / columns;
    args.arena.parallel_for(outer_ * slices, [&](int64_t task) {
      const int64_t begin = task % slices * columns;
      kernels_.columns(at(task / slices * scan_.axis * inner_ + begin), inner_, std::min(columns, inner_ - begin));
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  ScanKernels kernels_;
  size_t width_;
  std::string name_;
  ScanArgs scan_;
  int64_t outer_ = 1, inner_ = 1;
};

std::optional<int64_t> axis_of(const NodeContext& context) {
  if (context.inputs.size() < 2) return 0;
  if (!context.constants[1]) return std::nullopt;
  const int64_t axis = ir::to_integers(context.constants[1]->view).front();
  return axis < 0 ? axis + context.inputs[0].rank() : axis;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (!scan_kernels(number_type(src.type), context.isa).rows)
    return Reject{"no kernel for " + src.type.get_type_name()};
  if (!axis_of(context)) return Reject{"the axis is known at run time only"};
  if (src.rank() == 0) return Reject{"a scalar"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = src.layout;
  choice.outputs = {context.outputs[0].layout};
  choice.in_place = {0};
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes()));
  return std::vector{choice};
}

constexpr Impl kCumSum[] = {
    {"cum_sum", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<CumSumExecutor>(context, *axis_of(context));
     }}};

}  // namespace

std::span<const Impl> cum_sum_impls() { return kCumSum; }

}  // namespace terroir::cpu
