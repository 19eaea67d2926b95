// Binary elementwise f32 ops whose operands broadcast against each other at run time.
// Layouts: plain for every numpy broadcast; all layouts where one operand is [N or 1, C, 1 ...] against [N, C, spatial]
// (squeeze-and-excite gates).
// Threads: rows of the collapsed shape; rows of one (image, channel block) pair.
#include <algorithm>
#include <span>

#include "ir/schema/attribute_text.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/nodes/channel_gate.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_table.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

std::optional<PostOpKind> kind_of(const std::string& type, int data_input) {
  for (const PostOpRow& row : post_op_rows())
    if (row.binary && row.type == type && row.data_input == data_input && type != "PReLU") return row.kind;
  return std::nullopt;
}

// ---- any broadcast, plain
// --------------------------------------------------------------------------------------------

/// One axis of the result after neighbours with the same broadcasting are merged.
struct Axis {
  int64_t extent;
  bool a_varies, b_varies;
};

std::vector<Axis> collapse(const ir::Dims& a, const ir::Dims& b, const ir::Dims& out) {
  std::vector<Axis> axes;
  const auto extent = [&out](const ir::Dims& dims, size_t axis) {
    const size_t missing = out.size() - dims.size();
    return axis < missing ? 1 : dims[axis - missing];
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    const Axis axis{out[i], extent(a, i) != 1, extent(b, i) != 1};
    if (!axes.empty() && axes.back().a_varies == axis.a_varies && axes.back().b_varies == axis.b_varies)
      axes.back().extent *= axis.extent;
    else
      axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back({1, true, true});
  return axes;
}

class BroadcastExecutor final : public Executor {
 public:
  explicit BroadcastExecutor(const NodeContext& context)
      : axes_(collapse(context.inputs[0].dims, context.inputs[1].dims, context.outputs[0].dims)),
        forward_(*kind_of(context.node.schema->type, 0)),
        backward_(*kind_of(context.node.schema->type, 1)),
        kernel_(post_op_kernels(context.isa).run),
        isa_(context.isa) {
    for (size_t i = 0; i + 1 < axes_.size(); ++i) rows_ *= axes_[i].extent;
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t n = axes_.back().extent;
    constexpr int64_t kTaskElements = 8192;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(n, 1));
    args.arena.parallel_for(ceil_div(rows_, per_task), [&](int64_t task) {
      for (int64_t row = task * per_task; row < std::min(rows_, (task + 1) * per_task); ++row) run_row(args, row, n);
    });
  }
  std::string kernel_name() const override { return std::string("f32_broadcast_binary__") + isa_name(isa_); }

 private:
  void run_row(const RunArgs& args, int64_t row, int64_t n) const noexcept {
    const Axis& inner = axes_.back();
    int64_t rest = row, a_offset = 0, b_offset = 0;
    int64_t a_stride = inner.a_varies ? n : 1, b_stride = inner.b_varies ? n : 1;
    for (size_t i = axes_.size() - 1; i-- > 0;) {
      const int64_t at = rest % axes_[i].extent;
      rest /= axes_[i].extent;
      if (axes_[i].a_varies) a_offset += at * a_stride, a_stride *= axes_[i].extent;
      if (axes_[i].b_varies) b_offset += at * b_stride, b_stride *= axes_[i].extent;
    }
    const float* a = static_cast<const float*>(args.inputs[0]) + a_offset;
    const float* b = static_cast<const float*>(args.inputs[1]) + b_offset;
    float* dst = static_cast<float*>(args.outputs[0]) + row * n;
    PostOp op{forward_, OperandMode::tensor, 0, 0, b, nullptr};
    const float* src = a;
    if (!inner.b_varies) {
      op = {forward_, OperandMode::scalar, *b, 0, nullptr, nullptr};
    } else if (!inner.a_varies) {
      op = {backward_, OperandMode::scalar, *a, 0, nullptr, nullptr};
      src = b;
    }
    kernel_({src, dst, 1, n, n, n, 0, n, 0, ChannelAxis::lanes}, &op, 1);
  }

  std::vector<Axis> axes_;
  PostOpKind forward_, backward_;
  decltype(PostOpKernels::run) kernel_;
  Isa isa_;
  int64_t rows_ = 1;
};

Proposal propose_broadcast(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (is_fused(context.node)) return Reject{"a chain on a broadcast"};
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  if (!kind_of(context.node.schema->type, 0) || !kind_of(context.node.schema->type, 1)) return Reject{"no binary step"};
  if (dst.count() == 0) return Reject{"the result has no elements"};
  if (ir::broadcasts_from_an_axis(*context.node.attributes)) return Reject{"pdpd broadcasting"};
  LayoutChoice choice;
  for (const TensorDesc& input : context.inputs) choice.inputs.emplace_back(input.layout);
  choice.outputs = {dst.layout};
  choice.cost = 3 * stream_ns(static_cast<double>(dst.bytes()));
  return std::vector{choice};
}

// ---- a gate per image and channel
// ------------------------------------------------------------------------------------

class GateExecutor final : public Executor {
 public:
  GateExecutor(const NodeContext& context, int gate)
      : gate_(gate),
        kind_(*kind_of(context.node.schema->type, 1 - gate)),
        kernel_(post_op_kernels(context.isa).run),
        dst_(context.outputs[0]),
        isa_(context.isa) {
    for (size_t i = 2; i < dst_.dims.size(); ++i) spatial_ *= dst_.dims[i];
    const TensorDesc& gates = context.inputs[static_cast<size_t>(gate)];
    gate_stride_ = gates.dims[0] == 1 ? 0 : gates.padded_dims()[1];
  }

  void run(const RunArgs& args) const noexcept override {
    const int64_t block = dst_.layout.channel_block(), channels = dst_.dims[1];
    const int64_t blocks = block > 0 ? ceil_div(channels, block) : 1;
    const bool lanes = block > 0 || dst_.layout.is_channels_last();
    const int64_t rows = lanes ? spatial_ : channels, n = block > 0 ? block : lanes ? channels : spatial_;
    constexpr int64_t kTaskElements = 16384;
    const int64_t per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, n)),
                  pieces = ceil_div(rows, per_task);
    args.arena.parallel_for(dst_.dims[0] * blocks * pieces, [&](int64_t task) {
      const int64_t unit = task / pieces, first = task % pieces * per_task, last = std::min(rows, first + per_task);
      const PostOp op{kind_,
                      OperandMode::per_channel,
                      0,
                      0,
                      static_cast<const float*>(args.inputs[gate_]) + unit / blocks * gate_stride_,
                      nullptr};
      const int64_t offset = (unit * rows + first) * n, channel = lanes ? unit % blocks * block : first;
      kernel_(
          {static_cast<const float*>(args.inputs[1 - gate_]) + offset, static_cast<float*>(args.outputs[0]) + offset,
           last - first, n, n, n, offset, n, channel, lanes ? ChannelAxis::lanes : ChannelAxis::rows},
          &op, 1);
    });
  }
  std::string kernel_name() const override { return "f32_channel_gate_" + dst_.layout.name() + "__" + isa_name(isa_); }

 private:
  int gate_;
  PostOpKind kind_;
  decltype(PostOpKernels::run) kernel_;
  TensorDesc dst_;
  Isa isa_;
  int64_t spatial_ = 1, gate_stride_ = 0;
};

Proposal propose_gate(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (is_fused(context.node)) return Reject{"a chain on a gate"};
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  const int gate = gate_input(context);
  if (gate < 0) return Reject{"no operand of shape [N or 1, C, 1 ...]"};
  const auto kind = kind_of(context.node.schema->type, 1 - gate);
  if (!kind) return Reject{"no binary step"};
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : {Layout::plain(dst.rank()), Layout::channels_last(dst.rank()),
                               Layout::blocked(dst.rank(), static_cast<int>(channel_block(context.isa)))}) {
    // Padding is 0 op 0, which must stay 0.
    if (TensorDesc{dst.type, dst.dims, layout}.has_padding() &&
        !maps_zero_to_zero(PostOp{*kind, OperandMode::per_channel, 0, 0, nullptr, nullptr}))
      continue;
    LayoutChoice choice;
    choice.inputs = {layout, layout};
    choice.outputs = {layout};
    choice.in_place = {1 - gate};
    choice.cost = 2 * stream_ns(static_cast<double>(dst.bytes()));
    choices.push_back(std::move(choice));
  }
  return choices;
}

constexpr Impl kBroadcast[] = {
    {"channel_gate", &propose_gate,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<GateExecutor>(context, gate_input(context));
     }},
    {"broadcast_binary", &propose_broadcast,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<BroadcastExecutor>(context);
     }},
};

}  // namespace

int gate_input(const NodeContext& context) {
  const ir::Dims& out = context.outputs[0].dims;
  if (out.size() < 3 || out.size() > 5) return -1;
  for (int gate = 1; gate >= 0; --gate) {
    const ir::Dims& dims = context.inputs[static_cast<size_t>(gate)].dims;
    if (context.inputs[static_cast<size_t>(1 - gate)].dims != out || dims.size() != out.size()) continue;
    const bool over_spatial = std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; });
    if (over_spatial && dims[1] == out[1] && (dims[0] == out[0] || dims[0] == 1)) return gate;
  }
  return -1;
}

std::span<const Impl> broadcast_binary_impls() { return kBroadcast; }

}  // namespace terroir::cpu
