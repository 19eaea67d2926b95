// Blocks of networks that were quantised.
#include <cmath>
#include <string>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

/// A range of levels, a power of two wide, so that there is one right level of every x: dividing by the range before
/// and after the number of levels is multiplied is the same.
struct Range {
  explicit Range(Net& net)
      : width(net.one_of({1.0, 2.0, 4.0, 8.0})),
        low(-width * net.one_of({0.0, 0.5, 0.5, 0.25, 0.125})),
        factor(net.chance(75) ? 1 : net.one_of({0.5, 0.75, 1.25})),
        count(net.chance(70) ? net.one_of({"256", "255"}) : net.one_of({"129", "16", "2", "257"})) {}
  double width, low, factor;  // the factor: of what comes out
  const char* count;
};

/// x in levels.
Value levels(Net& net, Value x, const Range& range) {
  const auto limit = [&](double value) {
    if (net.chance(60)) return net.scalar(value);
    return net.constant(net.chance(50) ? ir::Dims{1} : ir::Dims(static_cast<size_t>(net.rank(x)), 1), value, value);
  };
  std::vector<Value> inputs = {x, limit(range.low), limit(range.low + range.width)};
  if (net.chance(25)) {  // as QuantizeLinear and DequantizeLinear of ONNX
    const bool is_signed = net.chance(50);
    const int count = net.one_of({256, 256, 255, 129, 2});
    const double first = is_signed ? -count / 2 : 0, zero = std::round(first - range.low / range.width * (count - 1));
    inputs.push_back(limit(first));
    inputs.push_back(limit(first + count - 1));
    Value y = net.op("FakeQuantize", inputs, {{"levels", std::to_string(count)}});
    y = net.op("Convert", {y}, {{"destination_type", is_signed ? "i8" : "u8"}});
    const auto floats = [&] { return net.op("Convert", {y}, {{"destination_type", net.type().get_type_name()}}); };
    if (net.chance(15)) net.offer(floats());
    y = floats();
    if (zero != 0 || net.chance(20)) y = net.op("Subtract", {y, net.scalar(zero)});
    return net.op("Multiply", {y, limit(range.factor * range.width / (count - 1))});
  }
  const double low = range.factor * range.low;
  inputs.push_back(net.chance(95) ? limit(low) : net.per_channel(x, low - 0.1, low));
  inputs.push_back(limit(range.factor * (range.low + range.width)));
  const Value y = net.op("FakeQuantize", inputs, {{"levels", range.count}});
  if (net.chance(15)) net.offer(y);
  return y;
}
Value levels(Net& net, Value x) { return levels(net, x, Range(net)); }

/// x in levels, their range twice as wide in some channels.
Value levels_by_channel(Net& net, Value x) {
  const Range range(net);
  const Value wide = net.op("Greater", {net.per_channel(x, -1, 1), net.scalar(0)});
  const auto limit = [&](double value) { return net.op("Select", {wide, net.scalar(2 * value), net.scalar(value)}); };
  const Value low = limit(range.low), high = limit(range.low + range.width);
  const Value y = net.op("FakeQuantize", {x, low, high, low, high}, {{"levels", range.count}});
  if (net.chance(15)) net.offer(y);
  return y;
}

/// Levels that are moved or picked before a layer reads them.
Value moved(Net& net, Value x) {
  const Range range(net);
  const Value y = levels(net, x, range);
  switch (net.between(0, 3)) {
    case 0:
      return net.op("Concat", {y, levels(net, net.partner(x), net.chance(80) ? range : Range(net))}, {{"axis", "1"}});
    case 1:
      return pooled(net, y, net.chance(60));
    case 2:
      return net.op("Squeeze", {net.op("Unsqueeze", {y, net.integers({1})}), net.integers({1})});
    default:
      return y;
  }
}

/// What comes behind a layer, before its result is in levels again.
Value chained(Net& net, Value y, const std::vector<Value>& others) {
  if (net.chance(70)) y = net.op("Add", {y, net.per_channel(y, -0.5, 0.5)});
  if (net.chance(10)) y = net.activation(y);
  if (net.chance(10)) net.offer(y);
  if (net.chance(35))
    for (Value other : others)
      if (net.dims(other) == net.dims(y)) {
        if (net.chance(40)) y = levels(net, y);
        if (net.chance(40)) other = levels(net, other);
        y = net.op("Add", net.chance(50) ? std::vector{y, other} : std::vector{other, y});
        break;
      }
  return net.activation(y);
}

}  // namespace

Value quantised(Net& net, Value x) {
  const Net::Quantised weights(net);
  std::vector<Value> values = {x};
  for (int64_t left = net.between(1, 4); left > 0; --left) {
    const int kind = static_cast<int>(net.between(0, 5));
    const bool depthwise = kind == 0;
    const Value data = depthwise && net.chance(50) ? levels_by_channel(net, values.back())
                       : net.chance(30)            ? moved(net, values.back())
                                                   : levels(net, values.back());
    const int64_t channels = net.dim(data, 1);
    ConvolutionShape shape;
    switch (kind) {
      case 0:
        shape = {channels, net.one_of<int64_t>({3, 3, 5}), net.one_of<int64_t>({1, 1, 2}), channels};
        break;
      case 1:
        shape = {channels, net.one_of<int64_t>({1, 3}), 1, channels % 32 == 0 ? channels / 16 : 1};
        break;
      case 2:
        shape = {net.one_of<int64_t>({16, 32, 40, 64, 96}), 1, 1, 1};
        break;
      default:
        break;
    }
    Value y = chained(net, convolution(net, data, shape), values);
    if (net.chance(20)) y = levels(net, y);  // which further layers, and sums, read
    if (net.chance(20)) values.push_back(chained(net, convolution(net, data), values));  // reads the same levels
    if (net.chance(15)) net.offer(y);
    values.push_back(y);
  }
  return values.back();
}

Value quantised_rows(Net& net, Value x) {
  const Net::Quantised weights(net);
  for (int64_t left = net.between(1, 3); left > 0; --left) {
    const Value y = linear(net, levels(net, x), net.one_of<int64_t>({8, 12, 32, 33, 52, 64, 80}));
    x = net.activation(y);
    if (net.chance(15)) net.offer(x);
  }
  return x;
}

}  // namespace terroir::test
