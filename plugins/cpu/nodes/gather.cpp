// Gather along one axis with batch_dims 0: rows of bytes picked by index, any element type of whole bytes.
// Layouts: plain. Threads: slices of the rows. Edge cases: an index out of range is an Exception that names it, as in
// the reference; the check runs before any row is copied.
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kTaskBytes = 32768;

class GatherExecutor final : public Executor {
 public:
  GatherExecutor(const NodeContext& context, size_t axis) : index_type_(context.inputs[1].type) {
    const TensorDesc& data = context.inputs[0];
    for (size_t i = 0; i < axis; ++i) outer_ *= data.dims[i];
    extent_ = data.dims[axis];
    row_bytes_ = data.type.size();
    for (size_t i = axis + 1; i < data.dims.size(); ++i) row_bytes_ *= static_cast<size_t>(data.dims[i]);
    indices_ = context.inputs[1].count();
  }

  void run(const RunArgs& args) const override {
    for (int64_t i = 0; i < indices_; ++i) {
      const int64_t index = index_at(args.inputs[1], i);
      if (index >= extent_ || index < -extent_)
        throw_error(ErrorCode::invalid_argument, "index ", index, " at position ", i,
                    " is outside of the axis of extent ", extent_);
    }
    const int64_t rows = outer_ * indices_;
    const int64_t rows_per_task = std::max<int64_t>(1, kTaskBytes / static_cast<int64_t>(row_bytes_ + 1));
    args.arena.parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](int64_t task) {
      const int64_t end = std::min(rows, (task + 1) * rows_per_task);
      for (int64_t row = task * rows_per_task; row < end; ++row) {
        int64_t index = index_at(args.inputs[1], row % indices_);
        if (index < 0) index += extent_;
        const auto from = static_cast<size_t>(row / indices_ * extent_ + index) * row_bytes_;
        if (row_bytes_ > 0)
          std::memcpy(static_cast<char*>(args.outputs[0]) + static_cast<size_t>(row) * row_bytes_,
                      static_cast<const char*>(args.inputs[0]) + from, row_bytes_);
      }
    });
  }
  std::string kernel_name() const override { return "gather_rows"; }

 private:
  int64_t index_at(const void* indices, int64_t i) const noexcept {
    return index_type_ == element::i64 ? static_cast<const int64_t*>(indices)[i]
                                       : static_cast<const int32_t*>(indices)[i];
  }

  element::Type index_type_;
  int64_t outer_ = 1, extent_ = 0, indices_ = 0;
  size_t row_bytes_ = 0;
};

std::optional<size_t> axis_of(const NodeContext& context) {
  if (!context.constants[2]) return std::nullopt;
  const int64_t axis = ir::to_integers(context.constants[2]->view).at(0);
  return static_cast<size_t>(axis < 0 ? axis + context.inputs[0].rank() : axis);
}

bool has_batch_dims(const ir::Node& node) {
  return node.schema->opset != "opset1" && ir::number_attribute(*node.attributes, "batch_dims") != 0;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& data = context.inputs[0];
  if (!axis_of(context)) return Reject{"the axis is known at run time only"};
  if (has_batch_dims(context.node)) return Reject{"batch_dims other than 0"};
  if (data.type.bitwidth() % 8 != 0 || data.type == element::string)
    return Reject{"elements narrower than a byte, or strings"};
  if (context.inputs[1].type != element::i64 && context.inputs[1].type != element::i32)
    return Reject{"indices that are neither i32 nor i64"};
  LayoutChoice choice;
  choice.inputs = {data.layout, context.inputs[1].layout, std::nullopt};
  choice.outputs = {context.outputs[0].layout};
  choice.cost = 2 * stream_ns(static_cast<double>(context.outputs[0].bytes()));
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<GatherExecutor>(context, *axis_of(context));
}

constexpr Impl kGather[] = {{"gather", &propose, &create}};

}  // namespace

std::span<const Impl> gather_impls() { return kGather; }

}  // namespace terroir::cpu
