// Recurrent layers on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/base/error.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::test {
namespace {

struct RecurrentLayer {
  std::string type = "LSTMSequence";
  int64_t batch = 2, times = 5, inputs = 3, size = 17;
  std::string direction = "forward";
  std::vector<int64_t> lengths = {};  // empty: all times
  AttributeTexts attributes = {};
  const char* opset = "opset16";
  bool constant_weights = true, biased = true, peepholes = false;
  float scale = 0.7f;  // of constant weights; wide layers with large ones grow what rounding differs by

  bool sequence() const { return type.ends_with("Sequence"); }
  bool lstm() const { return type.starts_with("LSTM"); }
};

/// A value known when compiling, or an input.
ir::Value operand(GraphMaker& m, const RecurrentLayer& layer, const ir::Dims& dims, uint32_t seed) {
  return layer.constant_weights ? m.random(dims, seed, layer.scale) : m.input(PartialShape(ir::to_shape(dims)));
}

ir::Value add_layer(GraphMaker& m, const RecurrentLayer& layer) {
  const int64_t directions = layer.direction == "bidirectional" ? 2 : 1;
  const auto dims = [&](ir::Dims own) {
    if (layer.sequence()) own.insert(own.begin(), directions);
    return own;
  };
  const bool linear = !layer.attributes.empty() && layer.attributes[0].first == "linear_before_reset";
  const int64_t gates = layer.lstm() ? 4 : layer.type.starts_with("GRU") ? 3 : 1;
  std::vector<ir::Value> in;
  const ir::Dims state =
      layer.sequence() ? ir::Dims{layer.batch, directions, layer.size} : ir::Dims{layer.batch, layer.size};
  in.push_back(layer.sequence() ? m.input({layer.batch, layer.times, layer.inputs})
                                : m.input({layer.batch, layer.inputs}));
  in.push_back(m.input(PartialShape(ir::to_shape(state))));
  if (layer.lstm()) in.push_back(m.input(PartialShape(ir::to_shape(state))));
  if (layer.sequence()) {
    std::vector<int64_t> lengths = layer.lengths;
    lengths.resize(static_cast<size_t>(layer.batch), layer.times);
    in.push_back(m.integers(lengths));
  }
  in.push_back(operand(m, layer, dims({gates * layer.size, layer.inputs}), 1));
  in.push_back(operand(m, layer, dims({gates * layer.size, layer.size}), 2));
  if (layer.biased || layer.peepholes) in.push_back(operand(m, layer, dims({(gates + linear) * layer.size}), 3));
  if (layer.peepholes) in.push_back(operand(m, layer, dims({3 * layer.size}), 4));
  AttributeTexts attributes = layer.attributes;
  attributes.emplace_back("hidden_size", std::to_string(layer.size));
  if (layer.sequence()) attributes.emplace_back("direction", layer.direction);
  return m.op(layer.type, in, attributes, "layer", layer.opset);
}

void check_recurrent_layer(const RecurrentLayer& layer) {
  SCOPED_TRACE(::testing::Message() << layer.type << ' ' << layer.direction << " batch " << layer.batch << " times "
                                    << layer.times << " inputs " << layer.inputs << " size " << layer.size);
  GraphMaker m;
  const ir::NodeId node = add_layer(m, layer).node;
  for (size_t i = 0; i < m.graph().node(node).outputs.size(); ++i) m.result({node, static_cast<int32_t>(i)});
  expect_same_as_interpreter(m);
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_TRUE(kernel_on_cpu(m.graph(), isa, "layer").ends_with(std::string("__") + cpu::isa_name(isa)));
}

const std::vector<std::string> kSequences = {"LSTMSequence", "GRUSequence", "RNNSequence"};
const std::vector<std::string> kCells = {"LSTMCell", "GRUCell", "RNNCell"};
const std::vector<std::string> kDirections = {"forward", "reverse", "bidirectional"};

TEST(Recurrent, HiddenSizesAroundPanels) {
  for (const std::string& type : kSequences)
    for (const int64_t size : {1, 7, 8, 9, 16, 31, 32, 33, 67})
      check_recurrent_layer(
          {.type = type, .batch = 2, .times = 3, .inputs = 5, .size = size, .direction = "bidirectional"});
}

TEST(Recurrent, EveryLengthOfItsOwn) {
  for (const std::string& type : kSequences)
    for (const std::string& direction : kDirections) {
      check_recurrent_layer({.type = type, .batch = 5, .direction = direction, .lengths = {3, 0, 5, 1, 3}});
      check_recurrent_layer({.type = type, .batch = 3, .direction = direction, .lengths = {0, 0, 0}});
      check_recurrent_layer({.type = type, .batch = 1, .times = 1, .direction = direction});
    }
}

TEST(Recurrent, Cells) {
  for (const std::string& type : kCells)
    for (const int64_t batch : {1, 2, 5, 37})
      for (const bool constant : {false, true})
        check_recurrent_layer(
            {.type = type, .batch = batch, .inputs = 19, .constant_weights = constant, .biased = batch != 2});
}

TEST(Recurrent, LinearBeforeReset) {
  for (const std::string& direction : kDirections)
    for (const bool biased : {false, true})
      for (const bool constant : {false, true})
        check_recurrent_layer({.type = "GRUSequence",
                               .batch = 3,
                               .size = 37,
                               .direction = direction,
                               .lengths = {5, 2, 4},
                               .attributes = {{"linear_before_reset", "true"}},
                               .constant_weights = constant,
                               .biased = biased});
  check_recurrent_layer({.type = "GRUCell", .batch = 3, .attributes = {{"linear_before_reset", "true"}}});
}

TEST(Recurrent, ActivationsAndClip) {
  for (const char* f : {"sigmoid", "tanh", "relu", "HardSigmoid"})
    for (const char* clip : {"0", "0.3"}) {
      const std::string name = f;
      check_recurrent_layer({.type = "RNNSequence", .size = 9, .attributes = {{"activations", name}, {"clip", clip}}});
      check_recurrent_layer(
          {.type = "GRUSequence", .size = 9, .attributes = {{"activations", name + ",tanh"}, {"clip", clip}}});
      check_recurrent_layer(
          {.type = "GRUSequence", .size = 9, .attributes = {{"activations", "sigmoid," + name}, {"clip", clip}}});
      check_recurrent_layer({.type = "LSTMSequence",
                             .size = 9,
                             .attributes = {{"activations", "hardsigmoid," + name + ',' + name},
                                            {"activations_alpha", "0.3,0.4,0.25"},
                                            {"activations_beta", "0.6,0.5,0.45"},
                                            {"clip", clip}}});
    }
}

// As exporters write them: once for each direction, where those of the first hold for both.
TEST(Recurrent, ActivationsListedForBothDirections) {
  check_recurrent_layer(
      {.type = "RNNSequence",
       .size = 9,
       .direction = "bidirectional",
       .attributes = {
           {"activations", "hardsigmoid,relu"}, {"activations_alpha", "0.3,0.4"}, {"activations_beta", "0.6,0.5"}}});
  check_recurrent_layer({.type = "GRUSequence",
                         .size = 9,
                         .direction = "bidirectional",
                         .attributes = {{"activations", "Sigmoid,Tanh,Sigmoid,Tanh"}}});
  check_recurrent_layer({.type = "LSTMSequence",
                         .size = 9,
                         .direction = "bidirectional",
                         .attributes = {{"activations", "Sigmoid, Tanh, Tanh, Sigmoid, Tanh, Tanh"}}});
}

TEST(Recurrent, FirstLstm) {
  for (const char* format : {"fico", "icof", "ifco", "ifoc", "iofc"})
    for (const char* forget : {"false", "true"})
      for (const bool peepholes : {false, true})
        for (const bool constant : {false, true}) {
          const AttributeTexts attributes = {{"weights_format", format}, {"input_forget", forget}};
          check_recurrent_layer({.type = "LSTMCell",
                                 .attributes = attributes,
                                 .opset = "opset1",
                                 .constant_weights = constant,
                                 .peepholes = peepholes});
          check_recurrent_layer({.type = "LSTMSequence",
                                 .times = 2,
                                 .direction = "bidirectional",
                                 .attributes = attributes,
                                 .opset = "opset1",
                                 .constant_weights = constant,
                                 .peepholes = peepholes});
        }
}

// Every way to share the work out: rows, ranges of units, both, directions.
TEST(Recurrent, SharesOfThreads) {
  for (const std::string& type : kSequences) {
    check_recurrent_layer({.type = type, .batch = 1, .times = 4, .inputs = 40, .size = 300});
    check_recurrent_layer({.type = type, .batch = 67, .times = 3, .inputs = 8, .size = 40});
    check_recurrent_layer(
        {.type = type, .batch = 9, .times = 3, .inputs = 300, .size = 260, .direction = "bidirectional"});
  }
}

// More than half of what L2 holds, on most processors: steps read them by turns from the first and from the last.
TEST(Recurrent, WeightsThatLeaveTheCache) {
  for (const std::string& type : kSequences)
    check_recurrent_layer({.type = type,
                           .batch = 3,
                           .times = 4,
                           .inputs = 6,
                           .size = type == "RNNSequence" ? 1050 : 530,
                           .direction = "bidirectional",
                           .lengths = {4, 2, 3},
                           .scale = 0.07f});
}

// Products of the input of all times would be 34 MB or more: they are made for some steps at a time.
TEST(Recurrent, LongSequences) {
  constexpr int64_t kManyTimes = 5601;
  check_recurrent_layer({.type = "GRUSequence",
                         .batch = 8,
                         .times = kManyTimes,
                         .inputs = 2,
                         .size = 32,
                         .direction = "bidirectional",
                         .lengths = {kManyTimes, 0, 1, kManyTimes - 1, 500, 5000}});
}

// More threads than this machine may have: rows and ranges of units at once.
TEST(Recurrent, NumberOfThreadsChangesNoBit) {
  for (const std::string& type : kSequences)
    for (const int64_t batch : {1, 45}) {
      GraphMaker m;
      m.result(add_layer(m, {.type = type, .batch = batch, .times = 60, .inputs = 33, .size = 130, .lengths = {1}}));
      std::vector<std::vector<HostTensor>> inputs(1);
      for (const ir::Value input : m.inputs()) inputs[0].push_back(random_tensor(m.dims(input), 7));
      const auto alone = run_on_cpu(m.graph(), cpu::active_isa(), 1, inputs);
      for (const int threads : {2, 3, 4, 8}) {
        const auto shared = run_on_cpu(m.graph(), cpu::active_isa(), threads, inputs);
        EXPECT_EQ(std::memcmp(alone[0][0].view().data, shared[0][0].view().data, alone[0][0].view().bytes()), 0)
            << type << " batch " << batch << " threads " << threads;
      }
    }
}

TEST(Recurrent, HalfPrecisionIsWidened) {
  for (const element::Type type : {element::f16, element::bf16}) {
    GraphMaker m;
    const auto narrow = [&](const ir::Dims& dims, uint32_t seed) {
      return m.op("Convert", {m.random(dims, seed, 0.7f)}, {{"destination_type", type.get_type_name()}});
    };
    const ir::Value x = m.input({2, 4, 3}, type), h = m.input({2, 1, 9}, type);
    m.result(m.op("GRUSequence",
                  {x, h, m.integers({4, 4}), narrow({1, 27, 3}, 1), narrow({1, 27, 9}, 2), narrow({1, 27}, 3)},
                  {{"hidden_size", "9"}, {"direction", "forward"}}, "layer"));
    for (const cpu::Isa isa : cpu::available_isas())
      EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "layer"), std::string("f32_gru_sequence_packed__") + cpu::isa_name(isa));
  }
}

TEST(Recurrent, LengthsOutOfRangeAreErrors) {
  for (const int64_t length : {-1, 6}) {
    GraphMaker m;
    m.result(add_layer(m, {.lengths = {2, length}}));
    const std::vector<std::vector<HostTensor>> inputs = {
        {random_tensor({2, 5, 3}, 1), random_tensor({2, 1, 17}, 2), random_tensor({2, 1, 17}, 3)}};
    const auto error = caught([&] { run_on_cpu(m.graph(), cpu::Isa::scalar, 1, inputs); });
    EXPECT_NE(std::string(error.what()).find("sequence_lengths must be in [0, 5], got " + std::to_string(length)),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace terroir::test
