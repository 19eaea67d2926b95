// AdaptiveAvgPool and AdaptiveMaxPool in f32, 1-D to 3-D.
// Layouts: plain. Threads: channels, and rows of the output within them.
#include <algorithm>
#include <span>

#include "ir/base/machine_memory.hpp"
#include "ops/shape/adaptive_cells.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/pool/pool.hpp"
#include "plugins/cpu/nodes/pool_places.hpp"

namespace terroir::cpu {
namespace {

class AdaptivePoolExecutor final : public Executor {
 public:
  explicit AdaptivePoolExecutor(const NodeContext& context)
      : kernels_(pool_kernels(context.isa)),
        is_max_(context.node.is("AdaptiveMaxPool")),
        name_(std::string(is_max_ ? "f32_adaptive_max_pool__" : "f32_adaptive_avg_pool__") + isa_name(context.isa)) {
    const ir::Dims &src = context.inputs[0].dims, &dst = context.outputs[0].dims;
    channels_ = dst[0] * dst[1];
    for (size_t axis = 2; axis < src.size(); ++axis) {
      const size_t i = axis + 3 - src.size();
      pool_.in[i] = src[axis];
      pool_.out[i] = dst[axis];
    }
    for (size_t i = 0; i < 3; ++i) {
      const ops::AdaptiveCells cells{pool_.in[i], pool_.out[i]};
      ir::require_table_fits(context.node.describe(), "the table of an axis' cells", cells.output, 2 * sizeof(int64_t));
      for (int64_t o = 0; o < cells.output; ++o) cells_[i].insert(cells_[i].end(), {cells.begin(o), cells.end(o)});
      pool_.cells[i] = cells_[i].data();
    }
    if (is_max_) indices_ = PlaceIndices{context.outputs[1].type == element::i64, 0, 0};
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskElements = 16384;
    const int64_t rows = pool_.out[0] * pool_.out[1], plane = pool_.in[0] * pool_.in[1] * pool_.in[2];
    const int64_t units = channels_ * rows, per_row = std::max<int64_t>(1, plane / std::max<int64_t>(1, rows));
    const int64_t tasks =
        std::min<int64_t>(slices(args.arena.threads()), std::max<int64_t>(1, units * per_row / kTaskElements));
    args.arena.parallel_for(tasks, [&](int64_t task) {
      AdaptiveArgs pool = pool_;
      char* scratch = static_cast<char*>(args.scratch) + static_cast<size_t>(task) * slice_bytes();
      pool.columns = reinterpret_cast<float*>(scratch);
      pool.column_rows = reinterpret_cast<int32_t*>(scratch + slice_bytes() / 2);
      for (int64_t unit = task * units / tasks; unit < (task + 1) * units / tasks;) {
        const int64_t channel = unit / rows, row = unit % rows;
        const int64_t end = std::min(rows, row + (task + 1) * units / tasks - unit);
        const int64_t first = channel * rows * pool_.out[2];
        pool.src = static_cast<const float*>(args.inputs[0]) + channel * plane;
        pool.dst = static_cast<float*>(args.outputs[0]) + first;
        if (is_max_) {
          int32_t* places = indices_.room(args.outputs[1], first + row * pool_.out[2], (end - row) * pool_.out[2]);
          pool.places = places - row * pool_.out[2];
          kernels_.adaptive_max(pool, row, end);
          indices_.finish(args.outputs[1], first + row * pool_.out[2], (end - row) * pool_.out[2], 0);
        } else {
          kernels_.adaptive_average(pool, row, end);
        }
        unit += end - row;
      }
    });
  }
  size_t scratch_bytes(int threads) const override { return slice_bytes() * static_cast<size_t>(slices(threads)); }
  size_t table_bytes() const override {
    return (cells_[0].size() + cells_[1].size() + cells_[2].size()) * sizeof(int64_t);
  }
  std::string kernel_name() const override { return name_; }

 private:
  static int64_t slices(int threads) { return 4 * static_cast<int64_t>(threads); }
  size_t slice_bytes() const { return 2 * ((static_cast<size_t>(pool_.in[2]) * sizeof(float) + 63) / 64 * 64); }

  const PoolKernels& kernels_;
  bool is_max_;
  std::string name_;
  AdaptiveArgs pool_;
  std::array<std::vector<int64_t>, 3> cells_;
  PlaceIndices indices_;
  int64_t channels_ = 0;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  if (dst.count() == 0 || src.count() / (src.dims[0] * src.dims[1]) > INT32_MAX) return Reject{"an unusual size"};
  LayoutChoice choice;
  choice.inputs = {src.layout, std::nullopt};
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(output.layout);
  choice.cost = 3 * stream_ns(static_cast<double>(src.bytes() + dst.bytes()));
  return std::vector{choice};
}

constexpr Impl kAdaptivePool[] = {
    {"adaptive_pool", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<AdaptivePoolExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> adaptive_pool_impls() { return kAdaptivePool; }

}  // namespace terroir::cpu
