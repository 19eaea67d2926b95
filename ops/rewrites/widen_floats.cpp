#include <algorithm>
#include <bit>
#include <unordered_map>

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/returned_memory.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/order.hpp"
#include "ops/defs/reduction/segment_max.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

bool is_narrow(element::Type type) { return type == element::f16 || type == element::bf16; }

/// Numbers of eight bits, which f16 and bf16 have as well as f32: there is nothing to round.
bool fits_every_float(element::Type type) { return type.is_static() && type.is_integral() && type.bitwidth() <= 8; }

/// Nodes whose types others rely on: the caller, a body, a variable that lives longer than one inference. Those with
/// types that only the run knows: they follow from types as the model says them. And SegmentMax where it fills with the
/// lowest number of its type.
bool keeps_its_types(const ir::Graph& graph, const ir::Node& node) {
  const auto unknown = [](const ir::OutputPort& port) { return port.type.is_dynamic(); };
  return node.is(ir::kResultType) || node.is("Assign") || node.is("ReadValue") || !node.bodies.empty() ||
         fills_with_lowest(node) || std::any_of(node.outputs.begin(), node.outputs.end(), unknown) ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::Value input) { return unknown(graph.port(input)); });
}

/// The float of a half, as static_cast makes it, without branches: compilers make vectors of this.
float widen(uint16_t half) {
  const uint32_t rest = static_cast<uint32_t>(half & 0x7fffU) << 13, exponent = half & 0x7c00U;
  const uint32_t normal = rest + (112U << 23);
  // A subnormal is the mantissa behind the smallest normal number, less that number.
  const float smallest = 0x1p-14F;
  const auto subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(rest + (113U << 23)) - smallest);
  const uint32_t magnitude = exponent == 0 ? subnormal : exponent == 0x7c00U ? rest | 0x7f800000U : normal;
  return std::bit_cast<float>(magnitude | static_cast<uint32_t>(half & 0x8000U) << 16);
}

ir::Constant widened(const ir::TensorView& view) {
  const int64_t count = view.count();
  auto buffer = allocate_returned(ir::byte_size(element::f32, count));
  auto* dst = static_cast<float*>(buffer.get());
  if (view.type == element::f16) {
    const auto* src = view.as<float16>();
    for (int64_t i = 0; i < count; ++i) dst[i] = widen(src[i].to_bits());
  } else {
    const auto* src = view.as<bfloat16>();
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(src[i]);
  }
  MappedFile::evict(view.data, view.bytes());
  const ir::TensorView wide{element::f32, view.dims, dst};
  return {wide, std::move(buffer)};
}

class Widening {
 public:
  Widening(ir::Graph& graph, const ir::OpRegistry& registry)
      : graph_(graph),
        known_(graph),
        const_(registry.get(ir::kConstType, "opset1")),
        convert_(registry.get("Convert", "opset1")) {}

  void run() {
    for (const ir::NodeId id : ir::topological_order(graph_)) {
      if (graph_.node(id).constant)
        widen_constant(id);
      else
        widen_node(id);
    }
    graph_.erase_unreachable();
  }

 private:
  /// What a value became: where it is in f32, and which type it had.
  struct Wide {
    ir::Value value;
    element::Type type;
  };

  void widen_constant(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    const ir::TensorView& view = node.constant->view;
    if (!is_narrow(view.type)) return;
    const ir::NodeId wide = graph_.add_constant(const_, node.name, widened(view));
    wide_[{id, 0}] = {{wide, 0}, view.type};
  }

  void widen_node(ir::NodeId id) {
    const std::vector<ir::Value> inputs = graph_.node(id).inputs;
    std::vector<ir::PortType> types;
    if (keeps_its_types(graph_, graph_.node(id))) {
      feed_narrow(id, inputs);
      types = ir::infer_node(graph_, id, known_);
    } else {
      for (size_t i = 0; i < inputs.size(); ++i)
        if (const auto found = wide_.find(inputs[i]); found != wide_.end())
          graph_.set_input({id, static_cast<int32_t>(i)}, found->second.value);
      if (graph_.node(id).is("Convert") && fits_every_float(graph_.port(inputs[0]).type) &&
          is_narrow(graph_.port({id, 0}).type))
        graph_.node(id).attributes = ir::make_attributes_of(ConvertAttrs{element::f32});
      // The second input says to which type the first is rounded.
      if (graph_.node(id).is("ConvertLike") && type_in_the_model(inputs[0]) != type_in_the_model(inputs[1]))
        feed_narrow(id, inputs, 1);
      try {
        types = ir::infer_node(graph_, id, known_);
      } catch (const Exception&) {  // an attribute names the narrow type, as RandomUniform's output_type may
        feed_narrow(id, inputs);
        types = ir::infer_node(graph_, id, known_);
      }
    }
    known_.forget(id);
    record(id, types);
  }

  element::Type type_in_the_model(ir::Value value) const {
    const auto found = wide_.find(value);
    return found != wide_.end() ? found->second.type : graph_.port(value).type;
  }

  /// Lets a node read its inputs, from the first one given on, in the types they had.
  void feed_narrow(ir::NodeId id, const std::vector<ir::Value>& inputs, size_t first = 0) {
    for (size_t i = first; i < inputs.size(); ++i) {
      const auto found = wide_.find(inputs[i]);
      const bool became_wide = found != wide_.end() && found->second.value == inputs[i];
      graph_.set_input({id, static_cast<int32_t>(i)}, became_wide ? convert(inputs[i], found->second.type) : inputs[i]);
    }
  }

  void record(ir::NodeId id, const std::vector<ir::PortType>& types) {
    for (size_t i = 0; i < types.size(); ++i) {
      const ir::Value value{id, static_cast<int32_t>(i)};
      const element::Type before = graph_.port(value).type;
      graph_.port(value).type = types[i].type;
      graph_.port(value).shape = types[i].shape;
      if (is_narrow(types[i].type) && !graph_.node(id).is(ir::kResultType))
        wide_[value] = {convert(value, element::f32), types[i].type};
      else if (is_narrow(before))
        wide_[value] = {value, before};
    }
  }

  ir::Value convert(ir::Value value, element::Type type) {
    const std::string name = graph_.node(value.node).name;
    const ir::NodeId id = graph_.add(convert_, name, ir::make_attributes_of(ConvertAttrs{type}), {value});
    graph_.node(id).origin = graph_.node(value.node).origin;
    ir::OutputPort& port = graph_.port({id, 0});
    port.type = type;
    port.shape = graph_.port(value).shape;
    port.names = graph_.port(value).names;
    return {id, 0};
  }

  ir::Graph& graph_;
  ir::KnownValues known_;
  const ir::OpSchema& const_;
  const ir::OpSchema& convert_;
  std::unordered_map<ir::Value, Wide> wide_;
};

}  // namespace

void widen_floats(ir::Graph& graph, const ir::OpRegistry& registry) {
  for (const ir::NodeId id : graph.nodes())
    for (const ir::OutputPort& port : graph.node(id).outputs)
      if (is_narrow(port.type)) return Widening(graph, registry).run();
}

}  // namespace terroir::ops
