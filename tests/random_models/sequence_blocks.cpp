// Blocks of transformers and of recurrent networks: [N, T, E].
#include <algorithm>
#include <cmath>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

const AttributeTexts kPlain = {{"transpose_a", "false"}, {"transpose_b", "false"}};
const AttributeTexts kTurned = {{"transpose_a", "false"}, {"transpose_b", "true"}};

Value soft_max_of_last(Net& net, Value x) { return net.op("SoftMax", {x}, {{"axis", "-1"}}, "opset8"); }

Value norm_block(Net& net, Value x) { return layer_norm(net, x); }

/// Turns pairs of columns, as rotary position embeddings do; x: [N, H, T, D] with even D.
Value rotated(Net& net, Value x) {
  const int64_t depth = net.dims(x).back();
  net.need(depth % 2 == 0);
  const Value halves = net.op("Split", {x, net.integer(-1)}, {{"num_splits", "2"}});
  const Value turned =
      net.op("Concat", {net.op("Multiply", {net.output(halves, 1), net.scalar(-1)}), halves}, {{"axis", "-1"}});
  const ir::Dims table = {1, 1, net.dim(x, 2), depth};
  return net.op("Add", {net.op("Multiply", {x, net.constant(table, -1, 1)}),
                        net.op("Multiply", {turned, net.constant(table, -1, 1)})});
}

Value attention(Net& net, Value x) {
  const int64_t columns = net.dim(x, 2), tokens = net.dim(x, 1);
  std::vector<int64_t> fitting;
  for (const int64_t heads : {1, 2, 3, 4, 8})
    if (columns % heads == 0) fitting.push_back(heads);
  const int64_t heads = fitting[static_cast<size_t>(net.between(0, static_cast<int64_t>(fitting.size()) - 1))];
  const int64_t depth = columns / heads;
  const Value normed = net.chance(60) ? layer_norm(net, x) : x;
  // Keys and values of another sequence, at times.
  Value memory = normed;
  if (net.chance(20)) memory = net.recent(3, 3);
  const int64_t keys = net.dim(memory, 1);
  net.spend(2 * net.dim(x, 0) * tokens * keys * columns);

  const auto in_heads = [&](Value rows, std::vector<int64_t> order) {
    return net.transpose(net.reshape(rows, {0, 0, heads, depth}), order);
  };
  Value query, key, value;
  const bool key_turned = net.chance(30);
  const std::vector<int64_t> key_order =
      key_turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
  if (memory == normed && net.chance(30)) {  // one product for all three
    const Value all = linear(net, normed, 3 * columns);
    const Value parts = net.op("Split", {all, net.integer(-1)}, {{"num_splits", "3"}});
    query = in_heads(parts, {0, 2, 1, 3});
    key = in_heads(net.output(parts, 1), key_order);
    value = in_heads(net.output(parts, 2), {0, 2, 1, 3});
  } else {
    query = in_heads(linear(net, normed, columns), {0, 2, 1, 3});
    key = in_heads(linear(net, memory, columns), key_order);
    value = in_heads(linear(net, memory, columns), {0, 2, 1, 3});
  }
  if (!key_turned && depth % 2 == 0 && net.chance(25)) {
    query = rotated(net, query);
    key = rotated(net, key);
  }
  const double scale = 1 / std::sqrt(static_cast<double>(depth));
  const bool masked = net.chance(40);
  const ir::Dims mask = {1, 1, tokens, keys};
  Value y;
  if (!key_turned && net.chance(25)) {
    std::vector<Value> inputs = {query, key, value};
    if (masked) inputs.push_back(net.constant(mask, -2, 0));
    y = net.op("ScaledDotProductAttention", inputs, {{"causal", !masked && net.chance(50) ? "true" : "false"}});
  } else {
    const bool before = net.chance(40);
    if (before) query = net.op("Multiply", {query, net.scalar(scale)});
    Value scores = net.op("MatMul", {query, key}, key_turned ? kPlain : kTurned);
    if (!before)
      scores = net.chance(50) ? net.op("Multiply", {scores, net.scalar(scale)})
                              : net.op("Divide", {scores, net.scalar(1 / scale)});
    if (masked)
      scores =
          net.op("Add", {scores, net.chance(70) ? net.constant(mask, -2, 0) : net.input({net.dim(x, 0), 1, 1, keys})});
    if (net.chance(8)) net.offer(scores);
    y = net.op("MatMul", {soft_max_of_last(net, scores), value}, kPlain);
  }
  y = net.reshape(net.transpose(y, {0, 2, 1, 3}), {0, 0, columns});
  y = linear(net, y, columns);
  return net.chance(85) ? net.op("Add", {x, y}) : y;
}

Value feed_forward(Net& net, Value x) {
  const int64_t columns = net.dims(x).back(), wide = columns * net.between(1, 3) + net.one_of<int64_t>({0, 0, 1});
  const Value normed = net.chance(60) ? layer_norm(net, x) : x;
  Value y;
  if (net.chance(30)) {
    const Value gate = linear(net, normed, wide);
    y = net.op("Multiply", {net.op(net.one_of({"Swish", "Sigmoid"}), {gate}), linear(net, normed, wide)});
  } else {
    y = net.activated(linear(net, normed, wide));
  }
  y = linear(net, y, columns);
  return net.chance(85) ? net.op("Add", {y, x}) : y;
}

Value positions(Net& net, Value x) {
  return net.op("Add", {x, net.constant({net.chance(50) ? int64_t{1} : net.dim(x, 1), net.dim(x, 2)}, -1, 1)});
}

/// A convolution along the tokens, between two Transposes.
Value along_tokens(Net& net, Value x) {
  Value y = net.transpose(x, {0, 2, 1});
  const int64_t columns = net.dim(y, 1);
  y = convolved(net, y, {columns, net.one_of<int64_t>({3, 5, 7}), 1, net.one_of<int64_t>({1, columns})});
  y = net.transpose(y, {0, 2, 1});
  return net.chance(60) ? net.op("Add", {x, y}) : y;
}

Value recurrent(Net& net, Value x) {
  const char* type = net.one_of({"LSTMSequence", "GRUSequence", "RNNSequence"});
  const int64_t gates = type[0] == 'L' ? 4 : type[0] == 'G' ? 3 : 1;
  const bool both = net.chance(30);
  const int64_t ways = both ? 2 : 1, hidden = net.one_of<int64_t>({1, 5, 8, 16, 17}), columns = net.dim(x, 2),
                tokens = net.dim(x, 1);
  net.spend(net.dim(x, 0) * tokens * ways * gates * hidden * (columns + hidden));
  const Value batch = net.extents_of(x, {0});
  const Value zeros =
      net.op("Broadcast", {net.scalar(0), net.op("Concat", {batch, net.integers({ways, hidden})}, {{"axis", "0"}})});
  const Value lengths = net.op("Broadcast", {net.integer(tokens), batch});
  std::vector<Value> inputs = {x, zeros};
  if (gates == 4) inputs.push_back(zeros);
  inputs.push_back(lengths);
  inputs.push_back(net.constant({ways, gates * hidden, columns}, -0.4, 0.4));
  inputs.push_back(net.constant({ways, gates * hidden, hidden}, -0.4, 0.4));
  inputs.push_back(net.constant({ways, gates * hidden}, -0.4, 0.4));
  const char* direction = both ? "bidirectional" : net.one_of({"forward", "reverse"});
  Value y = net.op(type, inputs, {{"hidden_size", std::to_string(hidden)}, {"direction", direction}});
  if (net.chance(20)) net.offer(net.reshape(net.output(y, 1), {0, -1}));
  y = net.transpose(y, {0, 2, 1, 3});
  return net.reshape(y, {0, 0, -1});
}

Value image_of(Net& net, Value x) {
  const int64_t tokens = net.dim(x, 1);
  int64_t height = 1;
  for (int64_t h = 1; h * h <= tokens; ++h)
    if (tokens % h == 0) height = h;
  return net.reshape(net.transpose(x, {0, 2, 1}), {0, net.dim(x, 2), height, -1});
}

Value rows_of_tokens(Net& net, Value x) {
  switch (net.between(0, 2)) {
    case 0:
      return net.op("ReduceMean", {x, net.integers({1})}, {{"keep_dims", "false"}});
    case 1:
      return net.op("Gather", {x, net.integer(net.chance(50) ? 0 : -1), net.integer(1)}, {{"batch_dims", "0"}});
    default:
      return net.op("ReduceMax", {x, net.integers({1})}, {{"keep_dims", "false"}});
  }
}

Value chosen_rows(Net& net, Value x) {
  std::vector<int64_t> which;
  for (int64_t left = net.between(1, 2 * net.dim(x, 1)); left > 0; --left)
    which.push_back(net.between(0, net.dim(x, 1) - 1));
  return net.op("Gather", {x, net.integers(which), net.integer(1)}, {{"batch_dims", "0"}});
}

const Block kSequenceBlocks[] = {
    {"attention", 12, 3, 3, attention},
    {"feed forward", 9, 2, 3, feed_forward},
    {"norm", 4, 2, 4, norm_block},
    {"positions", 2, 3, 3, positions},
    {"along tokens", 5, 3, 3, along_tokens},
    {"recurrent", 4, 3, 3, recurrent},
    {"image", 3, 3, 3, image_of},
    {"rows", 2, 3, 3, rows_of_tokens},
    {"chosen rows", 2, 3, 3, chosen_rows},
    {"quantised rows", 7, 2, 4, test::quantised_rows},
};

}  // namespace

std::span<const Block> sequence_blocks() { return kSequenceBlocks; }

}  // namespace terroir::test
