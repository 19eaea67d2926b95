#include "terroir/model_builder.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "ir/base/error.hpp"
#include "ir/graph/infer.hpp"
#include "ops/registry.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/compiled_state.hpp"
#include "runtime/api/graph_state.hpp"
#include "runtime/api/held.hpp"
#include "runtime/api/model_ends.hpp"
#include "runtime/api/tensor_state.hpp"

namespace terroir {

using detail::NodeAccess;

namespace {
constexpr const char* kWhat = "ModelBuilder";
}

struct ModelBuilder::State {
  State(const std::string& name, std::shared_ptr<const ir::OpRegistry> extended)
      : state(std::make_shared<detail::GraphState>(std::make_unique<ir::Graph>(name))),
        extended_operations(std::move(extended)) {
    state->owned = true;
    known.emplace(*state->graph);
  }
  explicit State(std::shared_ptr<detail::GraphState> of_a_model) : state(std::move(of_a_model)), extends(true) {}

  const ir::OpRegistry& operations() const {
    return extended_operations ? *extended_operations : ops::builtin_registry();
  }

  ir::Graph& graph() { return extends ? state->writable() : *state->graph; }

  void require_own(const char* function) const {
    if (!extends) return;
    throw_error(ErrorCode::invalid_argument, "ModelBuilder::", function,
                "() is for models of the builder's own; this one adds layers to a model that exists");
  }

  // Handles see the graph through its state, and nobody else holds the graph before build().
  std::shared_ptr<detail::GraphState> state;
  bool extends = false;                  // a model that exists, whose graph others may hold and change
  std::optional<ir::KnownValues> known;  // of a graph of our own
  std::set<std::string> names;           // of the layers we made
  std::shared_ptr<const ir::OpRegistry> extended_operations;  // null: our own

  std::string unique_name(const std::string& wanted, const std::string& type) {
    if (!wanted.empty()) {
      if (is_taken(wanted) || !names.insert(wanted).second) {
        throw_error(ErrorCode::invalid_argument, "there is a layer with the name '", wanted, "' already");
      }
      return wanted;
    }
    for (size_t i = graph().id_bound();; ++i) {
      std::string name = concat(type, "_", i);
      if (!is_taken(name) && names.insert(name).second) return name;
    }
  }

  /// By a layer that another one made.
  bool is_taken(const std::string& name) const {
    if (!extends) return false;
    for (const ir::NodeId id : state->graph->nodes()) {
      if (state->graph->node(id).name == name) return true;
    }
    return false;
  }

  // Infers a node just added; takes it away again if it is refused.
  void infer(ir::NodeId id) {
    try {
      std::optional<ir::KnownValues> fresh;
      ir::infer_outputs(graph(), id, known ? *known : fresh.emplace(graph()));
    } catch (...) {
      names.erase(graph().node(id).name);
      graph().erase(id);
      throw;
    }
  }

  ir::Value value_of(const Output<Node>& port) {
    if (port.get_node() == nullptr || NodeAccess::state(*port.get_node()) != state) {
      throw_error(ErrorCode::invalid_argument, "an input is no port of this builder: ", port);
    }
    if (detail::is_result(NodeAccess::node(*port.get_node()))) {
      throw_error(ErrorCode::invalid_argument, "an output of the model cannot be an input of a layer: ", port);
    }
    return {NodeAccess::id(*port.get_node()), static_cast<int32_t>(port.get_index())};
  }

  Output<Node> port(ir::NodeId id) { return NodeAccess::port(state, {id, 0}); }
};

ModelBuilder::ModelBuilder(const std::string& name) : state_(std::make_unique<State>(name, nullptr)) {}
ModelBuilder::ModelBuilder(const Core& core, const std::string& name)
    : state_(std::make_unique<State>(name, detail::RuntimeAccess::operations(core))) {}
ModelBuilder::ModelBuilder(const Output<Node>& port) {
  if (port.get_node() == nullptr) throw_error(ErrorCode::invalid_argument, "the port of the model to extend is empty");
  state_ = std::make_unique<State>(NodeAccess::state(*port.get_node()));
}
ModelBuilder::~ModelBuilder() = default;
ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder& ModelBuilder::operator=(ModelBuilder&&) noexcept = default;

Output<Node> ModelBuilder::parameter(const element::Type& type, const PartialShape& shape, const std::string& name) {
  State& state = detail::held(state_, kWhat);
  state.require_own("parameter");
  ir::ParameterAttrs attrs;
  attrs.element_type = type;
  attrs.shape = shape;
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kParameterType, "opset1");
  const std::string unique = state.unique_name(name, "Parameter");
  const ir::NodeId id = state.graph().add(schema, unique, ir::make_attributes_of(std::move(attrs)));
  state.infer(id);
  state.graph().node(id).outputs.at(0).names = {unique};
  return state.port(id);
}

Output<Node> ModelBuilder::constant(const Tensor& value, const std::string& name) {
  State& state = detail::held(state_, kWhat);
  const detail::TensorState* tensor = &detail::TensorAccess::state(value);
  Tensor dense = value;
  // Memory of the user may go before the model does.
  if (!tensor->dense || tensor->owner == nullptr) {
    dense = Tensor(tensor->type, tensor->shape);
    value.copy_to(dense);
    tensor = &detail::TensorAccess::state(dense);
  }
  ir::Constant constant;
  constant.view = {tensor->type, ir::to_dims(tensor->shape), tensor->data};
  constant.owner = tensor->owner;
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kConstType, "opset1");
  return state.port(state.graph().add_constant(schema, state.unique_name(name, "Constant"), std::move(constant)));
}

namespace {

template <typename T, typename From>
void fill(const Tensor& tensor, const std::vector<From>& values) {
  T* const to = tensor.data<T>();
  const size_t count = tensor.get_size();
  for (size_t i = 0; i < count; ++i) {
    const From value = values[values.size() == 1 ? 0 : i];
    if constexpr (std::is_same_v<T, char>) {
      if (value != 0 && value != 1) throw_error(ErrorCode::invalid_argument, "a boolean is 0 or 1, got ", value);
      to[i] = static_cast<char>(value);
    } else if constexpr (std::is_integral_v<T> && std::is_integral_v<From>) {
      if (!std::in_range<T>(value)) {
        throw_error(ErrorCode::invalid_argument, "the element ", value, " does not fit the type of a constant");
      }
      to[i] = static_cast<T>(value);
    } else if constexpr (std::is_integral_v<T>) {
      T converted{};
      if (!detail::convert_number(value, converted) || static_cast<From>(converted) != value) {
        throw_error(ErrorCode::invalid_argument, "the element ", value, " does not fit the type of a constant");
      }
      to[i] = converted;
    } else if constexpr (std::is_same_v<T, double>) {
      to[i] = static_cast<double>(value);
    } else {
      to[i] = T(static_cast<float>(value));
    }
  }
}

template <typename From>
Tensor make_constant(const element::Type& type, const Shape& shape, const std::vector<From>& values) {
  const size_t count = shape_size(shape);
  if (values.size() != count && values.size() != 1) {
    throw_error(ErrorCode::invalid_argument, "a constant of shape ", shape, " takes ", count, " elements or one, got ",
                values.size());
  }
  Tensor tensor(type, shape);
  switch (type) {
    case element::Type_t::boolean:
      fill<char>(tensor, values);
      break;
    case element::Type_t::bf16:
      fill<bfloat16>(tensor, values);
      break;
    case element::Type_t::f16:
      fill<float16>(tensor, values);
      break;
    case element::Type_t::f32:
      fill<float>(tensor, values);
      break;
    case element::Type_t::f64:
      fill<double>(tensor, values);
      break;
    case element::Type_t::i8:
      fill<int8_t>(tensor, values);
      break;
    case element::Type_t::i16:
      fill<int16_t>(tensor, values);
      break;
    case element::Type_t::i32:
      fill<int32_t>(tensor, values);
      break;
    case element::Type_t::i64:
      fill<int64_t>(tensor, values);
      break;
    case element::Type_t::u8:
      fill<uint8_t>(tensor, values);
      break;
    case element::Type_t::u16:
      fill<uint16_t>(tensor, values);
      break;
    case element::Type_t::u32:
      fill<uint32_t>(tensor, values);
      break;
    case element::Type_t::u64:
      fill<uint64_t>(tensor, values);
      break;
    default:
      throw_error(ErrorCode::invalid_argument, "a constant of type ", type, " cannot be made from numbers");
  }
  return tensor;
}

}  // namespace

Output<Node> ModelBuilder::integers(const element::Type& type, const Shape& shape, const std::vector<int64_t>& values,
                                    const std::string& name) {
  return constant(make_constant(type, shape, values), name);
}

Output<Node> ModelBuilder::reals(const element::Type& type, const Shape& shape, const std::vector<double>& values,
                                 const std::string& name) {
  return constant(make_constant(type, shape, values), name);
}

Output<Node> ModelBuilder::op(const std::string& type, const std::string& opset,
                              const std::vector<Output<Node>>& inputs, const AnyMap& attributes,
                              const std::string& name) {
  State& state = detail::held(state_, kWhat);
  const ir::OpSchema& schema = state.operations().get(type, opset);
  for (const std::string_view end : {ir::kParameterType, ir::kConstType, ir::kResultType}) {
    if (schema.type == end) {
      throw_error(ErrorCode::invalid_argument, "a ", end, " is made by ModelBuilder::",
                  end == ir::kParameterType ? "parameter()"
                  : end == ir::kConstType   ? "constant()"
                                            : "result()");
    }
  }
  std::vector<ir::Value> values;
  for (const Output<Node>& input : inputs) values.push_back(state.value_of(input));
  const std::string unique = state.unique_name(name, schema.type);
  std::unique_ptr<ir::Attributes> attrs;
  try {
    attrs = with_context([&] { return schema.type + " '" + unique + "'"; },
                         [&] { return detail::make_attributes(schema, attributes); });
  } catch (...) {
    state.names.erase(unique);
    throw;
  }
  const ir::NodeId id = state.graph().add(schema, unique, std::move(attrs), std::move(values));
  state.infer(id);
  auto& outputs = state.graph().node(id).outputs;
  // A layer that was named by hand is found by that name, too.
  if (!name.empty()) {
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].names = {i == 0 ? name : concat(name, ".", i)};
  }
  return state.port(id);
}

Output<Node> ModelBuilder::result(const Output<Node>& value, const std::string& name) {
  State& state = detail::held(state_, kWhat);
  state.require_own("result");
  const ir::Value source = state.value_of(value);
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kResultType, "opset1");
  const std::string layer = state.unique_name(name.empty() || state.names.count(name) != 0 ? "" : name, "Result");
  const ir::NodeId id = state.graph().add(schema, layer, nullptr, {source});
  state.infer(id);
  Output<Node> port = state.port(id);
  if (!name.empty()) port.add_names({name});
  return port;
}

std::shared_ptr<Model> ModelBuilder::build() {
  State& state = detail::held(state_, kWhat);
  state.require_own("build");
  if (state.graph().results().empty()) {
    throw_error(ErrorCode::invalid_argument, "the model '", state.graph().name(), "' has no result");
  }
  auto built = std::make_unique<State>("", state.extended_operations);
  std::swap(built, state_);
  return detail::ModelAccess::make(std::move(built->state));
}

}  // namespace terroir
