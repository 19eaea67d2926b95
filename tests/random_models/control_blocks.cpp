// Bodies, variables, and sizes that depend on data.
#include <algorithm>

#include "ir/base/error.hpp"
#include "ops/registry.hpp"
#include "tests/random_models/layers.hpp"
#include "tests/support/body_ports.hpp"
#include "tests/support/infer_added.hpp"

namespace terroir::test {
namespace {

constexpr int64_t kBodyProducts = 500000;

/// A graph that becomes the body of an operation.
struct BodyNet {
  explicit BodyNet(Net& outer) : net(*graph, outer.random(), outer.type(), kBodyProducts) {}
  Value parameter(const ir::Dims& dims, element::Type type) { return net.input(type, dims, Fill::in(0, 0)); }
  ir::NodeId result(Value value) {
    const ir::OpSchema& schema = ops::builtin_registry().get(ir::kResultType, "opset1");
    const ir::NodeId id = graph->add(schema, "body_result_" + std::to_string(++results), nullptr, {value});
    infer_added(*graph, id);
    return id;
  }
  ir::Body finish(const char* role, ir::BodyPortMap ports) && { return {role, std::move(graph), std::move(ports)}; }

  std::unique_ptr<ir::Graph> graph = std::make_unique<ir::Graph>("body");
  Net net;
  int results = 0;
};

/// A few blocks; a value of the extents of x.
Value grown(Net& net, Value x) {
  net.offer(x);
  grow(net, {{common_blocks(), 1}, {net.rank(x) == 4 ? convolution_blocks() : sequence_blocks(), 1}},
       static_cast<size_t>(net.between(1, 8)));
  const std::vector<Value>& all = net.offered();
  for (size_t i = all.size(); i-- > 1;)
    if (net.dims(all[i]) == net.dims(x)) return all[i];
  return net.activated(x);
}

ir::Body branch(Net& net, const char* role, Value x) {
  BodyNet body(net);
  const Value inside = body.parameter(net.dims(x), net.type());
  body.net.forbid_inputs();
  ir::BodyPortMap ports;
  ports.inputs = {fed(1, inside)};
  ports.outputs = {given(0, body.result(grown(body.net, inside)))};
  return std::move(body).finish(role, std::move(ports));
}

Value choice(Net& net, Value x) {
  Value condition;
  if (net.chance(50)) {  // known as soon as the extents are
    const Value extent = net.op("Gather", {net.op("ShapeOf", {x}, {{"output_type", "i64"}}, "opset3"),
                                           net.integer(net.rank(x) - 1), net.integer(0)});
    condition = net.op("Greater", {extent, net.integer(net.between(1, 20))});
  } else {
    condition = net.input(element::boolean, {}, Fill::in(0, 1));
    net.mix_images();
  }
  std::vector<ir::Body> bodies;
  bodies.push_back(branch(net, "then_body", x));
  bodies.push_back(branch(net, "else_body", x));
  return net.control("If", {condition, x}, std::move(bodies));
}

/// Token by token, with a value that is carried along: all of its values, or the last one.
Value iterated(Net& net, Value x) {
  const bool loop = net.chance(50);
  const int64_t tokens = net.dim(x, 1), columns = net.dim(x, 2), stride = net.chance(30) ? -1 : 1;
  net.need(tokens <= 24);
  const ir::Dims part = {net.dim(x, 0), 1, columns};
  BodyNet body(net);
  const Value slice = body.parameter(part, net.type()), carried = body.parameter(part, net.type());
  body.net.forbid_inputs();
  Value next = body.net.op("Add", {linear(body.net, slice, columns), linear(body.net, carried, columns)});
  if (body.net.chance(50)) next = layer_norm(body.net, next);
  next = body.net.op("Tanh", {next});
  const ir::NodeId result = body.result(next);
  const int64_t first = loop ? 2 : 0;
  ir::BodyPortMap ports;
  ports.inputs = {sliced(first, slice, 1, stride, 1), fed(first + 1, carried)};
  ports.outputs = {given(0, result), joined(1, result, 1, stride, 1)};
  ports.back_edges = {{result, carried.node}};
  const Value start = net.op("ReduceMean", {x, net.integers({1})}, {{"keep_dims", "true"}});
  std::vector<Value> inputs = {x, start};
  if (loop) {
    const auto truth = [](Draw& draw) {
      HostTensor host(element::boolean, {1});
      *host.writable().as<uint8_t>() = 1;
      return draw.constant(std::move(host));
    };
    ports.outputs.push_back(given(-1, body.result(truth(body.net.draw()))));
    ports.outputs.back().execution_condition = true;
    inputs.insert(inputs.begin(),
                  {net.chance(50) ? net.extents_of(x, {1}) : net.integers({tokens}), truth(net.draw())});
  }
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).finish("body", std::move(ports)));
  const Value last = net.control(loop ? "Loop" : "TensorIterator", inputs, std::move(bodies));
  if (net.chance(30)) net.offer(last);
  return net.output(last, 1);
}

std::string next_variable(Net& net) { return "v" + std::to_string(net.graph().id_bound()); }

/// A mean that moves from one inference to the next.
Value kept(Net& net, Value x) {
  const std::string name = next_variable(net);
  const Value half = net.scalar(0.5);
  const Value before = net.op("ReadValue", {net.op("Multiply", {x, half})}, {{"variable_id", name}}, "opset3");
  const Value after = net.op("Add", {net.op("Multiply", {before, half}), net.op("Multiply", {x, half})});
  net.op("Assign", {after}, {{"variable_id", name}}, "opset3");
  return after;
}

/// Attention over all tokens that this and earlier inferences have seen.
Value over_kept_tokens(Net& net, Value x) {
  const int64_t tokens = net.dim(x, 1), columns = net.dim(x, 2);
  net.spend(8 * net.dim(x, 0) * tokens * tokens * columns);
  const std::string name = next_variable(net);
  const Value none =
      net.op("Broadcast",
             {net.scalar(0), net.op("Concat", {net.extents_of(x, {0}), net.integers({0, columns})}, {{"axis", "0"}})});
  const Value before = net.op("ReadValue", {none},
                              {{"variable_id", name},
                               {"variable_type", net.type().get_type_name()},
                               {"variable_shape", concat("?,?,", columns)}},
                              "opset6");
  const Value all = net.op("Concat", {before, net.op("Tanh", {x})}, {{"axis", "1"}});
  net.op("Assign", {all}, {{"variable_id", name}}, "opset6");
  const Value scores = net.op("MatMul", {x, all}, {{"transpose_b", "true"}});
  const Value shares = net.op("SoftMax", {net.op("Multiply", {scores, net.scalar(0.125)})}, {{"axis", "-1"}}, "opset8");
  return net.op("Add", {x, net.op("MatMul", {shares, all})});
}

/// Some of the rows along the first two axes, as many as a mask says, are computed and put back.
Value some_rows(Net& net, Value x) {
  const Value mask = net.input(element::boolean, {net.dim(x, 0), net.dim(x, 1)}, Fill::in(0, 1));
  const Value places = net.transpose(net.op("NonZero", {mask}, {{"output_type", "i64"}}), {1, 0});
  Value rows = net.op("GatherND", {x, places}, {{"batch_dims", "0"}});
  const int64_t columns = net.dims(x).back();
  if (net.rank(x) == 3) {
    net.spend(ir::element_count(net.dims(x)) * columns);
    rows = net.op("MatMul", {rows, net.weights({columns, columns}, columns)});
    rows = net.op("Add", {rows, net.constant({columns}, -0.5, 0.5)});
  }
  for (int64_t left = net.between(1, 3); left > 0; --left)
    rows = net.op(net.one_of({"ReLU", "Tanh", "Sigmoid", "Abs", "HSwish"}), {rows});
  return net.op("ScatterNDUpdate", {x, places, rows});
}

const Block kControlBlocks[] = {
    {"choice", 3, 2, 4, choice},       {"iterated", 2, 3, 3, iterated},
    {"kept", 1, 2, 5, kept},           {"over kept tokens", 1, 3, 3, over_kept_tokens},
    {"some rows", 3, 3, 5, some_rows},
};

}  // namespace

std::span<const Block> control_blocks() { return kControlBlocks; }

}  // namespace terroir::test
