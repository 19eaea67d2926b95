// QLinearConv of the set terroir1: the published example, and every combination of types, groups, dimensions and
// granularity against an oracle written from the operator's document alone, on both devices.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <terroir/terroir.hpp>

#include "ops/registry.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/device.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

/// Integers of an 8-bit or 32-bit type, or scales.
HostTensor integers(element::Type type, const ir::Dims& dims, const std::vector<int64_t>& values) {
  HostTensor tensor(type, dims);
  for (size_t i = 0; i < values.size(); ++i)
    set_element(tensor.writable(), static_cast<int64_t>(i), std::to_string(values[i]));
  return tensor;
}
HostTensor scales(const ir::Dims& dims, const std::vector<float>& values) {
  HostTensor tensor(element::f32, dims);
  std::copy(values.begin(), values.end(), tensor.writable().as<float>());
  return tensor;
}

ir::Value constant(GraphMaker& maker, const HostTensor& tensor, const std::string& name) {
  auto owner = std::make_shared<HostTensor>(tensor);
  const ir::TensorView view = owner->view();
  return {maker.graph().add_constant(ops::builtin_registry().get("Const", "opset1"), name, {view, std::move(owner)}),
          0};
}

std::string comma_separated(const std::vector<int64_t>& values) {
  std::string joined;
  for (const int64_t value : values) joined += (joined.empty() ? "" : ",") + std::to_string(value);
  return joined;
}

// ---- The document's words. x, w and y are numbers here; their types only bound them.

struct Quantised {
  ir::Dims dims;
  std::vector<int64_t> values;
  std::vector<float> scale;
  std::vector<int64_t> zero_point;
  element::Type type;
};

struct QuantisedLayer {
  Quantised x, w;
  std::vector<float> y_scale;
  std::vector<int64_t> y_zero_point, bias;  // bias: empty for none
  element::Type y_type;
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  std::string auto_pad = "explicit";
  int64_t group = 1;
};

double half_to_even(double value) {
  const double below = std::floor(value), rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

/// Output extent and the padding before the first element of one spatial axis.
std::pair<int64_t, int64_t> window(const QuantisedLayer& layer, size_t axis) {
  const int64_t input = layer.x.dims[2 + axis], stride = layer.strides[axis];
  const int64_t reach = (layer.w.dims[2 + axis] - 1) * layer.dilations[axis] + 1;
  if (layer.auto_pad == "same_upper" || layer.auto_pad == "same_lower") {
    const int64_t output = (input + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (output - 1) * stride + reach - input);
    return {output, layer.auto_pad == "same_upper" ? total / 2 : total - total / 2};
  }
  const bool padded = layer.auto_pad == "explicit";
  const int64_t begin = padded ? layer.pads_begin[axis] : 0, end = padded ? layer.pads_end[axis] : 0;
  return {(input + begin + end - reach) / stride + 1, begin};
}

std::vector<int64_t> oracle(const QuantisedLayer& layer, ir::Dims& out_dims) {
  const auto& [x, w] = std::tie(layer.x, layer.w);
  const size_t rank = x.dims.size() - 2;
  out_dims = {x.dims[0], w.dims[0]};
  std::vector<int64_t> begin;
  for (size_t i = 0; i < rank; ++i) {
    const auto [extent, pad] = window(layer, i);
    out_dims.push_back(extent);
    begin.push_back(pad);
  }
  const int64_t lowest = layer.y_type == element::i8 ? -128 : 0;
  const int64_t per_group_in = w.dims[1], per_group_out = w.dims[0] / layer.group;
  std::vector<int64_t> y(static_cast<size_t>(ir::element_count(out_dims)));
  for (size_t index = 0; index < y.size(); ++index) {
    ir::Dims at(out_dims.size());
    for (size_t i = out_dims.size(), rest = index; i-- > 0; rest /= static_cast<size_t>(out_dims[i]))
      at[i] = static_cast<int64_t>(rest % static_cast<size_t>(out_dims[i]));
    const auto m = static_cast<size_t>(at[1]);
    const int64_t w_zero = w.zero_point.size() > 1 ? w.zero_point[m] : w.zero_point[0];
    const float w_scale = w.scale.size() > 1 ? w.scale[m] : w.scale[0];
    int64_t sum = layer.bias.empty() ? 0 : layer.bias[m];
    const int64_t taps = ir::element_count(w.dims) / w.dims[0] / w.dims[1];
    for (int64_t c = 0; c < per_group_in; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t rest = tap, offset = at[0] * x.dims[1] + at[1] / per_group_out * per_group_in + c;
        bool inside = true;
        ir::Dims k(rank);
        for (size_t i = rank; i-- > 0; rest /= w.dims[2 + i]) k[i] = rest % w.dims[2 + i];
        for (size_t i = 0; i < rank; ++i) {
          const int64_t position = at[2 + i] * layer.strides[i] + k[i] * layer.dilations[i] - begin[i];
          inside = inside && position >= 0 && position < x.dims[2 + i];
          offset = offset * x.dims[2 + i] + position;
        }
        if (!inside) continue;
        sum += (x.values[static_cast<size_t>(offset)] - x.zero_point[0]) *
               (w.values[static_cast<size_t>((at[1] * per_group_in + c) * taps + tap)] - w_zero);
      }
    // The scale of the sum is that of the bias: input scale times weight scale.
    const float scale_of_sum = x.scale[0] * w_scale;
    const float multiplier = scale_of_sum / layer.y_scale[0];
    const float real = static_cast<float>(sum) * multiplier;
    const double whole = half_to_even(real) + static_cast<double>(layer.y_zero_point[0]);
    y[index] = static_cast<int64_t>(std::clamp(whole, double(lowest), double(lowest + 255)));
  }
  return y;
}

// ---- Layers

class Draw {
 public:
  explicit Draw(uint32_t seed) : engine_(seed) {}
  int64_t whole(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  int64_t byte(element::Type type) { return whole(0, 255) - (type == element::i8 ? 128 : 0); }
  Quantised tensor(element::Type type, const ir::Dims& dims, int64_t channels) {
    Quantised made{dims, {}, {}, {}, type};
    for (int64_t i = 0; i < ir::element_count(dims); ++i) made.values.push_back(byte(type));
    for (int64_t i = 0; i < channels; ++i) {
      made.scale.push_back(0.001f * static_cast<float>(whole(500, 2000)));
      made.zero_point.push_back(byte(type));
    }
    return made;
  }

 private:
  std::mt19937 engine_;
};

struct Shape3 {
  int64_t in, out, group;
};

QuantisedLayer random_layer(Draw& draw, std::array<element::Type, 3> types, const ir::Dims& spatial, Shape3 channels,
                            bool per_channel, bool with_bias) {
  QuantisedLayer layer;
  ir::Dims x{2, channels.in}, w{channels.out, channels.in / channels.group};
  for (const int64_t extent : spatial) {
    x.push_back(extent);
    w.push_back(draw.whole(1, std::min<int64_t>(3, (extent + 1) / 2)));  // fits however it is dilated
    layer.strides.push_back(draw.whole(1, 2));
    layer.dilations.push_back(draw.whole(1, 2));
    layer.pads_begin.push_back(draw.whole(0, 2));
    layer.pads_end.push_back(draw.whole(0, 2));
  }
  constexpr const char* kAutoPads[] = {"explicit", "explicit", "same_upper", "same_lower", "valid"};
  layer.auto_pad = kAutoPads[draw.whole(0, 4)];
  if (layer.auto_pad != "explicit") layer.pads_begin = layer.pads_end = {};
  layer.group = channels.group;
  layer.x = draw.tensor(types[0], x, 1);
  layer.w = draw.tensor(types[1], w, per_channel ? channels.out : 1);
  layer.y_type = types[2];
  layer.y_zero_point = {draw.byte(types[2])};
  // Results that fill the range and leave it now and then.
  const double depth = static_cast<double>(ir::element_count(w) / channels.out);
  layer.y_scale = {static_cast<float>(layer.x.scale[0] * 120 * std::sqrt(depth))};
  if (with_bias)
    for (int64_t i = 0; i < channels.out; ++i) layer.bias.push_back(draw.whole(-20000, 20000));
  return layer;
}

struct Graph {
  GraphMaker maker;
  std::vector<HostTensor> inputs;
};

Graph graph_of(const QuantisedLayer& layer) {
  Graph graph;
  GraphMaker& m = graph.maker;
  const auto shape = [](size_t count) { return count > 1 ? ir::Dims{static_cast<int64_t>(count)} : ir::Dims{}; };
  const auto pair_of = [&](const Quantised& q, const std::string& name) {
    return std::pair{constant(m, scales(shape(q.scale.size()), q.scale), name + "_scale"),
                     constant(m, integers(q.type, shape(q.scale.size()), q.zero_point), name + "_zero_point")};
  };
  const ir::Value x = m.input(ir::to_shape(layer.x.dims), layer.x.type);
  const auto [x_scale, x_zero] = pair_of(layer.x, "x");
  const ir::Value w = constant(m, integers(layer.w.type, layer.w.dims, layer.w.values), "w");
  const auto [w_scale, w_zero] = pair_of(layer.w, "w");
  const auto [y_scale, y_zero] = pair_of({{}, {}, layer.y_scale, layer.y_zero_point, layer.y_type}, "y");
  std::vector<ir::Value> inputs{x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero};
  if (!layer.bias.empty())
    inputs.push_back(constant(m, integers(element::i32, {static_cast<int64_t>(layer.bias.size())}, layer.bias), "B"));
  m.result(m.op("QLinearConv", inputs,
                {{"strides", comma_separated(layer.strides)},
                 {"dilations", comma_separated(layer.dilations)},
                 {"pads_begin", comma_separated(layer.pads_begin)},
                 {"pads_end", comma_separated(layer.pads_end)},
                 {"auto_pad", layer.auto_pad},
                 {"group", std::to_string(layer.group)}},
                "layer", "terroir1"));
  graph.inputs = {integers(layer.x.type, layer.x.dims, layer.x.values)};
  return graph;
}

void expect_values(const HostTensor& actual, const ir::Dims& dims, const std::vector<int64_t>& wanted,
                   const std::string& who) {
  ASSERT_EQ(actual.dims(), dims) << who;
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(static_cast<int64_t>(element_at(actual.view(), static_cast<int64_t>(i))), wanted[i])
        << who << ", element " << i << " of " << wanted.size();
}

void expect_oracle(const QuantisedLayer& layer) {
  ir::Dims dims;
  const std::vector<int64_t> wanted = oracle(layer, dims);
  const Graph graph = graph_of(layer);
  auto shared = std::shared_ptr<const ir::Graph>(&graph.maker.graph(), [](const ir::Graph*) {});
  expect_values(DeviceModel(shared, "INTERPRETER").infer(graph.inputs)[0], dims, wanted, "INTERPRETER");
  for (const cpu::Isa isa : cpu::available_isas())
    for (const int threads : {1, 3})
      expect_values(
          run_on_cpu(graph.maker.graph(), isa, threads, std::vector<std::vector<HostTensor>>{graph.inputs})[0][0], dims,
          wanted, std::string(cpu::isa_name(isa)) + " with " + std::to_string(threads) + " threads");
}

constexpr Shape3 kChannels[] = {{5, 7, 1}, {6, 10, 2}, {4, 8, 4}};

TEST(QLinearConv, EveryCombinationAgainstTheOracle) {
  const element::Type bytes[] = {element::u8, element::i8};
  const ir::Dims spatials[] = {{19}, {9, 11}, {5, 6, 7}};
  uint32_t seed = 0;
  for (const auto& x : bytes)
    for (const auto& w : bytes)
      for (const auto& y : bytes)
        for (const ir::Dims& spatial : spatials)
          for (const Shape3& channels : kChannels)
            for (const bool per_channel : {false, true})
              for (const bool with_bias : {false, true}) {
                Draw draw(++seed);
                SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << spatial.size() << "-D, x " << x
                                                  << ", w " << w << ", y " << y << ", group " << channels.group);
                expect_oracle(random_layer(draw, {x, w, y}, spatial, channels, per_channel, with_bias));
                if (HasFatalFailure()) return;
              }
}

// Around the blocks of channels and the tiles of positions of every instruction set.
TEST(QLinearConv, AwkwardExtentsAgainstTheOracle) {
  uint32_t seed = 1000;
  for (const int64_t positions : {1, 7, 8, 9, 31, 32, 33, 67, 257})
    for (const int64_t outputs : {1, 3, 4, 5, 8, 9, 17}) {
      Draw draw(++seed);
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << positions << " x " << outputs);
      QuantisedLayer layer =
          random_layer(draw, {element::u8, element::i8, element::u8}, {2, positions}, {3, outputs, 1}, true, true);
      expect_oracle(layer);
      if (HasFatalFailure()) return;
    }
}

// A kernel wider than the data, and windows that lie in the padding entirely.
TEST(QLinearConv, MostlyPadding) {
  Draw draw(7);
  QuantisedLayer layer = random_layer(draw, {element::i8, element::u8, element::i8}, {2, 3}, {3, 6, 1}, true, true);
  layer.w = draw.tensor(element::u8, {6, 3, 2, 5}, 6);
  layer.strides = {1, 2};
  layer.dilations = {1, 1};
  layer.auto_pad = "explicit";
  layer.pads_begin = {3, 6};
  layer.pads_end = {2, 7};
  expect_oracle(layer);
}

TEST(QLinearConv, WindowsFarBeyondTheData) {
  Draw draw(9);
  QuantisedLayer layer = random_layer(draw, {element::u8, element::i8, element::u8}, {4, 5}, {3, 3, 3}, true, true);
  layer.w = draw.tensor(element::i8, {3, 1, 3, 2}, 3);
  layer.strides = {1, 1};
  layer.dilations = {1'500'000'000, 1};
  layer.auto_pad = "explicit";
  layer.pads_begin = {2'147'483'647, 1};
  layer.pads_end = {852'516'353, 0};
  expect_oracle(layer);
}

// Many input channels, so that a tile is narrow; few positions, so that threads share a tile.
TEST(QLinearConv, DeepAndSmall) {
  Draw draw(8);
  QuantisedLayer layer = random_layer(draw, {element::u8, element::u8, element::u8}, {4, 5}, {1030, 37, 1}, true, true);
  layer.w = draw.tensor(element::u8, {37, 1030, 3, 3}, 37);
  layer.strides = layer.dilations = layer.pads_begin = layer.pads_end = {1, 1};
  layer.auto_pad = "explicit";
  layer.y_scale = {layer.x.scale[0] * 120 * 96};
  expect_oracle(layer);
}

// Bands: groups of one and two outputs, rows around the vectors, every stride and padding.
TEST(QLinearConv, FewOutputsPerGroupAgainstTheOracle) {
  uint32_t seed = 2000;
  for (const int64_t width : {1, 5, 15, 16, 17, 33, 49, 67, 131})
    for (const Shape3& channels : {Shape3{3, 3, 3}, Shape3{3, 6, 3}, Shape3{6, 2, 2}, Shape3{5, 2, 1}})
      for (const int64_t stride : {1, 2, 3}) {
        Draw draw(++seed);
        SCOPED_TRACE(::testing::Message() << "seed " << seed << ", width " << width << " stride " << stride);
        QuantisedLayer layer =
            random_layer(draw, {element::i8, element::u8, element::i8}, {3, 9, width}, channels, true, true);
        layer.strides[2] = stride;
        expect_oracle(layer);
        if (HasFatalFailure()) return;
      }
}

// Rows so tall that a plane needs several bands, which threads share.
TEST(QLinearConv, SeveralBands) {
  Draw draw(10);
  QuantisedLayer layer = random_layer(draw, {element::u8, element::i8, element::u8}, {150, 120}, {2, 2, 2}, true, true);
  layer.w = draw.tensor(element::i8, {2, 1, 3, 3}, 2);
  layer.strides = {2, 1};
  layer.dilations = layer.pads_begin = layer.pads_end = {1, 1};
  layer.auto_pad = "explicit";
  expect_oracle(layer);
}

// Sums that may leave 32 bits are left to the reference, which computes them exactly.
TEST(QLinearConv, SumsBeyond32Bits) {
  Draw draw(9);
  QuantisedLayer layer = random_layer(draw, {element::u8, element::u8, element::u8}, {1, 1}, {1, 1, 1}, false, true);
  layer.x = {{1, 1, 1, 2}, {255, 128}, {1.0f}, {0}, element::u8};
  layer.w = {{1, 1, 1, 1}, {255}, {1.0f}, {0}, element::u8};
  layer.strides = layer.dilations = {1, 1};
  layer.pads_begin = layer.pads_end = {0, 0};
  layer.auto_pad = "explicit";
  layer.bias = {INT32_MAX};
  layer.y_scale = {16777216.0f};
  layer.y_zero_point = {0};
  ir::Dims dims;
  EXPECT_EQ(oracle(layer, dims), (std::vector<int64_t>{128, 128}));
  expect_oracle(layer);
}

// ---- The published example, through the public API

constexpr uint8_t kExampleX[49] = {255, 174, 162, 25,  203, 168, 58,  15,  59,  237, 95,  129, 0,  64,  56, 242, 153,
                                   221, 168, 12,  166, 232, 178, 186, 195, 237, 162, 237, 188, 39, 124, 77, 80,  102,
                                   43,  127, 230, 21,  83,  41,  40,  134, 255, 154, 92,  141, 42, 148, 247};
constexpr uint8_t kExampleY[49] = {0,   81,  93,  230, 52,  87,  197, 240, 196, 18,  160, 126, 255, 191, 199, 13,  102,
                                   34,  87,  243, 89,  23,  77,  69,  60,  18,  93,  18,  67,  216, 131, 178, 175, 153,
                                   212, 128, 25,  234, 172, 214, 215, 121, 0,   101, 163, 114, 213, 107, 8};
constexpr float kExampleXScale = 0.00369204697f, kExampleWScale = 0.00172794575f, kExampleYScale = 0.00162681262f;

std::shared_ptr<Model> built_example(bool constant_weights = true) {
  ModelBuilder b("example");
  const auto scalar = [&](const element::Type& type, double value, const std::string& name) {
    return b.constant(type, Shape{}, std::vector<double>{value}, name);
  };
  const auto x = b.parameter(element::u8, {1, 1, 7, 7}, "x");
  const auto w = constant_weights ? b.constant(element::u8, Shape{1, 1, 1, 1}, std::vector<int>{0}, "w")
                                  : b.parameter(element::u8, {1, 1, 1, 1}, "w");
  b.result(b.op("QLinearConv", "terroir1",
                {x, scalar(element::f32, kExampleXScale, "x_scale"), scalar(element::u8, 132, "x_zero_point"), w,
                 b.constant(element::f32, Shape{1}, std::vector<float>{kExampleWScale}, "w_scale"),
                 b.constant(element::u8, Shape{1}, std::vector<int>{255}, "w_zero_point"),
                 scalar(element::f32, kExampleYScale, "y_scale"), scalar(element::u8, 123, "y_zero_point")},
                {}, "conv"),
           "y");
  return b.build();
}

/// The same as the text of an IR file and its weights.
std::shared_ptr<Model> read_example() {
  std::string weights;
  std::string layers =
      R"(<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,1,7,7" element_type="u8"/><output>)"
      R"(<port id="0" precision="U8"><dim>1</dim><dim>1</dim><dim>7</dim><dim>7</dim></port></output></layer>)";
  std::string edges = R"(<edge from-layer="0" from-port="0" to-layer="8" to-port="0"/>)";
  int id = 0;
  const auto add = [&](const char* type, const char* shape, const void* value, size_t bytes) {
    ++id;
    layers += "<layer id=\"" + std::to_string(id) + "\" name=\"c" + std::to_string(id) +
              R"(" type="Const" version="opset1"><data element_type=")" + type + "\" shape=\"" + shape +
              "\" offset=\"" + std::to_string(weights.size()) + "\" size=\"" + std::to_string(bytes) +
              R"("/><output><port id="0"/></output></layer>)";
    edges += "<edge from-layer=\"" + std::to_string(id) + R"(" from-port="0" to-layer="8" to-port=")" +
             std::to_string(id) + "\"/>";
    weights.append(static_cast<const char*>(value), bytes);
    weights.resize((weights.size() + 3) / 4 * 4);
  };
  const uint8_t bytes[] = {132, 0, 255, 123};
  add("f32", "", &kExampleXScale, 4);
  add("u8", "", &bytes[0], 1);
  add("u8", "1,1,1,1", &bytes[1], 1);
  add("f32", "1", &kExampleWScale, 4);
  add("u8", "1", &bytes[2], 1);
  add("f32", "", &kExampleYScale, 4);
  add("u8", "", &bytes[3], 1);
  std::string ports;
  for (int i = 0; i < 8; ++i) ports += "<port id=\"" + std::to_string(i) + "\"/>";
  layers +=
      R"(<layer id="8" name="conv" type="QLinearConv" version="terroir1"><data auto_pad="notset" group="1"/><input>)" +
      ports +
      R"(</input><output><port id="8" precision="U8"><dim>1</dim><dim>1</dim><dim>7</dim><dim>7</dim>)"
      R"(</port></output></layer><layer id="9" name="y" type="Result" version="opset1"><input>)"
      R"(<port id="0"/></input></layer>)";
  edges += R"(<edge from-layer="8" from-port="8" to-layer="9" to-port="0"/>)";
  Tensor tensor(element::u8, Shape{weights.size()});
  std::copy(weights.begin(), weights.end(), tensor.data<uint8_t>());
  return Core().read_model(
      "<net name=\"example\" version=\"11\"><layers>" + layers + "</layers><edges>" + edges + "</edges></net>", tensor);
}

/// Fails unless the output is the document's; returns the kernel that made it.
std::string run_example(const std::shared_ptr<Model>& model, const std::string& device) {
  Core core;
  auto compiled = core.compile_model(model, device, enable_profiling(true));
  auto request = compiled.create_infer_request();
  Tensor x = request.get_input_tensor(0);
  std::copy(std::begin(kExampleX), std::end(kExampleX), x.data<uint8_t>());
  if (compiled.inputs().size() > 1) request.get_input_tensor(1).data<uint8_t>()[0] = 0;
  request.infer();
  const Tensor y = request.get_output_tensor();
  EXPECT_EQ(y.get_shape(), (Shape{1, 1, 7, 7}));
  EXPECT_EQ(y.get_element_type(), element::u8);
  const auto* values = y.data<uint8_t>();
  EXPECT_EQ(std::vector<int>(values, values + 49), std::vector<int>(std::begin(kExampleY), std::end(kExampleY)));
  for (const ProfilingInfo& info : request.get_profiling_info())
    if (info.node_name == "conv") return info.exec_type;
  return {};
}

TEST(QLinearConv, PublishedExampleFromTheBuilder) {
  run_example(built_example(), "INTERPRETER");
  for (const cpu::Isa isa : cpu::available_isas()) {
    const ForcedIsa forced(cpu::isa_name(isa));
    EXPECT_EQ(run_example(built_example(), "CPU"), std::string("u8u8u8_qconv_bands__") + cpu::isa_name(isa));
  }
}

TEST(QLinearConv, PublishedExampleFromAFile) {
  run_example(read_example(), "INTERPRETER");
  for (const cpu::Isa isa : cpu::available_isas()) {
    const ForcedIsa forced(cpu::isa_name(isa));
    EXPECT_EQ(run_example(read_example(), "CPU"), std::string("u8u8u8_qconv_bands__") + cpu::isa_name(isa));
  }
}

TEST(QLinearConv, WeightsThatARunBringsAreSlowAndRight) {
  EXPECT_EQ(run_example(built_example(false), "CPU"), "ref:any");
}

}  // namespace
}  // namespace terroir::test
