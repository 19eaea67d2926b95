// Quantised, deformable and binary convolutions and the normalisations of detection networks. One addition and one
// multiplication are two operations, in integers and bits too: gflops is GOP/s there, and of_peak still the share of
// the f32 multiply-add peak.
#include <algorithm>
#include <functional>
#include <string>

#include "tests/bench/layers.hpp"

namespace terroir::bench {
namespace {

using Operand = OneLayer::Operand;
using Attributes = std::vector<std::pair<std::string, std::string>>;

struct Special {
  std::string name;
  const char* type;
  const char* opset;
  Attributes attributes;
  std::vector<Operand> operands;
  double operations;
};

/// Square images and windows, "same" padding.
struct Conv {
  int64_t in, out, extent, kernel, stride, group;
  int64_t outer() const { return (extent + stride - 1) / stride; }
  double operations() const {
    return 2.0 * static_cast<double>(out * outer() * outer() * (in / group) * kernel * kernel);
  }
  std::string name() const {
    return std::to_string(in) + "x" + std::to_string(extent) + "_to_" + std::to_string(out) + "_k" +
           std::to_string(kernel) + "s" + std::to_string(stride) + (group > 1 ? "g" + std::to_string(group) : "");
  }
  Attributes attributes() const {
    const auto twice = [](int64_t value) { return std::to_string(value) + "," + std::to_string(value); };
    return {{"strides", twice(stride)},
            {"dilations", twice(1)},
            {"pads_begin", twice((kernel - 1) / 2)},
            {"pads_end", twice((kernel - 1) / 2)}};
  }
};

Special quantised(const Conv& c) {
  Attributes attributes = c.attributes();
  attributes.emplace_back("group", std::to_string(c.group));
  const Operand one_scale{{}, true, element::f32, 0.02};
  return {"special/qlinear_" + c.name(),
          "QLinearConv",
          "terroir1",
          attributes,
          {{{1, c.in, c.extent, c.extent}, false, element::u8},
           one_scale,
           {{}, true, element::u8, 128},
           {{c.out, c.in / c.group, c.kernel, c.kernel}, true, element::i8},
           {{c.out}, true, element::f32, 0.01},
           {{c.out}, true, element::i8, 0},
           one_scale,
           {{}, true, element::u8, 120},
           {{c.out}, true, element::i32, 100}},
          c.operations()};
}

/// Offsets of up to half a pixel, and a mask.
Special deformable(const Conv& c) {
  Attributes attributes = c.attributes();
  attributes.emplace_back("group", std::to_string(c.group));
  const int64_t taps = c.kernel * c.kernel, outer = c.outer();
  return {"special/deformable_" + c.name(),
          "DeformableConvolution",
          "opset8",
          attributes,
          {{{1, c.in, c.extent, c.extent}, false},
           {{1, 2 * taps, outer, outer}, false},
           {{c.out, c.in / c.group, c.kernel, c.kernel}, true},
           {{1, taps, outer, outer}, false}},
          c.operations() + 8.0 * static_cast<double>(c.in * taps * outer * outer)};
}

Special binary(const Conv& c) {
  Attributes attributes = c.attributes();
  attributes.emplace_back("mode", "xnor-popcount");
  attributes.emplace_back("pad_value", "0");
  return {"special/binary_" + c.name(),
          "BinaryConvolution",
          "opset1",
          attributes,
          {{{1, c.in, c.extent, c.extent}, false}, {{c.out, c.in, c.kernel, c.kernel}, true, element::u1}},
          c.operations()};
}

/// A square and an addition, then a multiplication, for each element; LRN over five channels.
std::vector<Special> normalisations() {
  const ir::Dims detector{1, 512, 38, 38}, classifier{1, 96, 54, 54};
  const Operand channels{{1}, true, element::i64, 1};
  return {{"special/l2_512x38",
           "NormalizeL2",
           "opset1",
           {{"eps", "1e-10"}, {"eps_mode", "add"}},
           {{detector, false}, channels},
           3.0 * 512 * 38 * 38},
          {"special/lrn_96x54_size5",
           "LRN",
           "opset1",
           {{"alpha", "1e-4"}, {"beta", "0.75"}, {"bias", "1"}, {"size", "5"}},
           {{classifier, false}, channels},
           13.0 * 96 * 54 * 54}};
}

std::vector<Special> special_layers() {
  std::vector<Special> layers;
  for (const Conv& c :
       {Conv{3, 64, 224, 7, 2, 1}, Conv{64, 64, 56, 3, 1, 1}, Conv{256, 64, 56, 1, 1, 1}, Conv{128, 128, 28, 3, 2, 1},
        Conv{512, 512, 7, 3, 1, 1}, Conv{144, 144, 56, 3, 1, 144}, Conv{144, 144, 56, 3, 2, 144}})
    layers.push_back(quantised(c));
  for (const Conv& c : {Conv{64, 64, 56, 3, 1, 1}, Conv{256, 256, 14, 3, 1, 1}, Conv{128, 128, 28, 3, 2, 1},
                        Conv{256, 256, 14, 3, 1, 32}})
    layers.push_back(deformable(c));
  for (const Conv& c : {Conv{64, 64, 56, 3, 1, 1}, Conv{256, 256, 14, 3, 1, 1}, Conv{512, 512, 7, 3, 1, 1}})
    layers.push_back(binary(c));
  for (Special& layer : normalisations()) layers.push_back(std::move(layer));
  return layers;
}

void run(benchmark::State& state, const Special& special, cpu::Isa isa, int threads) {
  OneLayer layer(special.type, special.attributes, special.operands, isa, threads, special.opset);
  measure(state, layer, special.operations, isa, threads, nullptr);
  const double reference = layer.run_reference();
  state.counters["ref_us"] = reference * 1e6;
  state.counters["vs_ref"] = reference * 1e6 / state.counters["best_us"].value;
}

}  // namespace

void register_special(int threads) {
  for (const Special& special : special_layers())
    for (const cpu::Isa isa : cpu::available_isas())
      benchmark::RegisterBenchmark(
          (special.name + "/" + cpu::isa_name(isa)).c_str(),
          [special, isa, threads](benchmark::State& state) { run(state, special, isa, threads); })
          ->UseManualTime()
          ->MinTime(0.05);
}

}  // namespace terroir::bench
