// terroir1 Convolution: direction x mode x layout x axes x groups x activation x type, and every padding, against the
// oracle, on both devices with 1 and 3 threads: f32 on the best instruction set, f16 on another one for each model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>

#include "plugins/cpu/isa.hpp"
#include "tests/terroir1/layer_model.hpp"
#include "tests/terroir1/oracle.hpp"

namespace terroir::test {
namespace {

using Ints = std::vector<int64_t>;

const std::pair<const char*, std::vector<double>> kActivations[] = {
    {"Identity", {}},
    {"Relu", {}},
    {"LeakyRelu", {0.25}},
    {"Clip", {-0.5, 0.75}},
    {"HardSigmoid", {0.25, 0.375}},
    {"Sigmoid", {}},
    {"Tanh", {}},
    {"Elu", {1.5}},
    {"Selu", {1.25, 0.75}},
    {"Celu", {0.5}},
    {"Gelu", {}},
    {"HardSwish", {0.25, 0.5}},
    {"Linear", {-2, 0.5}},
    {"ParametricSoftplus", {1.5, 0.75}},
    {"ScaledTanh", {1.75, 0.5}},
    {"Softplus", {2}},
    {"Softsign", {}},
    {"Swish", {1.5}},
    {"ThresholdedRelu", {0.25}},
};

struct Channels {
  int64_t group, in, out;
};

/// What all layers of one model have in common.
struct Family {
  bool backward, flipped, last;
  size_t axes;
  Channels channels;

  std::string describe() const {
    return std::string(backward ? "backward" : "forward") + (flipped ? ", flipped" : "") +
           (last ? ", channels last" : ", channels first") + ", " + std::to_string(axes) + " axes, " +
           std::to_string(channels.group) + " groups of " + std::to_string(channels.in) + " to " +
           std::to_string(channels.out) + " channels";
  }
};

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The layer that computes `problem`, and its result.
struct Case {
  Layer layer;
  Array expected;
};

enum class Bias { none, one_axis, all_axes };

Case make_case(const Convolution& problem, const Family& family, const Array& x, const Ints& kernel, Bias bias,
               uint32_t seed) {
  const Channels& c = family.channels;
  Ints filter = family.backward ? Ints{c.in, c.out / c.group} : Ints{c.out, c.in / c.group};
  filter.insert(filter.end(), kernel.begin(), kernel.end());
  Case made;
  Layer& layer = made.layer;
  layer.filter = eighths(filter, seed);
  if (bias != Bias::none) layer.bias = eighths({c.out}, seed + 1);
  made.expected = convolve(problem, x, layer.filter, layer.bias);
  if (family.last) made.expected = channels_last(made.expected);
  if (bias == Bias::all_axes) {
    layer.bias->dims.assign(family.axes + 2, 1);
    layer.bias->dims[family.last ? family.axes + 1 : 1] = c.out;
  }
  layer.attributes = {{"direction", family.backward ? "backward" : "forward"},
                      {"mode", family.flipped ? "convolution" : "cross_correlation"},
                      {"layout", family.last ? "channels_last" : "channels_first"},
                      {"group", std::to_string(c.group)},
                      {"auto_pad", seed % 2 ? problem.auto_pad : lower_case(problem.auto_pad)},
                      {"activation", seed % 3 ? problem.activation : lower_case(problem.activation)}};
  const auto add = [&layer](const char* name, const Ints& values, int64_t fallback) {
    const bool is_default = std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == fallback; });
    if (!is_default) layer.attributes.emplace_back(name, text(values));
  };
  add("strides", problem.strides, 1);
  add("dilations", problem.dilations, 1);
  add("pads_begin", problem.pads_begin, 0);
  add("pads_end", problem.pads_end, 0);
  add("output_padding", problem.output_padding, 0);
  add("output_shape", problem.output_shape, -1);
  if (!problem.params.empty()) {
    std::string params;
    for (const double value : problem.params) params += (params.empty() ? "" : ", ") + std::to_string(value);
    layer.attributes.emplace_back("activation_params", params);
  }
  return made;
}

std::string describe(const Layer& layer) {
  std::string words = "filter [" + text(layer.filter.dims) + "]";
  for (const auto& [name, value] : layer.attributes) words += " " + name + "=" + value;
  return words;
}

/// All cases as layers of one model, from a file or from the builder, on both devices. Returns how many layers ran on
/// reference kernels of the CPU device.
size_t expect_cases(const std::vector<Case>& cases, const Array& x, const element::Type& type, bool from_file,
                    const std::string& isa = {}) {
  std::vector<Layer> layers;
  std::vector<Ints> outputs;
  for (const Case& one : cases) {
    layers.push_back(one.layer);
    outputs.push_back(one.expected.dims);
  }
  const auto model =
      from_file ? model_from_file(x.dims, type, layers, outputs) : model_from_builder(x.dims, type, layers);
  const Outcome runs[] = {run(model, "INTERPRETER", 1, x), run(model, "CPU", 1, x, isa), run(model, "CPU", 3, x, isa)};
  for (size_t i = 0; i < cases.size(); ++i) {
    // Half precision: one rounding of the result.
    const double relative = type == element::f16 ? 1e-3 : 1e-5;
    for (const Outcome& one : {std::cref(runs[0]), std::cref(runs[1])}) {
      const std::string text = difference(cases[i].expected, one.outputs.at(i), relative);
      if (!text.empty())
        ADD_FAILURE() << (&one == &runs[0] ? "INTERPRETER, " : "CPU, ") << type << ", " << describe(cases[i].layer)
                      << ": " << text;
    }
    EXPECT_EQ(runs[1].outputs[i].values, runs[2].outputs[i].values)
        << "3 threads compute something else than 1: " << describe(cases[i].layer);
  }
  return runs[1].references.size();
}

std::vector<Family> families() {
  std::vector<Family> all;
  for (const bool backward : {false, true})
    for (const bool flipped : {false, true})
      for (const bool last : {false, true})
        for (const size_t axes : {1, 2, 3})
          for (const Channels& channels : {Channels{1, 4, 6}, Channels{2, 4, 6}, Channels{4, 4, 4}, Channels{4, 4, 8}})
            all.push_back({backward, flipped, last, axes, channels});
  return all;
}

Array input_of(const Family& family, uint32_t seed) {
  Ints dims = {2, family.channels.in, 5, 4, 6};
  dims.resize(2 + family.axes);
  return eighths(dims, seed);
}

/// The first `axes` of three.
Ints of_axes(size_t axes, Ints values) {
  values.resize(axes);
  return values;
}

/// Another geometry for each number.
Convolution geometry(const Family& family, const Ints& input, const Ints& kernel, size_t number) {
  const size_t axes = family.axes;
  const char* const pads[] = {"NOTSET", "SAME_UPPER", "VALID", "SAME_LOWER"};
  Convolution p;
  p.backward = family.backward;
  p.flipped = family.flipped;
  p.group = family.channels.group;
  p.strides = of_axes(axes, number % 2 ? Ints{2, 1, 3} : Ints{1, 2, 1});
  p.dilations = of_axes(axes, number % 3 ? Ints{1, 2, 1} : Ints{2, 1, 1});
  p.pads_begin = of_axes(axes, number % 4 ? Ints{0, 0, 0} : Ints{1, 0, 1});
  p.pads_end = of_axes(axes, number % 4 ? Ints{0, 0, 0} : Ints{0, 1, 1});
  p.output_padding = of_axes(axes, number % 5 ? Ints{0, 0, 0} : Ints{1, 0, 2});
  p.auto_pad = pads[number % 4];
  if (family.backward && number % 6 == 1)
    for (size_t i = 0; i < axes; ++i)
      p.output_shape.push_back(p.strides[i] * input[2 + i] + kernel[i] + static_cast<int64_t>(number % 7) - 4);
  return p;
}

/// `count` layers, each with the next activation, geometry and form of bias. `number`: of the layer.
std::vector<Case> next_cases(const Family& family, const Array& x, size_t count, size_t& number, uint32_t& seed) {
  std::vector<Case> cases;
  for (size_t i = 0; i < count; ++i, ++number) {
    const auto& [activation, params] = kActivations[number % std::size(kActivations)];
    const Ints kernel = of_axes(family.axes, number % 7 ? Ints{3, 2, 1} : Ints{1, 2, 3});
    Convolution problem = geometry(family, x.dims, kernel, number);
    problem.activation = activation;
    problem.params = params;
    cases.push_back(make_case(problem, family, x, kernel, static_cast<Bias>(number % 3), ++seed));
  }
  return cases;
}

TEST(Terroir1Convolution, EveryCombinationIsThatOfTheOracle) {
  uint32_t seed = 0;
  size_t number = 0;
  std::string references;
  for (const Family& family : families()) {
    SCOPED_TRACE(family.describe());
    const Array x = input_of(family, ++seed);
    const std::vector<Case> cases = next_cases(family, x, std::size(kActivations), number, seed);
    const Array data = family.last ? channels_last(x) : x;
    const auto isas = cpu::available_isas();
    const std::string isa = cpu::isa_name(isas[number % isas.size()]);
    const bool from_file = number % 2 == 0;
    size_t slow = expect_cases(cases, data, element::f32, from_file);
    slow += expect_cases(cases, data, element::f16, !from_file, isa);
    if (slow > 0) references += family.describe() + " (" + isa + ")\n";
  }
  EXPECT_EQ(references, "");
}

// One block of channels and a part of one, and several: what stands in the rest of a block must not show. On every
// instruction set, since blocks differ; some activations for each form, all of them in all.
TEST(Terroir1Convolution, ChannelsThatFillNoBlockAreThoseOfTheOracle) {
  constexpr size_t kLayers = 4;
  uint32_t seed = 0;
  size_t number = 0;
  for (const Channels& channels : {Channels{1, 17, 30}, Channels{1, 30, 17}, Channels{2, 34, 30}, Channels{17, 17, 17}})
    for (const bool backward : {false, true})
      for (const bool last : {false, true})
        for (const size_t axes : {1, 2, 3}) {
          if (axes == 3 && channels.out != 30) continue;  // the oracle takes its time
          const Family family{backward, number / kLayers % 3 == 0, last, axes, channels};
          SCOPED_TRACE(family.describe());
          const Array x = input_of(family, ++seed);
          const std::vector<Case> cases = next_cases(family, x, kLayers, number, seed);
          for (const cpu::Isa isa : cpu::available_isas()) {
            SCOPED_TRACE(cpu::isa_name(isa));
            EXPECT_EQ(expect_cases(cases, last ? channels_last(x) : x, element::f32, false, cpu::isa_name(isa)), 0u);
          }
        }
  EXPECT_GE(number, std::size(kActivations));
}

// Kernels and strides in any proportion, all paddings, in one axis and in two; also those where a pad is computed.
TEST(Terroir1Convolution, EveryPaddingIsThatOfTheOracle) {
  uint32_t seed = 0;
  for (const bool backward : {false, true})
    for (const size_t axes : {1, 2}) {
      const Family family{backward, false, axes == 2, axes, {1, 2, 3}};
      SCOPED_TRACE(family.describe());
      const Array x = input_of(family, ++seed);
      std::vector<Case> cases;
      for (const char* auto_pad : {"NOTSET", "EXPLICIT", "SAME_UPPER", "SAME_LOWER", "VALID"})
        for (const int64_t stride : {1, 2, 3})
          for (const int64_t kernel : {1, 2, 3, 4})
            for (const int64_t dilation : {1, 2})
              for (const int64_t extra : {0, 1, 2})
                for (const int64_t output_shape : {0, 4, 5, 11}) {
                  if (output_shape > 0 && !backward) continue;
                  if ((kernel - 1) * dilation >= 4 && !backward) continue;  // does not fit
                  Convolution p;
                  p.backward = backward;
                  p.auto_pad = auto_pad;
                  p.strides = of_axes(axes, {stride, 1});
                  p.dilations = of_axes(axes, {dilation, 1});
                  const int64_t pad = std::min<int64_t>(kernel - 1, 1);
                  p.pads_begin = of_axes(axes, {pad, 0});
                  p.pads_end = of_axes(axes, {0, pad});
                  p.output_padding = of_axes(axes, {extra, extra / 2});
                  if (output_shape > 0) p.output_shape = of_axes(axes, {output_shape, 6});
                  const Ints window = of_axes(axes, {kernel, 2});
                  cases.push_back(make_case(p, family, x, window, Bias::none, ++seed));
                }
      EXPECT_EQ(expect_cases(cases, family.last ? channels_last(x) : x, element::f32, false), 0u);
    }
}

}  // namespace
}  // namespace terroir::test
