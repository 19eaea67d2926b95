// Elementwise f32 ops and chains of them, in one pass over memory.
// Layouts: any, the same for the data, the result and whole-tensor operands; per-channel operands along axis 1 in the
// blocked and channels-last layouts, along any axis in plain. A chain that does not map zero to zero clears the padded
// channel tail afterwards.
// Threads: slices of the flat range, or of (image, channel block) pairs; their number depends on shapes alone.
#include <algorithm>
#include <cstring>
#include <span>

#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"
#include "plugins/cpu/post_op_table.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

// Elements of a task: large enough to hide the cost of handing it out, small enough to stay in the L1 cache.
constexpr int64_t kTaskElements = 8192;
/// Elements of a row of pixels, about.
constexpr int64_t kPixelRow = 256;

struct Steps {
  int data_input = 0;
  int channel_axis = -1;
  std::vector<FusedOp> steps;
};

/// The node as one list of steps on one of its inputs.
std::optional<Steps> steps_of(const NodeContext& context) {
  const int base_inputs = base_input_count(context.node);
  StepView view{base_schema(context.node), base_attributes(context.node), {}, {}, {}};
  for (int i = 0; i < base_inputs; ++i) {
    const TensorDesc& input = context.inputs[static_cast<size_t>(i)];
    view.inputs.push_back({input.type, PartialShape(ir::to_shape(input.dims))});
    view.constants.push_back(context.constants[static_cast<size_t>(i)]);
  }
  view.output = {context.outputs[0].type, PartialShape(ir::to_shape(context.outputs[0].dims))};
  for (int data = 0; data < std::min(base_inputs, 2); ++data) {
    Steps found;
    found.data_input = data;
    const auto base = as_post_op(view, data, found.channel_axis);
    if (!base) continue;
    found.steps.push_back(*base);
    for (const FusedOp& step : chain_of(context.node)) {
      if (step.mode == OperandMode::per_channel && step.operand >= 0)
        found.channel_axis = context.node.attrs<FusedAttrs>().channel_axis;
      found.steps.push_back(step);
    }
    return found;
  }
  return std::nullopt;
}

/// Regions of one tensor whose rows have a channel each, or run along the channels.
struct ChannelRegions {
  int64_t count = 0;         // of regions
  int64_t rows = 0, n = 0;   // of each
  int64_t stride = 0;        // between rows
  int64_t channel_step = 0;  // region r begins at channel r * channel_step, modulo the channels
  int64_t regions_per_image = 1;
  ChannelAxis axis = ChannelAxis::lanes;
};

ChannelRegions channel_regions(const TensorDesc& desc, int axis) {
  ChannelRegions regions;
  const int64_t channels = desc.dims[static_cast<size_t>(axis)];
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < desc.rank(); ++i)
    (i < axis ? outer : i > axis ? inner : regions.n) *= desc.dims[static_cast<size_t>(i)];
  if (const int64_t block = desc.layout.channel_block()) {
    const int64_t blocks = ceil_div(channels, block);
    regions = {outer * blocks, inner, block, block, block, blocks, ChannelAxis::lanes};
  } else if (desc.layout.is_channels_last() && axis == 1) {
    regions = {outer, inner, channels, channels, 0, 1, ChannelAxis::lanes};
  } else if (inner == 1) {
    regions = {1, outer, channels, channels, 0, 1, ChannelAxis::lanes};
  } else {
    regions = {outer, channels, inner, inner, 0, 1, ChannelAxis::rows};
  }
  return regions;
}

class ChainExecutor final : public Executor {
 public:
  ChainExecutor(const NodeContext& context, const Steps& steps)
      : data_input_(steps.data_input),
        dst_(context.outputs[0]),
        total_(dst_.padded_count()),
        chain_(context, steps.steps, std::max(1, context.outputs[0].layout.channel_block())),
        kernel_(post_op_kernels(context.isa).run),
        isa_(context.isa) {
    if (chain_.has_channel_operand()) regions_ = channel_regions(dst_, steps.channel_axis);
    // Rows of few elements cost more than what is in them.
    if (regions_.count == 1 && regions_.axis == ChannelAxis::lanes && regions_.n <= kPixelRow / 2 &&
        !dst_.has_padding()) {
      const int64_t pixels = kPixelRow / regions_.n;
      chain_.repeat_channels(pixels);
      pixel_row_ = pixels * regions_.n;
    }
    clear_tail_ = dst_.has_padding() && !chain_.maps_zero_to_zero();
  }

  void run(const RunArgs& args) const noexcept override {
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    const auto* src = static_cast<const float*>(args.inputs[data_input_]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    if (pixel_row_ > 0)
      run_pixels(src, dst, ops, args.arena);
    else if (regions_.count > 0)
      run_channels(src, dst, ops, args.arena);
    else
      run_flat(src, dst, ops, args.arena);
    if (clear_tail_) clear_tail(dst);
  }

  std::string kernel_name() const override { return "f32_eltwise_" + dst_.layout.name() + "__" + isa_name(isa_); }

 private:
  void run_flat(const float* src, float* dst, const PostOpChain::Bound& ops, const parallel::Arena& arena) const {
    arena.parallel_for(ceil_div(total_, kTaskElements), [&](int64_t task) {
      const int64_t begin = task * kTaskElements, n = std::min(kTaskElements, total_ - begin);
      kernel_({src + begin, dst + begin, 1, n, n, n, begin, n, 0, ChannelAxis::lanes}, ops.data(),
              static_cast<int64_t>(chain_.size()));
    });
  }

  /// Rows of several pixels each; the last one may be shorter.
  void run_pixels(const float* src, float* dst, const PostOpChain::Bound& ops, const parallel::Arena& arena) const {
    const int64_t n = pixel_row_, per_task = kTaskElements / n * n;
    arena.parallel_for(ceil_div(total_, per_task), [&](int64_t task) {
      const int64_t begin = task * per_task, end = std::min(total_, begin + per_task);
      const int64_t rows = (end - begin) / n, tail = begin + rows * n;
      const auto run = [&](int64_t at, int64_t count, int64_t width) {
        kernel_({src + at, dst + at, count, width, width, width, at, width, 0, ChannelAxis::lanes}, ops.data(),
                static_cast<int64_t>(chain_.size()));
      };
      if (rows > 0) run(begin, rows, n);
      if (tail < end) run(tail, 1, end - tail);
    });
  }

  void run_channels(const float* src, float* dst, const PostOpChain::Bound& ops, const parallel::Arena& arena) const {
    const ChannelRegions& r = regions_;
    const int64_t rows_per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, r.n));
    const int64_t slices = ceil_div(r.rows, rows_per_task);
    arena.parallel_for(r.count * slices, [&](int64_t task) {
      const int64_t region = task / slices, row = task % slices * rows_per_task;
      const int64_t rows = std::min(rows_per_task, r.rows - row);
      const int64_t offset = region * r.rows * r.stride + row * r.stride;
      const int64_t channel = region % r.regions_per_image * r.channel_step + (r.axis == ChannelAxis::rows ? row : 0);
      kernel_({src + offset, dst + offset, rows, r.n, r.stride, r.stride, offset, r.stride, channel, r.axis},
              ops.data(), static_cast<int64_t>(chain_.size()));
    });
  }

  /// Zeroes the lanes behind the last channel of a blocked tensor.
  void clear_tail(float* dst) const noexcept {
    const int64_t block = dst_.layout.channel_block(), channels = dst_.dims[1];
    const int64_t blocks = ceil_div(channels, block), tail = channels % block;
    int64_t inner = 1;
    for (size_t i = 2; i < dst_.dims.size(); ++i) inner *= dst_.dims[i];
    for (int64_t n = 0; n < dst_.dims[0]; ++n) {
      float* last = dst + ((n + 1) * blocks - 1) * inner * block;
      for (int64_t i = 0; i < inner; ++i)
        std::memset(last + i * block + tail, 0, static_cast<size_t>(block - tail) * sizeof(float));
    }
  }

  int data_input_;
  TensorDesc dst_;
  int64_t total_;
  PostOpChain chain_;
  decltype(PostOpKernels::run) kernel_;
  Isa isa_;
  ChannelRegions regions_;
  int64_t pixel_row_ = 0;  // elements of several pixels that are one row; 0: no rows of pixels
  bool clear_tail_ = false;
};

std::vector<Layout> layouts_for(const TensorDesc& desc, Isa isa, int channel_axis) {
  std::vector<Layout> layouts = {Layout::plain(desc.rank())};
  if (desc.rank() < 3 || desc.rank() > 5 || (channel_axis >= 0 && channel_axis != 1)) return layouts;
  layouts.push_back(Layout::channels_last(desc.rank()));
  layouts.push_back(Layout::blocked(desc.rank(), static_cast<int>(channel_block(isa))));
  return layouts;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  const auto steps = steps_of(context);
  if (!steps) return Reject{"operands that broadcast both ways, or parameters known at run time only"};
  if (steps->steps.size() > kMaxPostOps) return Reject{"the chain is too long"};
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts_for(dst, context.isa, steps->channel_axis)) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    choice.inputs[static_cast<size_t>(steps->data_input)] = layout;
    choice.in_place = {steps->data_input};
    double tensors = 2;
    for (const FusedOp& step : steps->steps) {
      if (step.operand < 0 || step.mode != OperandMode::tensor) continue;
      choice.inputs[static_cast<size_t>(step.operand)] = layout;
      // A later step would read what the first one has written.
      if (&step == &steps->steps.front()) choice.in_place.push_back(step.operand);
      ++tensors;
    }
    choice.outputs = {layout};
    choice.cost = tensors * stream_ns(static_cast<double>(TensorDesc{dst.type, dst.dims, layout}.bytes()));
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return std::make_unique<ChainExecutor>(context, *steps_of(context));
}

constexpr Impl kEltwise[] = {{"eltwise", &propose, &create}};

}  // namespace

std::span<const Impl> eltwise_impls() { return kEltwise; }

}  // namespace terroir::cpu
