// OneHot: off_value everywhere, on_value where an index says; elements of 1, 2, 4 or 8 bytes. Layouts: plain.
// Threads: each owns a range of the result's rows [before the axis, depth], of `inner` elements, and looks for the
// indices that name one of them.
#include <cstring>
#include <span>

#include "ops/defs/generation/one_hot.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/indices.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class OneHotExecutor final : public Executor {
 public:
  explicit OneHotExecutor(const NodeContext& context)
      : index_type_(context.inputs[0].type), bytes_(static_cast<int64_t>(context.outputs[0].type.size())) {
    const ir::Dims& dims = context.outputs[0].dims;
    int64_t given;
    if (context.node.schema->opset == "opset1") {
      given = context.node.attrs<ops::OneHotAttrs>().axis;
    } else {
      const auto& attrs = context.node.attrs<ops::OneHot16Attrs>();
      given = attrs.axis;
      normalize_ = attrs.negative_indices_mode == ops::NegativeIndices::normalize;
    }
    const auto axis = static_cast<size_t>(given < 0 ? given + context.outputs[0].rank() : given);
    rows_ = ir::element_count(dims, 0, axis + 1);
    depth_ = dims[axis];
    inner_ = ir::element_count(dims, axis + 1, dims.size());
  }

  void run(const RunArgs& args) const noexcept override {
    constexpr int64_t kTaskBytes = 65536;
    const int64_t row_bytes = inner_ * bytes_;
    if (row_bytes == 0) return;
    int64_t per_task = std::max<int64_t>(1, kTaskBytes / row_bytes);
    // Whole groups of rows, so that an index is looked at once, where they are short enough.
    if (per_task > depth_ && depth_ > 0) per_task -= per_task % depth_;
    args.arena.parallel_for(ceil_div(rows_, per_task), [&](int64_t task) {
      const int64_t begin = task * per_task, end = std::min(rows_, begin + per_task);
      char* dst = static_cast<char*>(args.outputs[0]);
      repeat_unit(static_cast<const char*>(args.inputs[3]), dst + begin * row_bytes, bytes_, (end - begin) * inner_);
      with_indices(index_type_, args.inputs[0], [&](const auto* indices) {
        for (int64_t o = begin / depth_; o * depth_ < end; ++o) {
          for (int64_t i = 0; i < inner_; ++i) {
            int64_t index = indices[o * inner_ + i];
            if (normalize_ && index < 0) index += depth_;
            const int64_t row = o * depth_ + index;
            if (index < 0 || index >= depth_ || row < begin || row >= end) continue;
            copy_units(static_cast<const char*>(args.inputs[2]), 0, dst + row * row_bytes + i * bytes_, bytes_, bytes_,
                       1);
          }
        }
      });
    });
  }
  std::string kernel_name() const override { return "one_hot"; }

 private:
  element::Type index_type_;
  bool normalize_ = false;
  int64_t bytes_, rows_, depth_, inner_;
};

Proposal propose(const NodeContext& context) {
  if (!is_bytewise(context.outputs[0])) return not_bytewise();
  if (!is_index_type(context.inputs[0].type)) return no_index_type();
  if (!context.constants[1]) return Reject{"the depth is known at run time only"};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(input.layout);
  choice.inputs[1] = std::nullopt;
  choice.outputs = {context.outputs[0].layout};
  choice.cost = stream_ns(static_cast<double>(context.outputs[0].bytes()));
  return std::vector{choice};
}

constexpr Impl kOneHot[] = {
    {"one_hot", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<OneHotExecutor>(context);
     }}};

}  // namespace

std::span<const Impl> one_hot_impls() { return kOneHot; }

}  // namespace terroir::cpu
