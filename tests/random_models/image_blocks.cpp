// What convolutional networks have between their convolutions.
#include <algorithm>

#include "tests/random_models/layers.hpp"

namespace terroir::test {
namespace {

Value pool(Net& net, Value x) { return pooled(net, x, net.chance(30)); }

Value adaptive_pool(Net& net, Value x) {
  std::vector<int64_t> sizes;
  for (int64_t axis = 2; axis < net.rank(x); ++axis) sizes.push_back(net.between(1, net.dim(x, axis)));
  if (net.chance(50)) return net.op("AdaptiveAvgPool", {x, net.integers(sizes)});
  return net.op("AdaptiveMaxPool", {x, net.integers(sizes)}, {{"index_element_type", "i64"}});
}

Value resize(Net& net, Value x) {
  const std::vector<int64_t> axes = spatial_axes(net, x);
  const bool flat = net.rank(x) <= 4;
  AttributeTexts how = {
      {"mode", flat ? net.one_of({"nearest", "nearest", "linear_onnx", "linear", "cubic"})
                    : net.one_of({"nearest", "linear_onnx"})},
      {"coordinate_transformation_mode",
       net.one_of({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"})},
      {"nearest_mode", net.one_of({"floor", "ceil", "simple", "round_prefer_floor", "round_prefer_ceil"})}};
  std::vector<int64_t> sizes;
  std::vector<double> scales;
  for (const int64_t axis : axes) {
    sizes.push_back(net.between(1, 2 * net.dim(x, axis)));
    scales.push_back(net.one_of({2.0, 2.0, 0.5, 1.5, 1.0}));
    net.need(static_cast<double>(net.dim(x, axis)) * scales.back() >= 1);
  }
  const bool by_scales = net.chance(60);
  how.emplace_back("shape_calculation_mode", by_scales ? "scales" : "sizes");
  const Value wanted = by_scales ? net.draw().reals(scales, element::f32) : net.integers(sizes);
  return net.op("Interpolate", {x, wanted, net.integers(axes)}, how, "opset11");
}

Value pad(Net& net, Value x) {
  std::vector<int64_t> begin = {0, net.chance(20) ? net.between(0, 2) : 0},
                       end = {0, net.chance(20) ? net.between(0, 3) : 0};
  const char* mode = net.one_of({"constant", "constant", "edge", "reflect", "symmetric"});
  const bool mirrors = mode[0] == 'r' || mode[0] == 's';
  for (int64_t axis = 2; axis < net.rank(x); ++axis) {
    const int64_t most = mirrors ? std::min<int64_t>(3, net.dim(x, axis) - 1) : 3;
    begin.push_back(net.between(0, most));
    end.push_back(net.between(0, most));
  }
  if (mirrors) begin[1] = end[1] = 0;
  if (net.chance(15)) begin.back() = -net.between(0, std::min<int64_t>(1, net.dims(x).back() - 1));
  std::vector<Value> inputs = {x, net.integers(begin), net.integers(end)};
  if (mode[0] == 'c' && net.chance(60)) inputs.push_back(net.scalar(net.one_of({0.0, 0.5})));
  return net.op("Pad", inputs, {{"pad_mode", mode}});
}

Value blocks_of_pixels(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  const AttributeTexts how = {{"block_size", "2"}, {"mode", net.one_of({"blocks_first", "depth_first"})}};
  int64_t block = 1;
  for (int64_t axis = 2; axis < net.rank(x); ++axis) block *= 2;
  if (channels % block == 0 && net.chance(60)) return net.op("DepthToSpace", {x}, how);
  for (int64_t axis = 2; axis < net.rank(x); ++axis) net.need(net.dim(x, axis) % 2 == 0);
  return net.op("SpaceToDepth", {x}, how);
}

Value normalise(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1);
  switch (net.between(0, 5)) {
    case 0:
      return net.op(
          "MVN", {x, net.integers(spatial_axes(net, x))},
          {{"eps", "0.01"}, {"normalize_variance", net.chance(80) ? "true" : "false"}, {"eps_mode", "inside_sqrt"}});
    case 1: {
      const int64_t groups = channels % 4 == 0 ? 4 : channels % 2 == 0 ? 2 : net.one_of<int64_t>({1, channels});
      return net.op("GroupNormalization", {x, net.constant({channels}, 0.5, 1.5), net.constant({channels}, -0.5, 0.5)},
                    {{"num_groups", std::to_string(groups)}, {"epsilon", "0.01"}});
    }
    case 2:
      return net.op("NormalizeL2", {x, net.integers({1})}, {{"eps", "0.01"}, {"eps_mode", "add"}});
    case 3:
      net.need(net.rank(x) == 4);
      return net.op("LRN", {x, net.integers({1})},
                    {{"alpha", "0.125"}, {"beta", "0.75"}, {"bias", "1"}, {"size", "5"}});
    case 4: {  // of every image and channel, as its parts
      const AttributeTexts keep = {{"keep_dims", "true"}};
      const Value axes = net.integers(spatial_axes(net, x));
      const Value centred = net.op("Subtract", {x, net.op("ReduceMean", {x, axes}, keep)});
      const Value variance = net.op("ReduceMean", {net.op("Multiply", {centred, centred}), axes}, keep);
      const Value y = net.op("Divide", {centred, net.op("Sqrt", {net.op("Add", {variance, net.scalar(0.01)})})});
      return net.op("Add", {net.op("Multiply", {y, net.per_channel(y, 0.5, 1.5)}), net.per_channel(y, -0.5, 0.5)});
    }
    default:
      return net.op("SoftMax", {x}, {{"axis", net.one_of({"1", "-1"})}}, "opset8");
  }
}

/// Some layers with the channels last.
Value channels_last(Net& net, Value x) {
  std::vector<int64_t> to = {0}, from = {0};
  const int64_t rank = net.rank(x);
  for (int64_t axis = 2; axis < rank; ++axis) to.push_back(axis);
  to.push_back(1);
  from.push_back(rank - 1);
  for (int64_t axis = 1; axis + 1 < rank; ++axis) from.push_back(axis);
  Value y = net.transpose(x, to);
  const int64_t channels = net.dims(y).back();
  switch (net.between(0, 5)) {
    case 0:
      y = layer_norm(net, y);
      break;
    case 1:
      y = linear(net, net.activated(linear(net, y, 2 * channels)), channels);
      break;
    case 2:
      y = net.op("Add", {net.op("Multiply", {y, net.per_column(y, 0.5, 1.5)}), net.per_column(y, -0.5, 0.5)});
      break;
    case 3: {
      const std::string axis = std::to_string(net.chance(70) ? rank - 1 : net.between(1, rank - 1));
      y = net.op("Concat", {y, net.chance(50) ? net.activated(y) : y}, {{"axis", axis}});
      const Value halves = net.op("Split", {y, net.integers({std::stoll(axis)})}, {{"num_splits", "2"}});
      if (net.chance(70)) y = net.op("Concat", {net.activated({halves.node, 1}), halves}, {{"axis", axis}});
      break;
    }
    case 4: {
      std::vector<int64_t> begin, end;
      for (int64_t axis = 0; axis < rank; ++axis) {
        begin.push_back(axis == 0 ? 0 : net.between(0, 1));
        end.push_back(axis == 0 ? 0 : net.between(0, 2));
      }
      y = net.op("Pad", {y, net.integers(begin), net.integers(end)},
                 {{"pad_mode", net.one_of({"constant", "constant", "edge"})}});
      break;
    }
    default:
      y = net.activated(y);
  }
  if (net.chance(12)) net.offer(y);
  return net.transpose(y, from);
}

Value rows_of_pixels(Net& net, Value x) {
  if (net.chance(60)) return pooled_globally(net, x, false);
  net.need(ir::element_count(net.dims(x)) / net.dim(x, 0) <= 2000);
  return net.reshape(x, {0, -1});
}

Value sequence_of(Net& net, Value x) {
  const Value flat = net.reshape(x, {0, net.dim(x, 1), -1});
  return net.chance(80) ? net.transpose(flat, {0, 2, 1}) : flat;
}

Value windows_of(Net& net, Value x) {
  const int64_t channels = net.dim(x, 1), height = net.dim(x, 2), width = net.dim(x, 3);
  net.need(height % 2 == 0 && width % 2 == 0 && height >= 4);
  Value y = net.reshape(x, {0, channels, 2, height / 2, 2, width / 2});
  y = net.transpose(y, {0, 2, 4, 3, 5, 1});
  y = net.reshape(y, {-1, height / 2 * (width / 2), channels});
  const Value scores = net.op("MatMul", {y, y}, {{"transpose_a", "false"}, {"transpose_b", "true"}});
  net.spend(2 * ir::element_count(net.dims(scores)) * channels);
  const Value shares = net.op("SoftMax", {net.op("Multiply", {scores, net.scalar(0.25)})}, {{"axis", "-1"}}, "opset8");
  y = net.op("MatMul", {shares, y}, {{"transpose_a", "false"}, {"transpose_b", "false"}});
  y = net.reshape(y, {-1, 2, 2, height / 2, width / 2, channels});
  y = net.transpose(y, {0, 5, 1, 3, 2, 4});
  y = net.reshape(y, {-1, channels, height, width});
  return net.op("Add", {x, y});
}

Value moved_along(Net& net, Value x) {
  return net.op("Roll", {x, net.integers({net.between(-2, 2), net.between(0, 3)}), net.integers({2, net.rank(x) - 1})});
}

const Block kImageBlocks[] = {
    {"pool", 8, 3, 5, pool},
    {"adaptive pool", 2, 3, 5, adaptive_pool},
    {"resize", 5, 3, 5, resize},
    {"pad", 4, 3, 5, pad},
    {"blocks of pixels", 4, 4, 5, blocks_of_pixels},
    {"normalise", 6, 3, 5, normalise},
    {"channels last", 5, 3, 5, channels_last},
    {"rows", 3, 3, 5, rows_of_pixels},
    {"sequence", 3, 4, 5, sequence_of},
    {"windows", 3, 4, 4, windows_of},
    {"roll", 2, 4, 4, moved_along},
};

}  // namespace

std::span<const Block> image_blocks() { return kImageBlocks; }

}  // namespace terroir::test
