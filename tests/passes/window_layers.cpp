#include "tests/passes/window_layers.hpp"

#include "plugins/interpreter/interpreter.hpp"

namespace terroir::test {

const WindowLayer kSame{"", 16, "3,3", "1,1", "1,1", "1,1", "1,1"}, kPoint{"", 16, "1,1"};

WindowLayer point_layer(size_t rank) {
  constexpr const char *kOnes[] = {"1", "1,1", "1,1,1"}, *kZeros[] = {"0", "0,0", "0,0,0"};
  const char *ones = kOnes[rank - 3], *zeros = kZeros[rank - 3];
  return {"", 20, ones, ones, ones, zeros, zeros};
}

ir::Value window_layer(GraphMaker& m, ir::Value x, const WindowLayer& l,
                       const std::function<ir::Value(const ir::Dims&)>& weights) {
  ir::Dims dims = {l.outputs / l.groups, m.dims(x)[1] / l.groups};
  for (const Dimension& tap : PartialShape(l.kernel)) dims.push_back(tap.get_length());
  if (l.groups > 1) dims.insert(dims.begin(), l.groups);
  return m.op(
      l.groups > 1 ? "GroupConvolution" : "Convolution", {x, weights(dims)},
      {{"strides", l.strides}, {"dilations", l.dilations}, {"pads_begin", l.pads_begin}, {"pads_end", l.pads_end}});
}

std::vector<HostTensor> on_interpreter(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  return interpreter::Program(graph).run(views);
}

}  // namespace terroir::test
