#include "tests/random_models/net.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/infer_added.hpp"

namespace terroir::test {
namespace {

constexpr int64_t kMostElements = 2000000;  // of a value

}  // namespace

Net::Net(ir::Graph& graph, Random& random, element::Type type, int64_t products)
    : graph_(graph), random_(random), draw_(graph, random), type_(type), products_(products) {}

void Net::need(bool condition) {
  if (!condition) throw_error(ErrorCode::invalid_argument, "the block does not fit");
}

void Net::spend(int64_t products) {
  need(products <= products_);
  products_ -= products;
}

Value Net::op(const std::string& type, const std::vector<Value>& inputs, const AttributeTexts& attributes,
              const char* opset) {
  return add(ops::builtin_registry().get(type, opset), inputs, attributes, {});
}

Value Net::control(const std::string& type, const std::vector<Value>& inputs, std::vector<ir::Body> bodies) {
  return add(ops::builtin_registry().get(type, "opset16"), inputs, {}, std::move(bodies));
}

Value Net::add(const ir::OpSchema& schema, const std::vector<Value>& inputs, const AttributeTexts& attributes,
               std::vector<ir::Body> bodies) {
  auto filled = schema.make_attributes();
  set_attributes(*filled, attributes);
  const int count = ++names_[schema.type];
  const ir::NodeId id = graph_.add(schema, concat(schema.type, "_", count), std::move(filled), inputs);
  graph_.node(id).bodies = std::move(bodies);
  try {
    infer_added(graph_, id);
    for (const ir::OutputPort& port : graph_.node(id).outputs)
      need(!port.shape.is_static() || ir::element_count(ir::to_dims(port.shape.to_shape())) <= kMostElements);
  } catch (...) {
    graph_.erase(id);
    throw;
  }
  ++layers_;
  return {id, 0};
}

Value Net::input(const ir::Dims& dims) { return input(type_, dims, Fill::in(-1, 1)); }

Value Net::input(element::Type type, const ir::Dims& dims, Fill fill) {
  need(inputs_allowed_);
  return draw_.input(type, dims, fill);
}

Value Net::constant(const ir::Dims& dims, double low, double high) {
  return draw_.constant(draw_.tensor(type_, dims, Fill::in(low, high)));
}

Value Net::weights(const ir::Dims& dims, int64_t terms) {
  const double scale = 1.7 / std::sqrt(static_cast<double>(std::max<int64_t>(1, terms)));
  if (quantised_ > 0) return quantised_weights(dims, scale);
  if (type_ == element::f32 && chance(8)) {  // as models of half the size store them
    const Value halves = draw_.constant(draw_.tensor(element::f16, dims, Fill::in(-scale, scale)));
    return op("Convert", {halves}, {{"destination_type", "f32"}});
  }
  const Value plain = constant(dims, -scale, scale);
  if (chance(92)) return plain;
  return op("FakeQuantize", {plain, scalar(-scale), scalar(scale), scalar(-scale), scalar(scale)},
            {{"levels", one_of({"255", "256", "16"})}});
}

Value Net::quantised_weights(const ir::Dims& dims, double scale) {
  ir::Dims outputs(dims.size(), 1);
  const bool by_output = chance(60);
  if (by_output) outputs[0] = dims[0];
  const Value steps = chance(20) ? scalar(scale / 128) : constant(outputs, scale / 256, scale / 128);
  const int64_t row = ir::element_count(dims) / std::max<int64_t>(1, dims[0]);
  if (chance(50)) {
    HostTensor bytes = draw_.tensor(element::i8, dims, chance(85) ? Fill::in(-127, 127) : Fill::in(-128, 127));
    for (int64_t i = 0; i < ir::element_count(dims); ++i)  // some outputs of nothing, and some all alike
      if (const int64_t kind = i / row % 11; kind == 5 || kind == 7)
        set_number(bytes.writable(), i, kind == 5 ? 0 : -100);
    Value y = op("Convert", {draw_.constant(bytes)}, {{"destination_type", type_.get_type_name()}});
    if (chance(60)) y = op("Subtract", {y, scalar(chance(70) ? 0 : 1)});
    return op("Multiply", {y, steps});
  }
  const Value high = op("Multiply", {steps, scalar(127)}),
              low = op("Multiply", {steps, scalar(chance(50) ? -127 : -128)});
  return op("FakeQuantize", {constant(dims, -scale, scale), low, high, low, high},
            {{"levels", one_of({"255", "256", "16", "3"})}});
}

Value Net::scalar(double value) { return draw_.reals({value}, type_, true); }

Value Net::integers(const std::vector<int64_t>& values) { return draw_.numbers(values, {element::i64}, 0); }

Value Net::integer(int64_t value) { return draw_.number(value, {element::i64}, 0); }

Value Net::per_channel(Value x, double low, double high) {
  ir::Dims extents(static_cast<size_t>(rank(x)), 1);
  extents.at(1) = dim(x, 1);
  if (chance(20)) extents.erase(extents.begin());
  return constant(extents, low, high);
}

Value Net::per_column(Value x, double low, double high) { return constant({dims(x).back()}, low, high); }

Value Net::extents_of(Value x, const std::vector<int64_t>& axes) {
  const Value shape = op("ShapeOf", {x}, {{"output_type", "i64"}}, "opset3");
  return op("Gather", {shape, integers(axes), integer(0)}, {{"batch_dims", "0"}});
}

Value Net::reshape(Value x, const std::vector<int64_t>& extents) {
  if (chance(60)) return op("Reshape", {x, integers(extents)}, {{"special_zero", "true"}});
  std::vector<Value> parts;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    parts.push_back(extents[axis] == 0 ? extents_of(x, {static_cast<int64_t>(axis)}) : integers({extents[axis]}));
  const Value target = parts.size() == 1 ? parts[0] : op("Concat", parts, {{"axis", "0"}});
  return op("Reshape", {x, target}, {{"special_zero", chance(50) ? "true" : "false"}});
}

void Net::offer(Value value) { offered_.push_back(value); }

Value Net::recent(int64_t min_rank, int64_t max_rank) {
  std::vector<Value> fitting;
  for (const Value value : offered_)
    if (const int64_t r = rank(value); r >= min_rank && r <= max_rank) fitting.push_back(value);
  need(!fitting.empty());
  return chance(65) ? fitting.back() : fitting[random_.below(fitting.size())];
}

Value Net::partner(Value x) {
  std::vector<Value> fitting;
  for (const Value value : offered_)
    if (value != x && dims(value) == dims(x)) fitting.push_back(value);
  if (!fitting.empty() && chance(75)) return fitting[random_.below(fitting.size())];
  return inputs_allowed_ && chance(25) ? input(dims(x)) : activated(x);
}

Value Net::activation(Value x) { return chance(30) ? x : activated(x); }

Value Net::activated(Value x) {
  switch (between(0, 15)) {
    case 0:
    case 1:
    case 2:
      return op("ReLU", {x});
    case 3:
      return op("Clamp", {x}, {{"min", one_of({"0", "-0.5"})}, {"max", one_of({"6", "0.75"})}});
    case 4:
      return op(one_of({"Sigmoid", "Tanh", "HSigmoid"}), {x});
    case 5:
      return op(one_of({"HSwish", "Mish", "SoftPlus", "SoftSign"}), {x});
    case 6:
      return op("Gelu", {x}, {{"approximation_mode", one_of({"ERF", "TANH"})}});
    case 7:
      return chance(50) ? op("Swish", {x}) : op("Multiply", {x, op("Sigmoid", {x})});
    case 8:
      return op("Elu", {x}, {{"alpha", "0.5"}});
    case 9:
      return op("PReLU", {x, chance(50) || rank(x) < 2 ? constant({1}, 0, 0.5) : constant({dim(x, 1)}, 0, 0.5)});
    case 10: {  // HSwish and HSigmoid as their parts
      const Value six = op("Clamp", {op("Add", {x, scalar(3)})}, {{"min", "0"}, {"max", "6"}});
      const Value gate = chance(50) ? op("Divide", {six, scalar(6)}) : op("Multiply", {six, scalar(1.0 / 6)});
      return op("Multiply", {x, gate});
    }
    case 11: {  // Gelu as its parts; the root of 2 in 16 bits is taken for what it means, which is another number
      if (type_ != element::f32) return op("Gelu", {x});
      const Value erf = op("Erf", {op("Divide", {x, scalar(std::sqrt(2.0))})});
      return op("Multiply", {op("Multiply", {x, op("Add", {erf, scalar(1)})}), scalar(0.5)});
    }
    case 12:
      return op("Abs", {x});
    case 13:
      return op("Maximum", {op("Multiply", {x, scalar(0.1)}), x});
    case 14:
      return op("Selu", {x, scalar(1.5), scalar(0.5)});
    default:
      return op("Tanh", {op("Multiply", {x, scalar(0.75)})});
  }
}

}  // namespace terroir::test
