// Convolutions and poolings.
#include <cmath>

#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

// Multiplications that the reference kernel may cost.
constexpr int64_t kMostProducts = 3000000;

struct Window {
  ir::Dims kernel, strides, dilations, begin, end;

  AttributeTexts attributes() const {
    return {{"strides", list(strides)},
            {"dilations", list(dilations)},
            {"pads_begin", list(begin)},
            {"pads_end", list(end)}};
  }
  int64_t taps() const { return ir::element_count(kernel); }
};

/// Over the last axes of `dims`; fits inside of them.
Window window(Draw& d, const ir::Dims& dims, size_t first = 2, bool dilates = true) {
  Window w;
  const bool same = d.chance(50);  // one size for all axes, as most networks have
  const int64_t usual = d.one_of(std::vector<int64_t>{1, 1, 3, 3, 3, 5, 2});
  const int64_t stride = d.one_of(std::vector<int64_t>{1, 1, 1, 2, 2, 3});
  for (size_t axis = first; axis < dims.size(); ++axis) {
    const int64_t kernel = same ? usual : d.between(1, 5);
    const int64_t dilation = dilates && d.chance(20) ? 2 : 1, reach = (kernel - 1) * dilation + 1;
    const int64_t before = same ? reach / 2 : d.between(0, reach - 1),
                  after = same ? reach / 2 : d.between(0, reach - 1);
    d.need(dims[axis] + before + after >= reach);
    w.kernel.push_back(kernel);
    w.dilations.push_back(dilation);
    w.strides.push_back(same ? stride : d.between(1, 3));
    w.begin.push_back(before);
    w.end.push_back(after);
  }
  return w;
}

/// [N, C, spatial...]
Value image(Draw& d, const Types& types, int64_t min_rank = 3, Fill fill = {}) {
  if (d.chance(60)) {
    const Value x = d.data(types, min_rank, 5, fill);
    const ir::Dims dims = d.dims(x);
    if (ir::element_count(dims) > 0 && dims[1] <= 64) return x;
  }
  static const std::vector<int64_t> kChannels = {1, 2, 3, 4, 7, 8, 11, 16, 17, 24, 32, 40};
  const int64_t spatial = min_rank >= 4 ? 2 : d.one_of(std::vector<int64_t>{1, 2, 2, 2, 2, 3});
  ir::Dims dims = {d.between(1, 2), d.one_of(kChannels)};
  for (int64_t i = 0; i < spatial; ++i) dims.push_back(d.between(1, spatial == 1 ? 40 : spatial == 2 ? 14 : 6));
  return d.like(d.one_of(types), dims, fill);
}

void limit_products(Draw& d, const ir::Dims& dims, int64_t outputs_per_pixel, int64_t taps) {
  d.need(ir::element_count(dims) * outputs_per_pixel * taps <= kMostProducts);
}

AttributeTexts with_auto_pad(Draw& d, AttributeTexts attributes) {
  attributes.emplace_back("auto_pad", d.chance(70) ? "explicit" : d.one_of({"same_upper", "same_lower", "valid"}));
  return attributes;
}

Fill small_weights(int64_t terms) {
  const double scale = 2 / std::sqrt(static_cast<double>(std::max<int64_t>(1, terms)));
  return Fill::in(-scale, scale);
}

ir::Dims joined(ir::Dims front, const ir::Dims& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

int64_t divisor(Draw& d, int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0) divisors.push_back(i);
  d.need(!divisors.empty());
  return d.chance(50) ? divisors.back() : d.one_of(divisors);
}

int64_t out_channels(Draw& d) { return d.one_of(std::vector<int64_t>{1, 2, 3, 5, 8, 15, 16, 17, 24, 32, 33}); }

void convolution(Draw& d) {
  const Value x = image(d, kReal);
  const ir::Dims dims = d.dims(x);
  const Window w = window(d, dims);
  const int64_t out = out_channels(d);
  limit_products(d, dims, out, w.taps());
  const Value weights = d.weights(d.type(x), joined({out, dims[1]}, w.kernel), small_weights(dims[1] * w.taps()));
  d.op({x, weights}, with_auto_pad(d, w.attributes()));
}

void group_convolution(Draw& d) {
  const Value x = image(d, kReal);
  const ir::Dims dims = d.dims(x);
  const Window w = window(d, dims);
  const int64_t groups = divisor(d, dims[1]), in = dims[1] / groups, out = d.between(1, in == 1 ? 2 : 9);
  limit_products(d, dims, out, w.taps());
  const Value weights = d.weights(d.type(x), joined({groups, out, in}, w.kernel), small_weights(in * w.taps()));
  d.op({x, weights}, with_auto_pad(d, w.attributes()));
}

void backprop(Draw& d, bool grouped) {
  const Value x = image(d, kReal);
  const ir::Dims dims = d.dims(x);
  const Window w = window(d, dims);
  const int64_t groups = grouped ? divisor(d, dims[1]) : 1, in = dims[1] / groups, out = d.between(1, 9);
  limit_products(d, dims, out, w.taps());
  const ir::Dims filter = grouped ? ir::Dims{groups, in, out} : ir::Dims{in, out};
  AttributeTexts attributes = with_auto_pad(d, w.attributes());
  ir::Dims extra;
  for (const int64_t stride : w.strides) extra.push_back(d.chance(30) ? d.below(stride) : 0);
  if (d.chance(50)) attributes.emplace_back("output_padding", list(extra));
  std::vector<Value> inputs = {x, d.weights(d.type(x), joined(filter, w.kernel), small_weights(in * w.taps()))};
  if (d.chance(20)) {
    ir::Dims wanted;
    for (size_t i = 0; i < w.kernel.size(); ++i)
      wanted.push_back(std::max<int64_t>(1, (dims[i + 2] - 1) * w.strides[i] + d.between(1, 3)));
    inputs.push_back(d.numbers(wanted));
  }
  d.op(inputs, attributes);
}

void deformable(Draw& d) {
  const Value x = image(d, kReal, 4);
  const ir::Dims dims = d.dims(x);
  d.need(dims.size() == 4);
  const Window w = window(d, dims);
  const int64_t group = d.chance(60) ? 1 : divisor(d, dims[1]);
  const int64_t parts = d.chance(60) ? 1 : divisor(d, dims[1]), out = group * d.between(1, 5);
  limit_products(d, dims, out, w.taps());
  ir::Dims spatial;
  for (size_t i = 0; i < 2; ++i)
    spatial.push_back((dims[i + 2] + w.begin[i] + w.end[i] - (w.kernel[i] - 1) * w.dilations[i] - 1) / w.strides[i] +
                      1);
  const element::Type type = d.type(x);
  AttributeTexts attributes = w.attributes();
  attributes.emplace_back("group", std::to_string(group));
  attributes.emplace_back("deformable_group", std::to_string(parts));
  attributes.emplace_back("auto_pad", "explicit");
  std::vector<Value> inputs = {
      x, d.fresh(type, joined({dims[0], parts * 2 * w.taps()}, spatial), Fill::in(-1.5, 1.5)),
      d.weights(type, joined({out, dims[1] / group}, w.kernel), small_weights(dims[1] * w.taps()))};
  if (d.schema().opset == "opset8" && d.chance(60))
    inputs.push_back(d.fresh(type, joined({dims[0], parts * w.taps()}, spatial), Fill::in(0, 1)));
  d.op(inputs, attributes);
}

void binary_convolution(Draw& d) {
  const ir::Dims dims = {d.between(1, 2), d.between(1, 40), d.between(3, 9), d.between(3, 9)};
  const Window w = window(d, dims);
  HostTensor bits(element::f32, dims);
  for (int64_t i = 0; i < bits.view().count(); ++i) set_number(bits.writable(), i, d.chance(50) ? 1 : 0);
  AttributeTexts attributes = w.attributes();
  attributes.insert(attributes.end(),
                    {{"mode", "xnor-popcount"}, {"pad_value", d.one_of({"0", "1"})}, {"auto_pad", "explicit"}});
  d.op({d.place(std::move(bits), 100), d.constant(d.tensor(element::u1, joined({d.between(1, 9), dims[1]}, w.kernel)))},
       attributes);
}

AttributeTexts pool_attributes(Draw& d, const Window& w, bool dilates) {
  AttributeTexts attributes = w.attributes();
  if (!dilates) attributes.erase(attributes.begin() + 1);
  attributes.emplace_back("kernel", list(w.kernel));
  return with_auto_pad(d, attributes);
}

/// Whether each window has an element inside, with pads and without, also if their number is rounded up.
bool all_meet_something(const Window& w, const ir::Dims& dims) {
  for (size_t i = 0; i < w.kernel.size(); ++i)
    for (const bool pads : {false, true}) {
      const int64_t in = dims[i + 2], begin = pads ? w.begin[i] : 0, end = pads ? w.end[i] : 0;
      for (int64_t start = -begin, last = false; !last; start += w.strides[i]) {
        last = start + (w.kernel[i] - 1) * w.dilations[i] + 1 >= in + end;
        bool meets = false;
        for (int64_t k = 0; k < w.kernel[i]; ++k) {
          const int64_t at = start + k * w.dilations[i];
          meets = meets || (at >= 0 && at < in);
        }
        if (!meets) return false;
      }
    }
  return true;
}

void max_pool(Draw& d) {
  const bool newer = d.schema().opset != "opset1";
  // Which of equal elements is the largest would depend on the order of the comparisons.
  const Value x = newer ? image(d, {element::f32, element::f32, element::f16, element::i32}, 3,
                                Fill::in(-50, 50, Fill::Order::distinct))
                        : image(d, kReal);
  const Window w = window(d, d.dims(x), 2, newer);
  // Else there are maxima of nothing, whose sums overflow in f32.
  d.need(all_meet_something(w, d.dims(x)));
  d.op({x}, pool_attributes(d, w, newer));
}

void avg_pool(Draw& d) {
  const bool dilates = d.schema().opset == "opset16";
  const Value x = image(d, kReal);
  d.op({x}, pool_attributes(d, window(d, d.dims(x), 2, dilates), dilates));
}

void adaptive_pool(Draw& d) {
  const bool largest = d.schema().type == "AdaptiveMaxPool";
  const Value x = largest ? image(d, {element::f32}, 3, Fill::in(-50, 50, Fill::Order::distinct)) : image(d, kReal);
  ir::Dims wanted;
  for (int64_t axis = 2; axis < d.rank(x); ++axis) wanted.push_back(d.between(1, 6));
  d.op({x, d.numbers(wanted)});
}

void full_convolution(Draw& d) {
  const bool last = d.chance(50), backward = d.chance(40);
  const Value x = image(d, {element::f32, element::f32, element::f16});
  const ir::Dims dims = d.dims(x);
  ir::Dims first = dims;  // with the channels in front
  if (last) {
    first.erase(first.end() - 1);
    first.insert(first.begin() + 1, dims.back());
  }
  d.need(first[1] <= 64);
  const Window w = window(d, first);
  const int64_t groups = divisor(d, first[1]), in = first[1] / groups, out = d.between(1, 9);
  limit_products(d, dims, out, w.taps());
  const ir::Dims filter = backward ? ir::Dims{first[1], out} : ir::Dims{groups * out, in};
  AttributeTexts attributes = with_auto_pad(d, w.attributes());
  attributes.insert(attributes.end(), {{"direction", backward ? "backward" : "forward"},
                                       {"layout", last ? "channels_last" : "channels_first"},
                                       {"group", std::to_string(groups)}});
  std::vector<Value> inputs = {x, d.weights(d.type(x), joined(filter, w.kernel), small_weights(in * w.taps()))};
  if (d.chance(60)) inputs.push_back(d.weights(d.type(x), {groups * out}));
  d.op(inputs, attributes);
}

void qlinear(Draw& d) {
  const int64_t spatial = d.between(1, 2);
  ir::Dims dims = {d.between(1, 2), d.between(1, 17)};
  for (int64_t i = 0; i < spatial; ++i) dims.push_back(d.between(3, 9));
  const Window w = window(d, dims);
  const int64_t groups = d.chance(60) ? 1 : divisor(d, dims[1]), out = groups * d.between(1, 9);
  const Types bytes = {element::u8, element::i8};
  const element::Type a = d.one_of(bytes), b = d.one_of(bytes), y = d.one_of(bytes);
  const ir::Dims per_channel = d.chance(50) ? ir::Dims{out} : ir::Dims{};
  std::vector<Value> inputs = {d.fresh(a, dims, Fill::in(-100, 100)),
                               d.weights(element::f32, {}, Fill::in(0.01, 0.02)),
                               d.weights(a, {}, Fill::in(0, 9)),
                               d.weights(b, joined({out, dims[1] / groups}, w.kernel), Fill::in(-50, 50)),
                               d.weights(element::f32, per_channel, Fill::in(0.01, 0.02)),
                               d.weights(b, per_channel, Fill::in(0, 0)),
                               d.weights(element::f32, {}, Fill::in(0.05, 0.1)),
                               d.weights(y, {}, Fill::in(0, 9))};
  if (d.chance(50)) inputs.push_back(d.weights(element::i32, {out}, Fill::in(-500, 500)));
  AttributeTexts attributes = with_auto_pad(d, w.attributes());
  attributes.emplace_back("group", std::to_string(groups));
  d.op(inputs, attributes);
}

const RecipeRow kWindowRows[] = {
    {"Convolution-1", convolution},
    {"GroupConvolution-1", group_convolution},
    {"ConvolutionBackpropData-1", [](Draw& d) { backprop(d, false); }},
    {"GroupConvolutionBackpropData-1", [](Draw& d) { backprop(d, true); }},
    {"DeformableConvolution-1 DeformableConvolution-8", deformable},
    {"BinaryConvolution-1", binary_convolution},
    {"MaxPool-1 MaxPool-8 MaxPool-14", max_pool},
    {"AvgPool-1 AvgPool-14 AvgPool-16", avg_pool},
    {"AdaptiveAvgPool-8 AdaptiveMaxPool-8", adaptive_pool},
    {"Convolution-terroir1", full_convolution},
    {"QLinearConv-terroir1", qlinear},
};

}  // namespace

std::span<const RecipeRow> window_recipes() { return kWindowRows; }

}  // namespace terroir::test
