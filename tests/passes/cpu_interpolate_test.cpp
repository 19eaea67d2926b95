// Interpolate in every mode on the CPU device against the interpreter: over any axes, with pads and antialiasing.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/expected_kernel.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/compare.hpp"

namespace terroir::test {
namespace {

void add(GraphMaker& m, ir::Value x, const char* mode, const std::vector<int64_t>& sizes,
         const std::vector<int64_t>& axes, AttributeTexts more = {}, const std::string& name = {}) {
  more.emplace_back("mode", mode);
  more.emplace_back("shape_calculation_mode", "sizes");
  m.result(m.op("Interpolate", {x, m.integers(sizes), m.integers(axes)}, more, name));
}

TEST(CpuInterpolate, EveryModeAndCoordinate) {
  for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic"})
    for (const char* coordinates :
         {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"}) {
      GraphMaker m;
      const ir::Value x = m.input({2, 3, 9, 19});
      const AttributeTexts how = {{"coordinate_transformation_mode", coordinates}};
      add(m, x, mode, {14, 37}, {2, 3}, how, "up");
      add(m, x, mode, {5, 7}, {2, 3}, how, "down");
      add(m, x, mode, {18, 5}, {2, 3}, how, "both");
      add(m, x, mode, {9, 33}, {2, 3}, how, "one");
      SCOPED_TRACE(std::string(mode) + " " + coordinates);
      expect_same_as_interpreter(m);
      for (const char* name : {"up", "down", "both", "one"}) expect_kernel(m, name);
    }
}

TEST(CpuInterpolate, NearestModes) {
  for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"}) {
    GraphMaker m;
    const ir::Value x = m.input({2, 3, 9, 19});
    add(m, x, "nearest", {14, 37}, {2, 3}, {{"nearest_mode", nearest}}, "spatial");
    add(m, x, "nearest", {3, 5, 14, 37}, {0, 1, 2, 3}, {{"nearest_mode", nearest}}, "all");
    SCOPED_TRACE(nearest);
    expect_same_as_interpreter(m, 0);
    expect_kernel(m, "spatial");
    expect_kernel(m, "all");
  }
}

TEST(CpuInterpolate, PillowAntialiasAndPads) {
  for (const char* mode : {"linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"}) {
    GraphMaker m;
    const ir::Value x = m.input({2, 3, 17, 35});
    add(m, x, mode, {6, 9}, {2, 3}, {{"antialias", "true"}}, "smaller");
    add(m, x, mode, {20, 51}, {2, 3}, {}, "larger");
    if (std::string(mode).find("pillow") == std::string::npos)
      add(m, x, mode, {6, 51}, {2, 3}, {{"pads_begin", "0,0,1,2"}, {"pads_end", "0,0,3,0"}}, "padded");
    SCOPED_TRACE(mode);
    expect_same_as_interpreter(m);
    expect_kernel(m, "smaller");
    expect_kernel(m, "larger");
  }
}

// Bytes are rounded between the passes, so it counts which axis is named first.
TEST(CpuInterpolate, PillowOfBytesInTheOrderOfTheAxes) {
  HostTensor image(element::u8, {1, 2, 17, 35});
  uint32_t state = 1;
  for (int64_t i = 0; i < image.view().count(); ++i)
    image.writable().as<uint8_t>()[i] = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  for (const char* mode : {"bilinear_pillow", "bicubic_pillow"}) {
    GraphMaker m;
    const ir::Value x = m.input({1, 2, 17, 35}, element::u8);
    add(m, x, mode, {9, 20}, {2, 3}, {}, "rows_first");
    add(m, x, mode, {20, 9}, {3, 2}, {}, "columns_first");
    SCOPED_TRACE(mode);
    const std::vector<std::vector<HostTensor>> inputs = {{image}};
    expect_same_as_interpreter(m.graph(), inputs, 0.005);  // one of 255: ties
    expect_kernel(m, "rows_first");
  }
}

TEST(CpuInterpolate, AnyAxesAndRanks) {
  GraphMaker m;
  add(m, m.input({2, 7, 9, 5}), "cubic", {11, 13}, {1, 2}, {}, "channels_last");
  add(m, m.input({2, 3, 4, 5, 6}), "linear_onnx", {7, 8, 9}, {2, 3, 4}, {}, "depth");
  add(m, m.input({2, 3, 4, 5, 6}), "linear", {7, 3, 13}, {2, 3, 4}, {}, "depth_linear");
  add(m, m.input({37, 19}), "linear", {11, 40}, {0, 1}, {}, "matrix");
  add(m, m.input({2, 3, 4, 5}), "linear", {2, 3, 4, 5}, {0, 1, 2, 3}, {}, "same");
  expect_same_as_interpreter(m);
  for (const char* name : {"channels_last", "depth", "depth_linear", "matrix"}) expect_kernel(m, name);
}

// More images than a task takes through all passes at once, and a rest of them.
TEST(CpuInterpolate, ManyImages) {
  GraphMaker m;
  const ir::Value x = m.input({5, 5, 19, 23});
  add(m, x, "cubic", {29, 41}, {2, 3}, {}, "larger");
  add(m, x, "bicubic_pillow", {90, 7}, {2, 3}, {}, "both");
  add(m, x, "linear", {3, 29, 41}, {1, 2, 3}, {}, "channels");
  add(m, x, "cubic", {29}, {2}, {}, "one");
  expect_same_as_interpreter(m);
  for (const char* name : {"larger", "both", "channels", "one"}) expect_kernel(m, name);
}

// Behind enlarged images a chain follows row by row, on plain rows and in channel blocks. Channels that are no whole
// vectors and small images leave it a step of its own, which is faster.
TEST(CpuInterpolate, ChainsBehindEnlargedImages) {
  for (const char* mode : {"nearest", "linear", "linear_onnx"})
    for (const int64_t channels : {1, 5, 16, 48})
      for (const bool in_blocks : {false, true}) {
        SCOPED_TRACE(testing::Message() << mode << ' ' << channels << ' ' << in_blocks);
        GraphMaker m;
        const int64_t rows = channels == 48 ? 27 : 29;  // just too few, and enough
        ir::Value x = m.input({2, channels, 9, 13}), other = m.input({2, channels, rows, 37});
        if (in_blocks) {
          x = m.conv(x, channels, 1, 1);
          other =
              m.op("MaxPool", {other},
                   {{"strides", "1,1"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}, {"kernel", "3,3"}}, "", "opset1");
        }
        const AttributeTexts how = {{"mode", mode}, {"shape_calculation_mode", "sizes"}};
        const auto enlarged = [&] { return m.op("Interpolate", {x, m.integers({rows, 37}), m.integers({2, 3})}, how); };
        std::vector<float> slopes(static_cast<size_t>(channels));
        for (size_t c = 0; c < slopes.size(); ++c) slopes[c] = 0.1f * static_cast<float>(c + 1);
        ir::Value y = m.op("Add", {other, enlarged()}, {}, "sum");
        y = m.op("PReLU", {y, m.constant({channels}, slopes)}, {}, "slope");
        ir::Value z = m.op("Sigmoid", {enlarged()}, {}, "sigmoid");  // the zeros behind the last channel become halves
        for (ir::Value value : {y, z}) m.result(in_blocks ? m.conv(value, 16, 1, 2) : value);
        expect_same_as_interpreter(m);
        for (const char* name : {"sum", "slope", "sigmoid"})
          EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::best_isa(), name).starts_with("fused into interpolate"),
                    channels == 16)
              << name;
      }
}

/// Where the elements are NaN and which infinities they are must agree; what is finite nearly so.
void expect_same_specials(const GraphMaker& m, const HostTensor& x) {
  const std::vector<std::vector<HostTensor>> sets = {{x}};
  const std::vector<ir::TensorView> views = {x.view()};
  const std::vector<HostTensor> expected = interpreter::run(m.graph(), views);
  for (const cpu::Isa isa : cpu::available_isas()) {
    const std::vector<HostTensor> found = run_on_cpu(m.graph(), isa, 1, sets)[0];
    for (size_t r = 0; r < expected.size(); ++r)
      EXPECT_EQ(difference(expected[r].view(), found[r].view(), {1e-5, 1e-5}), "") << cpu::isa_name(isa) << ' ' << r;
  }
}

// What weighs nothing does not count, be it NaN or infinity: a position that coincides with one of the input has its
// value, and the others have what reaches them.
TEST(CpuInterpolate, NanAndInfinityReachWhatTheyWeigh) {
  for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
      GraphMaker m;
      const ir::Value x = m.input({1, 17, 7, 19});
      const AttributeTexts how = {{"coordinate_transformation_mode", coordinates}};
      add(m, x, mode, {13, 37}, {2, 3}, how);
      add(m, x, mode, {7, 57}, {2, 3}, how);
      add(m, x, mode, {4, 10}, {2, 3}, how);
      add(m, x, mode, {57}, {3}, how);
      add(m, m.op("ReLU", {m.conv(x, 16, 1, 1)}), mode, {14, 37}, {2, 3}, how);  // blocks of channels
      HostTensor values = random_tensor({1, 17, 7, 19}, 5);
      float* at = values.writable().as<float>();
      for (int64_t i = 3; i < 17 * 7 * 19; i += 41) at[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
      SCOPED_TRACE(std::string(mode) + " " + coordinates);
      expect_same_specials(m, values);
    }
}

/// The reason of each implementation but the reference for refusing the node; empty where one takes it.
std::vector<std::string> refusals(const GraphMaker& m, const ir::Node& node) {
  cpu::WeightsCache weights;
  const cpu::NodeContext context = cpu::make_context(m.graph(), node, cpu::best_isa(), weights);
  std::vector<std::string> reasons;
  for (const cpu::Impl* impl : cpu::impls_for(*node.schema)) {
    if (std::string_view(impl->name) == "ref" || std::string_view(impl->name) == "threaded") continue;
    const cpu::Proposal proposal = impl->propose(context);
    const auto* reject = std::get_if<cpu::Reject>(&proposal);
    reasons.push_back(reject ? reject->reason : "");
  }
  return reasons;
}

// Tables of taps have 32 bits. The tensors need not exist to see that nobody makes tables for them.
TEST(CpuInterpolate, AxesBeyondTablesOf31BitsAreLeftToTheReference) {
  constexpr int64_t kLong = int64_t{1} << 31;
  for (const element::Type type : {element::f32, element::u8})
    for (const char* mode : {"nearest", "linear", "linear_onnx", "cubic"})
      for (const auto& [from, to] : {std::pair<int64_t, int64_t>{kLong, 7}, {7, kLong}}) {
        GraphMaker m;
        const ir::Value x = m.input({1, 1, 2, from}, type);
        const ir::Value y = m.op("Interpolate", {x, m.integers({2, to}), m.integers({2, 3})},
                                 {{"mode", mode}, {"shape_calculation_mode", "sizes"}});
        const std::vector<std::string> reasons = refusals(m, m.graph().node(y.node));
        ASSERT_EQ(reasons.size(), 3u);
        for (const std::string& reason : reasons)
          EXPECT_NE(reason, "") << mode << " of " << type << ", " << from << " to " << to;
      }
  // Three values side by side make rows of more elements than positions.
  GraphMaker m;
  const ir::Value x = m.input({1, 2, kLong / 3 + 1, 3}, element::u8);
  const ir::Value y = m.op("Interpolate", {x, m.integers({2, 7}), m.integers({1, 2})},
                           {{"mode", "linear"}, {"shape_calculation_mode", "sizes"}});
  for (const std::string& reason : refusals(m, m.graph().node(y.node))) EXPECT_NE(reason, "");
}

}  // namespace
}  // namespace terroir::test
