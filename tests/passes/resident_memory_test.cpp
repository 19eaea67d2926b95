// How much memory a process needs at most to read, compile and run a model: little more than its weights once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <terroir/terroir.hpp>

#include "ir/xml/writer.hpp"
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

/// Dense, grouped and depthwise convolutions, some with a scale behind them that compilation multiplies into the
/// weights, and matrix products; at small extents, so that memory is weights.
GraphMaker heavy_model() {
  GraphMaker m;
  auto x = m.conv(m.input({1, 16, 6, 6}), 512, 1, 1);
  for (uint32_t i = 0; i < 3; ++i) {
    x = m.op("ReLU", {m.conv(x, 512, 3, 10 * i + 2)});
    x = m.op("Multiply", {m.conv(x, 512, 3, 10 * i + 3), m.random({1, 512, 1, 1}, 10 * i + 4)});
    x = m.op("Add", {m.depthwise(x, 3, 10 * i + 5), m.random({1, 512, 1, 1}, 10 * i + 6)});
  }
  auto flat = m.op("ReduceMean", {x, m.integers({2, 3})}, {{"keep_dims", "false"}});
  auto wide = m.op("MatMul", {flat, m.random({512, 4096}, 100)});
  m.result(m.op("MatMul", {wide, m.random({512, 4096}, 101)}, {{"transpose_b", "true"}}));
  return m;
}

TEST(ResidentMemory, StaysNearTheSizeOfTheWeights) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
  const auto folder = std::filesystem::path(testing::TempDir()) / ("terroir_resident_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string xml = folder / "model.xml";
  ir::write_model(heavy_model().graph(), xml);
  const double weights = static_cast<double>(std::filesystem::file_size(folder / "model.bin")) / kMegabyte;
  ASSERT_GT(weights, 60);

  if (!reset_peak()) GTEST_SKIP() << "the system does not count peaks anew";
  const double before = status_megabytes("VmRSS");
  ASSERT_GT(before, 0);
  {
    Core core;
    CompiledModel compiled = core.compile_model(core.read_model(xml), "CPU", inference_num_threads(2));
    InferRequest request = compiled.create_infer_request();
    request.infer();
  }
  const double peak = status_megabytes("VmHWM") - before;
  EXPECT_LT(peak, 1.3 * weights + 25) << "MB, with " << weights << " MB of weights";
  // Much less than the packed weights alone would mean that nothing was measured.
  EXPECT_GT(peak, 0.8 * weights);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace terroir::test
