#include "plugins/cpu/stored_nodes.hpp"

#include <algorithm>
#include <numeric>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/post_op_chain.hpp"

namespace terroir::cpu {
namespace {

template <class T>
const T* attributes_if(const ir::Attributes& attributes) {
  const auto* held = dynamic_cast<const ir::AttributesOf<T>*>(&attributes);
  return held ? &held->value : nullptr;
}

/// Axes in order, outermost first, the second of them in blocks unless these have no channels.
Layout layout_of(const std::vector<int>& order, int block) {
  const auto rank = static_cast<int>(order.size());
  return (block > 0 ? Layout::blocked(rank, block) : Layout::plain(rank)).renumbered(order);
}

void store_layout(const Layout& layout, ByteWriter& to) {
  const std::vector<int> order(layout.order().begin(), layout.order().begin() + layout.rank());
  const int block = layout.blocks()[0].size;
  if (layout.rank() < (block > 0 ? 2 : 0) || layout_of(order, block) != layout)
    throw_error(ErrorCode::not_implemented, "the layout ", layout.name(), " cannot be stored yet");
  to.numbers(order);
  to.put(block);
}

Layout load_layout(ByteReader& from) {
  const auto order = from.numbers<int>();
  const int block = from.take<int>();
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) ByteReader::require(sorted[i] == static_cast<int>(i));
  ByteReader::require(order.size() <= static_cast<size_t>(kMaxRank) && block >= 0 && block <= 64 &&
                      (block == 0 || order.size() >= 2));
  return layout_of(order, block);
}

template <class Number>
std::vector<Number> load_numbers(ByteReader& from) {
  return from.numbers<Number>();
}

void store_levels(const QuantizeAttrs& levels, ByteWriter& to) {
  to.numbers(levels.low.values);
  to.numbers(levels.high.values);
  to.put(levels.levels);
}

ByChannel load_by_channel(ByteReader& from) {
  ByChannel loaded(load_numbers<float>(from));
  ByteReader::require(!loaded.values.empty());
  return loaded;
}

QuantizeAttrs load_levels(ByteReader& from) {
  QuantizeAttrs levels;
  levels.low = load_by_channel(from);
  levels.high = load_by_channel(from);
  levels.levels = from.take<int64_t>();
  const auto channels = static_cast<int64_t>(std::max(levels.low.values.size(), levels.high.values.size()));
  for (int64_t c = 0; c < channels; ++c) ByteReader::require(levels.low[c] < levels.high[c]);
  ByteReader::require(levels.levels >= 2 && levels.levels <= 256);
  return levels;
}

}  // namespace

const ir::OpSchema& CpuNodeCodec::schema(const std::string& type, const std::string& opset) const {
  if (opset != "cpu") return NodeCodec::schema(type, opset);
  const CpuOps& ops = cpu_ops();
  for (const ir::OpSchema* own :
       {&ops.reorder(), &ops.attention(), &ops.rms_norm(), &ops.convolution_chain(), &ops.elementwise(),
        &ops.quantize(), &ops.dequantize(), &ops.quantized_convolution(), &ops.quantized_matmul(),
        &ops.bf16_convolution(), &ops.bf16_matmul(), &ops.compressed_matmul()})
    if (own->type == type) return *own;
  const ir::OpSchema* base = ops::builtin_registry().find(type, "opset16");
  const ir::OpSchema* fused = base ? ops.fused(*base) : nullptr;
  ByteReader::require(fused != nullptr);
  return *fused;
}

void CpuNodeCodec::store_inner(const ir::OpSchema& schema, const ir::Attributes& attributes, ByteWriter& to) const {
  store_schema(schema, to);
  store(schema, attributes, to);
}

CpuNodeCodec::Inner CpuNodeCodec::load_inner(ByteReader& from, bool may_be_fused) const {
  const ir::OpSchema& schema = load_schema(from);
  ByteReader::require(schema.opset != "cpu" || schema.type == kDequantizeType ||
                      (may_be_fused && attributes_if<FusedAttrs>(*schema.make_attributes()) != nullptr));
  return {&schema, load(schema, from)};
}

void CpuNodeCodec::store_fused(const FusedAttrs& fused, ByteWriter& to) const {
  store_inner(*fused.base, *fused.base_attributes, to);
  to.put(fused.base_inputs);
  to.put(fused.channel_axis);
  to.list(fused.chain, [&to](const FusedOp& op) {
    to.put(op.kind);
    to.put(op.mode);
    to.put(op.alpha);
    to.put(op.beta);
    to.put(op.operand);
  });
}

void CpuNodeCodec::store(const ir::OpSchema& schema, const ir::Attributes& attributes, ByteWriter& to) const {
  if (const auto* reorder = attributes_if<ReorderAttrs>(attributes)) {
    store_layout(reorder->from, to);
    store_layout(reorder->to, to);
  } else if (const auto* quantize = attributes_if<QuantizeAttrs>(attributes)) {
    store_levels(*quantize, to);
  } else if (const auto* dequantize = attributes_if<DequantizeAttrs>(attributes)) {
    to.put(dequantize->scale);
    to.put(dequantize->zero);
  } else if (const auto* quantized = attributes_if<QuantizedAttrs>(attributes)) {
    store_fused(quantized->fused, to);
    to.numbers(quantized->scale.values);
    to.numbers(quantized->zero.values);
    to.put(static_cast<uint8_t>(quantized->store.has_value()));
    if (quantized->store) store_levels(*quantized->store, to);
    to.put(static_cast<uint8_t>(quantized->also_floats));
  } else if (const auto* bf16 = attributes_if<Bf16Attrs>(attributes)) {
    store_fused(bf16->fused, to);
    to.put(static_cast<uint8_t>(bf16->stores_bf16));
  } else if (const auto* compressed = attributes_if<CompressedAttrs>(attributes)) {
    store_fused(compressed->fused, to);
    to.put(static_cast<uint8_t>(compressed->has_zeros));
  } else if (const auto* fused = attributes_if<FusedAttrs>(attributes)) {
    store_fused(*fused, to);
  } else if (const auto* elementwise = attributes_if<ElementwiseAttrs>(attributes)) {
    to.list(elementwise->members, [&](const ElementwiseMember& member) {
      store_inner(*member.schema, *member.attributes, to);
      to.numbers(member.operands);
    });
  } else if (const auto* chain = attributes_if<ConvolutionChainAttrs>(attributes)) {
    to.list(chain->stages, [&](const ConvolutionChainAttrs::Stage& stage) {
      store_inner(*stage.schema, *stage.attributes, to);
      to.text(stage.name);
      to.numbers(stage.inputs);
    });
    to.put(static_cast<uint8_t>(chain->mean));
  } else {
    ByteWriter alone;
    NodeCodec::store(schema, attributes, alone);
    ByteReader again(alone.bytes().data(), alone.bytes().size());
    if (!ir::equal(*NodeCodec::load(schema, again), attributes))
      throw_error(ErrorCode::not_implemented, "the attributes of ", schema.display_name(), " cannot be stored yet");
    NodeCodec::store(schema, attributes, to);
  }
}

FusedAttrs CpuNodeCodec::load_fused(ByteReader& from) const {
  FusedAttrs attrs;
  const Inner base = load_inner(from);
  attrs.base = base.schema;
  attrs.base_attributes = base.attributes;
  attrs.base_inputs = from.take<int>();
  attrs.channel_axis = from.take<int>();
  attrs.chain = from.list([&from] {
    FusedOp op{from.take<PostOpKind>()};
    op.mode = from.take<OperandMode>();
    op.alpha = from.take<float>();
    op.beta = from.take<float>();
    op.operand = from.take<int>();
    ByteReader::require(op.kind >= PostOpKind{} && op.kind <= PostOpKind::inverse_root && op.mode >= OperandMode{} &&
                        op.mode <= OperandMode::tensor && (op.mode == OperandMode::scalar) == (op.operand == -1));
    return op;
  });
  ByteReader::require(attrs.chain.size() < kMaxPostOps);  // an elementwise base is one more
  return attrs;
}

std::unique_ptr<ir::Attributes> CpuNodeCodec::load(const ir::OpSchema& schema, ByteReader& from) const {
  const auto defaults = schema.make_attributes();
  if (attributes_if<ReorderAttrs>(*defaults)) {
    ReorderAttrs attrs{load_layout(from), {}};
    attrs.to = load_layout(from);
    return ir::make_attributes_of(attrs);
  }
  if (attributes_if<QuantizeAttrs>(*defaults)) return ir::make_attributes_of(load_levels(from));
  if (attributes_if<DequantizeAttrs>(*defaults)) {
    DequantizeAttrs attrs;
    attrs.scale = from.take<float>();
    attrs.zero = from.take<float>();
    return ir::make_attributes_of(attrs);
  }
  if (attributes_if<QuantizedAttrs>(*defaults)) {
    QuantizedAttrs attrs;
    attrs.fused = load_fused(from);
    attrs.scale = load_by_channel(from);
    attrs.zero = load_by_channel(from);
    if (from.flag()) attrs.store = load_levels(from);
    attrs.also_floats = from.flag();
    ByteReader::require(attrs.store || !attrs.also_floats);
    return ir::make_attributes_of(std::move(attrs));
  }
  if (attributes_if<Bf16Attrs>(*defaults)) {
    Bf16Attrs attrs;
    attrs.fused = load_fused(from);
    attrs.stores_bf16 = from.flag();
    return ir::make_attributes_of(std::move(attrs));
  }
  if (attributes_if<CompressedAttrs>(*defaults)) {
    CompressedAttrs attrs;
    attrs.fused = load_fused(from);
    attrs.has_zeros = from.flag();
    return ir::make_attributes_of(std::move(attrs));
  }
  if (attributes_if<FusedAttrs>(*defaults)) return ir::make_attributes_of(load_fused(from));
  if (attributes_if<ElementwiseAttrs>(*defaults)) {
    ElementwiseAttrs attrs;
    attrs.members = from.list([&] {
      const Inner inner = load_inner(from);
      return ElementwiseMember{inner.schema, inner.attributes, load_numbers<int>(from)};
    });
    return ir::make_attributes_of(std::move(attrs));
  }
  if (attributes_if<ConvolutionChainAttrs>(*defaults)) {
    ConvolutionChainAttrs attrs;
    attrs.stages = from.list([&] {
      const Inner inner = load_inner(from, true);
      ConvolutionChainAttrs::Stage stage{inner.schema, inner.attributes, from.text(), {}};
      stage.inputs = load_numbers<int>(from);
      return stage;
    });
    attrs.mean = from.flag();
    return ir::make_attributes_of(std::move(attrs));
  }
  return NodeCodec::load(schema, from);
}

namespace {

bool is_arity(const ir::Arity& arity, size_t inputs) {
  return inputs >= static_cast<size_t>(arity.min_inputs) &&
         (arity.max_inputs == ir::kVariadic || inputs <= static_cast<size_t>(arity.max_inputs));
}

/// `schema`: of the node or stage. `steps`: inputs between those of the base op and the operands.
void require_base(const ir::OpSchema& schema, const FusedAttrs& fused, size_t inputs, size_t steps = 0) {
  const std::string &type = fused.base->type, &own = schema.type;
  const bool is_matrix = own == kQuantizedMatMulType || own == kBf16MatMulType || own == kCompressedMatMulType;
  const bool is_twin = is_matrix ? type == "MatMul"
                       : own == kQuantizedConvolutionType || own == kBf16ConvolutionType
                           ? type == "Convolution" || type == "GroupConvolution" || type == "ConvolutionBackpropData" ||
                                 (own == kBf16ConvolutionType && type == "GroupConvolutionBackpropData")
                           : type == own;
  ByteReader::require(is_twin && fused.base_inputs > 0 &&
                      is_arity(fused.base->arity, static_cast<size_t>(fused.base_inputs)) &&
                      static_cast<size_t>(fused.base_inputs) + steps <= inputs);
}

/// Of a base that is right. `inputs`: ConvolutionChainAttrs::kPrevious, or inputs of the node.
void require_chain(const ir::Graph& graph, const ir::Node& node, const FusedAttrs& fused,
                   const std::vector<int>& inputs, const ir::Dims& result, int steps = 0) {
  const auto axis = static_cast<size_t>(fused.channel_axis);
  // The type of the operand that need not be f32, and where it is.
  const element::Type narrow = is_bf16(node) ? element::bf16 : element::u8;
  const auto narrow_step =
      is_bf16(node) || is_quantized(node) ? byte_store_of(fused.chain, is_quantized(node)).residual : std::nullopt;
  ByteReader::require(fused.channel_axis >= -1 && fused.channel_axis <= static_cast<int>(result.size()));
  for (const FusedOp& op : fused.chain) {
    if (op.mode == OperandMode::scalar) continue;
    ByteReader::require(op.operand >= fused.base_inputs + steps && static_cast<size_t>(op.operand) < inputs.size());
    const int input = inputs[static_cast<size_t>(op.operand)];
    ByteReader::require(input >= 0);
    const ir::Value value = node.inputs[static_cast<size_t>(input)];
    const ir::OutputPort& port = graph.port(value);
    const ir::Constant* constant = ir::constant_of(graph, value);
    const bool may_be_narrow = narrow_step && &op == &fused.chain[*narrow_step];
    ByteReader::require(op.mode == OperandMode::tensor
                            ? (port.type == element::f32 || (may_be_narrow && port.type == narrow)) &&
                                  port.shape == PartialShape(ir::to_shape(result))
                            : constant && constant->view.type == element::f32 && axis < result.size() &&
                                  constant->view.count() == result[axis]);
  }
}

/// One for all, or one for each channel.
void require_channels(const ByChannel& values, const ir::Dims& dims) {
  ByteReader::require(values.values.size() == 1 ||
                      (dims.size() > 2 && static_cast<int64_t>(values.values.size()) == dims[1]));
}

void require_channels(const QuantizeAttrs& levels, const ir::Dims& dims) {
  require_channels(levels.low, dims);
  require_channels(levels.high, dims);
}

void require_stages(const ir::Graph& graph, const ir::Node& node, const ConvolutionChainAttrs& attrs) {
  ByteReader::require(node.outputs.size() == (attrs.mean ? 2 : 1) && attrs.stages.size() >= 2 &&
                      attrs.stages.size() <= 3);
  std::vector<ir::Dims> dims;
  for (const ir::Value input : node.inputs) {
    ByteReader::require(graph.port(input).shape.is_static());
    dims.push_back(ir::to_dims(graph.port(input).shape.to_shape()));
  }
  for (const ConvolutionChainAttrs::Stage& stage : attrs.stages) {
    const int least = &stage == &attrs.stages.front() ? 0 : ConvolutionChainAttrs::kPrevious;
    for (const int input : stage.inputs) ByteReader::require(input >= least && input < static_cast<int>(dims.size()));
    ByteReader::require(is_arity(stage.schema->arity, stage.inputs.size()));
    if (const auto* fused = attributes_if<FusedAttrs>(*stage.attributes))
      require_base(*stage.schema, *fused, stage.inputs.size());
  }
  const std::vector<ir::Dims> results = stage_results(attrs, dims);
  ByteReader::require(node.outputs[0].shape == PartialShape(ir::to_shape(results.back())));
  for (size_t s = 0; s < results.size(); ++s)
    if (const auto* fused = attributes_if<FusedAttrs>(*attrs.stages[s].attributes))
      require_chain(graph, node, *fused, attrs.stages[s].inputs, results[s]);
}

}  // namespace

void require_operands(const ir::Graph& graph, const ir::Node& node) {
  if (!is_cpu_op(node)) return;
  const auto count = static_cast<int>(node.inputs.size());
  if (const FusedAttrs* fused = fused_attrs(node)) {
    const int steps = is_quantized(node) ? 1 : is_compressed(node) ? node.attrs<CompressedAttrs>().parameters() : 0;
    require_base(*node.schema, *fused, node.inputs.size(), static_cast<size_t>(steps));
    ByteReader::require(!node.outputs.empty() && node.outputs[0].shape.is_static());
    const ir::Dims result = ir::to_dims(node.outputs[0].shape.to_shape());
    if (is_bf16(node)) {
      const element::Type data = graph.port(node.inputs[0]).type;
      const element::Type stored = node.attrs<Bf16Attrs>().stores_bf16 ? element::bf16 : element::f32;
      const int most = fused->base->type.ends_with("BackpropData") ? 3 : 2;
      ByteReader::require(fused->base_inputs >= 2 && fused->base_inputs <= most &&
                          ir::constant_of(graph, node.inputs[1]) && (data == element::f32 || data == element::bf16) &&
                          node.outputs.size() == 1 && node.outputs[0].type == stored);
    }
    if (is_compressed(node)) {
      std::vector<const ir::Constant*> constants;
      for (const ir::Value input : node.inputs) constants.push_back(ir::constant_of(graph, input));
      ByteReader::require(fused->base_inputs == 2 && graph.port(node.inputs[0]).type == element::f32 &&
                          node.outputs.size() == 1 && compressed_matrix(node.attrs<CompressedAttrs>(), constants));
    }
    if (is_quantized(node)) {
      const auto& attrs = node.attrs<QuantizedAttrs>();
      const size_t outputs_axis = node.is(kQuantizedMatMulType) ? result.size() - 1 : 1;
      const ir::Constant* values = ir::constant_of(graph, node.inputs[kQuantizedSteps]);
      ByteReader::require(graph.port(node.inputs[0]).type == element::u8 && fused->base_inputs == kQuantizedSteps &&
                          ir::constant_of(graph, node.inputs[1]) && values && values->view.type == element::f32 &&
                          outputs_axis < result.size() && values->view.count() == result[outputs_axis] &&
                          node.outputs.size() == (attrs.also_floats ? 2 : 1));
      const ir::Dims channels = node.is(kQuantizedMatMulType) ? ir::Dims{} : result;
      require_channels(attrs.scale, channels);
      require_channels(attrs.zero, channels);
      if (attrs.store) require_channels(*attrs.store, channels);
    }
    std::vector<int> inputs(node.inputs.size());
    std::iota(inputs.begin(), inputs.end(), 0);
    require_chain(graph, node, *fused, inputs, result, steps);
  } else if (const auto* region = attributes_if<ElementwiseAttrs>(*node.attributes)) {
    int known = 0;  // results of members
    for (const ElementwiseMember& member : region->members) {
      ByteReader::require(is_arity(member.schema->arity, member.operands.size()));
      for (const int operand : member.operands) ByteReader::require(operand >= -known && operand < count);
      ++known;
    }
    ByteReader::require(known > 0);
  } else if (const auto* chain = attributes_if<ConvolutionChainAttrs>(*node.attributes)) {
    require_stages(graph, node, *chain);
  } else if (const auto* levels = attributes_if<QuantizeAttrs>(*node.attributes)) {
    ByteReader::require(count == 1 && node.outputs.size() == 1 && node.outputs[0].shape.is_static());
    require_channels(*levels, ir::to_dims(node.outputs[0].shape.to_shape()));
  }
}

void store_decision(const Decision& decision, ByteWriter& to) {
  const LayoutChoice& choice = decision.choice;
  to.text(decision.impl->name);
  to.text(decision.rejected);
  to.list(choice.inputs, [&to](const std::optional<Layout>& layout) {
    to.put(static_cast<uint8_t>(layout.has_value()));
    if (layout) store_layout(*layout, to);
  });
  to.list(choice.outputs, [&to](const Layout& layout) { store_layout(layout, to); });
  to.put(choice.cost);
  to.put(choice.view_of);
  to.numbers(choice.in_place);
  to.put(choice.overwrite.input);
  to.put(static_cast<uint64_t>(choice.overwrite.step));
  to.put(choice.lean);
  to.numbers(choice.joins);
  to.numbers(choice.pieces);
}

Decision load_decision(const ir::Node& node, ByteReader& from) {
  Decision decision;
  const std::string name = from.text();
  const std::vector<const Impl*> impls = impls_for(*node.schema);
  const auto impl = std::find_if(impls.begin(), impls.end(), [&](const Impl* one) { return one->name == name; });
  ByteReader::require(impl != impls.end());
  decision.impl = *impl;
  decision.rejected = from.text();
  LayoutChoice& choice = decision.choice;
  choice.inputs =
      from.list([&from] { return from.flag() ? std::optional<Layout>(load_layout(from)) : std::optional<Layout>(); });
  choice.outputs = from.list([&from] { return load_layout(from); });
  choice.cost = from.take<double>();
  choice.view_of = from.take<int>();
  choice.in_place = load_numbers<int>(from);
  choice.overwrite.input = from.take<int>();
  choice.overwrite.step = from.take<uint64_t>();
  choice.lean = from.take<int>();
  choice.joins = load_numbers<size_t>(from);
  choice.pieces = load_numbers<size_t>(from);
  const auto is_input = [&](int input) { return input >= 0 && static_cast<size_t>(input) < node.inputs.size(); };
  ByteReader::require(
      choice.inputs.size() == node.inputs.size() && choice.outputs.size() == node.outputs.size() &&
      (choice.view_of == -1 || is_input(choice.view_of)) &&
      std::all_of(choice.in_place.begin(), choice.in_place.end(), is_input) && choice.lean >= 0 && choice.lean < 31 &&
      (choice.overwrite.input == -1 || (is_input(choice.overwrite.input) && choice.overwrite.step > 0)) &&
      (choice.joins.empty() || choice.joins.size() == node.inputs.size()) &&
      (choice.pieces.empty() || choice.pieces.size() == node.outputs.size()));
  return decision;
}

}  // namespace terroir::cpu
