// Elementwise ops of every element type, alone or fused with others, tile by tile (tile_program.hpp).
// Layouts: plain; f32 and bytes also in channel blocks and channels-last where no operand has to change its order for
// them. Threads: slices of the flat result.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "ir/schema/infer_context.hpp"
#include "plugins/cpu/elementwise_op.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/tile_lowering.hpp"

namespace terroir::cpu {
namespace {

/// One op of the node: the node itself, or a member of a fused one.
struct Member {
  StepView view;
  std::vector<int> operands;  // as in ElementwiseMember
};

std::vector<Member> members_of(const NodeContext& context) {
  const PartialShape result(ir::to_shape(context.outputs[0].dims));
  std::vector<Member> members;
  const auto add = [&](const ir::OpSchema& schema, const ir::Attributes& attributes, const std::vector<int>& operands) {
    Member member{{schema, attributes, {}, {}, {}}, operands};
    for (int operand : operands) {
      const auto input = static_cast<size_t>(operand);
      if (operand < 0) {
        member.view.inputs.push_back(members[static_cast<size_t>(-1 - operand)].view.output);
        member.view.constants.push_back(nullptr);
      } else {
        member.view.inputs.push_back(
            {context.inputs[input].type, PartialShape(ir::to_shape(context.inputs[input].dims))});
        member.view.constants.push_back(context.constants[input]);
      }
    }
    ir::InferContext inference(schema, attributes, member.view.inputs);
    schema.infer(inference);
    member.view.output = {inference.outputs().front().type, result};
    members.push_back(std::move(member));
  };
  if (context.node.is(kElementwiseType)) {
    for (const ElementwiseMember& member : context.node.attrs<ElementwiseAttrs>().members)
      add(*member.schema, *member.attributes, member.operands);
    return members;
  }
  std::vector<int> operands(context.inputs.size());
  std::iota(operands.begin(), operands.end(), 0);
  add(*context.node.schema, *context.node.attributes, operands);
  return members;
}

/// Calls fn(input, extents as the result has them) for every read of an input; stops at false.
template <class Fn>
bool each_read(const std::vector<Member>& members, Fn fn) {
  for (const Member& member : members)
    for (size_t i = 0; i < operands_read(member.view); ++i)
      if (member.operands[i] >= 0 && !fn(static_cast<size_t>(member.operands[i]), aligned_operand(member.view, i)))
        return false;
  return true;
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
std::variant<TileProgram, Reject> program_of(const NodeContext& context, const std::vector<Member>& members,
                                             const Layout& layout) {
  TileProgram program(context.isa, in_memory(context.outputs[0].dims, layout));
  std::map<std::pair<int, ir::Dims>, int> inputs;
  std::vector<int> results;
  for (const Member& member : members) {
    std::vector<int> operands;
    for (size_t i = 0; i < operands_read(member.view); ++i) {
      const int operand = member.operands[i];
      if (operand < 0) {
        operands.push_back(results[static_cast<size_t>(-1 - operand)]);
        continue;
      }
      const ir::Dims dims = in_memory(aligned_operand(member.view, i), layout);
      const auto [found, fresh] = inputs.try_emplace({operand, dims}, -1);
      if (fresh) found->second = program.add_input(operand, dims, member.view.inputs[i].type.size());
      operands.push_back(found->second);
    }
    const auto result = lower(member.view, operands, context.isa, program);
    if (const auto* reject = std::get_if<Reject>(&result)) return *reject;
    results.push_back(std::get<int>(result));
  }
  if (!program.finish(results.back())) return Reject{"too many values at once"};
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

/// What comes or goes in channel blocks: floats, and bytes where layers compute in them.
bool may_lie_in(element::Type type, const Layout& layout) {
  if (layout.channel_block() == 0) return type.bitwidth() % 8 == 0;
  return type == element::f32 || (type == element::u8 && active_byte_products() != ByteProducts::none);
}

/// The layout in which an input of these extents is read when the result is in `layout`; empty: it cannot be.
std::optional<Layout> operand_layout(const NodeContext& context, size_t i, const ir::Dims& dims, const Layout& layout) {
  const TensorDesc &input = context.inputs[i], &dst = context.outputs[0];
  const Layout plain = Layout::plain(input.rank());
  if (layout.is_plain()) return plain;
  // Without channels, or with nothing behind them, the memory is the same in every layout. This counts no images, so
  // that one alone has the layouts of many.
  const bool one_order =
      dims[1] == 1 || std::all_of(dims.begin() + 2, dims.end(), [](int64_t extent) { return extent == 1; });
  if (one_order && dims != dst.dims) return plain;
  if (!may_lie_in(input.type, layout) || input.rank() != dst.rank() || dims[1] != dst.dims[1]) return std::nullopt;
  return layout;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& dst = context.outputs[0];
  if (is_fused(context.node)) return Reject{"a chain"};
  const std::vector<Member> members = members_of(context);
  const auto program = program_of(context, members, Layout::plain(dst.rank()));
  if (const auto* reject = std::get_if<Reject>(&program)) return *reject;
  std::vector<Layout> layouts = {Layout::plain(dst.rank())};
  if (dst.rank() >= 3 && dst.rank() <= 5) {
    layouts.push_back(Layout::channels_last(dst.rank()));
    const int64_t block = channel_block(context.isa);
    if (dst.dims[1] % block == 0) layouts.push_back(Layout::blocked(dst.rank(), static_cast<int>(block)));
  }
  std::erase_if(layouts, [&](const Layout& layout) { return !layout.is_plain() && !may_lie_in(dst.type, layout); });
  std::vector<LayoutChoice> choices;
  for (const Layout& layout : layouts) {
    LayoutChoice choice;
    choice.inputs.resize(context.inputs.size());
    const bool fits = each_read(members, [&](size_t i, const ir::Dims& dims) {
      const auto read = operand_layout(context, i, dims, layout);
      if (!read || (choice.inputs[i] && *choice.inputs[i] != *read)) return false;
      choice.inputs[i] = *read;
      if (dims == dst.dims && context.inputs[i].type.size() == dst.type.size() &&
          std::find(choice.in_place.begin(), choice.in_place.end(), static_cast<int>(i)) == choice.in_place.end())
        choice.in_place.push_back(static_cast<int>(i));
      return true;
    });
    if (!fits) continue;
    choice.outputs = {layout};
    choice.cost = 4 * stream_ns(static_cast<double>(dst.bytes()));
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  return std::make_unique<ElementwiseExecutor>(
      context, std::get<TileProgram>(program_of(context, members_of(context), choice.outputs[0])));
}

constexpr Impl kElementwise[] = {{"elementwise", &propose, &create}};

}  // namespace

std::span<const Impl> elementwise_impls() { return kElementwise; }

}  // namespace terroir::cpu
