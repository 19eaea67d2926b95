// Concat, Split, VariadicSplit: whole runs of bytes from one place to another, any element type of whole bytes.
// Where nothing lies outside the axis (outer extent 1: channels of one image), a part is one run of bytes: producers
// write straight into the joined tensor, and pieces are read where they lie; see passes/placement.hpp. Parts that
// cannot lie there are copied. Layouts: plain, of f32, bf16 and u8 channel blocks; along axis 1, parts that do not
// begin with a block are copied by lanes; see channel_lanes.hpp. Threads: tasks of the parts' plans.
#include <algorithm>
#include <numeric>
#include <span>

#include "ops/defs/movement/concat.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"
#include "plugins/cpu/nodes/channel_lanes.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

/// The joined tensor as outer * (parts side by side) runs of bytes.
struct Runs {
  int64_t outer = 1;
  std::vector<size_t> part_bytes;    // of one run, by part
  std::vector<size_t> part_offsets;  // of its run in the joined run
  size_t joined_bytes = 0;
};

Runs runs_of(const TensorDesc& joined, const std::vector<TensorDesc>& parts, size_t axis) {
  Runs runs;
  // Of blocks of channels the lanes are innermost.
  const int64_t lanes = axis > 1 ? std::max(1, joined.layout.channel_block()) : 1;
  const auto run_bytes = [axis, lanes](const TensorDesc& desc) {
    const ir::Dims padded = desc.padded_dims();
    size_t bytes = desc.type.size() * static_cast<size_t>(lanes);
    for (size_t i = axis; i < padded.size(); ++i) bytes *= static_cast<size_t>(padded[i]);
    return bytes;
  };
  for (size_t i = 0; i < axis; ++i) runs.outer *= i == 1 ? ceil_div(joined.dims[i], lanes) : joined.dims[i];
  for (const TensorDesc& part : parts) {
    runs.part_offsets.push_back(runs.joined_bytes);
    runs.part_bytes.push_back(run_bytes(part));
    runs.joined_bytes += runs.part_bytes.back();
  }
  return runs;
}

/// Both directions: parts are the inputs of a Concat or the outputs of a Split. A null part lies in its place.
/// Short runs are copied in bands of as many as stay in the second cache: parts share cache lines of the joined tensor,
/// which would else come from memory for each part again.
template <bool kJoin>
class RunCopyExecutor final : public Executor {
 public:
  RunCopyExecutor(Runs runs, std::string layout) : runs_(std::move(runs)), layout_(std::move(layout)) {
    constexpr int64_t kBandBytes = 64 * 1024;
    const auto joined = static_cast<int64_t>(runs_.joined_bytes);
    band_ = std::max<int64_t>(
        1, joined > 0 && joined < kBandBytes ? std::min(runs_.outer, kBandBytes / joined) : runs_.outer);
    plans_ = plans_of(band_);
    bands_ = ceil_div(runs_.outer, band_);
    if (runs_.outer % band_ != 0) last_ = plans_of(runs_.outer % band_);
    for (const CopyPlan& plan : plans_) first_task_.push_back(first_task_.back() + plan.tasks());
  }

  void run(const RunArgs& args) const noexcept override {
    if (bands_ == 1) {
      args.arena.parallel_for(first_task_.back(), [&](int64_t task) {
        const auto behind = std::upper_bound(first_task_.begin(), first_task_.end(), task);
        const auto part = static_cast<size_t>(behind - first_task_.begin()) - 1;
        run_part(args, plans_, part, 0, task - first_task_[part], task - first_task_[part] + 1);
      });
      return;
    }
    args.arena.parallel_for(bands_, [&](int64_t band) {
      const std::vector<CopyPlan>& plans = band + 1 == bands_ && !last_.empty() ? last_ : plans_;
      for (size_t part = 0; part < plans.size(); ++part)
        run_part(args, plans, part, static_cast<size_t>(band * band_), 0, plans[part].tasks());
    });
  }
  std::string kernel_name() const override { return (kJoin ? "concat_" : "split_") + layout_; }

 private:
  /// For so many runs.
  std::vector<CopyPlan> plans_of(int64_t outer) const {
    std::vector<CopyPlan> plans;
    const auto joined = static_cast<int64_t>(runs_.joined_bytes);
    for (size_t part = 0; part < runs_.part_bytes.size(); ++part) {
      const auto own = static_cast<int64_t>(runs_.part_bytes[part]),
                 at = static_cast<int64_t>(runs_.part_offsets[part]);
      plans.push_back(kJoin ? CopyPlan({{outer, joined, own}, {own, 1, 1}}, 1, 0, at)
                            : CopyPlan({{outer, own, joined}, {own, 1, 1}}, 1, at, 0));
    }
    return plans;
  }
  /// Tasks of the plan of a part, for runs from `first` on.
  void run_part(const RunArgs& args, const std::vector<CopyPlan>& plans, size_t part, size_t first, int64_t begin,
                int64_t end) const noexcept {
    const auto* src = static_cast<const char*>(args.inputs[kJoin ? part : 0]);
    if (!src) return;
    const size_t own = first * runs_.part_bytes[part], joined = first * runs_.joined_bytes;
    auto* dst = static_cast<char*>(args.outputs[kJoin ? 0 : part]) + (kJoin ? joined : own);
    for (int64_t task = begin; task < end; ++task) plans[part].run(task, src + (kJoin ? own : joined), dst, nullptr);
  }

  Runs runs_;
  std::vector<CopyPlan> plans_, last_;
  std::vector<int64_t> first_task_ = {0};
  int64_t band_ = 1, bands_ = 1;
  std::string layout_;
};

std::vector<Layout> layouts_for(const TensorDesc& joined, Isa isa) {
  std::vector<Layout> layouts = {Layout::plain(joined.rank())};
  if (!lies_in_blocks(joined, isa) || joined.rank() < 3 || joined.rank() > 5) return layouts;
  layouts.push_back(Layout::blocked(joined.rank(), static_cast<int>(channels_of_block(joined.type, isa))));
  return layouts;
}

/// Whether a part begins within a block of channels: then it is no run of bytes.
bool is_ragged(const Layout& layout, const std::vector<TensorDesc>& parts, size_t axis) {
  const int64_t block = layout.channel_block();
  return block != 0 && axis == 1 && std::any_of(parts.begin(), parts.end() - 1, [block](const TensorDesc& part) {
           return part.dims[1] % block != 0;
         });
}

/// Nanoseconds to copy lanes: a part that hardly fills its block takes as long as one that does.
double lanes_ns(const Layout& layout, const TensorDesc& joined, std::vector<TensorDesc> parts) {
  double padded = 0;
  for (TensorDesc& part : parts) {
    part.layout = layout;
    padded += static_cast<double>(part.bytes());
  }
  return copy_ns(joined) + stream_ns(padded - static_cast<double>(joined.bytes()));
}

/// `axis` as written, perhaps negative.
size_t positive_axis(int64_t axis, int rank) { return static_cast<size_t>(axis < 0 ? axis + rank : axis); }

size_t concat_axis(const NodeContext& context) {
  return positive_axis(context.node.attrs<ops::ConcatAttrs>().axis, context.outputs[0].rank());
}

Runs runs_in(const Layout& layout, TensorDesc joined, std::vector<TensorDesc> parts, size_t axis) {
  joined.layout = layout;
  for (TensorDesc& part : parts) part.layout = layout;
  return runs_of(joined, parts, axis);
}

/// Whether an input cannot be written in its place, as far as one node shows.
bool is_copied(const NodeContext& context, size_t input) {
  const std::vector<ir::Value>& inputs = context.node.inputs;
  const auto at = inputs.begin() + static_cast<std::ptrdiff_t>(input);
  return context.constants[input] || std::find(inputs.begin(), at, *at) != at;
}

Proposal propose_concat(const NodeContext& context) {
  const TensorDesc& joined = context.outputs[0];
  if (!is_bytewise(joined)) return not_bytewise();
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts_for(joined, context.isa)) {
    LayoutChoice choice;
    choice.inputs.assign(context.inputs.size(), layout);
    choice.outputs = {layout};
    if (is_ragged(layout, context.inputs, concat_axis(context))) {
      choice.cost = lanes_ns(layout, joined, context.inputs);
      choices.push_back(std::move(choice));
      continue;
    }
    const Runs runs = runs_in(layout, joined, context.inputs, concat_axis(context));
    // What a batch copies besides is the same in all layouts, and must not make a batch choose another one.
    double copied = 0;
    for (size_t i = 0; i < context.inputs.size(); ++i)
      if (is_copied(context, i)) copied += static_cast<double>(runs.outer) * static_cast<double>(runs.part_bytes[i]);
    if (runs.outer == 1) choice.joins = runs.part_offsets;
    choice.cost = 2 * stream_ns(copied);
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<const Executor> create_concat(const NodeContext& context, const LayoutChoice&) {
  if (is_ragged(context.outputs[0].layout, context.inputs, concat_axis(context)))
    return create_lane_concat(context.outputs[0], context.inputs);
  return std::make_unique<RunCopyExecutor<true>>(runs_of(context.outputs[0], context.inputs, concat_axis(context)),
                                                 context.outputs[0].layout.name());
}

std::optional<size_t> split_axis(const NodeContext& context) {
  if (!context.constants[1]) return std::nullopt;
  return positive_axis(ir::to_integers(context.constants[1]->view).at(0), context.inputs[0].rank());
}

Proposal propose_split(const NodeContext& context) {
  const TensorDesc& joined = context.inputs[0];
  if (!is_bytewise(joined)) return not_bytewise();
  const auto axis = split_axis(context);
  if (!axis) return Reject{"the axis is known at run time only"};
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts_for(joined, context.isa)) {
    LayoutChoice choice;
    choice.inputs.assign(context.inputs.size(), std::nullopt);
    choice.inputs[0] = layout;
    choice.outputs.assign(context.outputs.size(), layout);
    if (is_ragged(layout, context.outputs, *axis)) {
      choice.cost = lanes_ns(layout, joined, context.outputs);
      choices.push_back(std::move(choice));
      continue;
    }
    Runs runs = runs_in(layout, joined, context.outputs, *axis);
    if (runs.outer == 1) choice.pieces = std::move(runs.part_offsets);
    // Whatever of it a batch copies, it chooses as an image alone does.
    const bool lies_alone = runs.outer == 1 || (*axis > 0 && runs.outer == joined.dims[0]);
    if (!lies_alone) choice.cost = 2 * stream_ns(static_cast<double>(joined.bytes()));
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<const Executor> create_split(const NodeContext& context, const LayoutChoice&) {
  if (is_ragged(context.inputs[0].layout, context.outputs, *split_axis(context)))
    return create_lane_split(context.inputs[0], context.outputs);
  return std::make_unique<RunCopyExecutor<false>>(runs_of(context.inputs[0], context.outputs, *split_axis(context)),
                                                  context.inputs[0].layout.name());
}

constexpr Impl kConcat[] = {{"concat", &propose_concat, &create_concat}};
constexpr Impl kSplit[] = {{"split", &propose_split, &create_split}};

}  // namespace

std::span<const Impl> concat_impls() { return kConcat; }
std::span<const Impl> split_impls() { return kSplit; }

}  // namespace terroir::cpu
