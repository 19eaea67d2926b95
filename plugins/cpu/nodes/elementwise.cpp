// Elementwise ops of every element type, tile by tile (tile_program.hpp).
// Layouts: plain; f32 also in channel blocks and channels-last where no operand has to change its order for them.
// Threads: slices of the flat result.
#include <algorithm>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

StepView view_of(const NodeContext& context) {
  StepView view{*context.node.schema, *context.node.attributes, {}, context.constants, {}};
  for (const TensorDesc& input : context.inputs)
    view.inputs.push_back({input.type, PartialShape(ir::to_shape(input.dims))});
  view.output = {context.outputs[0].type, PartialShape(ir::to_shape(context.outputs[0].dims))};
  return view;
}

/// Extents in the order of memory. Axis 1 is a whole number of blocks, or 1.
ir::Dims in_memory(const ir::Dims& dims, const Layout& layout) {
  if (layout.is_plain()) return dims;
  ir::Dims ordered = {dims[0]};
  const int64_t block = layout.channel_block();
  if (block > 0) ordered.push_back(std::max<int64_t>(1, dims[1] / block));
  ordered.insert(ordered.end(), dims.begin() + 2, dims.end());
  ordered.push_back(block > 0 ? std::min(dims[1], block) : dims[1]);
  return ordered;
}

/// The node as steps on tensors in `layout`.
std::variant<TileProgram, Reject> program_of(const NodeContext& context, const Layout& layout) {
  const StepView view = view_of(context);
  TileProgram program(context.isa, in_memory(context.outputs[0].dims, layout));
  std::vector<int> operands;
  for (size_t i = 0; i < view.inputs.size(); ++i)
    operands.push_back(program.add_input(static_cast<int>(i), in_memory(aligned_operand(view, i), layout),
                                         view.inputs[i].type.size()));
  const auto result = lower(view, operands, context.isa, program);
  if (const auto* reject = std::get_if<Reject>(&result)) return *reject;
  if (!program.finish(std::get<int>(result))) return Reject{"too many values at once"};
  return program;
}

class ElementwiseExecutor final : public Executor {
 public:
  ElementwiseExecutor(const NodeContext& context, TileProgram program)
      : program_(std::move(program)),
        name_(context.inputs.back().type.get_type_name() + "_" + context.node.schema->type + "_" +
              context.outputs[0].layout.name() + "__" + isa_name(context.isa)) {}
  void run(const RunArgs& args) const noexcept override { program_.run(args); }
  std::string kernel_name() const override { return name_; }

 private:
  TileProgram program_;
  std::string name_;
};

/// The layout in which input `i` is read when the result is in `layout`; empty: it cannot be.
std::optional<Layout> operand_layout(const NodeContext& context, const StepView& view, size_t i, const Layout& layout) {
  const TensorDesc &input = context.inputs[i], &dst = context.outputs[0];
  const Layout plain = Layout::plain(input.rank());
  const ir::Dims dims = aligned_operand(view, i);
  const int64_t count = ir::element_count(dims);
  // One element, or one per channel: the same memory in every layout.
  if (layout.is_plain() || count == 1 || (count == dst.dims[1] && dims[1] == dst.dims[1])) return plain;
  if (input.type != element::f32 || input.rank() != dst.rank() || dims[1] != dst.dims[1]) return std::nullopt;
  return layout;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (context.node.schema->opset == "cpu") return Reject{"a chain"};
  const StepView view = view_of(context);
  if (context.node.is("ConvertLike") && context.inputs[1].dims != dst.dims)
    return Reject{"the operand that gives the type has another shape"};
  auto program = program_of(context, Layout::plain(dst.rank()));
  if (const auto* reject = std::get_if<Reject>(&program)) return *reject;
  std::vector<Layout> layouts = {Layout::plain(dst.rank())};
  if (dst.type == element::f32 && dst.rank() >= 3 && dst.rank() <= 5) {
    layouts.push_back(Layout::channels_last(dst.rank()));
    const int64_t block = channel_block(context.isa);
    if (dst.dims[1] % block == 0) layouts.push_back(Layout::blocked(dst.rank(), static_cast<int>(block)));
  }
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts) {
    LayoutChoice choice;
    for (size_t i = 0; i < context.inputs.size(); ++i) {
      const auto read = operand_layout(context, view, i, layout);
      if (!read) break;
      choice.inputs.emplace_back(*read);
      if (aligned_operand(view, i) == dst.dims && context.inputs[i].type.size() == dst.type.size())
        choice.in_place.push_back(static_cast<int>(i));
    }
    if (choice.inputs.size() != context.inputs.size()) continue;
    choice.outputs = {layout};
    choice.cost = 4 * stream_ns(static_cast<double>(dst.bytes()));
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  return std::make_unique<ElementwiseExecutor>(context, std::get<TileProgram>(program_of(context, choice.outputs[0])));
}

constexpr Impl kElementwise[] = {{"elementwise", &propose, &create}};

}  // namespace

std::span<const Impl> elementwise_impls() { return kElementwise; }

}  // namespace terroir::cpu
