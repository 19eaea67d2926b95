// Binary elementwise f32 ops whose operands broadcast against each other at run time.
// Layouts: plain for every numpy broadcast; all layouts where one operand is [N or 1, C, 1 ...] against [N, C, spatial]
// (squeeze-and-excite gates).
// Threads: pieces of the collapsed shape; rows of one (image, channel block) pair.
#include <algorithm>
#include <array>
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
  std::array<bool, 2> varies;  // by operand
};

std::vector<Axis> collapse(const ir::Dims& a, const ir::Dims& b, const ir::Dims& out) {
  std::vector<Axis> axes;
  const auto extent = [&out](const ir::Dims& dims, size_t axis) {
    const size_t missing = out.size() - dims.size();
    return axis < missing ? 1 : dims[axis - missing];
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    const Axis axis{out[i], {extent(a, i) != 1, extent(b, i) != 1}};
    if (!axes.empty() && axes.back().varies == axis.varies)
      axes.back().extent *= axis.extent;
    else
      axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back({1, {true, true}});
  return axes;
}

/// Works piece by piece: as much of the inner axes as a kernel is worth calling for. An operand that varies along some
/// of them only is laid out like the piece first, once for all pieces in a row that read the same of it.
class BroadcastExecutor final : public Executor {
 public:
  explicit BroadcastExecutor(const NodeContext& context)
      : axes_(collapse(context.inputs[0].dims, context.inputs[1].dims, context.outputs[0].dims)),
        kinds_{*kind_of(context.node.schema->type, 0), *kind_of(context.node.schema->type, 1)},
        kernel_(post_op_kernels(context.isa).run),
        isa_(context.isa) {
    const int64_t total = context.outputs[0].count();
    first_ = axes_.size() - 1;
    while (first_ > 0 && step_ * axes_[first_].extent < kShortRow) step_ *= axes_[first_--].extent;
    take_ = std::min(axes_[first_].extent, kPiece / step_);
    for (size_t operand = 0; operand < 2; ++operand) {
      int64_t stride = 1;
      bool some = false, all = true;
      for (size_t i = axes_.size(); i-- > first_;) {
        const bool varies = axes_[i].varies[operand];
        some |= varies, all &= varies;
        if (varies && i > first_) stride *= axes_[i].extent;
      }
      forms_[operand] = all ? Form::whole : some ? Form::spread : Form::single;
      for (size_t i = first_ + 1; i-- > 0;) {
        if (!axes_[i].varies[operand]) continue;
        strides_[i][operand] = i == first_ ? stride * take_ : stride;
        stride *= axes_[i].extent;
      }
    }
    for (size_t i = 0; i < first_; ++i) counts_[i] = axes_[i].extent;
    counts_[first_] = ceil_div(axes_[first_].extent, take_);
    for (size_t i = 0; i <= first_; ++i) pieces_ *= counts_[i];
    // Few tasks lay out less often; few elements are shared all the same.
    const int64_t elements = spreads() ? std::clamp(total / 64, kTaskElements, 8 * kTaskElements) : kTaskElements;
    per_task_ = std::max<int64_t>(1, elements / (take_ * step_));
  }

  void run(const RunArgs& args) const noexcept override {
    args.arena.parallel_for_slots(ceil_div(pieces_, per_task_), [&](int64_t task, int64_t slot) {
      run_pieces(args, task * per_task_, std::min(pieces_, (task + 1) * per_task_),
                 spreads() ? args.slots.of<float>(slot) : nullptr);
    });
  }
  SlotNeed slot_need(int threads) const override {
    if (!spreads()) return {};
    return {2 * static_cast<size_t>(laid_out()) * sizeof(float), static_cast<size_t>(threads)};
  }
  std::string kernel_name() const override { return std::string("f32_broadcast_binary__") + isa_name(isa_); }

 private:
  enum class Form { single, whole, spread };
  static constexpr int64_t kShortRow = 64;  // fewer elements take less time than the call of a kernel
  static constexpr int64_t kPiece = 8192, kTaskElements = 8192;
  static constexpr int64_t kGroup = 8;  // copies of a number are written in whole groups

  bool spreads() const noexcept { return forms_[0] == Form::spread || forms_[1] == Form::spread; }
  int64_t laid_out() const noexcept { return round_up(take_ * step_ + kGroup, 16); }

  void run_pieces(const RunArgs& args, int64_t begin, int64_t end, float* memory) const noexcept {
    std::array<int64_t, kMaxRank> at{};
    const float* from[2] = {static_cast<const float*>(args.inputs[0]), static_cast<const float*>(args.inputs[1])};
    int64_t rest = begin;
    for (size_t i = first_ + 1; i-- > 0; rest /= counts_[i]) {
      at[i] = rest % counts_[i];
      for (size_t operand = 0; operand < 2; ++operand) from[operand] += at[i] * strides_[i][operand];
    }
    const int64_t last = counts_[first_] - 1;
    const size_t stepped = last > 0 ? first_ + 1 : first_;  // axes
    float* dst = static_cast<float*>(args.outputs[0]) +
                 (begin / counts_[first_] * axes_[first_].extent + at[first_] * take_) * step_;
    const float* spread_of[2] = {nullptr, nullptr};
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t count = at[first_] < last ? take_ : axes_[first_].extent - last * take_, n = count * step_;
      const float* read[2] = {from[0], from[1]};
      for (size_t operand = 0; memory != nullptr && operand < 2; ++operand) {
        if (forms_[operand] != Form::spread) continue;
        float* const to = memory + static_cast<int64_t>(operand) * laid_out();
        read[operand] = to;
        if (spread_of[operand] == from[operand]) continue;
        spread_of[operand] = from[operand];
        const float* source = from[operand];
        // All of what does not vary from piece to piece, which the next one may need.
        spread(operand, first_, axes_[first_].varies[operand] ? count : take_, source, to);
      }
      const size_t data = forms_[0] == Form::single ? 1 : 0;
      PostOp op{kinds_[data], OperandMode::tensor, 0, 0, read[1 - data], nullptr};
      if (forms_[1 - data] == Form::single)
        op = {kinds_[data], OperandMode::scalar, *read[1 - data], 0, nullptr, nullptr};
      kernel_({read[data], dst, 1, n, n, n, 0, n, 0, ChannelAxis::lanes}, &op, 1);
      dst += n;
      for (size_t i = stepped; i-- > 0;) {
        const bool wraps = ++at[i] == counts_[i];
        const int64_t steps = wraps ? 1 - counts_[i] : 1;
        for (size_t operand = 0; operand < 2; ++operand) from[operand] += steps * strides_[i][operand];
        if (!wraps) break;
        at[i] = 0;
      }
    }
  }

  /// Writes `count` steps along `axis` of an operand as the result has them, and a group of rubbish at most behind;
  /// `from` goes past what was read. The end of what was written.
  float* spread(size_t operand, size_t axis, int64_t count, const float*& from, float* to) const noexcept {
    const bool varies = axes_[axis].varies[operand];
    if (axis + 1 == axes_.size()) {
      if (varies) {
        std::copy_n(from, count, to);
        from += count;
        return to + count;
      }
      const float value = *from++;
      for (int64_t i = 0; i < count; i += kGroup) std::fill_n(to + i, kGroup, value);
      return to + count;
    }
    const int64_t inner = axes_[axis + 1].extent;
    if (varies) {
      for (int64_t i = 0; i < count; ++i) to = spread(operand, axis + 1, inner, from, to);
      return to;
    }
    float* const end = spread(operand, axis + 1, inner, from, to);
    const int64_t total = count * (end - to);
    for (int64_t done = end - to; done < total; done *= 2) std::copy_n(to, std::min(done, total - done), to + done);
    return to + total;
  }

  std::vector<Axis> axes_;
  std::array<PostOpKind, 2> kinds_;  // by the operand that is the data
  decltype(PostOpKernels::run) kernel_;
  Isa isa_;
  size_t first_;                                            // a piece is take_ steps along this axis, or the rest
  int64_t step_ = 1, take_ = 1;                             // elements of a step: all of the axes behind
  std::array<Form, 2> forms_{};                             // of the operands in a piece
  std::array<int64_t, kMaxRank> counts_{};                  // of pieces, by axis up to first_
  std::array<std::array<int64_t, 2>, kMaxRank> strides_{};  // of the operands between them
  int64_t pieces_ = 1, per_task_ = 1;
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
