#include "plugins/cpu/nodes/axis_copy.hpp"

#include <algorithm>

#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/kernels/image/image.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

class CopyExecutor final : public Executor {
 public:
  CopyExecutor(std::vector<CopyPlan> plans, Fill fill, std::string name)
      : plans_(std::move(plans)), fill_(std::move(fill)), name_(std::move(name)) {
    for (const CopyPlan& plan : plans_) first_task_.push_back(first_task_.back() + plan.tasks());
  }

  void run(const RunArgs& args) const noexcept override {
    const void* fill = fill_.input >= 0        ? args.inputs[fill_.input]
                       : fill_.element.empty() ? nullptr
                                               : static_cast<const void*>(fill_.element.data());
    args.arena.parallel_for(first_task_.back(), [&](int64_t task) {
      const auto behind = std::upper_bound(first_task_.begin(), first_task_.end(), task);
      const auto plan = static_cast<size_t>(behind - first_task_.begin()) - 1;
      plans_[plan].run(task - first_task_[plan], args.inputs[0], args.outputs[0], fill);
    });
  }
  std::string kernel_name() const override { return name_; }

 private:
  std::vector<CopyPlan> plans_;
  Fill fill_;
  std::vector<int64_t> first_task_ = {0};
  std::string name_;
};

ir::Dims extents(const std::vector<AxisMap>& maps) {
  ir::Dims dims;
  for (const AxisMap& map : maps) dims.push_back(map.repeats * map.count);
  return dims;
}

/// The tensors as the maps see them, in a layout.
TensorDesc seen_as(const TensorDesc& desc, const ir::Dims& dims, const Layout& layout) {
  const auto rank = static_cast<int>(dims.size());
  return {desc.type, dims, desc.dims == dims && layout.rank() == rank ? layout : Layout::plain(rank)};
}

CopyPlan plan_of(const NodeContext& context, const AxisCopy& copy, const Layout& layout) {
  const TensorDesc src = seen_as(context.inputs[0], copy.src_dims, layout);
  const TensorDesc dst = seen_as(context.outputs[0], extents(copy.maps), layout);
  const auto bytes = static_cast<int64_t>(src.type.size());
  const ir::Dims src_steps = src.outer_strides(), dst_steps = dst.outer_strides();
  const int64_t block = dst.layout.channel_block();
  std::vector<CopyAxis> axes;
  int64_t begin = 0;
  for (size_t i = 0; i < copy.maps.size(); ++i) {
    const auto axis = static_cast<size_t>(dst.layout.order()[i]);
    const AxisMap& map = copy.maps[axis];
    const int64_t src_step = src_steps[axis] * bytes, dst_step = dst_steps[axis] * bytes;
    if (block > 0 && axis == 1) {  // whole blocks; zeros behind the last channel are there already, up to a block
      const int64_t blocks = ceil_div(map.count, block);
      const int64_t first = map.runs.empty() ? map.first / block : 0;
      const CopyRuns runs = runs_within(blocks, first, 1, ceil_div(copy.src_dims[axis], block));
      axes.push_back({blocks, dst_step, src_step, scaled(runs, src_step)});
      continue;
    }
    if (map.repeats != 1) axes.push_back({map.repeats, dst_step * map.count, 0});
    CopyAxis own{map.count, dst_step, src_step * map.step};
    own.runs = scaled(map.runs, src_step);
    if (map.runs.empty()) begin += map.first * src_step;
    axes.push_back(std::move(own));
  }
  if (block > 0) axes.push_back({block, bytes, bytes});
  return CopyPlan(std::move(axes), bytes, begin, 0, tile_kernels(context.isa));
}

bool fills(const std::vector<AxisMap>& maps) {
  return std::any_of(maps.begin(), maps.end(), [](const AxisMap& map) { return has_fill(map.runs); });
}

/// All channels, then perhaps zeros; or those of some blocks.
bool keeps_blocks(const AxisCopy& copy, int64_t block) {
  const AxisMap& map = copy.maps[1];
  const int64_t channels = copy.src_dims[1], end = map.first + map.count;
  if (map.is_identity(channels)) return true;
  if (map.runs.empty() && map.repeats == 1 && map.step == 1 && map.count > 0)
    return map.first % block == 0 && (end % block == 0 || end == channels);
  return copy.fill.is_zero() && map.repeats == 1 && map.runs.size() == 2 && map.runs[0].count == channels &&
         map.runs[0].src == 0 && (map.runs[0].src_step == 1 || channels == 1) && map.runs[1].src == kFill;
}

std::vector<Layout> layouts_for(const NodeContext& context, const AxisCopy& copy) {
  const TensorDesc& src = context.inputs[0];
  const int rank = src.rank();
  std::vector<Layout> layouts = {context.inputs[0].layout};
  if (!lies_in_blocks(src, context.isa) || rank < 3 || rank > 5 || copy.src_dims != src.dims ||
      extents(copy.maps) != context.outputs[0].dims)
    return layouts;
  if (src.type == element::f32) layouts.push_back(Layout::channels_last(rank));
  const int64_t block = channels_of_block(src.type, context.isa);
  // Lanes that pad a block stay zero.
  const bool keeps_padding = src.dims[1] % block == 0 || copy.fill.is_zero() || !fills(copy.maps);
  if (keeps_blocks(copy, block) && keeps_padding) layouts.push_back(Layout::blocked(rank, static_cast<int>(block)));
  return layouts;
}

/// `of_image`: the plan for the first image of the batch alone.
LayoutChoice choice_of(const NodeContext& context, const Layout& from, const Layout& to, const CopyPlan* only,
                       const CopyPlan* of_image = nullptr) {
  LayoutChoice choice;
  choice.inputs.assign(context.inputs.size(), std::nullopt);
  choice.inputs[0] = from;
  choice.outputs = {to};
  if (only && only->is_one_run()) {
    choice.pieces = {static_cast<size_t>(only->src_begin())};
  } else if (!of_image || !of_image->is_one_run()) {
    // What a batch copies where an image would not must not make the batch choose another layout.
    choice.cost = copy_ns(context.outputs[0]);
  }
  return choice;
}

/// Images are taken as they come.
bool keeps_images(const AxisCopy& copy) { return copy.maps.size() > 2 && copy.maps[0].is_identity(copy.src_dims[0]); }

std::pair<NodeContext, AxisCopy> of_one_image(NodeContext context, AxisCopy copy) {
  for (TensorDesc* desc : {&context.inputs[0], &context.outputs[0]})
    if (desc->dims.size() == copy.maps.size()) desc->dims[0] = 1;
  copy.src_dims[0] = 1;
  copy.maps[0] = {1};
  return {std::move(context), std::move(copy)};
}

}  // namespace

bool Fill::is_zero() const {
  return input < 0 && std::all_of(element.begin(), element.end(), [](uint8_t byte) { return byte == 0; });
}

bool is_bytewise(const TensorDesc& desc) { return desc.type.bitwidth() % 8 == 0 && desc.type != element::string; }
Reject not_bytewise() { return {"elements narrower than a byte, or strings"}; }

bool lies_in_blocks(const TensorDesc& desc, Isa isa) {
  // Of bytes where there are kernels that multiply them, of bf16 where there may be.
  return desc.type == element::f32 || (desc.type == element::u8 && isa >= Isa::avx2) ||
         (desc.type == element::bf16 && isa == Isa::avx512);
}

int64_t channels_of_block(element::Type type, Isa isa) {
  return type == element::bf16 ? kBf16Block : channel_block(isa);
}

std::optional<std::vector<int64_t>> known_integers(const NodeContext& context, size_t i) {
  if (i >= context.constants.size() || !context.constants[i]) return std::nullopt;
  return ir::to_integers(context.constants[i]->view);
}

Proposal propose_axis_copy(const NodeContext& context, const AxisCopy& copy) {
  if (!is_bytewise(context.inputs[0])) return not_bytewise();
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts_for(context, copy)) {
    const CopyPlan plan = plan_of(context, copy, layout);
    std::optional<CopyPlan> image;
    if (keeps_images(copy)) {
      const auto [image_context, image_copy] = of_one_image(context, copy);
      image = plan_of(image_context, image_copy, layout);
    }
    choices.push_back(choice_of(context, layout,
                                layout.rank() == context.outputs[0].rank() ? layout : context.outputs[0].layout, &plan,
                                image ? &*image : nullptr));
    if (copy.fill.input >= 0)
      choices.back().inputs[static_cast<size_t>(copy.fill.input)] =
          context.inputs[static_cast<size_t>(copy.fill.input)].layout;
  }
  return choices;
}

std::unique_ptr<const Executor> create_axis_copy(const NodeContext& context, const AxisCopy& copy, const char* name) {
  const Layout& layout = context.inputs[0].layout;
  std::vector<CopyPlan> plans;
  plans.push_back(plan_of(context, copy, layout));
  return std::make_unique<CopyExecutor>(std::move(plans), copy.fill, std::string(name) + "_" + layout.name());
}

TileKernels tile_kernels(Isa isa) {
  const ReorderKernels& kernels = reorder_kernels(isa);
  return {kernels.transpose_2d, kernels.stream_2d, image_kernels(isa).split_pixels};
}

Proposal propose_plain_copy(const NodeContext& context, const std::vector<CopyPlan>& plans) {
  if (!is_bytewise(context.inputs[0])) return not_bytewise();
  return std::vector{choice_of(context, context.inputs[0].layout, context.outputs[0].layout,
                               plans.size() == 1 ? &plans.front() : nullptr)};
}

std::unique_ptr<const Executor> create_plain_copy(const NodeContext& context, std::vector<CopyPlan> plans,
                                                  const char* name) {
  return std::make_unique<CopyExecutor>(std::move(plans), Fill{},
                                        std::string(name) + "_" + context.inputs[0].layout.name());
}

CopyPlan permutation_plan(const ir::Dims& split, const std::vector<int64_t>& order, int64_t element_bytes, Isa isa) {
  std::vector<int64_t> steps(split.size());
  int64_t step = element_bytes;
  for (size_t i = split.size(); i-- > 0; step *= split[i]) steps[i] = step;
  std::vector<CopyAxis> axes(order.size());
  step = element_bytes;
  for (size_t i = order.size(); i-- > 0;) {
    const auto from = static_cast<size_t>(order[i]);
    axes[i] = {split[from], step, steps[from]};
    step *= split[from];
  }
  return CopyPlan(std::move(axes), element_bytes, 0, 0, tile_kernels(isa));
}

}  // namespace terroir::cpu
