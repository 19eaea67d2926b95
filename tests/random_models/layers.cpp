#include "tests/random_models/layers.hpp"

#include <algorithm>
#include <cmath>

namespace terroir::test {
namespace {

struct Windows {
  ir::Dims kernel, strides, dilations, begin, end;
  AttributeTexts attributes() const {
    return {{"strides", list(strides)},
            {"dilations", list(dilations)},
            {"pads_begin", list(begin)},
            {"pads_end", list(end)}};
  }
};

Windows windows(Net& net, Value x, int64_t kernel, int64_t stride, bool dilates) {
  Windows w;
  const ir::Dims dims = net.dims(x);
  const bool free_kernel = kernel == 0, equal = !free_kernel || net.chance(85);
  const int64_t usual = free_kernel ? net.one_of<int64_t>({1, 1, 1, 3, 3, 3, 3, 5, 7, 2}) : kernel;
  const int64_t step = stride == 0 ? net.one_of<int64_t>({1, 1, 1, 1, 2, 2, 3}) : stride;
  const int64_t dilation = dilates && net.chance(8) ? 2 : 1;
  for (size_t axis = 2; axis < dims.size(); ++axis) {
    const int64_t size = equal ? usual : net.between(1, 5), reach = (size - 1) * dilation + 1;
    const int64_t before = equal && !net.chance(8) ? reach / 2 : net.between(0, reach - 1);
    const int64_t after = !free_kernel ? reach - 1 - reach / 2 : equal ? before : net.between(0, reach - 1);
    net.need(dims[axis] + before + after >= reach);
    w.kernel.push_back(size);
    w.strides.push_back(step);
    w.dilations.push_back(dilation);
    w.begin.push_back(free_kernel ? before : reach / 2);
    w.end.push_back(after);
  }
  return w;
}

int64_t positions(const ir::Dims& dims, const Windows& w) {
  int64_t count = dims[0];
  for (size_t i = 0; i < w.kernel.size(); ++i) count *= dims[i + 2] / w.strides[i] + 1;
  return count;
}

ir::Dims joined(ir::Dims front, const ir::Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

int64_t drawn_groups(Net& net, int64_t channels) {
  if (net.chance(70)) return 1;
  if (net.chance(65)) return channels;
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= channels; ++i)
    if (channels % i == 0) divisors.push_back(i);
  net.need(!divisors.empty());
  return divisors[static_cast<size_t>(net.between(0, static_cast<int64_t>(divisors.size()) - 1))];
}

}  // namespace

std::vector<int64_t> spatial_axes(const Net& net, Value x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < net.rank(x); ++axis) axes.push_back(axis);
  return axes;
}

std::string repeated(int64_t value, int64_t times) {
  return list(std::vector<int64_t>(static_cast<size_t>(times), value));
}

Value convolution(Net& net, Value x, ConvolutionShape shape) {
  const ir::Dims dims = net.dims(x);
  const Windows w = windows(net, x, shape.kernel, shape.stride, true);
  const int64_t channels = dims[1], groups = shape.groups ? shape.groups : drawn_groups(net, channels);
  net.need(channels % groups == 0);
  int64_t out = shape.channels;
  if (out == 0 && groups == 1) out = net.one_of<int64_t>({channels, 1, 3, 5, 8, 8, 16, 16, 19, 24, 32, 32, 33, 48, 64});
  if (out == 0) out = groups * (groups == channels ? net.one_of<int64_t>({1, 1, 1, 2}) : net.between(1, 9));
  net.need(out % groups == 0 && out <= 512);
  const int64_t terms = channels / groups * ir::element_count(w.kernel);
  net.spend(positions(dims, w) * out * terms);
  AttributeTexts attributes = w.attributes();
  // Where the pads are those that it would find, so that the extents do not depend on it.
  if (shape.kernel == 0 && net.chance(10))
    attributes.emplace_back("auto_pad", net.one_of({"same_upper", "same_lower", "valid"}));
  if (groups == 1 && !net.chance(3))
    return net.op("Convolution", {x, net.weights(joined({out, channels}, w.kernel), terms)}, attributes);
  const ir::Dims filter = joined({groups, out / groups, channels / groups}, w.kernel);
  return net.op("GroupConvolution", {x, net.weights(filter, terms)}, attributes);
}

Value convolved(Net& net, Value x, ConvolutionShape shape) {
  Value y = convolution(net, x, shape);
  if (net.chance(10)) net.offer(y);
  if (net.chance(20)) {
    const ir::Dims per_channel = {net.dim(y, 1)};
    y = net.op("BatchNormInference",
               {y, net.constant(per_channel, 0.5, 1.5), net.constant(per_channel, -0.5, 0.5),
                net.constant(per_channel, -0.5, 0.5), net.constant(per_channel, 0.5, 1.5)},
               {{"epsilon", "0.001"}});
  } else if (net.chance(65)) {
    const Value bias = net.per_channel(y, -0.5, 0.5);
    y = net.chance(90) ? net.op("Add", {y, bias}) : net.op("Add", {bias, y});
  }
  if (net.chance(8)) net.offer(y);
  return net.activation(y);
}

Value transposed_convolution(Net& net, Value x) {
  const ir::Dims dims = net.dims(x);
  const Windows w = windows(net, x, 0, net.one_of<int64_t>({1, 2, 2, 3}), true);
  const int64_t channels = dims[1], groups = drawn_groups(net, channels), in = channels / groups;
  const int64_t out = groups == channels ? 1 : net.one_of<int64_t>({1, 3, 8, 11, 16, 24});
  const int64_t terms = in * ir::element_count(w.kernel);
  net.spend(ir::element_count(dims) * out * ir::element_count(w.kernel));
  AttributeTexts attributes = w.attributes();
  std::vector<int64_t> more;
  for (const int64_t stride : w.strides) more.push_back(net.between(0, stride - 1));
  if (net.chance(40)) attributes.emplace_back("output_padding", list(more));
  if (groups == 1)
    return net.op("ConvolutionBackpropData", {x, net.weights(joined({channels, out}, w.kernel), terms)}, attributes);
  return net.op("GroupConvolutionBackpropData", {x, net.weights(joined({groups, in, out}, w.kernel), terms)},
                attributes);
}

Value pooled(Net& net, Value x, bool same) {
  const Windows w = same ? windows(net, x, 3, 1, false) : windows(net, x, 0, 0, false);
  AttributeTexts attributes = {{"kernel", list(w.kernel)},
                               {"strides", list(w.strides)},
                               {"pads_begin", list(w.begin)},
                               {"pads_end", list(w.end)},
                               {"rounding_type", same || net.chance(70) ? "floor" : "ceil"}};
  // A window that lies in the padding alone has no maximum, and no average without it.
  for (size_t i = 0; i < w.kernel.size(); ++i) net.need(2 * std::max(w.begin[i], w.end[i]) <= w.kernel[i]);
  if (net.chance(55)) return net.op("MaxPool", {x}, attributes, net.one_of({"opset1", "opset8", "opset14"}));
  attributes.emplace_back("exclude-pad", net.one_of({"true", "false"}));
  return net.op("AvgPool", {x}, attributes, net.one_of({"opset1", "opset14"}));
}

Value pooled_globally(Net& net, Value x, bool keep_axes) {
  const char* how = net.one_of({"ReduceMean", "ReduceMean", "ReduceMax", "ReduceL2"});
  if (net.rank(x) == 4 && net.chance(25)) {
    AttributeTexts window = {{"kernel", list(ir::Dims{net.dim(x, 2), net.dim(x, 3)})},
                             {"strides", "1,1"},
                             {"pads_begin", "0,0"},
                             {"pads_end", "0,0"},
                             {"exclude-pad", "true"}};
    x = net.op("AvgPool", {x}, window, "opset1");
    return keep_axes ? x : net.op("Squeeze", {x, net.integers({2, 3})});
  }
  return net.op(how, {x, net.integers(spatial_axes(net, x))}, {{"keep_dims", keep_axes ? "true" : "false"}});
}

Value linear(Net& net, Value x, int64_t columns) {
  const ir::Dims dims = net.dims(x);
  const int64_t depth = dims.back();
  net.need(depth > 0);
  net.spend(ir::element_count(dims) * columns);
  const bool turned = net.chance(50);
  Value y = net.op("MatMul", {x, net.weights(turned ? ir::Dims{columns, depth} : ir::Dims{depth, columns}, depth)},
                   {{"transpose_a", "false"}, {"transpose_b", turned ? "true" : "false"}});
  if (net.chance(10)) net.offer(y);
  return net.chance(70) ? net.op("Add", {y, net.per_column(y, -0.5, 0.5)}) : y;
}

Value layer_norm(Net& net, Value x) {
  const Value last = net.integers({-1});
  const AttributeTexts keep = {{"keep_dims", "true"}};
  Value y = x;
  switch (net.between(0, 2)) {
    case 0:
      y = net.op("MVN", {x, last}, {{"eps", "0.001"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}});
      break;
    case 1: {
      const Value centred = net.op("Subtract", {x, net.op("ReduceMean", {x, last}, keep)});
      const Value variance = net.op(
          "ReduceMean",
          {net.chance(50) ? net.op("Power", {centred, net.scalar(2)}) : net.op("Multiply", {centred, centred}), last},
          keep);
      const Value deviation = net.op("Sqrt", {net.op("Add", {variance, net.scalar(0.001)})});
      y = net.op("Divide", {centred, deviation});
      break;
    }
    default: {  // by the root of the mean square alone
      const Value mean = net.op("ReduceMean", {net.op("Multiply", {x, x}), last}, keep);
      const Value root = net.op("Sqrt", {net.op("Add", {mean, net.scalar(0.001)})});
      y = net.op("Multiply", {x, net.op("Divide", {net.scalar(1), root})});
    }
  }
  if (net.chance(80)) y = net.op("Multiply", {y, net.per_column(y, 0.5, 1.5)});
  return net.chance(70) ? net.op("Add", {y, net.per_column(y, -0.5, 0.5)}) : y;
}

}  // namespace terroir::test
