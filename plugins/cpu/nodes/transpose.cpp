// Transpose with a known order: a permutation of axes, any element of whole bytes.
// Layouts: plain to plain by a copy. A view, and no step at all, where the permuted layout is one that others know:
//   channels moved to the front, plain to channels-last and back, and axes of extent 1 that move past others.
// Threads: tasks of the plan.
#include <numeric>
#include <span>

#include "plugins/cpu/nodes/axis_copy.hpp"

namespace terroir::cpu {
namespace {

/// The axes in their new order; an empty order means reversed.
std::vector<int64_t> order_of(const NodeContext& context) {
  std::vector<int64_t> order = ir::to_integers(context.constants[1]->view);
  if (order.empty()) {
    order.resize(context.inputs[0].dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return order;
}

/// The layout of the result that is the same bytes: each axis keeps its place in memory under its new number.
Layout permuted(const Layout& layout, const std::vector<int64_t>& order) {
  std::vector<int> renumbered(order.size());
  for (size_t i = 0; i < order.size(); ++i) renumbered[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return layout.renumbered(renumbered);
}

std::vector<Layout> unblocked_layouts(int rank) {
  std::vector<Layout> layouts = {Layout::plain(rank)};
  if (rank >= 3) layouts.push_back(Layout::channels_last(rank));
  return layouts;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  if (!context.constants[1]) return Reject{"the order is known at run time only"};
  if (!is_bytewise(src)) return not_bytewise();
  LayoutChoice copy;
  copy.inputs = {src.layout, std::nullopt};
  copy.outputs = {dst.layout};
  // What a reorder counts for, and the first candidate: a view with a reorder beside it is no better than a copy.
  copy.cost = copy_ns(src);
  std::vector<LayoutChoice> choices = {std::move(copy)};
  const std::vector<int64_t> order = order_of(context);
  for (const Layout& from : unblocked_layouts(src.rank()))
    for (const Layout& to : unblocked_layouts(dst.rank())) {
      if (!same_memory({dst.type, dst.dims, permuted(from, order)}, {dst.type, dst.dims, to})) continue;
      LayoutChoice view;
      view.inputs = {from, std::nullopt};
      view.outputs = {to};
      view.view_of = 0;
      choices.push_back(std::move(view));
    }
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const std::vector<int64_t> order = order_of(context);
  const TensorDesc& src = context.inputs[0];
  return create_plain_copy(
      context, {permutation_plan(src.dims, order, static_cast<int64_t>(src.type.size()), context.isa)}, "permute");
}

constexpr Impl kTranspose[] = {{"transpose", &propose, &create}};

}  // namespace

std::span<const Impl> transpose_impls() { return kTranspose; }

}  // namespace terroir::cpu
