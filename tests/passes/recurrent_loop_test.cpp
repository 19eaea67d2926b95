// Loops over recurrent cells written as sequence ops: graph text before and after, what stays, and the values.
#include <gtest/gtest.h>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "tests/passes/conditions.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"
#include "tests/support/body_ports.hpp"

namespace terroir::test {
namespace {

ir::Pass collapse() { return ops::collapse_recurrent_loop(ops::builtin_registry()); }

constexpr int64_t kBatch = 2, kTimes = 5, kInputs = 3, kSize = 4;

/// A loop as exporters write it, and ways to spoil it.
struct Loop {
  std::string cell = "LSTMCell";
  const char* opset = "opset16";
  int64_t time_axis = 1, joined_axis = 1, stride = 1, joined_stride = 1;
  AttributeTexts attributes = {};
  bool reshaped_states = false;  // the states have an axis of extent 1 outside of the body
  bool weights_outside = false;
  bool loop = false;  // Loop instead of TensorIterator
  int64_t trip_count = kTimes;
  bool something_else = false;  // the states are doubled on their way out
  bool wrong_edge = false;      // the state that comes back is not the cell's
  int64_t part = 1;
  PartialShape x = {};  // other than the usual one

  bool lstm() const { return cell == "LSTMCell"; }
};

ir::Value with_loop(GraphMaker& m, const Loop& l) {
  GraphMaker body;
  const ir::Dims slice = l.time_axis == 1 ? ir::Dims{kBatch, l.part, kInputs} : ir::Dims{l.part, kBatch, kInputs};
  const PartialShape whole =
      l.time_axis == 1 ? PartialShape{kBatch, kTimes, kInputs} : PartialShape{kTimes, kBatch, kInputs};
  const PartialShape state = l.reshaped_states ? PartialShape{1, kBatch, kSize} : PartialShape{kBatch, kSize};
  const int64_t gates = l.lstm() ? 4 : l.cell == "GRUCell" ? 3 : 1, first = l.loop ? 2 : 0;
  std::vector<ir::Value> outer;
  if (l.loop) outer = {m.scalar_integer(l.trip_count), constant_condition(m)};
  ir::BodyPortMap ports;
  const auto feed = [&](ir::Value value, ir::Value parameter) {
    outer.push_back(value);
    ports.inputs.push_back(fed(static_cast<int64_t>(outer.size()) - 1, parameter));
  };

  const ir::Value x = body.input(PartialShape(ir::to_shape(slice)));
  feed(m.input(l.x.size() == 0 ? whole : l.x), x);
  ports.inputs.back() = in_parts(ports.inputs.back(), l.time_axis, l.stride * l.part, l.part);
  std::vector<ir::Value> states,
      in = {body.op("Reshape", {x, body.integers({kBatch, -1})}, {{"special_zero", "true"}})};
  for (int i = 0; i < (l.lstm() ? 2 : 1); ++i) {
    states.push_back(body.input(state));
    feed(m.input(state), states.back());
    in.push_back(l.reshaped_states ? body.op("Squeeze", {states.back(), body.integers({0})}) : states.back());
  }
  const auto weights = [&](const ir::Dims& dims, uint32_t seed) {
    if (!l.weights_outside) return body.random(dims, seed, 0.7f);
    const ir::Value parameter = body.input(PartialShape(ir::to_shape(dims)));
    // One of them known when compiling.
    feed(seed == 1 ? m.random(dims, seed, 0.7f) : m.input(PartialShape(ir::to_shape(dims))), parameter);
    return parameter;
  };
  in.push_back(weights({gates * kSize, kInputs * l.part}, 1));
  in.push_back(weights({gates * kSize, kSize}, 2));
  in.push_back(weights({gates * kSize}, 3));
  AttributeTexts attributes = l.attributes;
  attributes.emplace_back("hidden_size", std::to_string(kSize));
  const ir::Value h = body.op(l.cell, in, attributes, {}, l.opset);

  ir::Value all = body.op("Unsqueeze", {h, body.integers({l.joined_axis})});
  if (l.something_else) all = body.op("Add", {all, all});
  const ir::NodeId joined_result = body.result(all);
  for (size_t i = 0; i < states.size(); ++i) {
    ir::Value next{h.node, static_cast<int32_t>(i)};
    if (l.reshaped_states) next = body.op("Unsqueeze", {next, body.integers({0})});
    if (l.wrong_edge) next = body.op("ReLU", {next});
    const ir::NodeId result = body.result(next);
    ports.back_edges.push_back({result, states[i].node});
    ports.outputs.push_back(given(static_cast<int64_t>(i) + 1, result));
  }
  ports.outputs.insert(ports.outputs.begin(), joined(0, joined_result, l.joined_axis, l.joined_stride, 1));
  if (l.loop) {
    ir::BodyPortMap::Output condition;
    condition.result = body.result(constant_condition(body));
    condition.execution_condition = true;
    ports.outputs.push_back(condition);
  }
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  EXPECT_EQ(outer.size(), static_cast<size_t>(first) + ports.inputs.size());
  return m.control(l.loop ? "Loop" : "TensorIterator", outer, std::move(bodies));
}

/// All outputs of the loop are results.
GraphMaker recurrent_loop(const Loop& l) {
  GraphMaker m;
  const ir::NodeId id = with_loop(m, l).node;
  for (size_t i = 0; i < m.graph().node(id).outputs.size(); ++i) m.result({id, static_cast<int32_t>(i)});
  return m;
}

TEST(CollapseRecurrentLoop, TensorIterator) {
  expect_rewrite("collapse_lstm_loop", recurrent_loop({}).graph(), {collapse()});
}

TEST(CollapseRecurrentLoop, TimesFirstAndBackwards) {
  expect_rewrite("collapse_gru_loop",
                 recurrent_loop({.cell = "GRUCell",
                                 .time_axis = 0,
                                 .joined_axis = 0,
                                 .stride = -1,
                                 .joined_stride = -1,
                                 .reshaped_states = true,
                                 .weights_outside = true})
                     .graph(),
                 {collapse()});
}

/// An RNN over any number of times.
GraphMaker rnn_loop(const Dimension& batch) {
  GraphMaker m, body;
  const ir::Value x = body.input(PartialShape{batch, 1, 3}), h = body.input(PartialShape{batch, 4});
  const ir::Value next = body.op(
      "RNNCell", {body.op("Squeeze", {x, body.integers({1})}), h, body.random({4, 3}, 1), body.random({4, 4}, 2)},
      {{"hidden_size", "4"}});
  const ir::NodeId all = body.result(body.op("Unsqueeze", {next, body.integers({1})})), last = body.result(next);
  ir::BodyPortMap ports;
  ports.inputs = {sliced(0, x, 1, 1, 1), fed(1, h)};
  ports.outputs = {joined(0, all, 1, 1, 1), given(1, last)};
  ports.back_edges = {{last, h.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  const ir::Value y = m.control(
      "TensorIterator", {m.input(PartialShape{batch, -1, 3}), m.input(PartialShape{batch, 4})}, std::move(bodies));
  m.result(y);
  m.result({y.node, 1});
  return m;
}

TEST(CollapseRecurrentLoop, UnknownExtents) {
  const GraphMaker m = rnn_loop(-1);
  expect_rewrite("collapse_rnn_loop", m.graph(), {collapse()});
  const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({2, 7, 3}, 1), random_tensor({2, 4}, 2)},
                                                       {random_tensor({3, 1, 3}, 3), random_tensor({3, 4}, 4)}};
  expect_same_as_interpreter(m.graph(), inputs);
}

// The state is the first one then, and the list of outputs is empty.
TEST(CollapseRecurrentLoop, NoTimes) {
  const GraphMaker m = rnn_loop(2);
  const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({2, 0, 3}, 1), random_tensor({2, 4}, 2)}};
  expect_same_as_interpreter(m.graph(), inputs, 0);
}

TEST(CollapseRecurrentLoop, EveryFormIsOneSequenceWithTheSameValues) {
  for (const char* cell : {"LSTMCell", "GRUCell", "RNNCell"})
    for (const int64_t axis : {0, 1})
      for (const int64_t stride : {1, -1})
        for (const bool other : {false, true}) {
          SCOPED_TRACE(::testing::Message() << cell << ' ' << axis << ' ' << stride << ' ' << other);
          const GraphMaker m = recurrent_loop({.cell = cell,
                                               .time_axis = axis,
                                               .joined_axis = other ? 1 - axis : axis,
                                               .stride = stride,
                                               .joined_stride = stride,
                                               .reshaped_states = other,
                                               .weights_outside = other,
                                               .loop = other});
          std::string steps;
          const auto plan = plan_of(m);
          for (const auto& step : plan->steps) steps += step.type + ' ';
          EXPECT_NE(steps.find("Sequence"), std::string::npos) << steps;
          expect_same_as_interpreter(m);
        }
}

TEST(CollapseRecurrentLoop, FirstLstm) {
  const GraphMaker m =
      recurrent_loop({.opset = "opset1", .attributes = {{"weights_format", "iofc"}, {"input_forget", "true"}}});
  EXPECT_EQ(plan_of(m)->steps[0].type, "LSTMSequence");
  expect_same_as_interpreter(m);
}

// Bodies keep their types, so loops are taken apart before values are widened.
TEST(CollapseRecurrentLoop, HalfPrecisionIsWidened) {
  GraphMaker m, body;
  const ir::Value x = body.input({2, 1, 3}, element::f16), h = body.input({2, 4}, element::f16);
  const auto narrow = [&](const ir::Dims& dims, uint32_t seed) {
    return body.op("Convert", {body.random(dims, seed)}, {{"destination_type", "f16"}});
  };
  const ir::Value next =
      body.op("RNNCell", {body.op("Squeeze", {x, body.integers({1})}), h, narrow({4, 3}, 1), narrow({4, 4}, 2)},
              {{"hidden_size", "4"}});
  const ir::NodeId all = body.result(body.op("Unsqueeze", {next, body.integers({1})})), last = body.result(next);
  ir::BodyPortMap ports;
  ports.inputs = {sliced(0, x, 1, 1, 1), fed(1, h)};
  ports.outputs = {joined(0, all, 1, 1, 1)};
  ports.back_edges = {{last, h.node}};
  std::vector<ir::Body> bodies;
  bodies.push_back(std::move(body).as_body("body", ports));
  const ir::Value y =
      m.control("TensorIterator", {m.input({2, 5, 3}, element::f16), m.input({2, 4}, element::f16)}, std::move(bodies));
  m.result(y);
  EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, m.graph().node(y.node).name), "f32_rnn_sequence_packed__scalar");
}

TEST(CollapseRecurrentLoop, Refuses) {
  const auto refuses = [](const Loop& l) { expect_refusal(recurrent_loop(l).graph(), {collapse()}); };
  refuses({.joined_stride = -1});
  refuses({.something_else = true});
  refuses({.wrong_edge = true});
  refuses({.loop = true, .trip_count = kTimes - 1});
  refuses({.loop = true, .trip_count = -1});
  refuses({.part = 2, .x = {kBatch, 6, kInputs}});
}

}  // namespace
}  // namespace terroir::test
