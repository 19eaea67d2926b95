// Greedy decoding on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Few different values, so that many are equal, and some NaN.
HostTensor scores(const ir::Dims& dims) {
  HostTensor tensor(element::f32, dims);
  std::mt19937 engine(9);
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const uint32_t draw = engine() % 64;
    tensor.writable().as<float>()[i] =
        draw == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(draw % 5) - 4;
  }
  return tensor;
}

void check_greedy_decoding(GraphMaker& m, ir::Value layer, const ir::Dims& dims) {
  const std::string name = m.graph().node(layer.node).name;
  std::vector<std::vector<HostTensor>> inputs(1);
  inputs[0].push_back(scores(dims));
  expect_same_as_interpreter(m.graph(), inputs, 0);
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, name), std::string("f32_ctc_greedy__") + cpu::isa_name(isa));
}

TEST(CtcGreedy, LengthsAndClasses) {
  for (const int64_t classes : {1, 3, 4, 15, 16, 17, 67, 131})
    for (const char* merge : {"true", "false"}) {
      GraphMaker m;
      const ir::Value layer = m.op("CTCGreedyDecoderSeqLen", {m.input({3, 40, classes}), m.integers({40, 17, 0})},
                                   {{"merge_repeated", merge}});
      m.result(layer);
      m.result({layer.node, 1});
      check_greedy_decoding(m, layer, {3, 40, classes});
    }
}

TEST(CtcGreedy, Masks) {
  GraphMaker m;
  std::vector<float> mask(3 * 20, 1.0f);
  mask[7 * 3 + 1] = 0;
  const ir::Value layer =
      m.op("CTCGreedyDecoder", {m.input({20, 3, 19}), m.constant({20, 3}, mask)}, {{"ctc_merge_repeated", "true"}});
  m.result(layer);
  check_greedy_decoding(m, layer, {20, 3, 19});
}

}  // namespace
}  // namespace terroir::test
