#include "plugins/interpreter/interpreter.hpp"

#include <algorithm>
#include <chrono>

#include "ir/base/error.hpp"
#include "ir/graph/order.hpp"
#include "ops/defs/reduction/segment_max.hpp"
#include "ops/reference/control_flow/run_bodies.hpp"
#include "ops/run_reference.hpp"
#include "runtime/extension/layer.hpp"

namespace terroir::interpreter {
namespace {

using ir::NodeId;
using Tensors = std::vector<HostTensor>;  // outputs of one node

PartialShape to_partial(const ir::Dims& dims) { return PartialShape(std::vector<Dimension>(dims.begin(), dims.end())); }

std::vector<ir::PortType> port_types(std::span<const ir::TensorView> inputs) {
  std::vector<ir::PortType> types;
  types.reserve(inputs.size());
  for (const ir::TensorView& input : inputs) types.push_back({input.type, to_partial(input.dims)});
  return types;
}

/// Inference while running: every input has a value.
class RunContext final : public ir::InferContext {
 public:
  RunContext(const ir::Node& node, std::span<const ir::TensorView> inputs)
      : InferContext(*node.schema, *node.attributes, port_types(inputs)), node_(node), values_(inputs) {}

  std::optional<ir::TensorView> value(int input) override { return values_[static_cast<size_t>(input)]; }
  std::optional<ir::PortType> declared(int output) const override {
    const auto index = static_cast<size_t>(output);
    return index < node_.outputs.size() ? node_.outputs[index].declared : std::nullopt;
  }
  const std::vector<ir::Body>* bodies() const override { return &node_.bodies; }

 private:
  const ir::Node& node_;
  std::span<const ir::TensorView> values_;
};

/// Room for an output: its shape, or the upper bounds of it when the size depends on the data.
HostTensor allocate(const ir::PortType& type, size_t output) {
  if (type.type.is_dynamic())
    throw_error(ErrorCode::invalid_argument, "the element type of output ", output, " cannot be inferred");
  if (type.shape.rank().is_dynamic())
    throw_error(ErrorCode::invalid_argument, "the rank of output ", output, " cannot be inferred");
  ir::Dims dims;
  for (const Dimension& extent : type.shape) {
    if (extent.is_dynamic() && !extent.has_upper_bound())
      throw_error(ErrorCode::invalid_argument, "no upper bound can be inferred for the shape ", type.shape,
                  " of output ", output);
    dims.push_back(extent.is_static() ? extent.get_length() : extent.get_max_length());
  }
  return HostTensor(type.type, std::move(dims));
}

Tensors run_reference(const ir::Node& node, std::span<const ir::TensorView> inputs) {
  RunContext context(node, inputs);
  node.schema->infer(context);
  Tensors tensors;
  std::vector<ir::MutableTensorView> outputs;
  for (size_t i = 0; i < context.outputs().size(); ++i) {
    tensors.push_back(allocate(context.outputs()[i], i));
    outputs.push_back(tensors.back().writable());
  }
  ops::run_reference(*node.schema, {*node.attributes, inputs, outputs});
  for (size_t i = 0; i < outputs.size(); ++i) {
    custom::check_used_extents(node, i, context.outputs()[i].shape, outputs[i].dims);
    TERROIR_ASSERT(context.outputs()[i].shape.compatible(to_partial(outputs[i].dims)), context.outputs()[i].shape,
                   outputs[i].dims);
    tensors[i].shrink(std::move(outputs[i].dims));
  }
  return tensors;
}

bool is_narrow(element::Type type) { return type == element::f16 || type == element::bf16; }

template <class From, class To>
HostTensor converted(const HostTensor& tensor) {
  HostTensor result(element::from<To>(), tensor.dims());
  const From* src = tensor.as<From>();
  To* dst = result.writable().as<To>();
  for (int64_t i = 0, count = tensor.view().count(); i < count; ++i) dst[i] = static_cast<To>(src[i]);
  return result;
}

HostTensor widened(HostTensor tensor) {
  if (tensor.type() == element::f16) return converted<float16, float>(tensor);
  if (tensor.type() == element::bf16) return converted<bfloat16, float>(tensor);
  return tensor;
}

HostTensor narrowed(HostTensor tensor, element::Type type) {
  if (tensor.type() != element::f32) return tensor;
  if (type == element::f16) return converted<float, float16>(tensor);
  if (type == element::bf16) return converted<float, bfloat16>(tensor);
  return tensor;
}

std::vector<ir::TensorView> views_of(const Tensors& tensors) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

void check_input(const ir::Node& parameter, size_t index, const ir::TensorView& input, bool of_body) {
  const auto& attrs = parameter.attrs<ir::ParameterAttrs>();
  if (!attrs.element_type.compatible(input.type))
    throw_error(ErrorCode::type_mismatch, parameter.describe(), ": input ", index, " must be ",
                attrs.element_type.get_type_name(), ", got ", input.type.get_type_name());
  // A body takes the extents that come in, as when it is inferred: those that it declares are of the model as written.
  if (!of_body && !attrs.shape.compatible(to_partial(input.dims)))
    throw_error(ErrorCode::shape_mismatch, parameter.describe(), ": input ", index, " must have the shape ",
                attrs.shape, ", got ", to_partial(input.dims));
}

/// By node: whether a result or a sink depends on it.
std::vector<bool> needed_nodes(const ir::Graph& graph) {
  std::vector<bool> needed(graph.id_bound(), false);
  std::vector<NodeId> open = graph.results();
  for (NodeId sink : graph.sinks()) open.push_back(sink);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (needed[index_of(id)]) continue;
    needed[index_of(id)] = true;
    for (const ir::Value& input : graph.node(id).inputs)
      if (input.node != NodeId::none) open.push_back(input.node);
  }
  return needed;
}

}  // namespace

std::string why_unsupported(const ir::Node& node) {
  if (node.constant || node.is(ir::kParameterType)) return {};
  for (const ir::Body& body : node.bodies)
    for (NodeId id : body.graph->nodes())
      if (std::string reason = why_unsupported(body.graph->node(id)); !reason.empty()) return reason;
  if (node.bodies.empty() && node.schema->reference == nullptr)
    return concat(node.schema->display_name(), " '", node.name, "' is not supported by INTERPRETER yet");
  return {};
}

Program::Program(const ir::Graph& graph, Precision precision) : graph_(graph), precision_(precision) {
  const std::vector<bool> needed = needed_nodes(graph);
  std::string refused;
  for (NodeId id : ir::topological_order(graph)) {
    if (!needed[index_of(id)]) continue;
    const ir::Node& node = graph.node(id);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].node == NodeId::none)
        throw_error(ErrorCode::invalid_argument, node.describe(), ": input ", i, " is not connected");
    if (const std::string reason = why_unsupported(node); !reason.empty())
      refused += concat(refused.empty() ? "" : "; ", node.describe(), ": ", reason);
    steps_.push_back({id, {}});
    for (const ir::Body& body : node.bodies) bodies_[id].emplace_back(*body.graph, precision).of_body_ = true;
    if (precision_ == Precision::f32 && node.constant && is_narrow(node.constant->view.type))
      constants_.emplace(id, widened(HostTensor(node.constant->view, nullptr)));
  }
  if (!refused.empty()) throw_error(ErrorCode::unsupported, refused);

  std::vector<char> seen(graph.id_bound(), false);
  for (NodeId id : graph.results()) seen[index_of(id)] = true;  // results stay until the end
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!std::exchange(seen[index_of(step->node)], char{true}))
      step->released.push_back(step->node);  // nobody reads it
    for (const ir::Value& input : graph.node(step->node).inputs)
      if (!std::exchange(seen[index_of(input.node)], char{true})) step->released.push_back(input.node);
  }
}

std::vector<HostTensor> Program::evaluate(const ir::Node& node, std::span<const ir::TensorView> inputs,
                                          const std::atomic<bool>* cancelled) const {
  if (node.constant) {
    const auto wide = constants_.find(node.id);
    return {wide != constants_.end() ? wide->second : HostTensor(node.constant->view, node.constant->owner)};
  }
  Tensors outputs = !node.bodies.empty()                ? evaluate_bodies(node, inputs, cancelled)
                    : precision_ == Precision::declared ? run_reference(node, inputs)
                                                        : evaluate_wide(node, inputs);
  if (precision_ == Precision::declared) return outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.is(ir::kResultType))
      outputs[i] = narrowed(std::move(outputs[i]), node.outputs.at(i).type);
    else if (node.outputs.at(i).type.is_static())
      outputs[i] = widened(std::move(outputs[i]));
  return outputs;
}

std::vector<HostTensor> Program::in_declared_types(const ir::Node& node, std::span<const ir::TensorView> inputs) const {
  Tensors narrow;
  for (size_t i = 0; i < inputs.size(); ++i)
    narrow.push_back(narrowed(HostTensor(inputs[i], nullptr), graph_.port(node.inputs[i]).type));
  return narrow;
}

std::vector<HostTensor> Program::evaluate_wide(const ir::Node& node, std::span<const ir::TensorView> inputs) const {
  const bool narrow_inputs = std::any_of(node.inputs.begin(), node.inputs.end(),
                                         [&](const ir::Value& input) { return is_narrow(graph_.port(input).type); });
  if (!narrow_inputs) return run_reference(node, inputs);
  // A type that only the run knows follows from types as the model says them, and so does the lowest number of a type.
  const bool types_follow = std::any_of(node.outputs.begin(), node.outputs.end(),
                                        [](const ir::OutputPort& port) { return port.type.is_dynamic(); });
  if (types_follow || ops::fills_with_lowest(node))
    return run_reference(node, views_of(in_declared_types(node, inputs)));
  // The second input says to which type the first is rounded.
  if (node.is("ConvertLike") && graph_.port(node.inputs[0]).type != graph_.port(node.inputs[1]).type) {
    const Tensors narrow = in_declared_types(node, inputs);
    return run_reference(node, std::vector<ir::TensorView>{inputs[0], narrow[1].view()});
  }
  try {
    return run_reference(node, inputs);
  } catch (const Exception&) {  // an attribute names the narrow type, as RandomUniform's output_type may
    return run_reference(node, views_of(in_declared_types(node, inputs)));
  }
}

std::vector<HostTensor> Program::evaluate_bodies(const ir::Node& node, std::span<const ir::TensorView> inputs,
                                                 const std::atomic<bool>* cancelled) const {
  // Bodies take and give the types they declare.
  const Tensors narrow = in_declared_types(node, inputs);
  const std::vector<ir::TensorView> operands = views_of(narrow);
  const std::vector<Program>& bodies = bodies_.at(node.id);
  const auto run_body = [&](size_t body, std::span<const ir::TensorView> arguments) {
    std::vector<ir::Constant> results;
    for (HostTensor& result : bodies[body].run(arguments, {}, cancelled))
      results.push_back(std::move(result).to_constant());
    return results;
  };
  Tensors outputs;
  for (const ir::Constant& value : ops::reference::run_bodies(node, operands, run_body))
    outputs.emplace_back(value.view, value.owner);
  return outputs;
}

std::vector<HostTensor> Program::run(std::span<const ir::TensorView> inputs, const Observer& observer,
                                     const std::atomic<bool>* cancelled) const {
  const auto& parameters = graph_.parameters();
  if (inputs.size() != parameters.size())
    throw_error(ErrorCode::invalid_argument, "the model has ", parameters.size(), " inputs, got ", inputs.size());
  std::vector<Tensors> tensors(graph_.id_bound());
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(graph_.node(parameters[i]), i, inputs[i], of_body_);
    HostTensor input(inputs[i], nullptr);
    tensors[index_of(parameters[i])].push_back(precision_ == Precision::f32 ? widened(std::move(input)) : input);
  }
  std::vector<ir::TensorView> operands;
  for (const Step& step : steps_) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return {};
    const ir::Node& node = graph_.node(step.node);
    if (!node.is(ir::kParameterType)) {
      operands.clear();
      for (const ir::Value& input : node.inputs)
        operands.push_back(tensors[index_of(input.node)].at(static_cast<size_t>(input.output)).view());
      const auto begin = std::chrono::steady_clock::now();
      tensors[index_of(step.node)] =
          with_context([&] { return node.describe(); }, [&] { return evaluate(node, operands, cancelled); });
      if (observer) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (!observer(node, spent.count(), tensors[index_of(step.node)])) return {};
      }
    }
    for (NodeId id : step.released) Tensors().swap(tensors[index_of(id)]);
  }
  std::vector<HostTensor> outputs;
  for (NodeId id : graph_.results()) outputs.push_back(std::move(tensors[index_of(id)].at(0)));
  return outputs;
}

std::vector<HostTensor> run(const ir::Graph& graph, std::span<const ir::TensorView> inputs) {
  return Program(graph).run(inputs);
}

}  // namespace terroir::interpreter
