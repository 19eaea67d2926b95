// Blocks of convolutional networks.
#include <algorithm>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

Value resized_like(Net& net, Value x, Value model) {
  const std::vector<int64_t> axes = spatial_axes(net, x);
  std::vector<int64_t> sizes;
  for (const int64_t axis : axes) sizes.push_back(net.dim(model, axis));
  const Value wanted = net.chance(50) ? net.integers(sizes) : net.extents_of(model, axes);
  return net.op(
      "Interpolate", {x, wanted, net.integers(axes)},
      {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}, {"coordinate_transformation_mode", "asymmetric"}},
      "opset11");
}

Value u_net_level(Net& net, Value x, int64_t channels, int64_t levels) {
  const auto convolved_twice = [&](Value value) {
    value = net.op("ReLU", {convolved(net, value, {channels, 3, 1, 1})});
    return net.chance(80) ? net.op("ReLU", {convolved(net, value, {channels, 3, 1, 1})}) : value;
  };
  const Value outer = convolved_twice(x);
  if (levels == 0) return outer;
  const std::string two = repeated(2, net.rank(x) - 2), none = repeated(0, net.rank(x) - 2);
  const Value half = net.op("MaxPool", {outer},
                            {{"kernel", two}, {"strides", two}, {"pads_begin", none}, {"pads_end", none}}, "opset1");
  const Value inner = u_net_level(net, half, 2 * channels, levels - 1);
  const Value back = resized_like(net, inner, outer);
  return convolved_twice(
      net.op("Concat", net.chance(50) ? std::vector{back, outer} : std::vector{outer, back}, {{"axis", "1"}}));
}

Value convolution_block(Net& net, Value x) { return convolved(net, x); }

Value same(Net& net, Value x, int64_t channels, int64_t groups = 1) {
  return convolved(net, x, {channels, net.one_of<int64_t>({1, 3, 3}), 1, groups});
}

/// Convolutions of 3x3 of which each reads the one before alone, as in the outer levels of a U-Net.
Value tower(Net& net, Value x) {
  int64_t channels = net.one_of<int64_t>({net.dim(x, 1), 16, 32, 48, 64});
  for (int64_t left = net.between(1, 4); left > 0; --left) {
    x = convolved(net, x, {channels, 3, 1, 1});
    if (net.chance(30)) channels = std::max<int64_t>(8, channels / 2);
  }
  return x;
}

Value squeeze_and_excite(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1), inner = std::max<int64_t>(1, channels / 4);
  Value gate = x;
  if (net.chance(65)) {
    gate = pooled_globally(net, x, true);
    gate = net.op(net.one_of({"ReLU", "Swish"}), {convolved(net, gate, {inner, 1, 1, 1})});
    gate = convolution(net, gate, {channels, 1, 1, 1});
  } else {
    gate = net.op("ReLU", {linear(net, pooled_globally(net, x, false), inner)});
    gate = linear(net, gate, channels);
    std::vector<int64_t> extents = {0, 0};
    for (int64_t axis = 2; axis < net.rank(x); ++axis) extents.push_back(1);
    if (net.chance(50))
      gate = net.reshape(gate, extents);
    else
      gate = net.op("Unsqueeze", {gate, net.integers(spatial_axes(net, x))});
  }
  gate = net.op(net.one_of({"Sigmoid", "HSigmoid"}), {gate});
  return net.chance(70) ? net.op("Multiply", {x, gate}) : net.op("Multiply", {gate, x});
}

Value residual(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  const int64_t inner = net.one_of<int64_t>({channels, 8, 16, 32});
  Value y = same(net, x, inner);
  y = convolution(net, y, {channels, net.one_of<int64_t>({1, 3}), 1, 1});
  if (net.chance(50)) y = net.op("Add", {y, net.per_channel(y, -0.5, 0.5)});
  if (net.chance(25)) y = squeeze_and_excite(net, y);
  const Value other = net.chance(85) ? x : net.partner(x);
  y = net.op(net.one_of({"Add", "Add", "Add", "Subtract", "Maximum"}),
             net.chance(50) ? std::vector{y, other} : std::vector{other, y});
  return net.activation(y);
}

Value inverted_residual(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  const int64_t wide = channels * net.between(2, 6);
  const int64_t stride = net.one_of<int64_t>({1, 1, 2});
  Value y = net.activated(convolved(net, x, {wide, 1, 1, 1}));
  y = convolved(net, y, {wide, net.one_of<int64_t>({3, 3, 5, 7}), stride, wide});
  if (net.chance(40)) y = squeeze_and_excite(net, y);
  const int64_t out = stride == 1 && net.chance(70) ? channels : net.one_of<int64_t>({8, 16, 19, 24});
  y = convolution(net, y, {out, 1, 1, 1});
  if (net.chance(60)) y = net.op("Add", {y, net.per_channel(y, -0.5, 0.5)});
  return net.dims(y) == net.dims(x) ? net.op("Add", {x, y}) : y;
}

Value separable(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  const Value y =
      convolved(net, x, {channels, net.one_of<int64_t>({3, 3, 5, 7}), net.one_of<int64_t>({1, 1, 2}), channels});
  return convolved(net, y, {0, 1, 1, 1});
}

/// A part of the channels, or all of them through some layers; the spatial extents stay.
Value branch(Net& net, Value x) {
  const int64_t channels = net.one_of<int64_t>({8, 8, 16, 16, 24, 3, 5, 32});
  switch (net.between(0, 6)) {
    case 0:
      return x;
    case 1:
      return pooled(net, x, true);
    case 2:
      return convolved(net, pooled(net, x, true), {channels, 1, 1, 1});
    case 3:
      return same(net, convolved(net, x, {channels, 1, 1, 1}), channels);
    case 4:
      return convolved(net, x, {net.dim(x, 1), 3, 1, net.dim(x, 1)});
    case 5:
      return net.activated(x);
    default:
      return same(net, x, channels);
  }
}

Value inception(Net& net, Value x) {
  std::vector<Value> parts;
  for (int64_t left = net.between(2, 4); left > 0; --left) {
    parts.push_back(branch(net, x));
    if (net.chance(15)) net.offer(parts.back());
  }
  if (net.chance(12)) parts.push_back(parts[0]);
  return net.activation(net.op("Concat", parts, {{"axis", net.chance(70) ? "1" : std::to_string(1 - net.rank(x))}}));
}

Value dense(Net& net, Value x) {
  for (int64_t left = net.between(1, 4); left > 0; --left) {
    const Value grown = same(net, net.activation(x), net.one_of<int64_t>({8, 8, 12, 16, 5}));
    x = net.op("Concat", net.chance(80) ? std::vector{x, grown} : std::vector{grown, x}, {{"axis", "1"}});
    if (net.chance(25)) net.offer(x);
  }
  return x;
}

std::vector<Value> parts_of(Net& net, Value x, int64_t axis) {
  const int64_t extent = net.dim(x, axis);
  net.need(extent >= 2);
  const int64_t count = extent % 2 == 0 && net.chance(60) ? 2 : std::min<int64_t>(extent, net.between(2, 4));
  std::vector<Value> parts;
  if (extent % count == 0 && net.chance(60)) {
    const Value first = net.op("Split", {x, net.integer(axis)}, {{"num_splits", std::to_string(count)}});
    for (int64_t i = 0; i < count; ++i) parts.push_back(net.output(first, static_cast<int32_t>(i)));
    return parts;
  }
  std::vector<int64_t> sizes;
  int64_t left = extent;
  for (int64_t i = 0; i + 1 < count; ++i) {
    const int64_t most = left - (count - 1 - i);
    sizes.push_back(most >= 8 && net.chance(60) ? 8 : net.between(1, most));
    left -= sizes.back();
  }
  sizes.push_back(net.chance(30) ? -1 : left);
  const Value first = net.op("VariadicSplit", {x, net.integer(axis), net.integers(sizes)});
  for (int64_t i = 0; i < count; ++i) parts.push_back(net.output(first, static_cast<int32_t>(i)));
  return parts;
}

/// Cuts along the channels, does something with some of the parts, and joins them again.
Value cut_and_join(Net& net, Value x) {
  std::vector<Value> parts = parts_of(net, x, 1), joined;
  for (const Value part : parts) {
    if (net.chance(15)) net.offer(part);
    const Value y = net.chance(35) ? part : branch(net, part);
    if (net.chance(20) && !joined.empty() && net.dims(joined.back()) == net.dims(y))
      joined.push_back(net.op("Add", {joined.back(), y}));
    else
      joined.push_back(y);
  }
  if (net.chance(40)) std::reverse(joined.begin(), joined.end());
  if (net.chance(15)) joined.push_back(x);
  return net.op("Concat", joined, {{"axis", "1"}});
}

Value shuffle(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  net.need(net.rank(x) == 4 && channels >= 4);
  const int64_t groups = channels % 4 == 0 && net.chance(40) ? 4 : 2;
  net.need(channels % groups == 0);
  const int64_t height = net.dim(x, 2), width = net.dim(x, 3);
  Value y = net.reshape(x, {0, groups, channels / groups, height, width});
  y = net.transpose(y, {0, 2, 1, 3, 4});
  return net.reshape(y, {0, channels, height, width});
}

Value spatial_attention(Net& net, Value x) {
  const AttributeTexts keep = {{"keep_dims", "true"}};
  const Value mean = net.op("ReduceMean", {x, net.integers({1})}, keep);
  const Value most = net.op("ReduceMax", {x, net.integers({1})}, keep);
  const Value both = net.op("Concat", {mean, most}, {{"axis", "1"}});
  const Value gate = net.op("Sigmoid", {convolution(net, both, {1, net.one_of<int64_t>({3, 7}), 1, 1})});
  return net.op("Multiply", {x, gate});
}

Value transposed_block(Net& net, Value x) {
  Value y = transposed_convolution(net, x);
  if (net.chance(60)) y = net.op("Add", {y, net.per_channel(y, -0.5, 0.5)});
  return net.activation(y);
}

/// Brings x to the extents of an earlier value and joins the two, as decoders do.
Value decoder(Net& net, Value x) {
  const Value skip = net.recent(net.rank(x), net.rank(x));
  const std::vector<int64_t> axes = spatial_axes(net, x);
  std::vector<int64_t> sizes;
  for (const int64_t axis : axes) sizes.push_back(net.dim(skip, axis));
  const bool known = net.chance(40);
  const Value wanted = known ? net.integers(sizes) : net.extents_of(skip, axes);
  const char* mode = net.rank(x) == 4 ? net.one_of({"nearest", "linear_onnx", "linear", "cubic"})
                                      : net.one_of({"nearest", "linear_onnx"});
  const AttributeTexts how = {{"mode", mode},
                              {"shape_calculation_mode", "sizes"},
                              {"coordinate_transformation_mode",
                               net.one_of({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})},
                              {"nearest_mode", net.one_of({"floor", "round_prefer_floor", "simple"})}};
  const Value large = net.op("Interpolate", {x, wanted, net.integers(axes)}, how, "opset11");
  if (net.dims(large) == net.dims(skip) && net.chance(40)) return net.activation(net.op("Add", {large, skip}));
  if (net.chance(30)) {
    const Value side = convolved(net, skip, {net.dim(large, 1), 1, 1, 1});
    return net.op("Add", {side, large});
  }
  const Value joined =
      net.op("Concat", net.chance(50) ? std::vector{large, skip} : std::vector{skip, large}, {{"axis", "1"}});
  return net.chance(60) ? same(net, joined, net.one_of<int64_t>({8, 16, 24})) : joined;
}

/// Convolutions of one input, and the input itself, that are added, as some networks are trained.
Value summed_branches(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1), groups = net.chance(40) ? channels : 1, stride = net.chance(80) ? 1 : 2;
  const int64_t outputs = groups > 1 || net.chance(60) ? channels : net.one_of<int64_t>({8, 16, 24});
  const auto one = [&] {
    Value y = x;
    if (stride == 1 && outputs == channels && net.chance(25))
      y = net.op("Multiply", {x, net.per_channel(x, 0.5, 1.5)});
    else
      y = convolution(net, x, {outputs, net.one_of<int64_t>({1, 3, 3, 5}), stride, groups});
    return net.chance(50) ? net.op("Add", {y, net.per_channel(y, -0.5, 0.5)}) : y;
  };
  Value sum = stride == 1 && outputs == channels && net.chance(25) ? x : one();
  for (int64_t left = net.between(1, 3); left > 0; --left) {
    const Value other = one();
    if (net.dims(other) == net.dims(sum))
      sum = net.op("Add", net.chance(50) ? std::vector{sum, other} : std::vector{other, sum});
  }
  return net.activation(sum);
}

Value gated(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  const Value gate = net.op("Sigmoid", {same(net, x, channels)});
  return net.op("Multiply", {same(net, x, channels), gate});
}

const Block kConvolutionBlocks[] = {
    {"convolution", 14, 3, 5, convolution_block},
    {"tower", 7, 4, 5, tower},
    {"u-net", 3, 4, 5, test::u_net},
    {"residual", 10, 3, 5, residual},
    {"inverted residual", 6, 3, 5, inverted_residual},
    {"separable", 5, 3, 5, separable},
    {"inception", 8, 3, 5, inception},
    {"dense", 6, 3, 5, dense},
    {"cut and join", 7, 3, 5, cut_and_join},
    {"shuffle", 3, 4, 4, shuffle},
    {"squeeze and excite", 4, 3, 5, squeeze_and_excite},
    {"spatial attention", 3, 4, 4, spatial_attention},
    {"transposed convolution", 4, 3, 5, transposed_block},
    {"decoder", 5, 3, 5, decoder},
    {"quantised", 10, 3, 5, test::quantised},
    {"summed branches", 4, 3, 5, summed_branches},
    {"gated", 3, 3, 5, gated},
};

}  // namespace

Value u_net(Net& net, Value x) { return u_net_level(net, x, net.one_of<int64_t>({8, 16, 24, 32}), net.between(1, 3)); }

std::span<const Block> convolution_blocks() { return kConvolutionBlocks; }

}  // namespace terroir::test
