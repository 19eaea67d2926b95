// Reshape, Squeeze, Unsqueeze: the same bytes under another shape. Layouts: plain; channels-last and channel blocks
// where images and channels stay and only what is behind them is split or merged.
//   view             no step, no copy
//   checked_reshape  before it, where the target is known at run time only: the plan's extents follow from the number
//   of
//                    elements, and a step sees to it that the target says the same. In place where it can be.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "ir/base/error.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

class CheckedReshapeExecutor final : public Executor {
 public:
  explicit CheckedReshapeExecutor(const NodeContext& context)
      : src_(context.inputs[0]),
        dst_(context.outputs[0]),
        target_(context.inputs[1]),
        special_zero_(context.node.attrs<ops::ReshapeAttrs>().special_zero) {}

  void run(const RunArgs& args) const override {
    check(args.inputs[1]);
    const void* src = args.inputs[0];
    void* dst = args.outputs[0];
    if (src == dst || dst_.count() == 0) return;
    if (src_.type == element::string) {
      std::copy_n(static_cast<const std::string*>(src), dst_.count(), static_cast<std::string*>(dst));
    } else {
      std::memcpy(dst, src, dst_.bytes());
    }
  }
  std::string kernel_name() const override { return "checked_reshape"; }

 private:
  void check(const void* target) const {
    const int64_t rank = dst_.rank(), count = target_.count();
    int64_t computed = 0;
    bool fits = rank == count || number_at(target, 0) == 1;  // a scalar may have a target of one number, 1
    for (int64_t i = 0; i < rank; ++i) {
      const auto axis = static_cast<size_t>(i);
      const int64_t number = number_at(target, i);
      const bool copied = special_zero_ && number == 0;
      if (number == -1)
        ++computed;
      else if (copied ? i >= src_.rank() || src_.dims[axis] != dst_.dims[axis] : number != dst_.dims[axis])
        fits = false;
    }
    if (fits && computed <= 1) return;
    ir::Dims numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(number_at(target, i));
    throw_error(ErrorCode::invalid_argument, "data ", src_.dims, " cannot take the target ", numbers);
  }

  /// Of a target of any type of whole bytes: the low bytes of its numbers, and their sign.
  int64_t number_at(const void* target, int64_t i) const noexcept {
    const size_t width = target_.type.size();
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(target) + static_cast<size_t>(i) * width, width);
    const auto unused = static_cast<int>(64 - 8 * width);
    return target_.type.is_signed() ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits);
  }

  TensorDesc src_, dst_, target_;
  bool special_zero_;
};

/// The layouts of both shapes under which they are the same bytes.
std::vector<std::pair<Layout, Layout>> same_bytes(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  std::vector<std::pair<Layout, Layout>> layouts = {{src.layout, dst.layout}};
  if (!is_bytewise(src) || std::min(src.rank(), dst.rank()) < 3 ||
      !std::equal(src.dims.begin(), src.dims.begin() + 2, dst.dims.begin()))
    return layouts;
  layouts.emplace_back(Layout::channels_last(src.rank()), Layout::channels_last(dst.rank()));
  const auto block = static_cast<int>(channel_block(context.isa));
  layouts.emplace_back(Layout::blocked(src.rank(), block), Layout::blocked(dst.rank(), block));
  return layouts;
}

Proposal propose_checked(const NodeContext& context) {
  if (!context.node.is("Reshape") || context.constants[1]) return Reject{"no Reshape to a target of the run"};
  if (context.inputs[1].type.bitwidth() < 8) return Reject{"a packed target"};
  std::vector<LayoutChoice> choices;
  for (const auto& [from, to] : same_bytes(context)) {
    LayoutChoice& choice = choices.emplace_back();
    choice.inputs = {from, context.inputs[1].layout};
    choice.outputs = {to};
    choice.cost = stream_ns(static_cast<double>(context.inputs[1].bytes()));
    choice.in_place = {0};
  }
  return choices;
}

Proposal propose(const NodeContext& context) {
  if (context.node.is("Reshape") && !context.constants[1]) return Reject{"a target of the run is to be checked"};
  std::vector<LayoutChoice> choices;
  for (const auto& [from, to] : same_bytes(context)) {
    LayoutChoice& choice = choices.emplace_back();
    choice.inputs.assign(context.inputs.size(), std::nullopt);
    choice.inputs[0] = from;
    choice.outputs = {to};
    choice.view_of = 0;
  }
  return choices;
}

constexpr Impl kView[] = {
    {"checked_reshape", &propose_checked,
     [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       return std::make_unique<CheckedReshapeExecutor>(context);
     }},
    {"view", &propose, [](const NodeContext&, const LayoutChoice&) { return std::unique_ptr<const Executor>(); }}};

}  // namespace

std::span<const Impl> view_impls() { return kView; }

}  // namespace terroir::cpu
