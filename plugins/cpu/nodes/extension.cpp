// Layers of extensions: create() and compute() of the library that brought them, in the layouts that it takes.
// Layouts: those that the layer declares, for all tensors of at least three axes at once. Threads: whatever the layer
// splits its work into. Edge cases: the padding of blocked outputs is cleared behind the layer, unless it maps zero to
// zero and has read clean padding.
#include <algorithm>
#include <cstring>
#include <span>

#include "ir/base/error.hpp"
#include "plugins/cpu/impl.hpp"
#include "runtime/extension/instance.hpp"

namespace terroir::cpu {
namespace {

int32_t kind_of(const Layout& layout) {
  if (layout.channel_block() > 0) return TERROIR_BLOCKED;
  return layout.is_channels_last() ? TERROIR_CHANNELS_LAST : TERROIR_PLAIN;
}

custom::Operand operand_of(const TensorDesc& desc, const ir::Constant* constant) {
  return {desc.type, desc.dims, kind_of(desc.layout), std::max(1, desc.layout.channel_block()),
          constant != nullptr && desc.layout.is_plain() ? constant->view.data : nullptr};
}

std::vector<custom::Operand> inputs_of(const NodeContext& context) {
  std::vector<custom::Operand> operands;
  for (size_t i = 0; i < context.inputs.size(); ++i)
    operands.push_back(operand_of(context.inputs[i], context.constants[i]));
  return operands;
}

std::vector<custom::Operand> outputs_of(const NodeContext& context) {
  std::vector<custom::Operand> operands;
  for (const TensorDesc& output : context.outputs) operands.push_back(operand_of(output, nullptr));
  return operands;
}

/// Zeros in the channels behind the last one.
void clear_padding(const TensorDesc& desc, void* data) {
  const auto block = static_cast<size_t>(desc.layout.channel_block());
  const size_t size = desc.type.size(), used = static_cast<size_t>(desc.dims[1]) % block * size;
  const ir::Dims padded = desc.padded_dims();
  const size_t blocks = static_cast<size_t>(padded[1]) / block;
  size_t positions = 1;
  for (size_t axis = 2; axis < padded.size(); ++axis) positions *= static_cast<size_t>(padded[axis]);
  for (size_t image = 0; image < static_cast<size_t>(padded[0]); ++image) {
    char* last = static_cast<char*>(data) + ((image + 1) * blocks - 1) * positions * block * size;
    for (size_t i = 0; i < positions; ++i) std::memset(last + i * block * size + used, 0, block * size - used);
  }
}

class ExtensionExecutor final : public Executor {
 public:
  explicit ExtensionExecutor(const NodeContext& context)
      : instance_(*custom::layer_attributes(*context.node.attributes), inputs_of(context), outputs_of(context)),
        name_("extension:" + custom::layer_attributes(*context.node.attributes)->layer->source) {
    const bool clean = context.node.schema->flags.maps_zero_to_zero && context.node.schema->flags.elementwise;
    for (size_t i = 0; i < context.outputs.size(); ++i)
      if (context.outputs[i].has_padding() && !clean) padded_.push_back({i, context.outputs[i]});
  }

  void run(const RunArgs& args) const override {
    instance_.run(args.inputs, args.outputs, args.scratch, args.arena);
    for (const auto& [index, desc] : padded_) clear_padding(desc, args.outputs[index]);
  }
  size_t scratch_bytes(int threads) const override { return instance_.scratch_bytes(threads); }
  std::string kernel_name() const override { return name_; }

 private:
  custom::Instance instance_;
  std::string name_;
  std::vector<std::pair<size_t, TensorDesc>> padded_;
};

bool takes(const NodeContext& context, int32_t layout) {
  if (layout == TERROIR_PLAIN) return true;
  bool any = false;
  for (const auto* descs : {&context.inputs, &context.outputs})
    for (const TensorDesc& desc : *descs) {
      if (desc.rank() < 3) continue;
      if (desc.type != element::f32) return false;  // what the kernels around it lay out in blocks
      any = true;
    }
  return any;
}

Layout layout_for(const TensorDesc& desc, int32_t layout, Isa isa) {
  if (desc.rank() < 3 || layout == TERROIR_PLAIN) return Layout::plain(desc.rank());
  return layout == TERROIR_BLOCKED ? Layout::blocked(desc.rank(), static_cast<int>(channel_block(isa)))
                                   : Layout::channels_last(desc.rank());
}

Proposal propose(const NodeContext& context) {
  const custom::LayerAttrs* attributes = custom::layer_attributes(*context.node.attributes);
  if (attributes == nullptr) return Reject{"not from an extension"};
  const uint32_t declared = attributes->layer->descriptor.layouts;
  const uint32_t layouts = declared != 0 ? declared : TERROIR_LAYOUT_BIT(TERROIR_PLAIN);
  std::vector<LayoutChoice> choices;
  for (const int32_t layout : {TERROIR_PLAIN, TERROIR_CHANNELS_LAST, TERROIR_BLOCKED}) {
    if ((layouts & TERROIR_LAYOUT_BIT(layout)) == 0 || !takes(context, layout)) continue;
    LayoutChoice& choice = choices.emplace_back();
    double bytes = 0;
    for (const TensorDesc& input : context.inputs) {
      choice.inputs.push_back(layout_for(input, layout, context.isa));
      bytes += static_cast<double>(input.bytes());
    }
    for (const TensorDesc& output : context.outputs) {
      choice.outputs.push_back(layout_for(output, layout, context.isa));
      bytes += static_cast<double>(output.bytes());
    }
    choice.cost = stream_ns(bytes);  // nobody knows better; the same in all layouts, so neighbours decide
  }
  if (choices.empty()) return Reject{"the layer takes none of its tensors' layouts"};
  return choices;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  return with_context([&] { return context.node.describe(); },
                      [&] { return std::make_unique<ExtensionExecutor>(context); });
}

constexpr Impl kExtension[] = {{"extension", &propose, &create}};

}  // namespace

std::span<const Impl> extension_impls() { return kExtension; }

}  // namespace terroir::cpu
