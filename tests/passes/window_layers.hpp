#pragma once
// What: convolutions of given sizes for tests of layers that compute in bytes or in bf16, and the oracle they share.
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

struct WindowLayer {
  const char* input;
  int64_t outputs;
  const char* kernel;
  const char* strides = "1,1";
  const char* dilations = "1,1";
  const char* pads_begin = "0,0";
  const char* pads_end = "0,0";
  int64_t groups = 1;
  float zero = 0;  // what stands for 0 in the data, where they are levels
};

/// 3x3 with padding, and 1x1, to 16 channels.
extern const WindowLayer kSame, kPoint;
/// 1x1 to 20 channels, for data of so many axes.
WindowLayer point_layer(size_t rank);

/// Convolution, or GroupConvolution, with weights of these extents.
ir::Value window_layer(GraphMaker& m, ir::Value x, const WindowLayer& layer,
                       const std::function<ir::Value(const ir::Dims&)>& weights);

std::vector<HostTensor> on_interpreter(const ir::Graph& graph, const std::vector<HostTensor>& inputs);

}  // namespace terroir::test
