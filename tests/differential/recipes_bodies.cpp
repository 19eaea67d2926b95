// If, Loop, TensorIterator, and variables.
#include "ops/registry.hpp"
#include "tests/differential/recipes.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;
using Ports = ir::BodyPortMap;

Value add(Draw& d, const char* type, const std::vector<Value>& inputs, const AttributeTexts& attributes = {}) {
  d.set_schema(ops::builtin_registry().get(type, "opset16"));
  return d.op(inputs, attributes);
}

/// A few operations that keep type and extents.
Value steps(Draw& d, Value value) {
  for (int64_t left = d.between(1, 4); left > 0; --left) {
    const element::Type type = d.type(value);
    const ir::Dims dims = d.dims(value);
    switch (d.below(6)) {
      case 0:
        value = add(d, "Add", {value, d.weights(type, dims)});
        break;
      case 1:
        value = add(d, "Multiply", {d.weights(type, {}, Fill::in(-1, 1)), value});
        break;
      case 2:
        value = add(d, "Tanh", {value});
        break;
      case 3:
        if (dims.empty()) continue;
        value = add(d, "MatMul", {value, d.weights(type, {dims.back(), dims.back()}, Fill::in(-0.25, 0.25))},
                    {{"transpose_a", "false"}});
        break;
      case 4:
        if (dims.empty()) continue;
        value = add(d, "SoftMax", {value}, {{"axis", "-1"}});
        break;
      default:
        value = add(d, "ReLU", {value});
    }
  }
  return value;
}

ir::NodeId result(Draw& d, Value value) { return add(d, "Result", {value}).node; }

/// A graph that becomes the body of an operation.
struct BodyDraw {
  explicit BodyDraw(Random& random) : draw(*graph, random) {}
  Value parameter(element::Type type, const ir::Dims& dims) { return draw.input(type, dims, Fill::in(0, 0)); }
  ir::Body finish(const char* role, Ports ports) && { return {role, std::move(graph), std::move(ports)}; }

  std::unique_ptr<ir::Graph> graph = std::make_unique<ir::Graph>("body");
  Draw draw;
};

ir::Body branch(Draw& d, const char* role, element::Type type, const ir::Dims& dims) {
  BodyDraw body(d.random());
  const Value x = body.parameter(type, dims);
  body.draw.forbid_inputs();
  const ir::NodeId y = result(body.draw, steps(body.draw, x));
  Ports ports;
  ports.inputs = {fed(1, x)};
  ports.outputs = {given(0, y)};
  return std::move(body).finish(role, std::move(ports));
}

void choice(Draw& d) {
  const ir::OpSchema& schema = d.schema();
  const Value x = d.data({element::f32}, 1, 3);
  const Value condition = d.input(element::boolean, {}, Fill::in(0, 1));
  std::vector<ir::Body> bodies;
  bodies.push_back(branch(d, "then_body", d.type(x), d.dims(x)));
  bodies.push_back(branch(d, "else_body", d.type(x), d.dims(x)));
  d.set_schema(schema);
  d.control({condition, x}, std::move(bodies));
}

/// Slices of x and a value that is carried along; the last value and all of them come out.
void iterate(Draw& d) {
  const ir::OpSchema& schema = d.schema();
  const bool loop = schema.type == "Loop";
  const Value x = d.data({element::f32}, 1, 3);
  const ir::Dims dims = d.dims(x);
  const int64_t axis = d.below(d.rank(x)), extent = dims[static_cast<size_t>(axis)];
  d.need(extent > 0 && extent <= 40 && ir::element_count(dims) > 0);
  const int64_t size = !loop && extent % 2 == 0 && d.chance(30) ? 2 : 1;
  const int64_t stride = d.chance(40) ? -size : size;
  ir::Dims part = dims;
  part[static_cast<size_t>(axis)] = size;

  BodyDraw body(d.random());
  const Value slice = body.parameter(element::f32, part), carried = body.parameter(element::f32, part);
  std::vector<Ports::Input> counter;
  Value start = slice;
  if (loop && d.chance(50)) {
    const Value number = body.parameter(element::i64, {});
    counter.push_back(fed(-1, number));
    counter.back().current_iteration = true;
    start = add(body.draw, "Add", {slice, add(body.draw, "Convert", {number}, {{"destination_type", "f32"}})});
  }
  body.draw.forbid_inputs();
  // Halves keep a long loop from running away.
  const Value half = body.draw.reals({0.5}, element::f32, true);
  const Value sum = add(body.draw, "Add", {start, add(body.draw, "Multiply", {carried, half})});
  const ir::NodeId next = result(body.draw, steps(body.draw, sum));
  Ports ports;
  const int64_t first = loop ? 2 : 0;
  ports.inputs = {sliced(first, slice, axis, stride, size), fed(first + 1, carried)};
  ports.inputs.insert(ports.inputs.end(), counter.begin(), counter.end());
  ports.outputs = {given(0, next), joined(1, next, axis, stride, size)};
  ports.back_edges = {{next, carried.node}};
  std::vector<Value> inputs = {x, d.like(element::f32, part)};
  if (loop) {
    HostTensor truth(element::boolean, {1});
    set_number(truth.writable(), 0, 1);
    ports.outputs.push_back(given(-1, result(body.draw, body.draw.constant(std::move(truth)))));
    ports.outputs.back().execution_condition = true;
    HostTensor go(element::boolean, {});
    set_number(go.writable(), 0, 1);
    inputs.insert(inputs.begin(), {d.number(extent), d.place(std::move(go), 30)});
  }
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).finish("body", std::move(ports)));
  d.set_schema(schema);
  d.control(inputs, std::move(bodies));
}

/// A sum that grows from one inference to the next.
void variable(Draw& d) {
  const bool newer = d.schema().opset == "opset6";
  const char* opset = newer ? "opset6" : "opset3";
  const Value x = d.data({element::f32, element::f32, element::i32}, 1, 3);
  const ir::Dims dims = d.dims(x);
  const std::string name = "v" + std::to_string(d.graph().id_bound());
  AttributeTexts attributes = {{"variable_id", name}};
  const Value initial = d.weights(d.type(x), dims);
  if (newer) {
    attributes.emplace_back("variable_type", d.type(x).get_type_name());
    attributes.emplace_back("variable_shape", list(dims));
  }
  d.set_schema(ops::builtin_registry().get("ReadValue", opset));
  const Value before = d.op({initial}, attributes);
  const Value after = add(d, "Add", {before, x});
  d.set_schema(ops::builtin_registry().get("Assign", opset));
  d.op({after}, {{"variable_id", name}});
}

const RecipeRow kBodyRows[] = {
    {"If-8", choice},
    {"Loop-5 TensorIterator-1", iterate},
    {"ReadValue-3 ReadValue-6 Assign-3 Assign-6", variable},
    // The ends of every graph: drawn with everything else.
    {"Parameter-1 Const-1 Result-1",
     [](Draw& d) {
       const Value x = d.input(element::f32, d.dims(1, 3)), w = d.constant(d.tensor(element::f32, {}));
       add(d, "Add", {x, w});
     }},
};

}  // namespace

std::span<const RecipeRow> body_recipes() { return kBodyRows; }

}  // namespace terroir::test
