#include "ops/reference/control_flow/run_bodies.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ops/reference/control_flow/iteration.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/shape/axis_parts.hpp"

namespace terroir::ops::reference {
namespace {

using ir::Constant;
using ir::Dims;
using ir::TensorView;
using Values = std::vector<Constant>;

struct Allocated {
  Constant value;
  void* data;
};

Allocated allocate(element::Type type, Dims dims) {
  std::shared_ptr<void> memory = allocate_elements(type, ir::element_count(dims));
  void* data = memory.get();
  return {{{type, std::move(dims), data}, std::move(memory)}, data};
}

size_t axis_of(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count)
    throw_error(ErrorCode::invalid_argument, "axis ", axis, " is out of range for rank ", rank);
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

Dims dense_steps(const Dims& dims) {
  Dims steps(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) steps[i - 1] = steps[i] * dims[i];
  return steps;
}

Constant copied(const TensorView& view) {
  Allocated copy = allocate(view.type, view.dims);
  copy_from_strided(view.type, view.data, 0, dense_steps(view.dims), copy.data, view.dims, "copying");
  return std::move(copy.value);
}

/// `size` elements of an axis from `begin` on.
Constant part_of(const TensorView& whole, size_t axis, int64_t begin, int64_t size) {
  Dims dims = whole.dims;
  if (begin < 0 || size > dims[axis] - begin)
    throw_error(ErrorCode::invalid_argument, "part_size ", size, " leaves the sliced axis of ", dims[axis],
                ": the part begins at ", begin);
  const Dims steps = dense_steps(dims);
  dims[axis] = size;
  Allocated part = allocate(whole.type, dims);
  copy_from_strided(whole.type, whole.data, begin * steps[axis], steps, part.data, dims, "slicing");
  return std::move(part.value);
}

/// The parts side by side along an axis, in this order.
Constant joined(const Values& parts, size_t axis) {
  Dims dims = parts.front().view.dims;
  dims.at(axis) = 0;
  for (const Constant& part : parts) {
    Dims others = part.view.dims;
    if (others.size() != dims.size() || part.view.type != parts.front().view.type)
      throw_error(ErrorCode::shape_mismatch, "iterations give parts of different rank or type");
    const int64_t extent = std::exchange(others[axis], dims[axis]);
    if (others != dims)
      throw_error(ErrorCode::shape_mismatch, "iterations give parts of the shapes ",
                  PartialShape(ir::to_shape(parts.front().view.dims)), " and ",
                  PartialShape(ir::to_shape(part.view.dims)), ", which cannot be joined along axis ", axis);
    dims[axis] += extent;
  }
  Allocated whole = allocate(parts.front().view.type, dims);
  const Dims steps = dense_steps(dims);
  int64_t begin = 0;
  for (const Constant& part : parts) {
    copy_to_strided(part.view.type, part.view.data, whole.data, begin * steps[axis], steps, part.view.dims, "joining");
    begin += part.view.dims[axis];
  }
  return std::move(whole.value);
}

template <class T>
T scalar_at(const TensorView& view, const char* what) {
  if (view.count() != 1)
    throw_error(ErrorCode::shape_mismatch, what, " must be one value, got the shape ",
                PartialShape(ir::to_shape(view.dims)));
  return *view.as<T>();
}

bool condition_in(const TensorView& view) { return scalar_at<uint8_t>(view, "the condition") != 0; }

int64_t trip_count_in(const TensorView& view) {
  return view.type == element::i32 ? scalar_at<int32_t>(view, "the trip count")
                                   : scalar_at<int64_t>(view, "the trip count");
}

/// A tensor for a Parameter: of its declared type, unknown extents as small as they may be.
Allocated for_parameter(const ir::Node& parameter) {
  const auto& attrs = parameter.attrs<ir::ParameterAttrs>();
  Dims dims;
  if (attrs.shape.rank().is_static())
    for (const Dimension& extent : attrs.shape) dims.push_back(extent.get_min_length());
  return allocate(attrs.element_type.is_dynamic() ? element::f32 : attrs.element_type, std::move(dims));
}

Constant iteration_number(const ir::Node& parameter, int64_t iteration) {
  Allocated number = for_parameter(parameter);
  if (number.value.view.count() != 1)
    throw_error(ErrorCode::shape_mismatch, parameter.describe(), ": the iteration counter must be one number");
  if (number.value.view.type == element::i32)
    *static_cast<int32_t*>(number.data) = static_cast<int32_t>(iteration);
  else if (number.value.view.type == element::i64)
    *static_cast<int64_t*>(number.data) = iteration;
  else
    throw_error(ErrorCode::type_mismatch, parameter.describe(), ": the iteration counter must be i32 or i64");
  return std::move(number.value);
}

TensorView external(std::span<const TensorView> inputs, const ir::BodyPortMap::Input& port) {
  return inputs[static_cast<size_t>(port.external_port)];
}

/// One body with its ports looked up: positions among Parameters and Results instead of nodes.
class BodyPorts {
 public:
  explicit BodyPorts(const ir::Body& of) : body(of) {
    const auto& parameters = body.graph->parameters();
    const auto& results = body.graph->results();
    for (size_t i = 0; i < parameters.size(); ++i) parameter_at_.emplace(parameters[i], i);
    for (size_t i = 0; i < results.size(); ++i) result_at_.emplace(results[i], i);
  }

  size_t parameter(ir::NodeId id) const { return parameter_at_.at(id); }
  size_t result(ir::NodeId id) const { return result_at_.at(id); }
  /// By Parameter: what is fed from outside as a whole. Those that nothing feeds are not read either; they only have
  /// to be there.
  Values arguments(std::span<const TensorView> inputs) const {
    Values values;
    for (ir::NodeId id : body.graph->parameters()) values.push_back(for_parameter(body.graph->node(id)).value);
    for (const auto& input : body.ports.inputs)
      if (!input.axis && !input.current_iteration) values[parameter(input.parameter)] = {external(inputs, input), {}};
    return values;
  }

  const ir::Body& body;

 private:
  std::unordered_map<ir::NodeId, size_t> parameter_at_, result_at_;
};

std::vector<TensorView> views_of(const Values& values) {
  std::vector<TensorView> views;
  for (const Constant& value : values) views.push_back(value.view);
  return views;
}

Values run_if(const ir::Node& node, std::span<const TensorView> inputs, BodyRunner run_body) {
  const char* role = condition_in(inputs[0]) ? "then_body" : "else_body";
  size_t index = 0;
  while (node.bodies.at(index).role != role) ++index;
  const BodyPorts ports(node.bodies[index]);
  const Values results = run_body(index, views_of(ports.arguments(inputs)));
  if (results.empty()) return {};
  Values outputs(node.outputs.size());
  for (const auto& output : ports.body.ports.outputs)
    if (output.external_port >= 0)
      outputs.at(static_cast<size_t>(output.external_port)) = results[ports.result(output.result)];
  return outputs;
}

/// Inference for inputs that are there.
class KnownInputs final : public ir::InferContext {
 public:
  KnownInputs(const ir::Node& node, std::span<const TensorView> inputs)
      : InferContext(*node.schema, *node.attributes, types_of(inputs)), node_(node), inputs_(inputs) {}

  std::optional<TensorView> value(int input) override { return inputs_[static_cast<size_t>(input)]; }
  const std::vector<ir::Body>* bodies() const override { return &node_.bodies; }

 private:
  static std::vector<ir::PortType> types_of(std::span<const TensorView> inputs) {
    std::vector<ir::PortType> types;
    for (const TensorView& input : inputs) types.push_back({input.type, PartialShape(ir::to_shape(input.dims))});
    return types;
  }

  const ir::Node& node_;
  std::span<const TensorView> inputs_;
};

class Iterations {
 public:
  Iterations(const ir::Node& node, std::span<const TensorView> inputs)
      : node_(node),
        inputs_(inputs),
        ports_(node.bodies.at(0)),
        arguments_(ports_.arguments(inputs)),
        joined_(ports_.body.ports.outputs.size()) {}

  /// -1: nothing is sliced.
  int64_t parts() const {
    int64_t count = -1;
    for (const auto& input : ports_.body.ports.inputs) {
      if (!input.axis) continue;
      const int64_t parts = cut(input).count;
      if (count >= 0 && parts != count)
        throw_error(ErrorCode::shape_mismatch, "the sliced inputs ask for ", count, " and ", parts, " iterations");
      count = parts;
    }
    return count;
  }

  /// False: the runner stopped.
  bool run_one(int64_t iteration, BodyRunner run_body) {
    for (const auto& input : ports_.body.ports.inputs) {
      if (input.current_iteration) {
        argument(input) = iteration_number(ports_.body.graph->node(input.parameter), iteration);
      } else if (input.axis) {
        const TensorView whole = external(inputs_, input);
        argument(input) = part_of(whole, axis_of(*input.axis, whole.dims.size()),
                                  cut(input).begin(iteration, input.part_size), input.part_size);
      }
    }
    loop_.begin_iteration();
    results_ = run_body(0, views_of(arguments_));
    if (results_.empty()) return false;
    const auto& outputs = ports_.body.ports.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].axis) continue;
      Constant& part = joined_[i].emplace_back(results_[ports_.result(outputs[i].result)]);
      if (part.view.dims.empty()) part.view.dims = {1};
    }
    for (const auto& edge : ports_.body.ports.back_edges)
      arguments_[ports_.parameter(edge.parameter)] = results_[ports_.result(edge.result)];
    return true;
  }

  /// Whether the iteration that has just run asks for another one.
  bool goes_on() const {
    for (const auto& output : ports_.body.ports.outputs)
      if (output.execution_condition) return condition_in(results_[ports_.result(output.result)].view);
    return true;
  }

  Values outputs() {
    Values values(node_.outputs.size());
    const auto& outputs = ports_.body.ports.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].external_port < 0) continue;
      Constant& value = values.at(static_cast<size_t>(outputs[i].external_port));
      if (results_.empty()) {
        value = without_iterations(outputs[i]);
      } else if (!outputs[i].axis) {
        value = results_[ports_.result(outputs[i].result)];
      } else {
        if (outputs[i].stride < 0) std::reverse(joined_[i].begin(), joined_[i].end());
        value = joined(joined_[i], axis_of(*outputs[i].axis, joined_[i].front().view.dims.size()));
      }
    }
    return values;
  }

 private:
  Constant& argument(const ir::BodyPortMap::Input& input) { return arguments_[ports_.parameter(input.parameter)]; }

  AxisParts cut(const ir::BodyPortMap::Input& input) const {
    const Dims& dims = external(inputs_, input).dims;
    return axis_parts(input, dims[axis_of(*input.axis, dims.size())]);
  }

  Constant without_iterations(const ir::BodyPortMap::Output& output) const {
    for (const auto& edge : ports_.body.ports.back_edges)
      if (edge.result == output.result && !output.axis)
        return copied(arguments_[ports_.parameter(edge.parameter)].view);
    const auto index = static_cast<size_t>(output.external_port);
    ir::PortType type{node_.outputs.at(index).type, node_.outputs[index].shape};
    if (output.axis) {
      try {
        KnownInputs context(node_, inputs_);
        node_.schema->infer(context);
        type = context.outputs().at(index);
      } catch (const Exception&) {  // what does not run need not fit
      }
    }
    if (!output.axis || type.type.is_dynamic() || type.shape.rank().is_dynamic())
      throw_error(ErrorCode::invalid_argument, "no iteration ran, so output ", output.external_port, " has no value");
    Dims dims;
    for (const Dimension& extent : type.shape) dims.push_back(extent.get_min_length());
    return allocate(type.type, std::move(dims)).value;
  }

  const ir::Node& node_;
  std::span<const TensorView> inputs_;
  BodyPorts ports_;
  RunningLoop loop_;
  Values arguments_;            // by Parameter
  Values results_;              // by Result, of the last iteration
  std::vector<Values> joined_;  // by output port: parts of all iterations
};

Values run_tensor_iterator(const ir::Node& node, std::span<const TensorView> inputs, BodyRunner run_body) {
  Iterations iterations(node, inputs);
  const int64_t parts = iterations.parts(), count = parts < 0 ? 1 : parts;
  for (int64_t i = 0; i < count; ++i)
    if (!iterations.run_one(i, run_body)) return {};
  return iterations.outputs();
}

Values run_loop(const ir::Node& node, std::span<const TensorView> inputs, BodyRunner run_body) {
  Iterations iterations(node, inputs);
  int64_t limit = trip_count_in(inputs[0]);
  if (limit < 0) limit = std::numeric_limits<int64_t>::max();
  if (const int64_t parts = iterations.parts(); parts >= 0) limit = std::min(limit, parts);
  bool goes_on = condition_in(inputs[1]);
  for (int64_t i = 0; goes_on && i < limit; ++i) {
    if (!iterations.run_one(i, run_body)) return {};
    goes_on = iterations.goes_on();
  }
  return iterations.outputs();
}

}  // namespace

std::vector<ir::Constant> run_bodies(const ir::Node& node, std::span<const TensorView> inputs, BodyRunner run_body) {
  if (node.is("If")) return run_if(node, inputs, run_body);
  if (node.is("Loop")) return run_loop(node, inputs, run_body);
  TERROIR_ASSERT(node.is("TensorIterator"), node.schema->type);
  return run_tensor_iterator(node, inputs, run_body);
}

}  // namespace terroir::ops::reference
