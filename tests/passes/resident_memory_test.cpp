// How much memory a process needs at most to read, compile and run a model: little more than its weights once.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <terroir/terroir.hpp>

#include "ir/graph/infer.hpp"
#include "ir/xml/writer.hpp"
#include "ops/defs/type/convert.hpp"
#include "ops/registry.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

constexpr double kMegabyte = 1 << 20;

/// A line of /proc/self/status that counts kilobytes, in MB; -1 if there is none.
double status_megabytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  return -1;
}

/// The peak is counted anew from here.
bool reset_peak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return static_cast<bool>(refs);
}

/// Dense and depthwise convolutions, some with a scale behind them that compilation multiplies into the weights, and
/// matrix products; at small extents, so that memory is weights. No 3x3 window: the transformed weights of Winograd's
/// kernels are larger than those of the model.
GraphMaker heavy_model() {
  GraphMaker m;
  auto x = m.conv(m.input({1, 16, 6, 6}), 320, 1, 1);
  for (uint32_t i = 0; i < 3; ++i) {
    x = m.op("ReLU", {m.conv(x, 320, 5, 10 * i + 2)});
    x = m.op("Multiply", {m.conv(x, 320, 5, 10 * i + 3), m.random({1, 320, 1, 1}, 10 * i + 4)});
    x = m.op("Add", {m.depthwise(x, 3, 10 * i + 5), m.random({1, 320, 1, 1}, 10 * i + 6)});
  }
  auto flat = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "false"}});
  auto wide = m.op("MatMul", {flat, m.random({320, 4096}, 100)});
  m.result(m.op("MatMul", {wide, m.random({512, 4096}, 101)}, {{"transpose_b", "true"}}));
  return m;
}

/// Large constants stored in half precision with a conversion behind them, as compressed models have them.
void compress(ir::Graph& graph) {
  const ir::OpRegistry& registry = ops::builtin_registry();
  for (const ir::NodeId id : graph.nodes()) {
    if (!graph.node(id).constant || graph.node(id).constant->view.bytes() < 4096) continue;
    const ir::TensorView view = graph.node(id).constant->view;
    auto halves = std::make_shared<std::vector<float16>>(view.as<float>(), view.as<float>() + view.count());
    const ir::Constant narrow{{element::f16, view.dims, halves->data()}, halves};
    const ir::NodeId stored = graph.add_constant(registry.get(ir::kConstType, "opset1"), "half", narrow);
    const ir::NodeId wide = graph.add(registry.get("Convert", "opset1"), "wide",
                                      ir::make_attributes_of(ops::ConvertAttrs{element::f32}), {{stored, 0}});
    graph.replace_uses({id, 0}, {wide, 0});
    graph.erase(id);
  }
  ir::infer_graph(graph);
}

/// Peak of reading, compiling and running, above what was there before, and the size of the weights file; in MB.
struct Measured {
  double peak, weights;
};
std::optional<Measured> measure(const ir::Graph& graph) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_resident_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string xml = folder / "model.xml";
  ir::write_model(graph, xml);
  Measured measured{};
  measured.weights = static_cast<double>(std::filesystem::file_size(folder / "model.bin")) / kMegabyte;
#if defined(M_PERTURB)
  ::mallopt(M_PERTURB, 0);  // other tests have memory filled when it is allocated, which would count as used
  ::malloc_trim(0);         // what they gave back would be used again and not count
#endif
  if (!reset_peak()) return std::nullopt;
  const double before = status_megabytes("VmRSS");
  {
    Core core;
    CompiledModel compiled = core.compile_model(core.read_model(xml), "CPU", inference_num_threads(2));
    InferRequest request = compiled.create_infer_request();
    request.infer();
  }
  measured.peak = status_megabytes("VmHWM") - before;
#if defined(M_PERTURB)
  ::mallopt(M_PERTURB, 0x80);
#endif
  std::filesystem::remove_all(folder);
  return measured;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // a sanitizer keeps memory of its own
#else
constexpr bool kSanitized = false;
#endif

TEST(ResidentMemory, StaysNearTheSizeOfTheWeights) {
  // The graph and what tests before left behind is in the baseline.
  const auto measured = kSanitized ? std::nullopt : measure(heavy_model().graph());
  if (!measured) GTEST_SKIP() << "peaks cannot be counted here";
  ASSERT_GT(measured->weights, 60);
  EXPECT_LT(measured->peak, 1.3 * measured->weights + 25) << "MB, with " << measured->weights << " MB of weights";
  // Much less than the packed weights alone would mean that nothing was measured.
  EXPECT_GT(measured->peak, 0.8 * measured->weights);
}

TEST(ResidentMemory, OfHalfPrecisionWeightsIsThatOfTheirFloats) {
  GraphMaker maker = heavy_model();
  compress(maker.graph());
  const auto measured = kSanitized ? std::nullopt : measure(maker.graph());
  if (!measured) GTEST_SKIP() << "peaks cannot be counted here";
  const double floats = 2 * measured->weights;
  ASSERT_GT(floats, 60);
  EXPECT_LT(measured->peak, 1.3 * floats + 25) << "MB, with " << floats << " MB of floats";
  EXPECT_GT(measured->peak, 0.8 * floats);
}

// A large constant goes while it is packed: there is never much of it twice. Rows are longer than what is read at once.
TEST(ResidentMemory, OfOneConstantIsThatOfItsPacking) {
  GraphMaker m;
  auto x = m.op("MatMul", {m.input({1, 300'000}), m.random({64, 300'000}, 1)}, {{"transpose_b", "true"}});
  m.result(m.op("MatMul", {x, m.random({64, 300'000}, 2)}));
  const auto measured = kSanitized ? std::nullopt : measure(m.graph());
  if (!measured) GTEST_SKIP() << "peaks cannot be counted here";
  // As a whole, half of them would be there twice; how far packing is ahead of eviction differs from run to run.
  EXPECT_LT(measured->peak, 1.2 * measured->weights + 25) << "MB, with " << measured->weights << " MB of weights";
  EXPECT_GT(measured->peak, 0.8 * measured->weights);
}

// What is padded or rolled is found by runs, not by a table of its elements.
TEST(ResidentMemory, OfLongAxesIsThatOfTheirElements) {
  constexpr int64_t kBytes = 1 << 22;
  GraphMaker m;
  auto x = m.op("Convert", {m.input({1, 1, 1})}, {{"destination_type", "u8"}});
  x = m.op("Broadcast", {x, m.integers({1, kBytes, 1})}, {{"mode", "bidirectional"}}, "opset3");
  for (const char* mode : {"constant", "edge", "reflect", "symmetric"})
    x = m.op("Pad", {x, m.integers({0, 3, 0}), m.integers({0, 5, 0})}, {{"pad_mode", mode}});
  m.result(m.op("Roll", {x, m.integers({7}), m.integers({1})}, {}, "opset7"));
  const auto measured = kSanitized ? std::nullopt : measure(m.graph());
  if (!measured) GTEST_SKIP() << "peaks cannot be counted here";
  EXPECT_LT(measured->peak * kMegabyte, 5 * kBytes);
  EXPECT_GT(measured->peak * kMegabyte, 2 * kBytes);  // what is read and what is written
}

}  // namespace
}  // namespace terroir::test
