// Layers that every kind of network has: elementwise chains, joins, cuts, sums, tables.
#include <algorithm>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

Value binary(Net& net, Value x) {
  const int64_t rank = net.rank(x);
  Value other = x;
  switch (net.between(0, 6)) {
    case 0:
      other = net.scalar(0.75);
      break;
    case 1:
      net.need(rank >= 2);
      other = net.per_channel(x, -1, 1);
      break;
    case 2:
      other = net.per_column(x, -1, 1);
      break;
    case 3: {
      ir::Dims dims = net.dims(x);
      dims[0] = 1;
      other = net.constant(dims, -1, 1);
      break;
    }
    case 4: {  // a value that is broadcast, of this model
      ir::Dims dims = net.dims(x);
      const auto axis = static_cast<size_t>(net.between(1, rank - 1));
      other = net.op(net.one_of({"ReduceMean", "ReduceMax", "ReduceMin"}), {x, net.integer(static_cast<int64_t>(axis))},
                     {{"keep_dims", "true"}});
      break;
    }
    default:
      other = net.partner(x);
  }
  const char* type =
      net.one_of({"Add", "Add", "Add", "Multiply", "Subtract", "Maximum", "Minimum", "SquaredDifference"});
  // So that products of products do not grow without limit.
  if (type[0] == 'M' && type[1] == 'u') other = net.op("Tanh", {other});
  if (type[0] == 'S' && type[1] == 'q') x = net.op("Tanh", {x}), other = net.op("Tanh", {other});
  return net.chance(60) ? net.op(type, {x, other}) : net.op(type, {other, x});
}

Value chain(Net& net, Value x) {
  for (int64_t left = net.between(1, 7); left > 0; --left) {
    x = net.chance(50) ? binary(net, x) : net.activated(x);
    if (net.chance(10)) net.offer(x);
  }
  return x;
}

Value linear_block(Net& net, Value x) {
  return net.activation(linear(net, x, net.one_of<int64_t>({net.dims(x).back(), 1, 4, 7, 8, 16, 24, 33, 48, 64})));
}

Value join(Net& net, Value x) {
  const int64_t rank = net.rank(x), axis = net.between(1, rank - 1);
  std::vector<Value> parts = {x};
  for (const Value other : net.offered()) {
    ir::Dims a = net.dims(x), b = net.dims(other);
    if (a.size() != b.size() || !net.chance(40)) continue;
    a[static_cast<size_t>(axis)] = b[static_cast<size_t>(axis)] = 0;
    if (a == b) parts.insert(parts.begin() + net.between(0, static_cast<int64_t>(parts.size())), other);
    if (parts.size() == 5) break;
  }
  if (parts.size() == 1) parts.push_back(net.partner(x));
  return net.op("Concat", parts, {{"axis", std::to_string(net.chance(80) ? axis : axis - rank)}});
}

Value slice(Net& net, Value x) {
  const int64_t rank = net.rank(x), axis = net.between(1, rank - 1), extent = net.dim(x, axis);
  net.need(extent >= 2);
  const int64_t start = net.between(0, extent - 1), stop = net.between(start + 1, extent);
  const int64_t step = net.chance(75) ? 1 : 2;
  if (net.chance(30))  // backwards
    return net.op("Slice",
                  {x, net.integers({-1}), net.integers({-extent - 1}), net.integers({-step}), net.integers({axis})});
  if (net.chance(50))
    return net.op("Slice",
                  {x, net.integers({start}), net.integers({stop}), net.integers({step}), net.integers({axis})});
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0), end = begin, steps(static_cast<size_t>(rank), 1),
                                                            mask = steps;
  begin[static_cast<size_t>(axis)] = start;
  end[static_cast<size_t>(axis)] = stop;
  steps[static_cast<size_t>(axis)] = step;
  mask[static_cast<size_t>(axis)] = 0;
  return net.op("StridedSlice", {x, net.integers(begin), net.integers(end), net.integers(steps)},
                {{"begin_mask", list(mask)}, {"end_mask", list(mask)}});
}

/// Two halves along an axis that act on each other.
Value halves(Net& net, Value x) {
  const int64_t rank = net.rank(x), axis = net.between(1, rank - 1);
  net.need(net.dim(x, axis) % 2 == 0);
  const Value first = net.op("Split", {x, net.integer(net.chance(50) ? axis : axis - rank)}, {{"num_splits", "2"}});
  const Value second = net.output(first, 1);
  switch (net.between(0, 3)) {
    case 0:
      return net.op("Multiply", {first, net.op("Sigmoid", {second})});
    case 1:
      return net.op("Add", {first, second});
    case 2:
      net.offer(second);
      return net.op("Concat", {second, net.activated(first)}, {{"axis", std::to_string(axis)}});
    default:
      net.offer(first);
      return net.activated(second);
  }
}

Value reduced(Net& net, Value x) {
  const int64_t rank = net.rank(x);
  const int64_t axis = net.between(1, rank - 1);
  const bool keeps = net.chance(50) || rank < 3;
  return net.op(net.one_of({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"}),
                {x, net.integers({axis})}, {{"keep_dims", keeps ? "true" : "false"}});
}

Value soft_max(Net& net, Value x) {
  const std::string axis = std::to_string(net.between(1, net.rank(x) - 1));
  return net.chance(80) ? net.op("SoftMax", {x}, {{"axis", axis}}, "opset8")
                        : net.op("LogSoftmax", {x}, {{"axis", axis}});
}

Value turned(Net& net, Value x) {
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < net.rank(x); ++axis) order.push_back(axis);
  for (size_t i = order.size(); i > 2; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(net.between(1, static_cast<int64_t>(i) - 1))]);
  return net.transpose(x, order);
}

/// Other extents, as many elements.
Value reshaped(Net& net, Value x) {
  const ir::Dims dims = net.dims(x);
  const int64_t rank = net.rank(x);
  switch (net.between(0, 3)) {
    case 0:
      net.need(rank < 5);
      return net.op("Unsqueeze", {x, net.integers({net.between(1, rank)})});
    case 1: {
      std::vector<int64_t> ones;
      for (int64_t axis = 1; axis < rank; ++axis)
        if (dims[static_cast<size_t>(axis)] == 1) ones.push_back(axis);
      net.need(!ones.empty() && rank > 2);
      return net.op("Squeeze", {x, net.integers({ones.back()})});
    }
    case 2: {  // two neighbours become one
      net.need(rank >= 3);
      const int64_t axis = net.between(1, rank - 2);
      std::vector<int64_t> extents = {0};
      for (int64_t i = 1; i < rank; ++i) {
        if (i == axis + 1) continue;
        extents.push_back(i == axis ? -1 : dims[static_cast<size_t>(i)]);
      }
      return net.reshape(x, extents);
    }
    default: {  // one becomes two
      net.need(rank < 5);
      const int64_t axis = net.between(1, rank - 1), extent = dims[static_cast<size_t>(axis)];
      const int64_t part = net.one_of<int64_t>({2, 3, 4, 8});
      net.need(extent % part == 0 && extent > 0);
      std::vector<int64_t> extents = {0};
      for (int64_t i = 1; i < rank; ++i) {
        if (i != axis) {
          extents.push_back(dims[static_cast<size_t>(i)]);
          continue;
        }
        extents.push_back(net.chance(50) ? part : extent / part);
        extents.push_back(-1);
      }
      return net.reshape(x, extents);
    }
  }
}

Value selected(Net& net, Value x) {
  const Value condition = net.input(element::boolean, net.dims(x), Fill::in(0, 1));
  return net.op("Select", {condition, x, net.chance(50) ? net.scalar(-0.5) : net.partner(x)},
                {{"auto_broadcast", "numpy"}});
}

Value tiled(Net& net, Value x) {
  std::vector<int64_t> times(static_cast<size_t>(net.rank(x)), 1);
  times[static_cast<size_t>(net.between(1, net.rank(x) - 1))] = net.between(2, 3);
  return net.op("Tile", {x, net.integers(times)});
}

Value summed(Net& net, Value x) {
  return net.op("CumSum", {net.op("Multiply", {x, net.scalar(0.25)}), net.integer(net.between(1, net.rank(x) - 1))},
                {{"exclusive", net.one_of({"true", "false"})}, {"reverse", net.one_of({"true", "false"})}});
}

/// A product of two values of the model.
Value product(Net& net, Value x) {
  const ir::Dims dims = net.dims(x);
  const Value other = net.op("Tanh", {net.partner(x)});  // else squares of squares leave the range of floats
  net.spend(ir::element_count(dims) * dims[dims.size() - 2]);
  const Value y = net.op("MatMul", {x, other}, {{"transpose_a", "false"}, {"transpose_b", "true"}});
  return net.op("Multiply", {y, net.scalar(1.0 / static_cast<double>(dims.back()))});
}

const Block kCommonBlocks[] = {
    {"chain", 14, 2, 5, chain},      {"linear", 6, 2, 4, linear_block}, {"join", 8, 2, 5, join},
    {"slice", 4, 2, 5, slice},       {"halves", 5, 2, 5, halves},       {"reduced", 3, 2, 5, reduced},
    {"soft max", 3, 2, 5, soft_max}, {"turned", 4, 3, 5, turned},       {"reshaped", 5, 2, 5, reshaped},
    {"selected", 2, 2, 5, selected}, {"tiled", 1, 2, 5, tiled},         {"summed", 1, 2, 4, summed},
    {"product", 2, 3, 4, product},
};

}  // namespace

std::span<const Block> common_blocks() { return kCommonBlocks; }

}  // namespace terroir::test
