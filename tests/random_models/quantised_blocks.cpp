// Blocks of networks that were quantised.
#include <cmath>
#include <string>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

/// x in levels. Ranges are powers of two wide, so that there is one right level of every x: dividing by the range
/// before and after the number of levels is multiplied is the same.
Value levels(Net& net, Value x) {
  const double width = net.one_of({1.0, 2.0, 4.0, 8.0}), low = -width * net.one_of({0.0, 0.5, 0.5, 0.25, 0.125});
  const auto limit = [&](double value) {
    if (net.chance(60)) return net.scalar(value);
    return net.constant(net.chance(50) ? ir::Dims{1} : ir::Dims(static_cast<size_t>(net.rank(x)), 1), value, value);
  };
  std::vector<Value> inputs = {x, limit(low), limit(low + width)};
  const double factor = net.chance(75) ? 1 : net.one_of({0.5, 0.75, 1.25});
  if (net.chance(25)) {  // as QuantizeLinear and DequantizeLinear of ONNX
    const bool is_signed = net.chance(50);
    const int count = net.one_of({256, 256, 255, 129, 2});
    const double first = is_signed ? -count / 2 : 0, zero = std::round(first - low / width * (count - 1));
    inputs.push_back(limit(first));
    inputs.push_back(limit(first + count - 1));
    Value y = net.op("FakeQuantize", inputs, {{"levels", std::to_string(count)}});
    y = net.op("Convert", {y}, {{"destination_type", is_signed ? "i8" : "u8"}});
    const auto floats = [&] { return net.op("Convert", {y}, {{"destination_type", net.type().get_type_name()}}); };
    if (net.chance(15)) net.offer(floats());
    y = floats();
    if (zero != 0 || net.chance(20)) y = net.op("Subtract", {y, net.scalar(zero)});
    return net.op("Multiply", {y, limit(factor * width / (count - 1))});
  }
  inputs.push_back(net.chance(95) ? limit(factor * low) : net.per_channel(x, factor * low - 0.1, factor * low));
  inputs.push_back(limit(factor * (low + width)));
  const Value y =
      net.op("FakeQuantize", inputs,
             {{"levels", net.chance(70) ? net.one_of({"256", "255"}) : net.one_of({"129", "16", "2", "257"})}});
  if (net.chance(15)) net.offer(y);
  return y;
}

/// What comes behind a layer, before its result is in levels again.
Value chained(Net& net, Value y, const std::vector<Value>& others) {
  if (net.chance(70)) y = net.op("Add", {y, net.per_channel(y, -0.5, 0.5)});
  if (net.chance(10)) net.offer(y);
  if (net.chance(35))
    for (const Value other : others)
      if (net.dims(other) == net.dims(y)) {
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
    const Value data = levels(net, values.back());
    const int64_t channels = net.dim(data, 1);
    ConvolutionShape shape;
    switch (net.between(0, 5)) {
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
    const Value y = chained(net, convolution(net, data, shape), values);
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
